#!/usr/bin/env bash
# Writes what llmcalc prints now into the documents and golden files that show its output, for `git diff` to judge.
#   scripts/approve.sh [FILE.md...]      all of README.md, CONTRIBUTING.md, docs/ and tests/golden/ without arguments
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$ROOT/scripts/run.sh" --version >/dev/null
if [ $# -eq 0 ]; then
  cd "$ROOT"
  mapfile -t files < <(find README.md CONTRIBUTING.md docs tests/golden -name '*.md' 2>/dev/null | sort)
  set -- "${files[@]}"
fi
exec bash "$ROOT/tests/scripts/console.sh" approve "$ROOT/build/release" "$@"
