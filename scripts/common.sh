# Shared by ./run, ./test and .ci/run: installs what is missing, builds. Sourced from the repository's
# root with `set -euo pipefail` on.

# What building and running needs; names are the same on Debian 12, Ubuntu 22.04 and Ubuntu 24.04. The
# compiler must be g++ 12 or newer; Ubuntu 22.04 has one beside its own, which is older.
compiler_package=g++
if grep -qs '^VERSION_ID="22.04"' /etc/os-release; then
  compiler_package=g++-12
  export CXX=${CXX:-g++-12}
fi
build_packages="$compiler_package cmake ninja-build libfmt-dev nlohmann-json3-dev libyaml-cpp-dev
  zlib1g-dev libzstd-dev libboost-dev libpcre2-dev libutf8proc-dev libsqlite3-dev
  libssl-dev rapidjson-dev libjs-vega"
# What README's first command compares with.
run_packages="bubblewrap"
# Matrix products on the CPU; the package carries oneDNN's major version in its name.
blas_packages="libdnnl2|libdnnl3"
test_packages="libgtest-dev libgmock-dev libbenchmark-dev python3-jsonschema libamdhip64-dev
  libamdhip64-5 libdnnl-dev libibverbs-dev libopenmpi-dev openmpi-bin libmpich-dev mpich
  iproute2 openssh-server openssh-client clang-19 lld-19 llvm-19"
package_packages="binutils dpkg-dev git python3 rpm xz-utils zstd"
package_test_packages="binutils bubblewrap debootstrap dpkg-dev perl-base podman python3 rpm zstd"
ci_packages="ccache git libclang-rt-19-dev clang-tidy clang-format"

fail() {
  echo "$0: $*" >&2
  exit 1
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Of "a|b|c", none of which is installed, the first that apt knows.
choose_package() {
  local name
  for name in ${1//|/ }; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  echo "${1%%|*}"
}

any_installed() {
  local name
  for name in ${1//|/ }; do
    if is_installed "$name"; then return 0; fi
  done
  return 1
}

# need PACKAGE...: installs those that are missing; touches the package manager only for them.
need() {
  command -v dpkg-query >/dev/null ||
    fail "needs Debian 12, Ubuntu 22.04 or Ubuntu 24.04; on another system install a C++20 compiler, CMake 3.22," \
         "Ninja and what build_packages in scripts/common.sh names, then:" \
         "cmake -G Ninja -S . -B build && ninja -C build"
  local wanted missing=() as_root=()
  for wanted in "$@"; do
    any_installed "$wanted" || missing+=("$wanted")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "these packages are missing, and without root or sudo they cannot be installed:" \
           "${missing[*]//|/ or }"
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]//|/ or }" >&2
  local log
  log=$(mktemp)
  if ! install_packages >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install what is missing (its last lines are above; is there a network?);" \
         "install it by hand and start again: ${missing[*]//|/ or }"
  fi
  rm -f "$log"
}

# Called by need(), which sets `missing` and `as_root`.
install_packages() {
  # Another apt-get may be at work; it is waited for.
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  local wanted names=()
  "${apt[@]}" update || return 1
  for wanted in "${missing[@]}"; do names+=("$(choose_package "$wanted")"); done
  "${apt[@]}" install --no-install-recommends "${names[@]}"
}

# apt_site: the address of the archive of Debian packages that apt here is set up for.
apt_site() {
  local site
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
  [ -n "$site" ] || fail "apt knows no archive of packages; name one in /etc/apt/sources.list"
  echo "${site%/}"
}

# download ADDRESS FILE SHA256, by apt's own means, which know this machine's proxies and certificates.
download() {
  local log
  log=$(/usr/lib/apt/apt-helper download-file "$1" "$2" "SHA256:$3" 2>&1) ||
    fail "$1 could not be downloaded to $2 with the SHA-256 $3; apt says: $(tail -n 1 <<<"$log")"
}

# build FOLDER "TARGET..." [CMAKE-OPTION...]: what it prints appears only if it fails.
build() {
  local folder=$1 targets=$2 log=$1/build.log
  shift 2
  mkdir -p "$folder"
  if ! { configure "$folder" "$@" && ninja -C "$folder" $targets; } >"$log" 2>&1; then
    grep -E -A 12 'error|Error|FAILED' "$log" | head -n 60 >&2 || true
    fail "the build failed; all of it: $log"
  fi
}

# Later builds keep the options of the first unless new ones are given; ninja notices new files.
configure() {
  local folder=$1
  shift
  if [ $# -gt 0 ] || [ ! -f "$folder/build.ninja" ]; then cmake -G Ninja -S . -B "$folder" "$@"; fi
}

# run_tests FOLDER [PATTERN]: the tests of a build, those whose name matches PATTERN. The last line counts
# them; status 1 if one failed. Twice as many at once as there are cores: many wait.
run_tests() {
  local folder=$1 report=$1/tests.xml status=0
  rm -f "$report"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --output-junit tests.xml \
    -j "$(($(nproc) * 2))" ${2:+-R "$2"} >"$folder/tests.log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    grep -vE '^ *[0-9]+/[0-9]+ .*(Passed|Skipped)|^ +Start |\(Skipped\)$' "$folder/tests.log" | head -n 300 >&2 || true
  fi
  [ -s "$report" ] || fail "the tests did not run; see $folder/tests.log"
  local all failed skipped
  all=$(attribute tests) failed=$(attribute failures) skipped=$(attribute skipped)
  if [ "$skipped" -gt 0 ]; then  # in the tests' own words, each reason once
    echo "skipped:"
    sed -n '/^.*: Skipped$/{n;p;}' "$report" | sort | uniq -c
  fi
  echo "$((all - failed - skipped)) passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
  [ "$status" -eq 0 ]
}

# attribute NAME: of the junit report's first testsuite.
attribute() {
  sed -n "s/.* $1=\"\([0-9]*\)\".*/\1/p;/^<testsuite/,/>/s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$report" |
    head -n 1
}
