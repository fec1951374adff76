#!/usr/bin/env bash
# Every header compiles alone: headers.sh COMPILER INCLUDE_FOLDER... (the folders of generated and CUDA headers)
# A header that some source file includes before all else has been compiled alone by the build; here are the others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiler=$1
shift
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I. -Icalc -x c++)
cuda=no
for folder in "$@"; do
  flags+=(-isystem "$folder")
  [ ! -e "$folder/cuda_runtime.h" ] || cuda=yes
done

# firsts: what each source file includes first, as a path in the repository (calc/ is an include folder).
firsts=$(find calc kernels cli -name '*.cpp' -print0 | xargs -0 -r grep -hm1 -E '^[[:space:]]*#[[:space:]]*include' |
  sed -nE 's/^[^"]*"([^"]+)".*/\1/p' | sed -E 's,^(core|read|report)/,calc/&,' | sort -u)
without=/cuda/
[ $cuda = no ] || without='^$'
mapfile -t headers < <(find calc kernels cli -name '*.hpp' | grep -v "$without" | sort | comm -23 - <(printf '%s\n' "$firsts"))
# As an include, so that #pragma once is where it belongs; a few headers a process would hide what one lacks.
export COMPILER=$compiler FLAGS="${flags[*]}"
[ ${#headers[@]} -eq 0 ] || printf '%s\0' "${headers[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c \
  'printf "#include \"%s\"\n" "{}" | $COMPILER $FLAGS - || { echo "{} does not compile alone"; exit 1; }'
echo "ok: ${#headers[@]} headers that no source file includes first"
