#!/usr/bin/env bash
# Compiles everything with clang (16 or later), the same warnings being errors. No objects: g++'s are the ones that run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

compiler=$(need_clang)
# shellcheck disable=SC2086
need_packages $PACKAGES_BUILD $PACKAGES_TESTS
folder=$ROOT/build/clang
build "$folder" llmcalc_profiles '' -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DLLMCALC_CUDA=OFF \
  -DLLMCALC_WERROR=ON -DLLMCALC_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_CXX_COMPILER_LAUNCHER=
sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$folder/compile_commands.json" | sed -E 's/\\"/"/g; s/\\\\/\\/g; s/ -o [^ ]+/ -fsyntax-only/' |
  grep -v catch_main >"$folder/commands.txt"
xargs -d '\n' -P "$(nproc)" -n 1 bash -c <"$folder/commands.txt"
say "$("$compiler" --version | head -n 1): $(wc -l <"$folder/commands.txt") files, no warnings"
