#!/usr/bin/env bash
# Builds everything with the tests and runs them, from a fresh machine on. The last line is ctest's summary.
#   scripts/test.sh [--build FOLDER] [-DNAME=VALUE...] [ctest options, as -R estimate]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$ROOT/build/release
settings=(-DLLMCALC_TESTS=ON)
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --build)
      [ $# -gt 1 ] || die 2 "--build needs a folder"
      mkdir -p "$2"
      folder=$(cd "$2" && pwd -P)
      shift
      ;;
    -D?*) settings+=("$1") ;;
    *) options+=("$1") ;;
  esac
  shift
done

# shellcheck disable=SC2086
need_packages $PACKAGES_BUILD $PACKAGES_TESTS
build "$folder" all '' "${settings[@]}"

cd "$folder"
result=0
ctest --output-on-failure -j "$(nproc)" "${options[@]}" 2>&1 </dev/null | tee ctest.log || result=$?
# ctest adds times and labels after its summary; say it once more, so that it stands last.
summary=$(grep -E 'tests passed|No tests were found' ctest.log | tail -n 1) || summary="error: ctest gave no summary"
case $summary in *"tests passed"*) ;; *) result=1 ;; esac
printf '%s\n' "$summary"
exit "$result"
