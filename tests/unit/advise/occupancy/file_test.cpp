// Containers and texts of GPU code made by hand: bundles, fat binaries, MessagePack, PTX, ptxas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

#include "advise/occupancy/amd_object.h"
#include "advise/occupancy/bundle.h"
#include "advise/occupancy/decompress.h"
#include "advise/occupancy/image.h"
#include "advise/occupancy/nvidia_fatbin.h"
#include "advise/occupancy/ptx.h"
#include "advise/occupancy/tool.h"
#include "machine/code_object/msgpack.h"

namespace assay::occupancy {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::string plain_bundle() {
  const std::string host = "host-x86_64-unknown-linux-gnu-",
                    gpu = "hipv4-amdgcn-amd-amdhsa--gfx942";
  const u64 data = 24 + 8 + 2 * 24 + host.size() + gpu.size();
  return "__CLANG_OFFLOAD_BUNDLE__" + bytes_of<u64>(2) + bytes_of<u64>(data) + bytes_of<u64>(0) +
         bytes_of<u64>(host.size()) + host + bytes_of<u64>(data) + bytes_of<u64>(4) +
         bytes_of<u64>(gpu.size()) + gpu + "code";
}

std::string zlib(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::string packed(size, '\0');
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
  packed.resize(size);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(::ZSTD_compressBound(text.size()), '\0');
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

TEST(OccupancyBundle, PlainEntriesAndItsSize) {
  const std::string file = plain_bundle();
  ASSERT_TRUE(is_bundle(Bytes(file)));
  const auto bundle = read_bundle(Bytes(file + "what follows"));
  ASSERT_TRUE(bundle) << bundle.error().message;
  ASSERT_THAT(bundle->entries, SizeIs(1));  // without the host's empty one
  EXPECT_EQ(bundle->entries[0].target, "hipv4-amdgcn-amd-amdhsa--gfx942");
  EXPECT_EQ(bundle->entries[0].code, "code");
  EXPECT_EQ(bundle->bytes, file.size());
}

TEST(OccupancyBundle, EntriesThatClaimTheSameBytesAreRefused) {
  std::string file = "__CLANG_OFFLOAD_BUNDLE__" + bytes_of<u64>(1000);
  for (int i = 0; i < 1000; ++i) file += bytes_of<u64>(0) + bytes_of<u64>(20000) + bytes_of<u64>(0);
  const auto bundle = read_bundle(Bytes(file));
  ASSERT_FALSE(bundle);
  EXPECT_THAT(bundle.error().message, HasSubstr("overlap"));
}

std::string compressed_bundle(u16 version, u16 method) {
  const std::string plain = plain_bundle(), packed = method == 0 ? zlib(plain) : zstd(plain);
  const std::string head = "CCOB" + bytes_of(version) + bytes_of(method);
  const std::string hash(8, '#');
  const auto size = static_cast<u32>(plain.size());
  switch (version) {
    case 1:
      return head + bytes_of<u32>(size) + hash + packed;
    case 2:
      return head + bytes_of<u32>(static_cast<u32>(24 + packed.size())) + bytes_of<u32>(size) +
             hash + packed;
    default:
      return head + bytes_of<u64>(32 + packed.size()) + bytes_of<u64>(size) + hash + packed;
  }
}

TEST(OccupancyBundle, CompressedInAllVersionsAndMethods) {
  for (const u16 version : {u16{1}, u16{2}, u16{3}}) {
    for (const u16 method : {u16{0}, u16{1}}) {
      const auto bundle = read_bundle(Bytes(compressed_bundle(version, method)));
      ASSERT_TRUE(bundle) << version << ' ' << method << ": " << bundle.error().message;
      ASSERT_THAT(bundle->entries, SizeIs(1));
      EXPECT_EQ(bundle->entries[0].code, "code");
    }
  }
}

TEST(OccupancyBundle, UnknownVersionsAndMethodsAreNamed) {
  EXPECT_THAT(read_bundle(Bytes(compressed_bundle(4, 1))).error().message, HasSubstr("version 4"));
  std::string file = compressed_bundle(3, 1);
  file[6] = 7;
  EXPECT_THAT(read_bundle(Bytes(file)).error().message, HasSubstr("method 7"));
}

TEST(OccupancyBundle, WrongSizesAreRefused) {
  std::string grown = compressed_bundle(3, 1), shrunk = compressed_bundle(3, 0);
  grown[16] = static_cast<char>(grown[16] + 1);
  shrunk[16] = static_cast<char>(shrunk[16] - 1);
  EXPECT_FALSE(read_bundle(Bytes(grown)));
  EXPECT_FALSE(read_bundle(Bytes(shrunk)));
}

TEST(OccupancyDecompress, ClaimsBeyondTheLimitCostNothing) {
  EXPECT_THAT(decompress_zstd(Bytes(zstd("x")), u64{1} << 62).error().message,
              HasSubstr("at most 268435456"));
  EXPECT_FALSE(decompress_zlib(Bytes(zlib("x")), most_decompressed_bytes));
}

TEST(OccupancyDecompress, AllPartsOfAFileShareOneLimit) {
  const std::string half(most_decompressed_bytes / 2, 'x'), packed = zstd(half);
  {
    const DecompressionBudget budget;
    EXPECT_TRUE(decompress_zstd(Bytes(packed), half.size()));
    EXPECT_TRUE(decompress_zstd(Bytes(packed), half.size()));
    const auto more = decompress_zstd(Bytes(zstd("x")), 1);
    ASSERT_FALSE(more);
    EXPECT_THAT(more.error().message, HasSubstr("in total"));
  }
  const DecompressionBudget another_file;
  EXPECT_TRUE(decompress_zstd(Bytes(zstd("x")), 1));
}

TEST(OccupancyDecompress, Lz4LiteralsMatchesAndLongLengths) {
  // 3 literals, then a match of 4 + 15 + 1 bytes at distance 3, then 1 literal.
  const std::string packed = std::string("\x3f") + "abc" + std::string("\x03\x00\x01", 3) + "\x10z";
  const auto text = decompress_lz4(Bytes(packed), 24);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "abcabcabcabcabcabcabcabz");
  EXPECT_FALSE(decompress_lz4(Bytes(packed), 23));
  EXPECT_FALSE(decompress_lz4(Bytes(packed), 25));
  const std::string before_the_beginning = std::string("\x10") + "a" + std::string("\x02\x00", 2);
  EXPECT_FALSE(decompress_lz4(Bytes(before_the_beginning), 5));
}

TEST(OccupancyMsgpack, DepthIsBounded) {
  EXPECT_TRUE(read_msgpack(Bytes(std::string(20, '\x91') + '\x01')));
  const auto deep = read_msgpack(Bytes(std::string(1'000'000, '\x91') + '\x01'));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("nested too deep"));
}

