#!/usr/bin/env bash
# Runs each libFuzzer target for MINUTES, all side by side:  scripts/fuzz.sh MINUTES [TARGET...]
# What is found is a fault of a whole kind: mend that, and put the input into tests/fuzz/corpus/TARGET, which the tests replay.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] || die 2 "for how many minutes? scripts/fuzz.sh MINUTES [TARGET...]"
seconds=$(($1 * 60))
shift
cd "$ROOT"
if [ $# -eq 0 ]; then
  mapfile -t targets < <(cd tests/fuzz && ls -- *.cpp | grep -v '^replay' | sed 's/\.cpp$//')
  set -- "${targets[@]}"
fi

compiler=$(need_clang)
# shellcheck disable=SC2086
need_packages $PACKAGES_BUILD $PACKAGES_TESTS
folder=$ROOT/build/asan  # the build of scripts/sanitize.sh, with the same settings; only the fuzzers are made here
mkdir -p "$folder"
say "llmcalc: building the fuzzers in build/asan ..."
{ cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Sanitize -DLLMCALC_FUZZ=ON \
    -DLLMCALC_TESTS=ON -DLLMCALC_SANITIZE=address,undefined -DLLMCALC_CUDA=OFF -DLLMCALC_WERROR=ON \
    -DLLMCALC_STRUCTURE_TESTS=OFF -DLLMCALC_COVERAGE=ON && cmake --build "$folder" --target "${@/#/fuzz_}"; } >"$folder/fuzz.log" 2>&1 ||
  { tail -n 40 "$folder/fuzz.log" >&2; exit 1; }

# New inputs are kept under build/fuzz, so that the next run goes on from there. 20 s (the targets share the cores) and
# 512 MB are what one input may take under the sanitizers.
export folder seconds LLVM_PROFILE_FILE=/dev/null  # the suite is what is counted
printf '%s\n' "$@" | xargs -P "$#" -I{} bash -c '
  mkdir -p "build/fuzz/{}"
  "$folder/tests/fuzz/fuzz_{}" "build/fuzz/{}" tests/fuzz/corpus/{} -max_total_time=$seconds -timeout=20 \
    -rss_limit_mb=512 -max_len=65536 -artifact_prefix="build/fuzz/found-{}-" >"build/fuzz/{}.log" 2>&1 ||
    { tail -n 40 "build/fuzz/{}.log"; echo "{}: FOUND, see build/fuzz/found-{}-*"; exit 255; }
  echo "{}: $(grep -E "^Done" "build/fuzz/{}.log")"'
