#!/usr/bin/env bash
# Runs every command shown in ```console blocks of Markdown files and compares what it prints with what is shown.
#   console.sh check|approve FOLDER_OF_LLMCALC FILE.md...
# In a block, a line `$ COMMAND` is followed by its exact output (stdout and stderr, as a terminal shows them) up to the
# next `$` line or the end of the block; a line `...` stands for any number of lines. A command that fails
# has a last line `[exit 3]`: no failure goes unseen. `approve` writes what was printed into the file instead. Commands run in a scratch folder that looks like the repository's root, so what they write
# stays out of it. `scripts/run.sh` becomes the program that was built; other scripts, git and apt are not run (CI does).
set -euo pipefail
shopt -s extglob

mode=$1
program_folder=$(cd "$2" && pwd -P)
shift 2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

export PATH=$program_folder:$PATH NO_COLOR=1 COLUMNS=100 LC_ALL=C.UTF-8
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/repository"
ln -s "$root"/* "$scratch/repository/"

# The shown text as a pattern for [[ ]], every line but `...` quoted.
pattern_of() {
  local line
  while IFS= read -r line; do
    if [ "$line" = ... ]; then printf '%s' "@(|*\$'\\n')"; else printf '%q%s' "$line" "\$'\\n'"; fi
  done < <(printf '%s' "$1")
}

# Does the output (arguments: shown, printed) agree?
agrees() {
  [ "$1" != "$2" ] || return 0
  case $1 in *...*) eval "[[ \$2 == $(pattern_of "$1") ]]" ;; *) return 1 ;; esac
}

command=""
shown=""
finish_command() {  # runs the pending command; appends what belongs into the file
  [ -n "$command" ] || return 0
  commands=$((commands + 1))
  local run=${command//scripts\/run.sh/llmcalc} printed
  case $run in
    scripts/* | "bash .ci/"* | git* | sudo* | apt*) printed=$shown ;;
    *)
      printed=$(cd "$scratch/repository" && { bash -c "$run" 2>&1 </dev/null || echo "[exit $?]"; } && echo x)
      printed=${printed%x}
      ;;
  esac
  if agrees "$shown" "$printed"; then result+=$shown; else result+=$printed; fi
  command=""
  shown=""
}

failed=0
for file in "$@"; do
  commands=0
  result=""
  inside=no
  continued=no
  while IFS= read -r line || [ -n "$line" ]; do
    if [ $inside = no ]; then
      result+=$line$'\n'
      [ "$line" != '```console' ] || inside=yes
    elif [ $continued = yes ]; then
      command=${command%\\}$line
      result+=$line$'\n'
      [[ $line == *\\ ]] || continued=no
    elif [ "$line" = '```' ]; then
      finish_command
      result+=$line$'\n'
      inside=no
    elif [[ $line == '$ '* ]]; then
      finish_command
      command=${line#'$ '}
      result+=$line$'\n'
      [[ $line != *\\ ]] || continued=yes
    elif [ -n "$command" ]; then
      shown+=$line$'\n'
    else
      result+=$line$'\n'
    fi
  done <"$file"
  printf '%s' "$result" >"$scratch/result.md"
  if [ "$mode" = approve ]; then
    cmp -s "$scratch/result.md" "$file" || { cp "$scratch/result.md" "$file" && echo "changed: $file"; }
  elif diff -u --label "$file (shown)" --label "$file (printed now)" "$file" "$scratch/result.md"; then
    echo "ok: $file, $commands commands"
  else
    failed=1
  fi
done
exit $failed