TEST(OccupancyMsgpack, EveryKindOfValueIsWalkedOver) {
  Json json = {{"text", "abc"},
               {"long", std::string(40, 'x')},
               {"number", -5},
               {"big", u64{1} << 40},
               {"half", 0.5},
               {"list", {1, 2, 3, nullptr, true}},
               {"blob", Json::binary({1, 2, 3})}};
  for (int i = 0; i < 40; ++i) json["list"].push_back(i * 1000);
  const auto packed = Json::to_msgpack(json);
  const std::string bytes(packed.begin(), packed.end());
  const auto read = read_msgpack(Bytes(bytes));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, json);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(read_msgpack(Bytes(std::string_view(bytes).substr(0, cut)))) << cut;
  }
}

TEST(OccupancyMetadata, MissingAndWrongFieldsAreNamed) {
  Json kernel = {{".name", "k"},
                 {".vgpr_count", 132},
                 {".agpr_count", 32},
                 {".sgpr_count", 20},
                 {".group_segment_fixed_size", 4096},
                 {".private_segment_fixed_size", 16},
                 {".max_flat_workgroup_size", 512},
                 {".uses_dynamic_stack", true}};
  const auto use = kernel_of_metadata(kernel);
  ASSERT_TRUE(use) << use.error().message;
  EXPECT_EQ(use->vgprs, 132u);
  EXPECT_EQ(use->agprs, 32u);
  EXPECT_EQ(use->scratch_bytes, 16u);
  EXPECT_TRUE(use->dynamic_stack);
  kernel[".vgpr_count"] = "many";
  EXPECT_THAT(kernel_of_metadata(kernel).error().message, HasSubstr(".vgpr_count"));
  kernel[".vgpr_count"] = u64{1} << 40;
  EXPECT_THAT(kernel_of_metadata(kernel).error().message, HasSubstr("1099511627776"));
  kernel.erase(".vgpr_count");
  EXPECT_THAT(kernel_of_metadata(kernel).error().message, HasSubstr("no .vgpr_count"));
}

constexpr const char* ptx = R"(.version 8.5
.target sm_90a, debug
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.shared .align 8 .b64 everywhere[2];
.visible .entry first(
	.param .u64 first_param_0
)
.maxntid 256, 2, 1
.minnctapersm 2
{
	.shared .align 4 .b8 mine[4000];
	.shared .f32 one;
	st.shared.f32 	[%r4], %f1;
}
.func helper()
{
	.shared .f32 of_a_function;
}
.entry second()
.reqntid 64
{
}
)";

TEST(OccupancyPtx, WhatItDeclares) {
  ASSERT_TRUE(is_ptx(ptx));
  const auto image = read_ptx(ptx);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->arch, "sm_90a");
  ASSERT_THAT(image->kernels, SizeIs(2));
  EXPECT_EQ(image->kernels[0].name, "first");
  EXPECT_FALSE(image->kernels[0].registers_known);
  EXPECT_EQ(image->kernels[0].max_threads, 512u);
  EXPECT_EQ(image->kernels[0].min_blocks, 2u);
  EXPECT_EQ(image->kernels[0].shared_bytes,
            4000u + 4u + 16u + 4u);  // any kernel may call the function that declares the 4
  EXPECT_EQ(image->kernels[1].name, "second");
  EXPECT_EQ(image->kernels[1].max_threads, 64u);
}

