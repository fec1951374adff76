#!/usr/bin/env bash
# Installs the build, uses it from another project, makes the .deb and runs the program out of it: install.sh BUILD COMPILER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$(cd "$1" && pwd -P)
compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
quiet() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; echo "failed: $*"; exit 1; }; }
same() { [ "$1" = "$2" ] || { echo "expected: $2"; echo "got:      $1"; exit 1; }; }

version=$(sed -nE 's/^CMAKE_PROJECT_VERSION:STATIC=(.*)/\1/p' "$build/CMakeCache.txt")

echo "cmake --install, and the installed program runs from an empty folder without the environment"
quiet cmake --install "$build" --prefix "$scratch/prefix"
mkdir "$scratch/empty"
shown=$(cd "$scratch/empty" && env -i "$scratch/prefix/bin/llmcalc" --version)
same "${shown%% (*}" "llmcalc $version"

echo "a consumer project finds and uses it"
quiet cmake -S "$here/install" -B "$scratch/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler"
quiet cmake --build "$scratch/consumer"
same "$("$scratch/consumer/consumer")" "llmcalc $version knows the NVIDIA H100 SXM5 80GB"

echo "manual page and completions are there and are well formed"
head -n 1 "$scratch/prefix/share/man/man1/llmcalc.1" | grep -q '^\.TH' || { echo "no .TH line in the manual page"; exit 1; }
completion=$scratch/prefix/share/bash-completion/completions/llmcalc
quiet bash -n "$completion"
# Completing a half-typed command must offer it.
offered=$(bash -c 'source "$1"; function=$(complete -p llmcalc | sed -E "s/.*-F ([^ ]+).*/\1/")
  COMP_WORDS=(llmcalc esti) COMP_CWORD=1 COMP_LINE="llmcalc esti" COMP_POINT=12
  $function llmcalc esti llmcalc; printf "%s\n" "${COMPREPLY[@]}"' _ "$completion")
same "${offered%% }" estimate

if command -v dpkg-deb >/dev/null; then
  echo "the .deb holds the program, which runs from anywhere"
  quiet cpack --config "$build/CPackConfig.cmake" -B "$scratch/package"
  package=$(find "$scratch/package" -maxdepth 1 -name '*.deb')
  same "$(dpkg-deb -f "$package" Version)" "$version"
  dpkg-deb -f "$package" Depends | grep -q libc6 || { echo "the package does not depend on libc6"; exit 1; }
  quiet dpkg-deb -x "$package" "$scratch/root"
  shown=$(cd / && env -i "$scratch/root/usr/bin/llmcalc" --version)
  same "${shown%% (*}" "llmcalc $version"
  if ldd "$scratch/root/usr/bin/llmcalc" | grep -E 'openblas|cublas|libcuda|yaml|fmt'; then
    echo "the program must not need these at start"
    exit 1
  fi
fi
echo ok
