#!/usr/bin/env bash
# Runs each libFuzzer target for MINUTES:  scripts/fuzz.sh MINUTES [TARGET...]
# What is found is a fault of a whole kind: mend that, and put the input into tests/fuzz/corpus/TARGET, which the tests replay.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] || die 2 "for how many minutes? scripts/fuzz.sh MINUTES [TARGET...]"
seconds=$(($1 * 60))
shift
"$ROOT/scripts/clang.sh"
cd "$ROOT"
if [ $# -eq 0 ]; then
  mapfile -t targets < <(cd tests/fuzz && ls -- *.cpp | grep -v '^replay' | sed 's/\.cpp$//')
  set -- "${targets[@]}"
fi
mkdir -p build/fuzz
# Inputs that are new go to build/fuzz; 512 MiB and one second are what an input may take.
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c '
  mkdir -p build/fuzz/{}
  build/clang/tests/fuzz/fuzz_{} build/fuzz/{} tests/fuzz/corpus/{} -max_total_time='"$seconds"' -timeout=1 -rss_limit_mb=512 \
    -artifact_prefix=build/fuzz/found-{}- >build/fuzz/{}.log 2>&1 || { tail -n 30 build/fuzz/{}.log; exit 255; }
  grep -E "^(Done|stat::)|DONE" build/fuzz/{}.log | tail -n 1 | sed "s/^/{}: /"'
