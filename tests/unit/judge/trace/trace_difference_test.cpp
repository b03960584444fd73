#include "judge/trace/trace_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/trace_text.h"

namespace assay {
namespace {

using testing::HasSubstr;

StepParts parts_of(const std::string& events) {
  const Timeline timeline = timeline_of(kineto_text(events));
  const TraceIndex index(timeline);
  return step_parts({&index});
}

const PartDifference& part_named(const std::vector<PartDifference>& parts,
                                 const std::string& name) {
  return *std::find_if(parts.begin(), parts.end(),
                       [&](const PartDifference& part) { return part.name == name; });
}

std::string step_event(const char* name, const char* ts, const char* dur) {
  return std::string("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"") + name +
         "\",\"pid\":9,\"tid\":1,\"ts\":" + ts + ",\"dur\":" + dur + "},";
}
std::string launch_event(const char* ts, const char* correlation) {
  return std::string("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",") +
         "\"pid\":9,\"tid\":1,\"ts\":" + ts +
         ",\"dur\":1,\"args\":{\"correlation\":" + correlation + "}},";
}

TEST(StepParts, EveryMomentBelongsToOnePart) {
  const StepParts parts =
      parts_of(gpu_event("kernel", "my_gemm", "0", "10", "", "1") + "," +
               gpu_event("kernel", "softmax_kernel", "5", "10", "", "2") + "," +
               gpu_event("kernel", "ncclDevKernel_AllReduce_RING_LL", "8", "12", "", "3") + "," +
               gpu_event("gpu_memcpy", "Memcpy HtoD", "19", "3", "", "4") + "," +
               gpu_event("kernel", "my_gemm", "30", "10", "", "1"));
  EXPECT_EQ(parts.step, 40'000);
  EXPECT_EQ(parts.categories.at("gemm"), 20'000);
  EXPECT_EQ(parts.categories.at("softmax"), 5'000) << "what began first counts";
  EXPECT_EQ(parts.categories.at("collective"), 5'000) << "where nothing is computed";
  EXPECT_EQ(parts.categories.at("copy"), 2'000);
  EXPECT_EQ(parts.categories.at("idle"), 8'000);
  EXPECT_EQ(parts.counts.at("my_gemm"), 2);
}

TEST(StepParts, StepsAreAveraged) {
  const StepParts parts =
      parts_of(step_event("ProfilerStep#1", "0", "50") + step_event("ProfilerStep#2", "60", "50") +
               launch_event("1", "1") + launch_event("61", "2") +
               gpu_event("kernel", "my_gemm", "10", "20", "\"correlation\":1") + "," +
               gpu_event("kernel", "my_gemm", "70", "40", "\"correlation\":2"));
  EXPECT_EQ(parts.steps, 2u);
  EXPECT_EQ(parts.step, 50'000) << "60 us to the next step, and 40 us";
  EXPECT_EQ(parts.categories.at("gemm"), 30'000);
  EXPECT_EQ(parts.counts.at("my_gemm"), 1);
}

TEST(StepParts, WorkThatReachesIntoTheNextStepIsDivided) {
  const StepParts parts =
      parts_of(step_event("ProfilerStep#1", "0", "50") + step_event("ProfilerStep#2", "60", "50") +
               launch_event("1", "1") + launch_event("61", "2") +
               gpu_event("kernel", "my_gemm", "0", "100", "\"correlation\":1", "1") + "," +
               gpu_event("kernel", "softmax", "80", "40", "\"correlation\":2", "2"));
  EXPECT_EQ(parts.step, 70'000) << "100 us, because its own work lasts so long, and 40";
  EXPECT_EQ(parts.categories.at("gemm"), 60'000) << "100 and 20";
  EXPECT_EQ(parts.categories.at("softmax"), 10'000);
  EXPECT_EQ(parts.categories.at("idle"), 0);
}

TEST(StepParts, AGpuWithoutStepsDoesNotCountBesideOthers) {
  const std::string other =
      R"(,{"ph":"X","cat":"kernel","name":"my_gemm","pid":1,"tid":7,"ts":0,"dur":900})";
  const StepParts parts =
      parts_of(step_event("ProfilerStep#1", "0", "50") + launch_event("1", "1") +
               gpu_event("kernel", "my_gemm", "10", "20", "\"correlation\":1") + other);
  EXPECT_EQ(parts.steps, 1u);
  EXPECT_EQ(parts.step, 20'000);
}

TEST(TraceDifference, PartsAddUpToTheRatio) {
  const std::vector<StepParts> a = {parts_of(gpu_event("kernel", "my_gemm", "0", "10") + "," +
                                             gpu_event("kernel", "softmax", "15", "5"))};
  const std::vector<StepParts> b = {parts_of(gpu_event("kernel", "my_gemm", "0", "14") + "," +
                                             gpu_event("kernel", "softmax", "23", "5"))};
  const TraceDifference difference = compare_traces(a, b, {});
  EXPECT_DOUBLE_EQ(difference.ratio, 1.4);
  const double sum =
      std::accumulate(difference.categories.begin(), difference.categories.end(), 0.0,
                      [](double total, const PartDifference& part) { return total + part.share; });
  EXPECT_NEAR(sum, difference.ratio - 1, 1e-12);
  EXPECT_DOUBLE_EQ(part_named(difference.categories, "idle").share, 0.2);
  EXPECT_DOUBLE_EQ(part_named(difference.categories, "gemm").share, 0.2);
  EXPECT_FALSE(difference.step.judged) << "one trace proves nothing";
  EXPECT_THAT(difference.notes.front(), HasSubstr("without a verdict"));
}

TEST(TraceDifference, KernelsOfOtherLibrariesMatchByCategoryAndCount) {
  const std::vector<StepParts> a = {
      parts_of(gpu_event("kernel", "nvjet_tst_128x256", "0", "10") + "," +
               gpu_event("kernel", "nvjet_tst_64x64", "20", "2") + "," +
               gpu_event("kernel", "nvjet_tst_64x64", "30", "2"))};
  const std::vector<StepParts> b = {
      parts_of(gpu_event("kernel", "Cijk_Ailk_Bljk_BBS_MT32x32x32", "0", "3") + "," +
               gpu_event("kernel", "Cijk_Ailk_Bljk_BBS_MT32x32x32", "10", "3") + "," +
               gpu_event("kernel", "Cijk_Ailk_Bljk_BBS_MT256x256x64", "20", "12"))};
  const TraceDifference difference = compare_traces(a, b, {});
  EXPECT_EQ(part_named(difference.kernels, "nvjet_tst_128x256").other_name,
            "Cijk_Ailk_Bljk_BBS_MT256x256x64");
  EXPECT_EQ(part_named(difference.kernels, "nvjet_tst_64x64").other_name,
            "Cijk_Ailk_Bljk_BBS_MT32x32x32");
}

/// On another stream, a kernel may have no time of its own on one side.
TEST(TraceDifference, AKernelBeneathAnotherIsOneOfBothSides) {
  const std::vector<StepParts> a = {
      parts_of(gpu_event("kernel", "my_gemm", "0", "100", "", "1") + "," +
               gpu_event("kernel", "softmax_x", "10", "20", "", "2") + "," +
               gpu_event("kernel", "softmax_y", "200", "20", "", "1"))};
  const std::vector<StepParts> b = {
      parts_of(gpu_event("kernel", "my_gemm", "0", "100", "", "1") + "," +
               gpu_event("kernel", "softmax_x", "100", "20", "", "1"))};
  const TraceDifference difference = compare_traces(a, b, {});
  const PartDifference& beneath = part_named(difference.kernels, "softmax_x");
  EXPECT_EQ(beneath.count_a, 1);
  EXPECT_EQ(beneath.count_b, 1);
  EXPECT_EQ(beneath.a, 0);
  EXPECT_EQ(beneath.b, 20'000);
  EXPECT_EQ(part_named(difference.kernels, "softmax_y").other_name, "") << "it has no counterpart";
}

TEST(TraceDifference, SixTracesASideAreJudged) {
  std::vector<StepParts> a, b;
  for (int i = 0; i < 6; ++i) {
    const std::string noise = "0." + std::to_string(i);
    a.push_back(parts_of(gpu_event("kernel", "my_gemm", "0", "100" + noise.substr(1))));
    b.push_back(parts_of(gpu_event("kernel", "my_gemm", "0", "150" + noise.substr(1))));
  }
  const TraceDifference difference = compare_traces(a, b, {});
  ASSERT_TRUE(difference.step.judged);
  EXPECT_EQ(difference.step.judged->ruling.verdict, Verdict::slower);
  EXPECT_FALSE(part_named(difference.categories, "idle").judged) << "0 against 0 is no ratio";
}

}  // namespace
}  // namespace assay
