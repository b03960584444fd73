#!/usr/bin/env bash
# Adds one benchmark file, one backend folder and one suite to a copy of the tree, edits no list, and
# shows that the binary has them. To be quick it links the objects of an existing build.
#   one_file_one_folder.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/tree"
cd "$source"
cp -r src suites docs cmake CMakeLists.txt "$work/tree"
cd "$work/tree"

# The benchmark is the one that HACKING.md shows.
sed -n '/^```cpp$/,/^```$/p' "$source/HACKING.md" | sed '/^```/d' >src/measure/benchmarks/fill.cpp
[ -s src/measure/benchmarks/fill.cpp ] || { echo "HACKING.md shows no benchmark"; exit 1; }
mkdir src/compute/backends/newfolder
cat >src/compute/backends/newfolder/backend.cpp <<'CPP'
#include "compute/device/backend.h"

namespace assay {
namespace {

class NewFolder final : public Backend {
 public:
  std::string_view name() const override { return "newfolder"; }
  int score() override { return 0; }
  std::string absence() override { return "one folder"; }
  std::vector<LibraryFact> libraries() override { return {}; }
  std::vector<DeviceFacts> devices() override { return {}; }
  Result<std::unique_ptr<Device>> open(int) override {
    return Error{ErrorKind::unavailable, "one folder"};
  }
};

const BackendRegistry::Add registered{
    []() -> std::unique_ptr<Backend> { return std::make_unique<NewFolder>(); }};

}  // namespace
}  // namespace assay
CPP
cat >suites/newsuite.yaml <<'YAML'
name: newsuite
description: one suite
cells:
  - benchmark: fill
    axes: {size: [4KiB, 8KiB]}
YAML

# CMake finds the new files by their location. Each is compiled alone and without the precompiled
# header, which takes longer to build than these files do.
setting() {  # NAME: of the existing build
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
compiler=$(setting CMAKE_CXX_COMPILER)
cmake -G Ninja -S . -B build -DASSAY_TESTS=OFF -DASSAY_UNITY=1 \
  -DCMAKE_BUILD_TYPE="$(setting CMAKE_BUILD_TYPE)" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >cmake.log ||
  { cat cmake.log; exit 1; }
new="CMakeFiles/assay_hot.dir/src/measure/benchmarks/fill.cpp.o
  CMakeFiles/assay_hot.dir/src/compute/backends/newfolder/backend.cpp.o
  CMakeFiles/assay_hot.dir/embedded_suites.cpp.o"
ninja -C build $new >ninja.log || { cat ninja.log; exit 1; }
inputs=$(ninja -C build -t query assay)
for object in $new; do
  [[ $inputs == *"$object"* ]] || { echo "$object is not linked"; exit 1; }
done

# The existing binary plus the new objects: all of its objects except the embedded suites.
linked=()
for object in $(ninja -C "$build" -t query assay | sed -n 's/^ *|* *\(.*\.o\)$/\1/p'); do
  [[ $object == */embedded_suites.cpp.o ]] || linked+=("$build/$object")
done
libraries=$(ninja -C "$build" -t commands assay | sed -n '$s/.* -o assay \([^&]*\) && .*/\1/p')
cd build
for object in $new; do linked+=("$object"); done
"$compiler" $(setting CMAKE_EXE_LINKER_FLAGS) "${linked[@]}" -o assay $libraries -pthread

# shows TEXT COMMAND...: the output holds the line. (A pipe to grep -q could end in SIGPIPE.)
shows() {
  local text=$1
  shift
  grep -qE "$text" <<<"$("$@")" || { echo "$* does not show $text"; exit 1; }
}
shows '^fill  *how fast the device sets memory$' ./assay list
shows '^newsuite  .*one suite$' ./assay list
shows '^newfolder absent$' ./assay devices
shows '^fill size=8KiB$' ./assay run newsuite --dry-run
shows '"status":"passed"' ./assay run newsuite --device cpu --budget 5s --telemetry off --json --out store
echo "all found"
