#!/usr/bin/env bash
# console.sh must pass what is right and fail on what is wrong: it is tried on documents with a planted fault.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/llmcalc" <<'PROGRAM'
#!/bin/sh
[ "$1" = many ] && printf 'first\n* [a] $x "q" \\ (b)\nthird\nlast é\n'
[ "$1" = say ] && echo "$2"
[ "$1" = error ] && echo "error: no" >&2 && exit 3
exit 0
PROGRAM
chmod +x "$scratch/llmcalc"

document() { printf '%s\n' 'text' '```console' "$@" '```' >"$scratch/d.md"; }
must() {  # must pass|fail NAME LINES...
  local wish=$1 name=$2 got=pass
  shift 2
  document "$@"
  bash "$here/console.sh" check "$scratch" "$scratch/d.md" >"$scratch/log" 2>&1 || got=fail
  [ $got = "$wish" ] || { echo "$name: should $wish, did $got"; cat "$scratch/log"; exit 1; }
}

must pass exact '$ llmcalc many' first '* [a] $x "q" \ (b)' third 'last é'
must fail changed-line '$ llmcalc many' first '* [a] $x "q" \ (c)' third 'last é'
must fail missing-line '$ llmcalc many' first third 'last é'
must fail extra-line '$ llmcalc say 1' 1 2
must fail no-output-shown '$ llmcalc say 1'
must pass dots '$ llmcalc many' first ... 'last é'
must pass dots-for-nothing '$ llmcalc say 1' ... 1 ...
must pass dots-and-pattern-characters '$ llmcalc many' ... '* [a] $x "q" \ (b)' ...
must fail dots-keep-the-rest '$ llmcalc many' first ... 'last'
must fail dots-match-whole-lines '$ llmcalc many' ... 'ird' ...
must pass run-script-and-stderr '$ scripts/run.sh error' 'error: no' '[exit 3]'
must fail unseen-exit '$ llmcalc error' 'error: no'
must fail other-exit '$ llmcalc error' 'error: no' '[exit 2]'
must pass dots-and-exit '$ llmcalc error' ... '[exit 3]'
must fail exit-of-what-succeeds '$ llmcalc say 1' 1 '[exit 1]'
must pass two-commands '$ llmcalc say 1' 1 '$ llmcalc say \' '  2' 2
must fail second-wrong '$ llmcalc say 1' 1 '$ llmcalc say 2' 3

document '$ llmcalc say 1' 2
bash "$here/console.sh" approve "$scratch" "$scratch/d.md" >/dev/null
bash "$here/console.sh" check "$scratch" "$scratch/d.md" >/dev/null || { echo "what was approved does not pass"; exit 1; }
echo "ok"
