#!/usr/bin/env bash
# Runs llmcalc, from a fresh machine on: scripts/run.sh estimate llama-3-8b h100-sxm
# Installs what is missing (says what first), builds a release once into build/release, rebuilds after a change.
# stdout is llmcalc's alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$ROOT/build/release
if ! build_is_fresh "$folder" llmcalc; then
  # shellcheck disable=SC2086
  need_packages $PACKAGES_BUILD
  build "$folder" llmcalc ''
fi
exec "$folder/llmcalc" "$@"
