#!/usr/bin/env bash
# The whole suite under a sanitizer, with warnings as errors:  scripts/sanitize.sh [asan|tsan] [ctest options]
# With clang (16 or later) where there is one, so that this also is the check that clang has nothing to say, and the
# fuzzers and the coverage (scripts/coverage.sh) come out of the same build; with g++ otherwise.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

which=${1:-asan}
[ $# -eq 0 ] || shift
case $which in
  asan) sanitizers=address,undefined ;;
  tsan) sanitizers=thread ;;
  *) die 2 "asan or tsan, not $which" ;;
esac
settings=(-DCMAKE_BUILD_TYPE=Sanitize -DLLMCALC_SANITIZE=$sanitizers -DLLMCALC_CUDA=OFF -DLLMCALC_WERROR=ON
  -DLLMCALC_STRUCTURE_TESTS=OFF)
if compiler=$(need_clang); then
  settings+=(-DCMAKE_CXX_COMPILER="$compiler")
  if [ $which = asan ]; then
    settings+=(-DLLMCALC_FUZZ=ON -DLLMCALC_COVERAGE=ON)
    # Read by scripts/coverage.sh. Processes that run at once share four files.
    rm -rf "$ROOT/build/asan/profiles"
    export LLVM_PROFILE_FILE=$ROOT/build/asan/profiles/%4m.profraw
  fi
fi
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
exec "$ROOT/scripts/test.sh" --build "$ROOT/build/$which" "${settings[@]}" "$@"
