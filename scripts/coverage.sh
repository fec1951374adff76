#!/usr/bin/env bash
# How much of calc/ the tests reach:  scripts/coverage.sh [gcovr options, as --html-details build/coverage/index.html]
# The last lines are the figures; build/coverage/branches.txt lists each branch that was not taken.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=8.3
folder=$ROOT/build/coverage
tool=$(wheel gcovr $version)
"$ROOT/scripts/test.sh" --build "$folder" -DLLMCALC_CUDA=OFF -DLLMCALC_STRUCTURE_TESTS=OFF -DCMAKE_BUILD_TYPE=Coverage >&2
cd "$ROOT"
# Branches that only an exception of the standard library takes are not ours to test.
PYTHONPATH=$tool python3 -m gcovr --root . --filter 'calc/' --object-directory "$folder" \
  --exclude-throw-branches --exclude-unreachable-branches --merge-mode-functions=separate \
  --txt "$folder/lines.txt" --print-summary "$@" "$folder"
PYTHONPATH=$tool python3 -m gcovr --root . --filter 'calc/' --object-directory "$folder" \
  --exclude-throw-branches --exclude-unreachable-branches --merge-mode-functions=separate \
  --txt-metric branch --txt "$folder/branches.txt" "$folder"
