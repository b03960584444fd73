// Tuning matrix products with the vendor's libraries: what is found is right, not slower than their
// own choice, and found again by the engine's plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "advise/tune/gemm/product_tuner.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

class GpuTuneGemm : public testing::Test {
 protected:
  void SetUp() override {
    auto backends = make_backends();
    auto device = open_device(backends, "");
    if (!device || (*device)->facts().max_threads_per_block == 1) {
      GTEST_SKIP() << "no accelerator on this machine";
    }
    device_ = std::move(device).value();
    stream_ = std::move(device_->create_stream()).value();
  }

  ProductOutcome tune(const GemmProblem& problem, TuneGemmSettings settings = {}) {
    ProductTuner tuner(*device_, *stream_, settings);
    const auto outcome = tuner.tune(problem, [](std::string_view) { return false; });
    if (!outcome.ok()) {
      ADD_FAILURE() << outcome.error().message;
      return {};
    }
    std::printf(
        "%s: %zu solutions, %zu wrong, %zu failed, %zu slow, %zu untried, %+.2f%% [%+.2f, "
        "%+.2f]%s in %.1f s, best %s\n",
        describe(problem).c_str(), outcome->solutions, outcome->wrong, outcome->failed,
        outcome->slow, outcome->untried, (outcome->gain - 1) * 100, (outcome->gain_low - 1) * 100,
        (outcome->gain_high - 1) * 100, outcome->proven ? " proven" : "", outcome->spent_seconds,
        outcome->best.algorithm.c_str());
    EXPECT_EQ(outcome->reason, "");
    EXPECT_GT(outcome->solutions, 1u);
    EXPECT_LE(outcome->best_seconds(), outcome->usual_seconds);
    return *outcome;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(GpuTuneGemm, ProductsOfManyKinds) {
  const auto bf16 = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return make_gemm(m, n, k, DataType::bf16, DataType::bf16, false, true);
  };
  GemmProblem fused = bf16(4096, 3072, 768);
  fused.epilogue = Epilogue::gelu_aux_bias;
  GemmProblem added = make_gemm(768, 768, 8192, DataType::bf16, DataType::bf16, true, false);
  added.beta = 1;
  for (const GemmProblem& problem :
       {bf16(8192, 8192, 8192), bf16(16, 8192, 8192), bf16(64, 64, 64), fused, added,
        make_gemm(512, 512, 64, DataType::f16, DataType::f16, false, true, 96),
        make_gemm(1024, 1024, 1024, DataType::f32, DataType::f32)}) {
    tune(problem);
  }
}

TEST_F(GpuTuneGemm, TheEngineFindsWhatWasTuned) {
  const TemporaryFolder folder;
  const ChoiceCache choices(folder.path());
  const GemmProblem problem = make_gemm(1024, 768, 3072, DataType::bf16, DataType::bf16);
  ProductTuner tuner(*device_, *stream_, {});
  const auto providers = blas_providers(device_->facts().backend);
  Blas* library = tuner.library(providers.front()).value();
  const GemmPlans::Options options;
  // One that the library's own list does not have.
  const auto listed = library->algorithms(problem, options.workspace_bytes, 32).value();
  const auto all = library->all_algorithms(problem, options.workspace_bytes, 4096).value();
  std::set<std::string> names;
  for (const GemmAlgorithm& algorithm : listed) names.insert(algorithm.name);
  const auto beyond = std::find_if(all.begin(), all.end(), [&](const GemmAlgorithm& algorithm) {
    return !names.contains(algorithm.name);
  });
  ASSERT_NE(beyond, all.end());
  const ChoiceKey key =
      gemm_choice_key(device_->facts(), library->facts(), problem, options.workspace_bytes);
  choices.keep(device_->facts(), key, beyond->name);
  GemmPlans plans(*device_, *stream_, options, choices);
  EXPECT_TRUE(plans.find(problem).ok());
  // Had it not been found, another would have been measured and kept.
  EXPECT_EQ(choices.find(device_->facts(), key), beyond->name);
}

}  // namespace
}  // namespace assay
