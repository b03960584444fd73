#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "judge/trace/gemm_kernel.h"
#include "judge/trace/kernel_category.h"
#include "results/traces/trace_stream.h"

namespace assay {
namespace {

TEST(KernelNames, OwnKernelsHaveCategories) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"flash_backward_wgmma_128_bf16", "attention"},
      {"flash_forward_64_f16", "attention"},
      {"flash_rows_32_f32", "attention"},
      {"paged_tiles_128_bf16", "attention"},
      {"paged_attention_64_bf16", "attention"},
      {"skinny_product_bf16", "gemm"},
      {"vector_product_e4m3_bf16", "gemm"},
      {"gemm_nt_bf16", "gemm"},
      {"add_norm_bf16", "norm"},
      {"add_rms_norm_bf16", "norm"},
      {"norm_backward_f32", "norm"},
      {"rotate_heads_backward_bf16", "rope"},
      {"rotate_and_store_bf16", "kv_cache"},
      {"adamw_stochastic_bf16", "optimizer"},
      {"sum_squares_f32", "optimizer"},
      {"prepare_update", "optimizer"},
      {"peer_all_reduce_bf16", "collective"},
      {"peer_meeting", "collective"},
      {"column_stripes_bf16", "sort_scan_reduce"},
      {"record_loss", "sort_scan_reduce"},
      {"attention backward bf16 batch=1 sequence=64 heads=2/1 width=64", "attention"},
      {"conv weights bf16 nhwc n1 c1 k1 1x1 filter 1x1", "conv"},
      {"most_likely_bf16", "sort_scan_reduce"},
      {"embed_bf16", "index"},
      {"embedding_gradient_f32", "index"},
      {"take_batch", "index"},
      {"swiglu_backward_bf16", "elementwise"},
      {"add_bias_f32", "elementwise"},
      {"quantize_tensor_e4m3_bf16", "elementwise"},
      {"causal_softmax_backward_f32", "softmax"},
      {"cross_entropy_bf16", "softmax"},
      {"triad_f64", "elementwise"},
      {"gate", "other"},
  };
  for (const auto& [name, category] : names) EXPECT_EQ(kernel_category(name), category) << name;
}

TEST(KernelCategory, IsThatOfTheFunctionNotOfItsArguments) {
  EXPECT_EQ(kernel_category("void fbgemm_gpu::permute_2D_data_kernel<int>(int)"), "index");
  EXPECT_EQ(kernel_category("triton_poi_fused_addmm_flash_attention_0"), "elementwise");
  EXPECT_EQ(kernel_category("triton_red_fused_mean_rsqrt_3"), "norm");
  EXPECT_EQ(
      kernel_category("void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128>"),
      "gemm");
  EXPECT_EQ(kernel_category("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32"), "conv");
  EXPECT_EQ(kernel_category("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
            "collective");
  EXPECT_EQ(kernel_category("__amd_rocclr_copyBuffer.kd"), "copy");
  EXPECT_EQ(kernel_category("void at::native::vectorized_elementwise_kernel<4>(int)"),
            "elementwise");
  EXPECT_EQ(kernel_category("xyz"), "other");
  EXPECT_EQ(kernel_category("reduce f32"), "collective") << "assay's own names have a type";
  EXPECT_EQ(kernel_category("send_recv"), "collective");
  EXPECT_EQ(kernel_category("reduce"), "other");
  EXPECT_EQ(kernel_category("gather"), "index");
  EXPECT_EQ(kernel_category(""), "other");
}

TEST(KernelCategory, AnyBytesAreJudged) {
  EXPECT_EQ(kernel_category("\xff\xfe gemm \x80"), "gemm");
  EXPECT_EQ(kernel_category(std::string(1'000'000, '(')), "other");
}

TEST(KernelCategory, ALongNameTakesFewSteps) {
  const std::string digits(4000, '1');
  EXPECT_EQ(kernel_category(digits + "gemm"), "gemm");
  EXPECT_EQ(kernel_category(digits + "gemm_gpu"), "other");
  // Only the start of a name is looked at.
  EXPECT_EQ(kernel_category(digits + digits + "gemm"), "other");
  std::string means = "triton_red_";
  for (int i = 0; i < 900; ++i) means += "mean";
  EXPECT_EQ(kernel_category(means + "rsqrt"), "norm");
  EXPECT_EQ(kernel_category(means), "reduction");
}

TEST(KernelCategory, ProfilersMarksAreRemoved) {
  EXPECT_EQ(plain_kernel_name("copy [clone .kd]"), "copy");
  EXPECT_EQ(plain_kernel_name("copy.kd"), "copy");
}

/// Names of public traces with the category that each was given by hand.
TEST(KernelCategory, IsRightForNamesOfPublicTraces) {
  const auto file = std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/data/traces/names.tsv.gz";
  auto stream = TraceStream::open(file);
  if (!stream.ok()) GTEST_SKIP() << "no " << file << ": it is not part of the tree";
  const auto text = stream->read_all(std::size_t{16} << 20);
  ASSERT_TRUE(text.ok()) << text.error().message;
  double right = 0, total = 0;
  std::size_t names = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::array<std::string_view, 3> fields;  // category, count, microseconds
    for (std::string_view& field : fields) {
      field = line.substr(0, line.find('\t'));
      line.remove_prefix(std::min(field.size() + 1, line.size()));
    }
    const double time = parse_number(fields[2]).value_or(0);
    total += time;
    ++names;
    if (kernel_category(line) == fields[0]) right += time;
  }
  EXPECT_GE(names, 900u);
  EXPECT_GE(right / total, 0.995);
}

