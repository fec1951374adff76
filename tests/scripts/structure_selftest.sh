#!/usr/bin/env bash
# structure.sh and headers.sh must notice each fault they are there for: a small sound tree passes, then one fault at a time
# is planted:  structure_selftest.sh COMPILER
set -euo pipefail
compiler=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sound_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree"/{calc/core,calc/read,calc/report,kernels/cpu,cli,tests}
  cd "$scratch/tree"
  printf '// A header.\n#pragma once\n#include <string>\n#include "core/b.hpp"\n' >calc/core/a.hpp
  printf '// Reads.\n#include <yaml-cpp/yaml.h>\n#include "core/a.hpp"\n' >calc/read/r.cpp
  printf 'See `calc/core/a.hpp`, `core/a`, `calc/read/`, `calc/core/*.hpp`, `cli/command_NAME.cpp` and `x/y`.\n' >README.md
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
plant "a document that names a file which is not there" README.md 'See `calc/core/gone.cpp`.\n'
plant "a path of one machine" cli/z.cpp '// see /ho''me/someone/file\n'
sound_tree
head -c 1000001 /dev/zero >"$scratch/tree/big.bin"
must fail "a big file"
sound_tree
printf '// z\n// long file because: a table\n%s' "$(printf 'x\n%.0s' $(seq 401))" >"$scratch/tree/cli/z.cpp"
must pass "a long file with its reason"

headers() {  # headers pass|fail NAME, of a tree with one header and the source file that includes it
  local got=pass
  bash "$scratch/headers/tests/scripts/headers.sh" "$compiler" >"$scratch/log" 2>&1 || got=fail
  [ $got = "$1" ] || { echo "$2: should $1, did $got"; cat "$scratch/log"; exit 1; }
}
mkdir -p "$scratch/headers"/{calc/core,kernels,cli,tests/scripts}
cp "$here/headers.sh" "$scratch/headers/tests/scripts/"
cd "$scratch/headers"
printf '#pragma once\nstd::string f();\n' >calc/core/a.hpp
printf '#include <string>\n#include "core/a.hpp"\n' >calc/core/a.cpp
headers fail "a header that needs what another file includes before it"
printf '#pragma once\n#include <string>\nstd::string f();\n' >calc/core/a.hpp
headers pass "a header that compiles alone"
printf '#pragma once\nstd::string f();\n' >calc/core/a.hpp
printf '#include "core/a.hpp"\n' >calc/core/a.cpp
headers pass "a header that the build compiles first, so that it fails there"
echo "ok"
