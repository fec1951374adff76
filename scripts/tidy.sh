#!/usr/bin/env bash
# Runs the one pinned clang-tidy with the list in .clang-tidy:  scripts/tidy.sh [FILE.cpp...]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=18.1.8
tool=$(wheel clang-tidy $version)/clang_tidy/data/bin/clang-tidy
folder=$ROOT/build/tidy
cd "$ROOT"
# Only the list of commands and the generated sources are needed, no objects.
cmake -S . -B "$folder" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DLLMCALC_CUDA=OFF >"$ROOT/build/tidy.log" ||
  die 1 "configuring failed: build/tidy.log"
cmake --build "$folder" --target llmcalc_profiles >/dev/null
if [ $# -eq 0 ]; then
  mapfile -t files < <(find calc cli kernels -name '*.cpp' -not -path 'kernels/cuda/*' | sort)
  set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 1 "$tool" -p "$folder" --quiet 2>/dev/null
say "clang-tidy $version: $# files"