TEST(GemmKernel, TilesAndTypesAreReadFromNames) {
  struct Expected {
    const char *name, *library;
    unsigned m, n, k;
    const char *type, *transposes;
  };
  for (const Expected& expected : {
           Expected{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN_ISA942",
                    "Tensile", 128, 256, 32, "bf16", "TN"},
           Expected{"Cijk_Ailk_Bjlk_SB_MT64x32x16_SN", "Tensile", 64, 32, 16, "f32", "NT"},
           Expected{"Cijk_Ailk_Bljk_F8BS_BH_MT256x256x128_MI", "Tensile", 256, 256, 128, "e4m3",
                    "NN"},
           Expected{"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "nvjet", 256, 128, 64, "bf16",
                    "NN"},
           Expected{"nvjet_hsh_320x128_64x3_1x2_h_bz_TNN", "nvjet", 320, 128, 64, "f16", "TN"},
           Expected{
               "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
               "xmma", 128, 128, 64, "bf16", "TN"},
           Expected{
               "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_tn_"
               "align8>(Params)",
               "cutlass", 128, 256, 64, "bf16", "TN"},
           Expected{"volta_sgemm_128x64_nn", "cuBLAS", 128, 64, 0, "f32", "NN"},
           Expected{"ampere_sgemm_32x32_sliced1x4_tn", "cuBLAS", 32, 32, 0, "f32", "TN"},
       }) {
    SCOPED_TRACE(expected.name);
    const auto kernel = parse_gemm_kernel(expected.name);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->library, expected.library);
    EXPECT_EQ(kernel->m, expected.m);
    EXPECT_EQ(kernel->n, expected.n);
    EXPECT_EQ(kernel->k, expected.k);
    EXPECT_EQ(kernel->types, expected.type);
    EXPECT_EQ(kernel->transposes, expected.transposes);
  }
  EXPECT_FALSE(parse_gemm_kernel("attn_fwd"));
  EXPECT_FALSE(parse_gemm_kernel("my_gemm_kernel"));
}

TEST(GemmProblem, ComesFromTheShapesOfTheOperation) {
  const auto problem = [](const char* operation, const char* shapes) {
    const auto found = gemm_problem(operation, shapes, "[c10::Half,c10::Half,c10::Half]");
    return found ? std::to_string(found->m) + "x" + std::to_string(found->n) + "x" +
                       std::to_string(found->k) + "*" + std::to_string(found->batch) + found->type
                 : "none";
  };
  EXPECT_EQ(problem("aten::mm", "[[2,3],[3,4]]"), "2x4x3*1f16");
  EXPECT_EQ(problem("aten::addmm", "[[4],[2,3],[3,4],[],[]]"), "2x4x3*1f16");
  EXPECT_EQ(problem("aten::bmm", "[[5,2,3],[5,3,4]]"), "2x4x3*5f16");
  EXPECT_EQ(problem("aten::linear", "[[5,2,3],[4,3],[4]]"), "10x4x3*1f16");
  EXPECT_EQ(problem("gemm", "[[2,3],[3,4]]"), "2x4x3*1f16") << "a kernel with shapes of its own";
  EXPECT_EQ(problem("gemm", "[[5,2,3],[5,3,4]]"), "2x4x3*5f16");
  EXPECT_EQ(problem("my::product", "[[2,3],[3,4]]"), "none");
  EXPECT_EQ(problem("aten::mm", "[[2,3],[4,4]]"), "none");
  EXPECT_EQ(problem("aten::mm", "[[2,0],[0,4]]"), "none");
  EXPECT_EQ(problem("aten::mm", "[]"), "none");
  EXPECT_EQ(problem("aten::linear", "[[99999999999,99999999999,3],[4,3]]"), "none");
  EXPECT_EQ(problem("aten::add", "[[2,3],[3,4]]"), "none");
}

TEST(TileEfficiency, LosesPaddingAndTheLastWave) {
  GemmKernel kernel;
  kernel.m = 128;
  kernel.n = 256;
  // 32 x 8 tiles of a 4096 x 2048 problem are 256: two waves of 132 units.
  const GemmProblem2D fits = {2048, 4096, 64, 1, "bf16"};
  EXPECT_NEAR(*tile_efficiency(kernel, fits, 132), 256.0 / 264, 1e-12);
  const GemmProblem2D ragged = {2049, 4096, 64, 1, "bf16"};
  EXPECT_NEAR(*tile_efficiency(kernel, ragged, 288), 2049.0 / (9 * 256), 1e-12);
  EXPECT_FALSE(tile_efficiency({}, fits, 132));
  EXPECT_FALSE(tile_efficiency(kernel, fits, 0));
}

}  // namespace
}  // namespace assay
