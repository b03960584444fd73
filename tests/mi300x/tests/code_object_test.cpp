// Code objects of clang-19 are loaded unchanged; damaged ones are refused.
#include "emulator/code_object.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "emulator/kernel_metadata.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

constexpr const char* tiny = R"(extern "C" {
__device__ int counter = 7;
__device__ int* pointer = &counter;
__device__ int table[100];
__global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void tiny(int* out, float x, const int* in) {
  __shared__ int shared[64];
  shared[__builtin_amdgcn_workitem_id_x()] = *in;
  __builtin_amdgcn_s_barrier();
  out[__builtin_amdgcn_workgroup_id_x()] = (int)x + counter + table[3] + *pointer + shared[5];
}
})";

std::shared_ptr<CodeObject> load(const std::string& file, const std::string& arch = "gfx942") {
  return std::static_pointer_cast<CodeObject>(Module::load(file, arch));
}

void expect_refused(const std::string& file, const std::string& arch, const std::string& why) {
  const Fault fault = fault_of([&] { Module::load(file, arch); });
  EXPECT_EQ(fault.kind, FaultKind::invalid_launch);
  EXPECT_THAT(fault.what(), testing::HasSubstr(why));
}

class CodeObjectTest : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_COMPILER(); }
};

TEST_F(CodeObjectTest, MetadataAndDescriptor) {
  for (const std::string arch : {"gfx942", "gfx90a"}) {
    const auto object = load(compile(tiny, arch), arch);
    const KernelInfo* info = object->kernel("tiny");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(object->kernel("huge"), nullptr);
    EXPECT_EQ(info->max_threads, 256);
    EXPECT_EQ(info->shared_bytes, 256u);
    EXPECT_EQ(info->scratch_bytes, 0u);
    EXPECT_GT(info->vector_registers, 0);
    ASSERT_GE(info->arguments.size(), 3u);
    EXPECT_EQ(info->arguments[1].offset, 8u);
    EXPECT_EQ(info->arguments[1].bytes, 4u);
    EXPECT_EQ(info->arguments[1].kind, "by_value");
    EXPECT_EQ(info->arguments[2].offset, 16u);
    EXPECT_EQ(info->arguments[2].kind, "global_buffer");

    const KernelDescriptor& descriptor = object->kernels.at("tiny").descriptor;
    EXPECT_EQ(descriptor.shared_bytes, 256u);
    EXPECT_EQ(descriptor.argument_bytes, info->argument_bytes);
    EXPECT_TRUE(descriptor.kernarg_pointer);
    EXPECT_TRUE(descriptor.group_id_x);
    EXPECT_EQ(descriptor.item_ids, 0u);
    EXPECT_GE(descriptor.user_registers, 2u);
    EXPECT_EQ(descriptor.accumulator_offset % 4, 0u);
    EXPECT_EQ(descriptor.mode & 0xFF, 0xF0u) << "nearest even, denormals kept";
  }
}

TEST_F(CodeObjectTest, VariablesLieInTheImageAndPointersAreRelocated) {
  const auto object = load(compile(tiny));
  std::size_t bytes = 0;
  const int* counter = static_cast<int*>(object->variable("counter", &bytes));
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(*counter, 7);
  EXPECT_EQ(*static_cast<int**>(object->variable("pointer", &bytes)), counter);
  const int* table = static_cast<int*>(object->variable("table", &bytes));
  EXPECT_EQ(bytes, 400u);
  EXPECT_EQ(table[99], 0);
  EXPECT_EQ(object->variable("tiny.kd", &bytes), nullptr);
  int device = 0;
  EXPECT_TRUE(MemoryMap::instance().find(counter, 4, &device));
}

TEST_F(CodeObjectTest, InstructionsFollowEachOtherAndBranchesAreLinked) {
  const auto object = load(compile(R"(extern "C" __global__ void loop(int* out, int n) {
    for (int i = 0; i < n; ++i) __builtin_nontemporal_store(i, out + 3 * i * i);
  })"));
  const u32 entry = object->kernels.at("loop").descriptor.entry;
  unsigned branches = 0;
  for (u32 i = entry; object->code[i].operation->name != "s_endpgm"; ++i) {
    const Instruction& instruction = object->code[i];
    EXPECT_EQ(instruction.address + instruction.bytes, object->code[i + 1].address);
    EXPECT_EQ(object->index_of(instruction.address), i);
    if (!instruction.operation->name.starts_with("s_cbranch_")) continue;
    ++branches;
    const i64 words = static_cast<i16>(instruction.immediate);
    EXPECT_EQ(object->code.at(instruction.branch).address,
              instruction.address + 4 + static_cast<u64>(4 * words));
  }
  EXPECT_GT(branches, 0u);
  EXPECT_THROW(object->index_of(object->code[entry].address + 1), Fault);
}

