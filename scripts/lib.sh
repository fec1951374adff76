# Shared by the scripts: what is needed from the distribution, and a build that is as quiet as it is quick. Sourced.
# Everything here speaks on stderr, so that a caller's stdout holds results only.

set -euo pipefail
# Scripts are called from anywhere; they work in the repository.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Package names are the same on Debian 12 and 13 and on Ubuntu 22.04 and 24.04 (there from "universe").
PACKAGES_BUILD="g++ cmake ninja-build libcli11-dev libyaml-cpp-dev nlohmann-json3-dev"
PACKAGES_TESTS="catch2"

EXIT_UNAVAILABLE=4  # the code llmcalc itself gives for "backend, driver or helper program not available"

say() { printf '%s\n' "$*" >&2; }

die() {  # die CODE MESSAGE...
  local code=$1
  shift
  say "error: $*"
  exit "$code"
}

# Which of the packages named are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
  done
}

# need_packages PACKAGE...: installs those that are missing, after saying which. Does nothing when all are there.
need_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    command -v cmake >/dev/null && command -v ninja >/dev/null && return 0  # another distribution: CMake says what it misses
    die $EXIT_UNAVAILABLE "no apt-get here: install what these Debian packages hold, then run this again: $*"
  fi
  local missing as_root=()
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "llmcalc needs packages that are not here; installing from the distribution: $missing"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die $EXIT_UNAVAILABLE "installing needs root, and there is no sudo; as root: apt-get install $missing"
    # Without a terminal nobody can type a password.
    if [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
      die $EXIT_UNAVAILABLE "installing needs root, and sudo asks for a password; as root: apt-get install $missing"
    fi
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086  # a list of package names
  if ! { "${as_root[@]}" apt-get update -q &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } \
       >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die $EXIT_UNAVAILABLE "apt-get could not install: $missing (on Ubuntu they are in the 'universe' component)"
  fi
  rm -f "$log"
}

# build_is_fresh FOLDER TARGET: nothing that the build reads is newer than the last build of that target.
# A folder is newer when a file was added to it or removed from it.
build_is_fresh() {
  local stamp=$1/.built-${2//\//-} newer
  [ -e "$stamp" ] || return 1
  newer=$(cd "$ROOT" && find CMakeLists.txt calc cli kernels profiles hardware cmake ${3:-} -newer "$stamp" -print -quit 2>/dev/null)
  [ -z "$newer" ]
}

# build FOLDER TARGET SOURCES [CMAKE_ARGUMENT...]: configures where needed and builds TARGET; the output goes to
# FOLDER/build.log and is shown when something fails. SOURCES: folders read beyond the program's own ('' for none).
build() {
  local folder=$1 target=$2 sources=$3 name=${2//\//-} started=$SECONDS log
  shift 3
  [ $# -gt 0 ] || ! build_is_fresh "$folder" "$target" "$sources" || return 0
  mkdir -p "$folder"
  log=$folder/build.log
  exec 9>"$folder/.lock"
  if command -v flock >/dev/null; then flock 9; fi  # two calls at once build once
  if [ $# -eq 0 ] && build_is_fresh "$folder" "$target" "$sources"; then
    exec 9>&-
    return 0
  fi
  say "llmcalc: building $target in ${folder#"$ROOT"/} ..."
  touch "$folder/.building-$name"  # before the build: what is edited meanwhile counts as newer
  # A folder that was copied or moved with its cache would build somewhere else.
  if [ -e "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$folder/CMakeCache.txt"; then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  fi
  local arguments=(-S "$ROOT" -B "$folder" -G Ninja)
  if [ ! -e "$folder/CMakeCache.txt" ]; then
    arguments+=(-DCMAKE_BUILD_TYPE=Release)
    if command -v ccache >/dev/null; then arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache); fi
  fi
  arguments+=("$@")
  if { [ $# -gt 0 ] || [ ! -e "$folder/build.ninja" ]; } && ! cmake "${arguments[@]}" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    die 1 "configuring failed; the whole output: $log"
  fi
  if ! cmake --build "$folder" --target "$target" >>"$log" 2>&1 </dev/null; then
    grep -n -m 40 -E 'error|FAILED|warning' "$log" >&2 || tail -n 40 "$log" >&2
    die 1 "the build failed; the whole output: $log"
  fi
  mv "$folder/.building-$name" "$folder/.built-$name"
  [ "$target" != all ] || cp -p "$folder/.built-all" "$folder/.built-llmcalc"
  exec 9>&-
  say "llmcalc: built in $((SECONDS - started)) s"
}

# wheel PACKAGE VERSION: a pinned tool from the Python package index, under build/tools; prints the folder it is in.
# For contributors and CI; llmcalc itself needs no Python.
wheel() {
  local folder=$ROOT/build/tools/$1-$2
  if [ ! -e "$folder/.complete" ]; then
    command -v python3 >/dev/null || die $EXIT_UNAVAILABLE "$1 $2 comes as a Python wheel, and there is no python3"
    say "llmcalc: fetching $1 $2 into build/tools ..."
    mkdir -p "$folder"
    python3 -m pip install --quiet --disable-pip-version-check --target "$folder" "$1==$2" >&2 ||
      die $EXIT_UNAVAILABLE "pip could not fetch $1 $2"
    touch "$folder/.complete"
  fi
  printf '%s\n' "$folder"
}

# find_clang: the newest clang++ that is 16 or later.
find_clang() {
  local name version
  for name in clang++ clang++-{21..16}; do
    version=$("$name" -dumpversion 2>/dev/null | cut -d. -f1) || continue
    if [ -n "$version" ] && [ "$version" -ge 16 ]; then
      printf '%s\n' "$name"
      return 0
    fi
  done
  return 1
}

# need_clang: prints a clang++ 16 or later that links sanitizers and fuzzers; installs what is packaged of it, and says
# why not otherwise.
need_clang() {
  local compiler version
  if ! compiler=$(find_clang); then
    for version in {21..16} none; do
      [ $version != none ] || die $EXIT_UNAVAILABLE "no clang++ 16 or later here, and none is packaged"
      if apt-cache show "clang-$version" >/dev/null 2>&1; then break; fi
    done
    need_packages "clang-$version"
    compiler=$(find_clang)
  fi
  if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    "$compiler" -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null 2>/dev/null; then
    need_packages "libclang-rt-$("$compiler" -dumpversion | cut -d. -f1)-dev"  # Debian keeps the runtime apart
  fi
  printf '%s\n' "$compiler"
}
