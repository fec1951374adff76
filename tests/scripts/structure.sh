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
  mapfile -t all < <(git ls-files --cached --others --exclude-standard | while IFS= read -r f; do [ ! -f "$f" ] || echo "$f"; done)
else
  mapfile -t all < <(find . -type f -not -path './build/*' -not -path './.git/*' | sed 's|^\./||')
fi
matching() { printf '%s\n' "${all[@]}" | grep -E "$1" || true; }  # matching REGEX: of the files, one a line

# may_include FOLDER_REGEX ALLOWED_REGEX WHY: every #include of these files, without its brackets, matches ALLOWED.
may_include() {
  local file found
  while IFS= read -r file; do
    [ -n "$file" ] || continue
    found=$(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]*).*/\1/p' "$file" | grep -Ev "$2" || true)
    [ -z "$found" ] || complain "$file includes $(printf '%s' "$found" | tr -d '"<' | tr '\n' ' ')($3)"
  done < <(matching "$1")
}

standard='<[a-z_0-9]+$'
system='<(sys/|linux/|asm/)?[a-z_0-9]+\.h$'
may_include '^calc/core/.*\.[ch]pp$' "^(\"core/|$standard)" "calc/core sees itself and the standard library"
may_include '^calc/read/.*\.[ch]pp$' "^(\"(core|read)/|$standard|<(yaml-cpp|nlohmann)/)" "calc/read sees core, yaml-cpp and nlohmann/json"
may_include '^calc/report/.*\.[ch]pp$' "^(\"(core|report)/|$standard|$system|<fmt/)" "calc/report sees core and fmt"
may_include '^kernels/[^/]*\.[ch]pp$|^kernels/(cpu|replay)/' "^(\"(core|kernels)/|$standard|$system|<fmt/)" "kernels see core and the system"
may_include '^kernels/cuda/' "^(\"(core|kernels)/|$standard|$system|<fmt/|<(cuda|cublas|nvml|mma)[A-Za-z_0-9]*\.(h|hpp)$)" "kernels/cuda sees core and CUDA"
may_include '^cli/.*\.[ch]pp$' "^(\"(core|read|report|kernels|cli)/|$standard|$system|<fmt/|<CLI/)" "cli leaves parsing of files to calc/read"

# core does no input or output and never leaves the process.
while IFS= read -r file; do
  [ -n "$file" ] || continue
  found=$(grep -nE '#include <(iostream|fstream|filesystem|print|syncstream)>|\b(fopen|f?puts|f?printf|quick_exit|abort)\(|\bstd::_?[Ee]xit\(' "$file" || true)
  [ -z "$found" ] || complain "$file: calc/core does no I/O and does not exit: $found"
done < <(matching '^calc/core/')

# heavy HEADER_REGEX MOST WHERE: in no header of ours, and in at most MOST source files, all of them matching WHERE.
heavy() {
  local users
  users=$(matching '^(calc|kernels|cli)/.*\.(cpp|hpp|cu)$' | xargs -r grep -lE "#include <$1" || true)
  local count
  count=$(printf '%s' "$users" | grep -c . || true)
  [ "$count" -le "$2" ] || complain "<$1> is in $count files, at most $2 are agreed: $(echo $users)"
  users=$(printf '%s' "$users" | grep -Ev "$3" || true)
  [ -z "$users" ] || complain "<$1> belongs into $3, not: $(echo $users)"
}
heavy 'CLI/' 1 '^cli/parse\.cpp$'
heavy 'yaml-cpp/' 2 '^calc/read/.*\.cpp$'
heavy 'nlohmann/' 2 '^calc/read/.*\.cpp$'
heavy 'fmt/' 1000 '\.(cpp|cu)$'

# Headers.
while IFS= read -r file; do
  [ -z "$file" ] || grep -q '^#pragma once' "$file" || complain "$file: no #pragma once"
done < <(matching '\.hpp$')

# Every source file opens by saying what it is for. A .cpp may leave that to its header.
while IFS= read -r file; do
  [ -n "$file" ] || continue
  [ ! -e "${file%.cpp}.hpp" ] || [ "${file%.cpp}" = "$file" ] || continue
  head -n 2 "$file" | grep -qE '^(//|#[^!]|/\*)' || complain "$file: its first line does not say what it is for"
done < <(matching '^(calc|kernels|cli|tests|bench|scripts|cmake)/.*\.(cpp|hpp|cu|sh|cmake)$')

# Sizes.
while IFS= read -r file; do
  [ -n "$file" ] || continue
  lines=$(wc -l <"$file")
  [ "$lines" -le $max_lines ] || grep -q 'long file because:' "$file" ||
    complain "$file has $lines lines: split it, or say in it 'long file because: ...'"
done < <(matching '\.(cpp|hpp|cu|sh|cmake|py)$|(^|/)CMakeLists\.txt$')
while IFS= read -r file; do
  [ -n "$file" ] || continue
  bytes=$(wc -c <"$file")
  [ "$bytes" -le $max_bytes ] || complain "$file has $bytes bytes, more than $max_bytes"
done < <(printf '%s\n' "${all[@]}")

# Paths that exist on one machine only.
found=$(printf '%s\0' "${all[@]}" | xargs -0 -r grep -nIE '(^|[^A-Za-z0-9_.}])/(home|root|Users|work|scratch|tmp)/[A-Za-z0-9_.]' || true)
[ -z "$found" ] || complain "paths of one machine: $found"

[ $complaints -eq 0 ] || { echo "$complaints complaints"; exit 1; }
echo "ok: ${#all[@]} files"
