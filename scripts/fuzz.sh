#!/usr/bin/env bash
# Runs each libFuzzer target for MINUTES:  scripts/fuzz.sh MINUTES [TARGET...]
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
need_packages $PACKAGES_BUILD
folder=$ROOT/build/fuzz
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  "$compiler" -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null 2>/dev/null; then
  need_packages "libclang-rt-$("$compiler" -dumpversion | cut -d. -f1)-dev"
fi
# CMake builds libraries and fuzzers only: the program and the tests are other stages' business.
cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Sanitize -DLLMCALC_FUZZ=ON \
  -DLLMCALC_SANITIZE=address,undefined -DLLMCALC_CUDA=OFF >"$ROOT/build/fuzz.log"
say "llmcalc: building the fuzzers in build/fuzz ..."
cmake --build "$folder" --target "${@/#/fuzz_}" >>"$ROOT/build/fuzz.log" || { tail -n 40 "$ROOT/build/fuzz.log" >&2; exit 1; }

# New inputs are kept under build/fuzz/corpus, so that the next run goes on from there. 5 s and 512 MB are what one
# input may take under the sanitizers.
export folder seconds
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c '
  mkdir -p "$folder/corpus/{}"
  "$folder/tests/fuzz/fuzz_{}" "$folder/corpus/{}" tests/fuzz/corpus/{} -max_total_time=$seconds -timeout=5 \
    -rss_limit_mb=512 -max_len=65536 -artifact_prefix="$folder/found-{}-" >"$folder/{}.log" 2>&1 ||
    { tail -n 40 "$folder/{}.log"; echo "{}: FOUND, see $folder/found-{}-*"; exit 255; }
  echo "{}: $(grep -E "^Done" "$folder/{}.log")"'