TEST(OccupancyPtx, ThePtxasReportCompletesIt) {
  auto image = read_ptx(ptx);
  const std::string report =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Function properties for second\n"
      "    400 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 400 bytes cumulative stack size\n";
  const Status partly = apply_ptxas_report(report, *image);
  ASSERT_FALSE(partly);
  EXPECT_THAT(partly.error().message, HasSubstr("first"));
  ASSERT_TRUE(
      apply_ptxas_report(report + "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
                                  "ptxas info    : Used 12 registers, used 0 barriers, 4020 bytes "
                                  "smem, 368 bytes cmem[0]\n",
                         *image));
  EXPECT_EQ(image->kernels[1].vgprs, 40u);
  EXPECT_EQ(image->kernels[1].scratch_bytes, 400u);
  EXPECT_EQ(image->kernels[1].spill_bytes, 20u);
  EXPECT_EQ(image->kernels[1].barriers, 1u);
  EXPECT_EQ(image->kernels[0].vgprs, 12u);
  EXPECT_EQ(image->kernels[0].shared_bytes, 4020u);
}

TEST(OccupancyFatbin, PtxEntriesPlainAndWithUnknownOnes) {
  const std::string text = std::string(ptx) + std::string(8 - std::strlen(ptx) % 8, '\0');
  const auto entry = [&](u16 kind) {
    return bytes_of<u16>(kind) + bytes_of<u16>(0x101) + bytes_of<u32>(64) +
           bytes_of<u64>(text.size()) + std::string(12, '\0') + bytes_of<u32>(90) +
           std::string(32, '\0') + text;
  };
  const std::string body = entry(1) + entry(9);
  const std::string file = std::string("\x50\xed\x55\xba") + bytes_of<u16>(1) + bytes_of<u16>(16) +
                           bytes_of<u64>(body.size()) + body;
  const auto images = read_images(file + std::string(24, '\0') + file);
  ASSERT_TRUE(images) << images.error().message;
  ASSERT_THAT(*images, SizeIs(2));
  EXPECT_EQ((*images)[1].kernels[0].name, "first");
  EXPECT_FALSE(read_images(file + "rubbish"));
}

TEST(OccupancyFile, ABundleWithoutMachineCodeIsRefused) {
  EXPECT_THAT(read_images(plain_bundle()).error().message,
              HasSubstr("no code for an AMD or NVIDIA"));
}

TEST(OccupancyFile, WhatIsNoGpuCodeIsSaidInOneLine) {
  for (const std::string& file : {std::string(), std::string("int main() {}"),
                                  std::string("\x7f"
                                              "ELF"),
                                  std::string("CCOB"), std::string("__CLANG_OFFLOAD_BUNDLE__"),
                                  std::string("\x50\xed\x55\xba"), std::string("BC\xc0\xde"),
                                  std::string(".amdgpu_metadata\n[[[[[[[["),
                                  std::string(".amdgpu_metadata .end_amdgpu_metadata"),
                                  std::string(".version 8.0\n.target sm_90\n.address_size 64\n")}) {
    const auto images = read_images(file);
    ASSERT_FALSE(images) << file;
    EXPECT_EQ(images.error().kind, ErrorKind::usage);
    EXPECT_FALSE(images.error().message.empty());
    EXPECT_EQ(images.error().message.find('\n'), std::string::npos) << images.error().message;
  }
}

TEST(OccupancyTool, OutputMessagesAndInputArrive) {
  const auto output =
      run_tool("/bin/sh", {"-c", "cat /dev/stdin; echo problem >&2"}, "what it reads\n");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->text, "what it reads\n");
  EXPECT_EQ(output->messages, "problem\n");
}

TEST(OccupancyTool, EndingsAreDescribed) {
  EXPECT_THAT(run_tool("/bin/sh", {"-c", "echo why >&2; exit 3"}, "").error().message,
              HasSubstr("/bin/sh ended with status 3: why"));
  EXPECT_THAT(run_tool("/bin/sh", {"-c", "kill -9 $$"}, "").error().message,
              HasSubstr("crashed with signal 9"));
  EXPECT_THAT(run_tool("/bin/sleep", {"30"}, "", 0.1).error().message,
              HasSubstr("did not finish within 0.1 s"));
  EXPECT_THAT(run_tool("/nonexistent/tool", {}, "").error().message, HasSubstr("cannot start"));
}

TEST(OccupancyTool, WhatIsMissingNamesPlacesAndAdvice) {
  const auto tool =
      find_tool({"no-such-tool", {"/opt/nowhere*/bin/no-such-tool"}, "install it", {}});
  ASSERT_FALSE(tool);
  EXPECT_EQ(tool.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(tool.error().message,
            "no-such-tool was not found: looked for /opt/nowhere*/bin/no-such-tool and on PATH; "
            "install it");
}

}  // namespace
}  // namespace assay::occupancy
