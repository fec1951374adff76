#!/usr/bin/env bash
# The whole suite under a sanitizer:  scripts/sanitize.sh [asan|tsan] [ctest options]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

which=${1:-asan}
[ $# -eq 0 ] || shift
case $which in
  asan) sanitizers=address,undefined ;;
  tsan) sanitizers=thread ;;
  *) die 2 "asan or tsan, not $which" ;;
esac
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
exec "$ROOT/scripts/test.sh" --build "$ROOT/build/$which" -DCMAKE_BUILD_TYPE=Sanitize -DLLMCALC_SANITIZE=$sanitizers \
  -DLLMCALC_CUDA=OFF -DLLMCALC_STRUCTURE_TESTS=OFF "$@"
