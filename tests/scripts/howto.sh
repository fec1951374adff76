#!/usr/bin/env bash
# Does what CONTRIBUTING.md says under "How to add things", in a copy of the repository, and sees the new things work:
#   howto.sh BUILD    (a folder Ninja built the program in; 77: skipped, with the reason)
# Each step may touch as many files as its heading says, and only files its text names. Nothing is configured again:
# the objects that a step changes are compiled by the build's own commands and linked in front of its libraries.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$(cd "$1" && pwd -P)
[ -e "$build/build.ninja" ] && command -v ninja >/dev/null || { echo "skipped: only a build by Ninja tells its commands"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*"; exit 1; }

new=$scratch/new before=$scratch/before
mkdir "$new"
(cd "$root" && cp -r CONTRIBUTING.md calc cli cmake docs hardware profiles tests "$new")
cp -r "$new" "$before"
cd "$new"

# done_with HEADING: counts what the step touched since the last one, and holds it against CONTRIBUTING.md.
done_with() {
  local text allowed touched file word named names
  text=$(awk -v start="### $1" 'index($0, start) == 1 { on = 1; print; next } /^##/ { on = 0 } on' CONTRIBUTING.md)
  allowed=$(sed -nE '1s/.*\(([0-9]+) files?\)$/\1/p' <<<"$text")
  [ -n "$allowed" ] || fail "CONTRIBUTING.md has no heading '### $1 (N files)'"
  mapfile -t touched < <(diff -rqN "$before" "$new" | sed -E 's|^Files .* and '"$new"'/(.*) differ$|\1|')
  mapfile -t names < <(grep -o '`[^`]*`' <<<"$text" | tr -d '`' | sed -E 's/\b(ID|NAME)\b|_NAME/*/')
  for file in "${touched[@]}"; do
    named=no
    for word in "${names[@]}"; do
      # shellcheck disable=SC2053  # a pattern
      if [[ $file == $word ]] || [[ $word == */ && $file == $word* ]]; then named=yes; fi
    done
    [ $named = yes ] || fail "$1: touches $file, which CONTRIBUTING.md does not name"
  done
  printf '%-34s %d of %d files: %s\n' "$1" ${#touched[@]} "$allowed" "${touched[*]}"
  [ ${#touched[@]} -le "$allowed" ] || fail "$1: touches more files than its heading says"
  rm -rf "$before"
  cp -r "$new" "$before"
}

# after_last PATTERN FILE TEXT: TEXT becomes a line after the last one that matches.
after_last() {
  local line
  line=$(grep -n "$1" "$2" | tail -n 1 | cut -d: -f1)
  [ -n "$line" ] || fail "$2 has no line like $1"
  awk -v at="$line" -v text="$3" '{ print } NR == at { print text }' "$2" >"$2.new" && mv "$2.new" "$2"
}

# The build's command for SOURCE, with sources and headers of the copy, making OBJECT.
commands=$(ninja -C "$build" -t commands llmcalc)
compile_like() {  # compile_like SOURCE_OF_THE_BUILD SOURCE OBJECT
  local command
  command=$(grep -F -- " -c $1" <<<"$commands" | head -n 1) || fail "the build does not compile $1"
  command=${command//"-I$root/calc"/"-I$new/calc"}
  command=${command//"-I$root "/"-I$new "}
  command=$(sed -E "s| -MD | |; s| -MT [^ ]+||; s| -MF [^ ]+||; s| -o [^ ]+| -o $3|; s| -c .*| -c $2|" <<<"$command")
  (cd "$build" && bash -c "$command") || fail "does not compile: $2"
}
compiled=()
compile() {  # compile FILE [FILE_IT_IS_BUILT_LIKE]
  local object=$scratch/$(tr / _ <<<"$1").o
  compile_like "$root/${2:-$1}" "$new/$1" "$object"
  compiled+=("$object")
}
json() { grep -m 1 "\"$1\":" | sed -E 's/.*: ([0-9]+).*/\1/'; }  # the number under KEY
same() { [ "$2" = "$3" ] || fail "$1: $2, expected $3"; }

sed -e 's/^name: .*/name: A new card/' -e '/^aliases:/d' hardware/t4.yaml >hardware/howto-card.yaml
"$build/llmcalc" validate hardware/howto-card.yaml >/dev/null
"$build/llmcalc" estimate gpt2 hardware/howto-card.yaml | grep -q 'on A new card' || fail "the device by its path"
done_with "Add a device"

# By hand: embedding and head 32 x 8; a layer q, o 8 x 8, k, v 8 x 4, MLP 3 x 8 x 16, norms 2 x 8; the last norm 8.
parameters=$((2 * 32 * 8 + 2 * (2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16 + 2 * 8) + 8))
cat >profiles/howto-llama.yaml <<'YAML'
schema: llmcalc.model/1
name: How-to Llama
architecture: llama
vocab_size: 32
hidden_size: 8
num_hidden_layers: 2
num_attention_heads: 2
num_key_value_heads: 1
intermediate_size: 16
max_position_embeddings: 64
tie_word_embeddings: false
source: made up
YAML
"$build/llmcalc" validate profiles/howto-llama.yaml >/dev/null
same "parameters by path" "$("$build/llmcalc" params profiles/howto-llama.yaml --format json | json total)" $parameters
printf 'howto-llama\t%d\t%d\t%d\t256\t0\t256\tfalse\t2x592\n' $parameters $parameters $((parameters - 256)) >>tests/reference/parameters.tsv
done_with "Add a model of a known family"

after_last '^OptimizerCost none(' calc/core/optimizer.cpp \
  'OptimizerCost howto(const Dims& shape, DType dtype, Role) { return times({3, 1, 0, 0, 0, 5, 4, 9, 6}, shape, dtype); }'
after_last '^      {"rprop", ' calc/core/optimizer.cpp '      {"howto-three", "three states", howto},'
printf 'llama-tiny\tfp32\thowto-three\t1568448\t18821376\t120\n' >>tests/reference/optimizer_states.tsv
done_with "Add an optimizer"
compile calc/core/optimizer.cpp

after_last '"float32 throughout' calc/core/precision.cpp '      {"howto-fp16", "float16 throughout", f16, f16, {}, {}, f16},'
done_with "Add a precision recipe"
compile calc/core/precision.cpp

after_last '^Tensor relu(' calc/core/ops/elementwise.hpp 'Tensor howto_square(Trace& t, const Tensor& x);'
after_last '^Tensor relu(' calc/core/ops/elementwise.cpp \
  'Tensor howto_square(Trace& t, const Tensor& x) { return unary(t, Op::mul, one_kernel_back, x, true, false); }'
sed -i 's/{silu, gelu}) {/{silu, gelu, howto_square}) {/' tests/trace_keeps.cpp
done_with "Add an operation"
cat >"$scratch/operation.cpp" <<'CPP'
#include <cstdio>
#include "core/ops/elementwise.hpp"
int main() {
  using namespace llmcalc;
  Trace t({}, {{{4, 8}, DType::float32, true}});
  const Tensor x = mul(t, t.parameter(0), 1.0), y = howto_square(t, x);
  std::printf("%lld\n", static_cast<long long>(t.kept().size() == 1 ? t.kept()[0].storage.value() : -1));
}
CPP
compile calc/core/ops/elementwise.cpp
compile_like "$root/calc/core/optimizer.cpp" "$scratch/operation.cpp" "$scratch/operation.o"
compiler=$(sed -nE 's/^CMAKE_CXX_COMPILER:[A-Z]+=//p' "$build/CMakeCache.txt")
flags=$(sed -nE 's/^LLMCALC_SANITIZE:[A-Z]+=(.+)/-fsanitize=\1/p' "$build/CMakeCache.txt")
# shellcheck disable=SC2086  # none, or one flag
"$compiler" $flags "$scratch/operation.o" "${compiled[-1]}" "$build/libllmcalc_core.a" -o "$scratch/operation"
same "bytes kept by the operation" "$("$scratch/operation")" $((4 * 8 * 4))

cat >cli/command_howto.cpp <<'CPP'
// `llmcalc howto`: says that it is there.
#include "cli/all_commands.hpp"

namespace llmcalc::cli {

Command howto_command() {
  Command command;
  command.name = "howto";
  command.summary = "says that it is there";
  command.examples = {"llmcalc howto"};
  command.run = [](const Arguments&, Output& output) {
    output.out = "here\n";
    return Exit::done;
  };
  return command;
}

}  // namespace llmcalc::cli
CPP
after_last '^Command help_command' cli/all_commands.hpp 'Command howto_command();'
after_last '{"help", help_command}' cli/commands.cpp '    {"howto", howto_command},'
compile cli/command_howto.cpp cli/command_list.cpp
compile cli/commands.cpp

# Everything so far in one program: the table of built-in profiles as the build makes it, and its link with the new
# objects first; of the build's own objects, the one that a new one replaces is left out.
cmake "-DKINDS=models;profiles;devices;hardware" -DSOURCE="$new" -DOUTPUT="$new/builtin.cpp" -P cmake/embed.cmake
compile_like "$build/generated/builtin.cpp" "$new/builtin.cpp" "$scratch/builtin.o"
rm builtin.cpp
link=$(grep -E -- ' -o llmcalc( |$)' <<<"$commands" | tail -n 1)
link=${link// CMakeFiles\/llmcalc.dir\/cli\/commands.cpp.o/ ${compiled[*]} $scratch/builtin.o}
link=${link// -o llmcalc / -o $scratch/llmcalc }
(cd "$build" && bash -c "$link") || fail "the program with all of it does not link"
"$scratch/llmcalc" man --format markdown >docs/reference/commands.md
done_with "Add a command"

program=$scratch/llmcalc
same "the new command" "$("$program" howto)" here
"$program" --help | grep -q '^  howto ' || fail "the new command is not in --help"
"$program" completions bash | grep -q '^    howto) words=' || fail "the new command is not in the completions"
"$program" list devices | grep -q '^howto-card ' || fail "the new device is not listed"
"$program" list models | grep -q '^howto-llama ' || fail "the new model is not listed"
"$program" list optimizers | grep -q '^howto-three ' || fail "the new optimizer is not listed"
"$program" list precisions | grep -q '^howto-fp16 ' || fail "the new recipe is not listed"
job=("$program" estimate howto-llama howto-card --seq 16 --optimizer howto-three --format json)
same "three float32 states" "$("${job[@]}" --precision fp32 | json optimizer_states)" $((3 * 4 * parameters))
same "float16 weights" "$("${job[@]}" --precision howto-fp16 | sed -n '/"memory"/,$p' | json parameters)" $((2 * parameters))
echo ok
