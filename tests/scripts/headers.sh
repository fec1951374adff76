#!/usr/bin/env bash
# Every header compiles alone: headers.sh COMPILER INCLUDE_FOLDER... (the folders of generated and CUDA headers)
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
mapfile -t headers < <(find calc kernels cli -name '*.hpp' | sort)
[ $cuda = yes ] || mapfile -t headers < <(printf '%s\n' "${headers[@]}" | grep -v '^kernels/cuda/')
# As an include, so that #pragma once is where it belongs; a few headers a process would hide what one lacks.
export COMPILER=$compiler FLAGS="${flags[*]}"
printf '%s\0' "${headers[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c \
  'printf "#include \"%s\"\n" "{}" | $COMPILER $FLAGS - || { echo "{} does not compile alone"; exit 1; }'
echo "ok: ${#headers[@]} headers"
