#!/usr/bin/env bash
# structure.sh must notice each fault it is there for: a small sound tree passes, then one fault at a time is planted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sound_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree"/{calc/core,calc/read,calc/report,kernels/cpu,cli,tests}
  cd "$scratch/tree"
  printf '// A header.\n#pragma once\n#include <string>\n#include "core/b.hpp"\n' >calc/core/a.hpp
  printf '// Reads.\n#include <yaml-cpp/yaml.h>\n#include "core/a.hpp"\n' >calc/read/r.cpp
  printf '// Parses.\n#include <CLI/CLI.hpp>\n#include "cli/x.hpp"\n#include "read/r.hpp"\n' >cli/parse.cpp
  cd - >/dev/null
}
must() {  # must pass|fail NAME
  local got=pass
  bash "$here/structure.sh" "$scratch/tree" >"$scratch/log" 2>&1 || got=fail
  [ $got = "$1" ] || { echo "$2: should $1, did $got"; cat "$scratch/log"; exit 1; }
}
plant() {  # plant NAME FILE CONTENT: appends, tries, repairs
  sound_tree
  printf "$3" >>"$scratch/tree/$2"
  must fail "$1"
}

sound_tree
must pass "a sound tree"
plant "core includes fmt" calc/core/a.hpp '#include <fmt/format.h>\n'
plant "core includes read" calc/core/c.cpp '// c\n#include "read/r.hpp"\n'
plant "core prints" calc/core/c.cpp '// c\n#include <iostream>\n'
plant "core exits" calc/core/c.cpp '// c\nvoid f() { std::exit(1); }\n'
plant "read includes report" calc/read/r.cpp '#include "report/text.hpp"\n'
plant "report includes read" calc/report/t.cpp '// t\n#include "read/r.hpp"\n'
plant "report includes kernels" calc/report/t.cpp '// t\n#include "kernels/backend.hpp"\n'
plant "kernels include read" kernels/cpu/k.cpp '// k\n#include "read/r.hpp"\n'
plant "CLI11 in a second file" cli/y.cpp '// y\n#include <CLI/App.hpp>\n'
plant "yaml-cpp in a header" calc/read/r.hpp '// r\n#pragma once\n#include <yaml-cpp/yaml.h>\n'
plant "yaml-cpp in cli" cli/y.cpp '// y\n#include <yaml-cpp/yaml.h>\n'
plant "no pragma once" cli/z.hpp '// z\n'
plant "no word on what it is for" cli/z.cpp 'int z;\n'
plant "a long file" cli/z.cpp "// z\n$(printf 'x\\n%.0s' $(seq 401))"
plant "a path of one machine" cli/z.cpp '// see /ho''me/someone/file\n'
sound_tree
head -c 1000001 /dev/zero >"$scratch/tree/big.bin"
must fail "a big file"
sound_tree
printf '// z\n// long file because: a table\n%s' "$(printf 'x\n%.0s' $(seq 401))" >"$scratch/tree/cli/z.cpp"
must pass "a long file with its reason"
echo "ok"