TEST_F(CodeObjectTest, LineTablesNameTheSource) {
  const auto object = load(compile("__global__ void one(int* out) {\n  *out = 1;\n}\n"));
  std::string sources;
  for (const Instruction& instruction : object->code) sources += instruction.source + ' ';
  EXPECT_THAT(sources, testing::HasSubstr("kernel.hip:2"));
}

TEST_F(CodeObjectTest, PreloadedArgumentsBeginBehindTheirPrologue) {
  const std::string path = testing::TempDir() + "/preload.hip";
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("extern \"C\" __attribute__((global)) void one(int* out, int x) { *out = x; }\n",
             file);
  std::fclose(file);
  const auto object = load(compile_file(path, "gfx942", "-mllvm -amdgpu-kernarg-preload-count=2"));
  const KernelDescriptor& descriptor = object->kernels.at("one").descriptor;
  EXPECT_EQ(descriptor.preloaded_words, 3u);
  EXPECT_EQ(descriptor.preload_offset, 0u);
  EXPECT_EQ(object->code[descriptor.entry].address - object->code[0].address, 256u);
}

TEST_F(CodeObjectTest, WhatDoesNotFitIsRefused) {
  const std::string file = compile(tiny);
  expect_refused(file, "gfx90a", "it is made for gfx942, this device is gfx90a");
  expect_refused("no object", "gfx942", "it is no ELF file");
  for (const std::size_t bytes : {std::size_t{30}, file.size() / 3, file.size() - 1}) {
    expect_refused(file.substr(0, bytes), "gfx942", "the code object does not load");
  }
  std::string host = file;
  host[18] = 62;  // x86-64
  expect_refused(host, "gfx942", "it is not for an AMD GPU");
}

TEST_F(CodeObjectTest, ADamagedProgramHeaderNeverReachesOutsideTheFile) {
  const std::string file = compile(tiny);
  constexpr std::size_t table = 64, header = 56;
  const std::size_t end = table + header * static_cast<u8>(file[56]);
  // Setting the highest byte of each field makes the largest numbers.
  for (std::size_t at = table + 7; at < end; at += 8) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0xFF);
    try {
      Module::load(changed, "gfx942");
    } catch (const Fault& fault) {
      EXPECT_NE(std::string(fault.what()), "");
    }
  }
}

TEST(Metadata, AValueOfTheWrongTypeIsNamedWithWhatItIs) {
  const auto fault = [](std::string_view metadata) {
    assay::occupancy::Elf elf;
    elf.notes.push_back({"AMDGPU", 32, assay::occupancy::Bytes(metadata)});
    return std::string(fault_of([&] { read_metadata(elf); }).what());
  };
  using testing::HasSubstr;
  // MessagePack: 0x9n is a list of n values, 0x8n a map of n pairs, 0xan a text of n bytes.
  EXPECT_THAT(
      fault("\x93\x01\x02\x03"),
      HasSubstr("the metadata (note AMDGPU 32) must be a map from names to values and is of "
                "type array"));
  EXPECT_THAT(fault("\x81\xae"
                    "amdhsa.kernels"
                    "\x07"),
              HasSubstr("amdhsa.kernels of the metadata must be a list of maps and is of type "
                        "number"));
  EXPECT_THAT(fault("\x81\xae"
                    "amdhsa.kernels"
                    "\x91\xa1k"),
              HasSubstr("an element of amdhsa.kernels of the metadata must be a map from names to "
                        "values and is of type string"));
}

TEST_F(CodeObjectTest, AMissingDisassemblerIsNamed) {
  ::setenv("MI300X_OBJDUMP", "/nowhere/llvm-objdump", 1);
  const std::string file = compile("extern \"C\" __global__ void never_seen_before() {}");
  expect_refused(file, "gfx942", "/nowhere/llvm-objdump");
  ::unsetenv("MI300X_OBJDUMP");
}

}  // namespace
}  // namespace mi300x
