#!/usr/bin/env bash
# Builds everything, fuzzers included, with clang and warnings as errors. Needs clang 16 or later; says so where it is not.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

compiler=$(find_clang)
build "$ROOT/build/clang" all '' -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Sanitize \
  -DLLMCALC_SANITIZE=address,undefined -DLLMCALC_CUDA=OFF -DLLMCALC_WERROR=ON -DLLMCALC_TESTS=ON -DLLMCALC_FUZZ=ON
say "$("$compiler" --version | head -n 1): no warnings"
