// The cache of matrix plans over a scripted library, which counts what it is asked for.
#include "compute/vendor/blas/gemm_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "compute/vendor/blas/gemm_choice.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

constexpr const char* scripted_name = "scripted";
constexpr std::size_t scratch = 4096;

struct Asked {
  int algorithms = 0, plans = 0, products = 0;
  bool operator==(const Asked&) const = default;
};
Asked asked;
std::set<const void*> matrices_read;  // B
std::string library_version = "1";

/// "slow" takes 2 ms, "broken" fails, "quick" takes no time.
class ScriptedPlan final : public GemmPlan {
 public:
  ScriptedPlan(const GemmProblem& problem, std::string name)
      : GemmPlan(problem), name_(std::move(name)) {}
  Status queue(Stream& stream, const GemmOperands& operands, Workspace workspace) override {
    ++asked.products;
    matrices_read.insert(operands.b);
    if (workspace.bytes < scratch) return Error{ErrorKind::failed, "too little workspace"};
    if (name_ == "broken") return Error{ErrorKind::failed, "broken"};
    return stream.call([slow = name_ == "slow"] {
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

class ScriptedBlas final : public Blas {
 public:
  const BlasFacts& facts() const override { return facts_; }
  Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem, std::size_t,
                                                int most) override {
    ++asked.algorithms;
    if (problem.scales_lines) return Error{ErrorKind::unsupported, "no factors of lines"};
    std::vector<GemmAlgorithm> all = {{"slow", scratch}, {"broken", 0}, {"quick", 0}};
    all.resize(std::min<std::size_t>(all.size(), static_cast<std::size_t>(most)));
    return all;
  }
  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const GemmAlgorithm& algorithm) override {
    ++asked.plans;
    return std::unique_ptr<GemmPlan>(std::make_unique<ScriptedPlan>(problem, algorithm.name));
  }

 private:
  const BlasFacts facts_{scripted_name, library_version, "nowhere"};
};

std::optional<std::string> too_large(const GemmProblem& problem, const DeviceFacts&) {
  return problem.m > 1000 ? std::optional<std::string>("too large") : std::nullopt;
}
Result<std::unique_ptr<Blas>> open_scripted(Device&) {
  return std::unique_ptr<Blas>(std::make_unique<ScriptedBlas>());
}
const BlasRegistry::Add scripted_blas{
    {scripted_name, "cpu", 99, &too_large, &open_scripted, /*by_name_only=*/true}};

class GemmPlansTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
    asked = {};
    library_version = "1";
  }
  GemmPlans plans(bool measure = true) {
    return {*device_, *stream_, {scripted_name, scratch, measure}, ChoiceCache(folder_.path())};
  }
  static std::string name_of(const Result<GemmPlan*>& plan) {
    return plan.ok() ? static_cast<ScriptedPlan&>(**plan).name() : plan.error().message;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  const GemmProblem problem_ = make_gemm(16, 16, 16, DataType::f32, DataType::f32);
};

TEST_F(GemmPlansTest, TheFastestIsMeasuredOnceAndKept) {
  GemmPlans kept = plans();
  const auto first = kept.find(problem_);
  EXPECT_EQ(name_of(first), "quick");
  const Asked after = asked;
  EXPECT_GT(after.products, 3);
  EXPECT_EQ(*kept.find(problem_), *first);
  EXPECT_EQ(asked, after);
  EXPECT_TRUE(kept.enqueue(*stream_, problem_, {}));
  EXPECT_EQ(asked.products, after.products + 1);
  EXPECT_TRUE(stream_->synchronize());
}

/// Whoever knows another way to compute a product asks before assay's own GEMM takes it.
TEST_F(GemmPlansTest, TheOwnGemmIsNoLibrary) {
  GemmPlans kept(*device_, *stream_,
                 {.library = scripted_name, .measure = false, .own_if_none = true},
                 ChoiceCache(""));
  GemmProblem of_codes =
      make_gemm(16, 16, 16, DataType::e4m3, DataType::bf16, false, /*transpose_b=*/true);
  EXPECT_TRUE(kept.library_supports(of_codes));
  of_codes.scales_a = of_codes.scales_b = of_codes.scales_lines = true;
  EXPECT_FALSE(kept.library_supports(of_codes));
  EXPECT_TRUE(kept.supports(of_codes));
}

/// With few rows a product is bound by reading B: one that stays in a cache would mislead.
TEST_F(GemmPlansTest, ProductsOfFewRowsAreMeasuredOnSeveralMatrices) {
  const auto matrices_of = [&](const GemmProblem& problem) {
    matrices_read.clear();
    GemmPlans fresh(*device_, *stream_, {scripted_name, scratch, true}, ChoiceCache(""));
    EXPECT_TRUE(fresh.find(problem).ok());
    return matrices_read.size();
  };
  GemmProblem problem = problem_;
  EXPECT_GT(matrices_of(problem), 1u);
  problem.constant_b = true;  // of which a library may have a copy
  EXPECT_EQ(matrices_of(problem), 1u);
  EXPECT_EQ(matrices_of(make_gemm(512, 16, 16, DataType::f32, DataType::f32)), 1u);
}

TEST_F(GemmPlansTest, EveryPartOfAProblemCounts) {
  GemmPlans kept = plans(false);
  std::set<GemmPlan*> found = {*kept.find(problem_)};
  const auto add = [&](auto change) {
    GemmProblem other = problem_;
    change(other);
    const auto plan = kept.find(other);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_TRUE(found.insert(*plan).second);
  };
  add([](GemmProblem& p) { p.beta = 1; });
  add([](GemmProblem& p) { p.alpha = 2; });
  add([](GemmProblem& p) { p.epilogue = Epilogue::gelu_bias; });
  add([](GemmProblem& p) { p.scales_a = true; });
  add([](GemmProblem& p) { p.writes_amax_d = true; });
  add([](GemmProblem& p) { p.ldd = 32; });
  add([](GemmProblem& p) { p.transpose_b = true; });
  add([](GemmProblem& p) { p.fast_accumulate = true; });
  add([](GemmProblem& p) { p.multiprocessors = 100; });
}

TEST_F(GemmPlansTest, WhatWasFastestIsRememberedForThatVersionOfTheLibrary) {
  EXPECT_EQ(name_of(plans().find(problem_)), "quick");
  asked = {};
  GemmPlans later = plans();
  EXPECT_EQ(name_of(later.find(problem_)), "quick");
  EXPECT_EQ(asked.products, 0);
  library_version = "2";
  GemmPlans newer = plans();
  EXPECT_EQ(name_of(newer.find(problem_)), "quick");
  EXPECT_GT(asked.products, 0);
}

/// Skinny GEMMs were measured on one matrix, before they were on several.
TEST_F(GemmPlansTest, WhatWasChosenOnOneMatrixIsNotTakenForSeveral) {
  const ChoiceCache choices(folder_.path());
  const auto remember_slow = [&](const GemmProblem& problem) {
    ChoiceKey key = gemm_choice_key(device_->facts(), ScriptedBlas().facts(), problem, scratch);
    key.what = "gemm";
    choices.keep(device_->facts(), key, "slow");
  };
  remember_slow(problem_);
  EXPECT_EQ(name_of(plans().find(problem_)), "quick");
  const GemmProblem many_rows = make_gemm(512, 16, 16, DataType::f32, DataType::f32);
  remember_slow(many_rows);
  EXPECT_EQ(name_of(plans().find(many_rows)), "slow");
}

TEST_F(GemmPlansTest, WithoutMeasuringItIsTheLibrarysFirst) {
  GemmPlans kept = plans(false);
  EXPECT_EQ(name_of(kept.find(problem_)), "slow");
  EXPECT_EQ(asked.products, 0);
}

TEST_F(GemmPlansTest, WhatNoLibraryCanDoIsAnErrorWithItsReason) {
  GemmPlans kept = plans();
  GemmProblem large = problem_;
  large.m = 2000;
  const auto refused = kept.find(large);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "scripted: too large");
  EXPECT_EQ(name_of(kept.find(problem_)), "quick");
}

TEST_F(GemmPlansTest, AnEpilogueIsUsedWhereItIsFaster) {
  int calls = 0;
  const auto way = [&](bool slow) -> Contender {
    return [&calls, slow](Stream& stream) {
      ++calls;
      return stream.call([slow] {
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      });
    };
  };
  const Contender slow = way(true), quick = way(false);
  GemmPlans measuring = plans();
  EXPECT_TRUE(measuring.better_fused(problem_, quick, slow).value());
  GemmProblem other = problem_;
  other.m = 32;
  EXPECT_FALSE(measuring.better_fused(other, slow, quick).value());
  // Remembered, by these plans and by later ones, and not asked where no library has it.
  calls = 0;
  EXPECT_TRUE(measuring.better_fused(problem_, slow, quick).value());
  EXPECT_TRUE(plans().better_fused(problem_, slow, quick).value());
  EXPECT_FALSE(plans().better_fused(other, quick, slow).value());
  other.m = 2000;
  EXPECT_FALSE(plans().better_fused(other, quick, slow).value());
  EXPECT_TRUE(plans(false)
                  .better_fused(make_gemm(8, 8, 8, DataType::f32, DataType::f32), slow, quick)
                  .value());
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace assay
