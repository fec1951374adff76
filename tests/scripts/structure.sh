#!/usr/bin/env bash
# What the folders promise, kept by a test: structure.sh [ROOT]
# Who may include whom, heavy headers in few places, files of a readable size that say what they are for, nothing of one
# machine in the tree. Every complaint is printed before it fails.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

max_lines=400         # longer files say why: "long file because: ..."
max_bytes=1000000     # of any file in the repository
complaints=0
complain() {
  printf '%s\n' "$*"
  complaints=$((complaints + 1))
}

# Files of the repository: what git tracks, or all but build output where there is no git.
if [ -e .git ] && command -v git >/dev/null; then
  mapfile -t all < <(comm -23 <(git ls-files --cached --others --exclude-standard | sort -u) <(git ls-files --deleted | sort))
else
  mapfile -t all < <(find . -type f -not -path './build/*' -not -path './.git/*' | sed 's|^\./||')
fi
matching() { printf '%s\n' "${all[@]}" | grep -E "$1" || true; }  # matching REGEX: of the files, one a line

# may_include FOLDER_REGEX ALLOWED_REGEX WHY: every #include of these files, without its brackets, matches ALLOWED.
includes=$(matching '^(calc|kernels|cli)/.*\.(cpp|hpp|cu|cuh)$' | tr '\n' '\0' | xargs -0 -r grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]*' |
  sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/ /' || true)
may_include() {
  local found
  found=$(awk -v files="$1" -v allowed="$2" '$1 ~ files && $2 !~ allowed { print $1 " includes " substr($2, 2) }' <<<"$includes")
  [ -z "$found" ] || complain "$found ($3)"
}

standard='<[a-z_0-9]+$'
system='<(sys/|linux/|asm/)?[a-z_0-9]+\.h$'
may_include '^calc/core/.*\.[ch]pp$' "^(\"core/|$standard)" "calc/core sees itself and the standard library"
may_include '^calc/read/.*\.[ch]pp$' "^(\"(core|read)/|$standard|<(yaml-cpp|nlohmann)/)" "calc/read sees core, yaml-cpp and nlohmann/json"
may_include '^calc/report/.*\.[ch]pp$' "^(\"(core|report)/|$standard|$system)" "calc/report sees core"
may_include '^kernels/[^/]*\.[ch]pp$|^kernels/(cpu|replay)/' "^(\"(core|kernels)/|$standard|$system)" "kernels see core and the system"
may_include '^kernels/cuda/' "^(\"(core|kernels)/|$standard|$system|<(cuda|cublas|nvml|mma)[A-Za-z_0-9]*\.(h|hpp)$)" "kernels/cuda sees core and CUDA"
may_include '^cli/.*\.[ch]pp$' "^(\"(core|read|report|kernels|cli)/|$standard|$system|<CLI/)" "cli leaves parsing of files to calc/read"

# core does no input or output and never leaves the process.
found=$(matching '^calc/core/' | tr '\n' '\0' | xargs -0 -r grep -nHE '#include <(iostream|fstream|filesystem|print|syncstream)>|\b(fopen|f?puts|f?printf|quick_exit|abort)\(|\bstd::_?[Ee]xit\(' || true)
[ -z "$found" ] || complain "calc/core does no I/O and does not exit: $found"

# heavy HEADER MOST WHERE: in at most MOST files, all of them matching WHERE.
heavy() {
  local users stray
  users=$(awk -v header="$1" 'index($2, "<" header) == 1 { print $1 }' <<<"$includes" | sort -u)
  [ "$(grep -c . <<<"$users")" -le "$2" ] || complain "<$1> is in more than $2 files:" $users
  stray=$(grep -Ev "$3|^$" <<<"$users" || true)
  [ -z "$stray" ] || complain "<$1> belongs into $3, not:" $stray
}
heavy 'CLI/' 1 '^cli/parse\.cpp$'
heavy 'yaml-cpp/' 2 '^calc/read/.*\.cpp$'
heavy 'nlohmann/' 2 '^calc/read/.*\.cpp$'

# Headers.
found=$(matching '\.hpp$' | tr '\n' '\0' | xargs -0 -r grep -L '^#pragma once' || true)
[ -z "$found" ] || complain "no #pragma once:" $found

# Every source file opens by saying what it is for. A .cpp may leave that to its header.
while IFS= read -r file; do
  [ -n "$file" ] || continue
  [ "${file%.cpp}" = "$file" ] || [ ! -e "${file%.cpp}.hpp" ] || continue
  first="" second=""
  { IFS= read -r first && IFS= read -r second; } <"$file" || true
  [[ $first =~ ^(//|#[^!]|/\*) || $second =~ ^# ]] || complain "$file: its first line does not say what it is for"
done < <(matching '^(calc|kernels|cli|tests|bench|scripts|cmake)/.*\.(cpp|hpp|cu|sh|cmake)$')

# Sizes.
while read -r lines file; do
  [ "$lines" -le $max_lines ] || grep -q 'long file because:' "$file" ||
    complain "$file has $lines lines: split it, or say in it 'long file because: ...'"
done < <(matching '\.(cpp|hpp|cu|sh|cmake|py)$|(^|/)CMakeLists\.txt$' | tr '\n' '\0' | xargs -0 -r -n 1000000 wc -l | grep -v ' total$')
found=$(printf '%s\0' "${all[@]}" | xargs -0 -r stat -c '%s %n' | awk -v most=$max_bytes '$1 > most')
[ -z "$found" ] || complain "more than $max_bytes bytes: $found"

# Files that documents name, from the root, from calc/ or from the document's folder. ID and NAME stand for any.
while IFS=: read -r file name; do
  [ -n "$file" ] || continue
  compgen -G "$name*" >/dev/null || compgen -G "calc/$name*" >/dev/null || compgen -G "$(dirname "$file")/$name*" >/dev/null ||
    complain "$file names $name, which is not there"
done < <(matching '\.md$' | tr '\n' '\0' | xargs -0 -r grep -HoE '`(calc|cli|cmake|core|docs|hardware|kernels|profiles|read|report|scripts|tests|bench)/[A-Za-z0-9_./*-]*`' |
  grep -vE '[/_](ID|NAME)\b' | tr -d '`' | sort -u)

# Paths that exist on one machine only.
found=$(printf '%s\0' "${all[@]}" | xargs -0 -r grep -nIE '(^|[^A-Za-z0-9_.}])/((home|root|Users|work|scratch)/[A-Za-z0-9_.]|tmp/[A-Za-z0-9_.]+/)' || true)
[ -z "$found" ] || complain "paths of one machine: $found"

[ $complaints -eq 0 ] || { echo "$complaints complaints"; exit 1; }
echo "ok: ${#all[@]} files"
