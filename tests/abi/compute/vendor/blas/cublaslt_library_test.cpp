// The real cuBLASLt without a GPU accepts every descriptor that we make.
#include <gtest/gtest.h>

#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/lt_descriptors.h"
#include "compute/vendor/blas/lt_dialects.h"

namespace assay::lt {
namespace {

class CublasLtLibrary : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = open_cuda_library("libcublasLt", "ASSAY_CUBLASLT_LIBRARY");
    if (!file) GTEST_SKIP() << file.error().message;
    const auto functions = bind_functions(*file, "cublasLt");
    ASSERT_TRUE(functions) << functions.error().message;
    library_.functions = *functions;
    library_.path = file->path();
  }
  Library library_{cublaslt_dialect, {}, "", nullptr, nullptr};
};

TEST_F(CublasLtLibrary, AcceptsOurDescriptors) {
  void* aligned = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
  auto* factor = static_cast<float*>(aligned);
  const GemmOperands operands = {aligned, aligned, aligned, aligned, aligned,
                                 aligned, factor,  factor,  factor,  factor};
  for (const auto& [in, out] : {std::pair{DataType::f64, DataType::f64},
                                {DataType::f32, DataType::f32},
                                {DataType::tf32, DataType::f32},
                                {DataType::f16, DataType::f16},
                                {DataType::bf16, DataType::bf16},
                                {DataType::bf16, DataType::f32},
                                {DataType::e4m3, DataType::bf16},
                                {DataType::i8, DataType::i32}}) {
    for (int epilogue = 0; epilogue <= static_cast<int>(Epilogue::bgrad_b); ++epilogue) {
      for (const int batch : {1, 4}) {
        GemmProblem p = make_gemm(64, 32, 128, in, out, false, true, batch);
        p.epilogue = static_cast<Epilogue>(epilogue);
        p.fast_accumulate = p.scales_a = p.scales_b = p.scales_d = p.writes_amax_d =
            in == DataType::e4m3;
        auto made = Descriptors::create(library_, p);
        ASSERT_TRUE(made) << made.error().message;
        const Status pointed = made->point_to(library_, p, operands);
        EXPECT_TRUE(pointed) << pointed.error().message;
      }
    }
  }
}

TEST_F(CublasLtLibrary, RefusesAnAttributeOfTheWrongSize) {
  const auto made = Descriptors::create(library_, make_gemm(8, 8, 8, DataType::f32, DataType::f32));
  ASSERT_TRUE(made);
  const std::int64_t eight_bytes = 1;
  EXPECT_NE(library_.functions.desc_set(made->operation(), cublaslt_dialect.desc_transpose_a,
                                        &eight_bytes, sizeof(eight_bytes)),
            0);
}

TEST_F(CublasLtLibrary, AcceptsOurPreferences) {
  void* preference = nullptr;
  EXPECT_EQ(library_.functions.preference_create(&preference), 0);
  const std::uint64_t bytes = 1 << 20;
  EXPECT_EQ(library_.functions.preference_set(preference, cublaslt_dialect.preference_workspace,
                                              &bytes, sizeof(bytes)),
            0);
  const std::uint32_t mask = 3, alignment = 256;
  EXPECT_EQ(library_.functions.preference_set(
                preference, cublaslt_dialect.preference_reduction_mask, &mask, sizeof(mask)),
            0);
  for (int matrix = 0; matrix < 4; ++matrix) {
    EXPECT_EQ(library_.functions.preference_set(preference,
                                                cublaslt_dialect.preference_alignment_a + matrix,
                                                &alignment, sizeof(alignment)),
              0);
  }
  library_.functions.preference_destroy(preference);
}

}  // namespace
}  // namespace assay::lt
