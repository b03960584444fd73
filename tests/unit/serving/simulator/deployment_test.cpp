// From a model and a GPU to an engine, and what the model says of partitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/simulator/prediction.h"

namespace assay::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Deployment on(const char* gpu, int parts = 1) {
  Deployment deployment;
  deployment.model = *find_model("llama-3.1-8b");
  deployment.gpu = *find_gpu(gpu);
  deployment.parts = parts;
  return deployment;
}

TEST(SimDeployment, TheCacheIsWhatWeightsAndWorkspaceLeave) {
  const auto whole = deploy(on("MI350X"));
  ASSERT_TRUE(whole.ok());
  // 449 sequences of 4096 tokens, and a fraction.
  EXPECT_EQ(whole->engine.scheduler.blocks / 256, 449u);
  EXPECT_EQ(whole->max_length, 131072u);
  const auto eighth = deploy(on("MI350X", 8));
  ASSERT_TRUE(eighth.ok());
  EXPECT_EQ(eighth->engine.scheduler.blocks / 256, 26u);
  EXPECT_EQ(eighth->max_length,
            eighth->engine.scheduler.blocks * 16u);  // less than the model's context
  EXPECT_DOUBLE_EQ(eighth->engine.hardware.bandwidth * 8, whole->engine.hardware.bandwidth);
}

TEST(SimDeployment, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(deploy(on("H200", 8)).error().message,
              AllOf(HasSubstr("1/8 of H200"), HasSubstr("7 parts at most")));
  Deployment deployment = on("MI350X", 8);
  deployment.max_length = 131072;
  EXPECT_THAT(deploy(deployment).error().message, HasSubstr("--max-model-len"));
  deployment.max_length = 4096;
  ASSERT_TRUE(deploy(deployment).ok());
  EXPECT_EQ(deploy(deployment)->max_length, 4096u);
}

TEST(SimPrediction, PartitionsPayForTheirWeightsUnderLoad) {
  const auto predictions = predict(on("MI350X", 8), {300, 512, 64, 1}, {1, 200});
  ASSERT_TRUE(predictions.ok());
  ASSERT_EQ(predictions->size(), 4u);
  const Prediction& slow = (*predictions)[0];
  EXPECT_EQ(slow.engines, 1);
  EXPECT_EQ((*predictions)[1].engines, 8);
  EXPECT_NEAR(slow.requests_per_second, 1, 0.15);
  // Alone, a request decodes at the whole GPU's bandwidth or at an eighth of it.
  EXPECT_NEAR((*predictions)[1].tpot_p50 / slow.tpot_p50, 8, 0.6);
  const Prediction& whole = (*predictions)[2];
  const Prediction& parts = (*predictions)[3];
  EXPECT_GT(whole.output_tokens_per_second, parts.output_tokens_per_second);
  EXPECT_GT(whole.ttft_p50, slow.ttft_p50);
  EXPECT_GE(whole.ttft_p99, whole.ttft_p50);
  EXPECT_GT(whole.e2e_p99, whole.ttft_p99);
}

TEST(SimPrediction, OneEngineIsNotComparedWithItself) {
  const auto predictions = predict(on("H100"), {20, 128, 8, 1}, {1, 2});
  ASSERT_TRUE(predictions.ok());
  EXPECT_EQ(predictions->size(), 2u);
  EXPECT_FALSE(predict(on("H200", 8), {}, {1}).ok());
}

}  // namespace
}  // namespace assay::simulator
