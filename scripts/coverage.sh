#!/usr/bin/env bash
# How much of calc/ the tests reach:  scripts/coverage.sh [--report]
# Builds without CUDA for coverage and runs the suite (--report: takes the last run), then prints the figures;
# build/coverage/branches.txt has each file's, with the lines of the branches not taken.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=8.3
folder=$ROOT/build/coverage
if [ "${1:-}" != --report ]; then
  "$ROOT/scripts/test.sh" --build "$folder" -DCMAKE_BUILD_TYPE=Coverage -DLLMCALC_CUDA=OFF -DLLMCALC_STRUCTURE_TESTS=OFF >&2
fi
tool=$(wheel gcovr $version)
cd "$ROOT"
# Branches that only an exception takes (of the standard library, mostly) are not ours to test one by one.
PYTHONPATH=$tool python3 -m gcovr --root . --filter 'calc/' --exclude-throw-branches --exclude-unreachable-branches \
  --merge-mode-functions=separate --txt-metric branch --txt "$folder/branches.txt" --print-summary "$folder"
