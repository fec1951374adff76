#!/usr/bin/env bash
# Runs the one pinned clang-tidy with the list in .clang-tidy:  scripts/tidy.sh [FILE.cpp...]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=22.1.8  # from 22 on it looks at our own declarations only, which is four times as fast
tool=$(wheel clang-tidy $version)/clang_tidy/data/bin/clang-tidy
folder=$ROOT/build/tidy
cd "$ROOT"
# Only the list of commands and the generated sources are needed, no objects.
cmake -S . -B "$folder" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DLLMCALC_CUDA=OFF \
  >"$ROOT/build/tidy.log" || die 1 "configuring failed: build/tidy.log"
cmake --build "$folder" --target llmcalc_profiles >/dev/null
if [ $# -eq 0 ]; then
  mapfile -t files < <(find calc cli kernels -name '*.cpp' -not -path 'kernels/cuda/*' | sort)
  set -- "${files[@]}"
fi
# g++'s own warning options are unknown to it. On stderr it says how much it did not show.
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 1 "$tool" -p "$folder" --quiet --extra-arg=-Wno-unknown-warning-option \
  2>"$ROOT/build/tidy.log" || { tail -n 20 "$ROOT/build/tidy.log" >&2; die 1 "clang-tidy found something"; }
say "clang-tidy $version: $# files"
