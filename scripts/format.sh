#!/usr/bin/env bash
# Formats all C++ with the one pinned clang-format:  scripts/format.sh [--check] [FILE...]
# --check changes nothing and fails on what is not formatted.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=18.1.8
mode=-i
if [ "${1:-}" = --check ]; then
  mode="--dry-run -Werror"
  shift
fi
tool=$(wheel clang-format $version)/clang_format/data/bin/clang-format
cd "$ROOT"
if [ $# -eq 0 ]; then
  mapfile -t files < <(find calc cli kernels tests bench -regex '.*\.\(cpp\|hpp\|cu\|cuh\)' | sort)
  set -- "${files[@]}"
fi
# shellcheck disable=SC2086  # two words for --check
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 16 "$tool" $mode
say "clang-format $version: $# files"
