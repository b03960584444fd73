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

cat >src/measure/benchmarks/newcomer.cpp <<'CPP'
#include "measure/grid/benchmark.h"

namespace assay {
namespace {

class Newcomer final : public Benchmark {
 public:
  std::string_view name() const override { return "newcomer"; }
  std::string_view summary() const override { return "one file"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {.name = "flavour", .description = "", .defaults = {"sweet"}, .choices = {"sweet", "sour"}}};
    return axes;
  }
  std::optional<std::string> unsupported(const Cell&, const Device&) const override {
    return "only shows that it is found";
  }
  Result<std::unique_ptr<Case>> prepare(const Cell&, PrepareContext) const override {
    return Error{ErrorKind::failed, "never called"};
  }
};

const Newcomer benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay
CPP
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
  - benchmark: newcomer
    axes: {flavour: all}
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
new="CMakeFiles/assay_hot.dir/src/measure/benchmarks/newcomer.cpp.o
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
shows '^newcomer  one file$' ./assay list
shows '^newsuite  *2 .*one suite$' ./assay list
shows '^newfolder absent$' ./assay devices
shows '^newcomer flavour=sour$' ./assay run newsuite --dry-run
echo "all found"
