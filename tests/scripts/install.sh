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

complain() { echo "$*"; exit 1; }

version=$(sed -nE 's/^CMAKE_PROJECT_VERSION:STATIC=(.*)/\1/p' "$build/CMakeCache.txt")

echo "the changelog begins with the version there is"
same "$(sed -nE 's/^## \[([^]]+)\].*/\1/p' "$here/../CHANGELOG.md" | head -n 1)" "$version"

# runs_anywhere PROGRAM: from an empty folder, without the environment, it answers as the build's does.
mkdir "$scratch/empty"
runs_anywhere() {
  local shown
  shown=$(cd "$scratch/empty" && env -i "$1" --version)
  same "${shown%% (*}" "llmcalc $version"
  (cd "$scratch/empty" && env -i "$1" estimate llama-3-8b h100-sxm) >"$scratch/installed.txt"
  cmp "$scratch/installed.txt" "$scratch/built.txt" || complain "$1 estimates something else than the build's program"
}
(cd "$scratch/empty" && env -i "$build/llmcalc" estimate llama-3-8b h100-sxm) >"$scratch/built.txt"

echo "cmake --install, and what is installed runs from anywhere, even after it was moved"
quiet cmake --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/prefix"
runs_anywhere "$scratch/prefix/bin/llmcalc"

echo "a consumer project finds this version, not the next, and uses it"
consumer() { cmake -S "$here/install" -B "$scratch/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DWANTED="$1"; }
next=${version%%.*}.$(($(cut -d. -f2 <<<"$version") + 1))
if consumer "$next" >"$scratch/log" 2>&1; then complain "$version passes for $next"; fi
quiet consumer "$version"
quiet cmake --build "$scratch/consumer"
same "$("$scratch/consumer/consumer")" "llmcalc $version knows the NVIDIA H100 SXM5 80GB"

echo "manual page and completions are there and are well formed"
head -n 1 "$scratch/prefix/share/man/man1/llmcalc.1" | grep -q "^\.TH LLMCALC 1 .*llmcalc $version" || complain "no .TH line in the manual page"
if ! command -v groff >/dev/null; then
  echo "skipped: whether groff takes the manual page; there is no groff"
else
  faults=$(groff -man -Tutf8 -ww -z "$scratch/prefix/share/man/man1/llmcalc.1" 2>&1)
  [ -z "$faults" ] || complain "the manual page is not sound: $faults"
fi
completion=$scratch/prefix/share/bash-completion/completions/llmcalc
quiet bash -n "$completion"
# Completing a half-typed command must offer it.
offered=$(bash -c 'source "$1"; function=$(complete -p llmcalc | sed -E "s/.*-F ([^ ]+).*/\1/")
  COMP_WORDS=(llmcalc esti) COMP_CWORD=1 COMP_LINE="llmcalc esti" COMP_POINT=12
  $function llmcalc esti llmcalc; printf "%s\n" "${COMPREPLY[@]}"' _ "$completion")
same "${offered%% }" estimate

if ! command -v dpkg-deb >/dev/null; then
  echo "skipped: the .deb; there is no dpkg-deb"
else
  echo "the .deb holds the program, which runs from anywhere"
  quiet cpack --config "$build/CPackConfig.cmake" -B "$scratch/package"
  package=$(find "$scratch/package" -maxdepth 1 -name '*.deb')
  same "$(dpkg-deb -f "$package" Version)" "$version"
  dpkg-deb -f "$package" Depends | grep -q libc6 || complain "the package does not depend on libc6"
  quiet dpkg-deb -x "$package" "$scratch/root"
  held=$(cd "$scratch/root" && find . -type f | sort | tr '\n' ' ')
  same "$held" "./usr/bin/llmcalc ./usr/share/bash-completion/completions/llmcalc ./usr/share/doc/llmcalc/CHANGELOG.md \
./usr/share/doc/llmcalc/copyright ./usr/share/fish/vendor_completions.d/llmcalc.fish ./usr/share/man/man1/llmcalc.1 \
./usr/share/zsh/vendor-completions/_llmcalc "
  runs_anywhere "$scratch/root/usr/bin/llmcalc"
  if ldd "$scratch/root/usr/bin/llmcalc" | grep -E 'openblas|cublas|libcuda|yaml|fmt'; then
    complain "the program must not need these at start"
  fi
fi
echo ok
