// `assay run finetune`, as users run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "model/transformer/named_shapes.h"
#include "support/model_folder.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"
#include "support/training_example.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* tiny_decoder = "1L4H2K16D32C48F97V";

/// The record of a run on the CPU of a suite or benchmark with one cell, with these axes.
Json finetuned(const std::string& target, std::vector<std::string> more) {
  std::vector<std::string> words = {"run",    target,     "--telemetry", "off",
                                    "--json", "--device", "cpu",         "batch=2"};
  const auto is_sequence = [](const std::string& word) { return word.starts_with("sequence="); };
  if (std::ranges::none_of(more, is_sequence)) words.emplace_back("sequence=64");
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = assay_run(words);
  const std::vector<Json> records = json_lines(outcome.out);
  EXPECT_EQ(records.size(), 1u) << outcome.err;
  return records.empty() ? Json() : records.front();
}

/// The record of the benchmark with these axes, of a tiny model unless they name another.
Json finetuned(std::vector<std::string> more, bool with_model = true) {
  if (with_model) more.insert(more.begin(), std::string("model=") + tiny_decoder);
  return finetuned("finetune", std::move(more));
}

double number_of(const Json& record, std::string_view name) {
  for (const Json& one : record["metrics"]) {
    if (one["name"] == name) return one["value"];
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

std::vector<double> losses_of(const Json& record) {
  EXPECT_EQ(record["status"], "passed") << record.value("reason", "");
  return record["curves"][0]["y"].get<std::vector<double>>();
}

TEST(Finetune, TrainsAllOrAdaptersAndCountsBoth) {
  const double all = parse_decoder_shape(tiny_decoder).value().parameters();
  const Json full = finetuned({"steps=12", "rate=1e-2", "eval=6"});
  ASSERT_EQ(full["status"], "passed") << full["reason"];
  EXPECT_EQ(full["value"]["quantity"], "token_rate");
  EXPECT_NEAR(number_of(full, "first_loss"), std::log(97), 0.2);
  EXPECT_EQ(number_of(full, "trained_parameters"), all);
  EXPECT_EQ(number_of(full, "frozen_parameters"), 0);
  EXPECT_EQ(full["curves"][1]["name"], "eval_loss");
  const Json lora = finetuned({"steps=12", "mode=lora", "rank=4", "targets=q+v", "rate=1e-2"});
  ASSERT_EQ(lora["status"], "passed") << lora["reason"];
  EXPECT_EQ(number_of(lora, "frozen_parameters"), all);
  // A of q and v, B of 64 and of 32 rows.
  EXPECT_EQ(number_of(lora, "trained_parameters"), 4 * (32 + 32) + 4 * (64 + 32));
  EXPECT_LT(number_of(lora, "memory_optimizer"), number_of(full, "memory_optimizer") / 8);
  EXPECT_EQ(lora["axes"]["alpha"], "8");
  EXPECT_EQ(full["axes"]["targets"], "none");
}

/// All packings train on tokens with a loss; padding and prompts have none.
TEST(Finetune, PackingDecidesWhatATokenSees) {
  double flops_of_documents = 0;
  for (const char* packing : {"documents", "causal", "none"}) {
    const Json record =
        finetuned({"steps=8", "rate=1e-2", std::string("packing=") + packing, "sequence=256"});
    ASSERT_EQ(record["status"], "passed") << packing << record["reason"];
    const double all = number_of(record, "token_rate_per_rank"),
                 counted = number_of(record, "token_rate_per_rank_with_loss");
    EXPECT_GT(counted, 0.2 * all) << packing;
    EXPECT_LT(counted, 0.8 * all) << packing;
    const double flops =
        number_of(record, "flop_rate_with_attention") * number_of(record, "step_time");
    if (flops_of_documents == 0) flops_of_documents = flops;
    if (packing != std::string("documents")) EXPECT_GT(flops, flops_of_documents) << packing;
  }
}

/// Ranks that share the work have the losses of one that accumulates.
TEST(Finetune, RanksHaveTheLossesOfOne) {
  for (const std::string mode : {"mode=full", "mode=lora"}) {
    const std::string rank = mode == "mode=lora" ? "rank=4" : "rank=none";
    const std::vector<double> alone =
        losses_of(finetuned({"steps=6", "accumulate=2", rank, mode, "rate=1e-2"}));
    for (const std::string parallel : {"ddp", "zero1", "fsdp"}) {
      const TemporaryFolder folder;
      const Json record = finetuned({"steps=6", rank, mode, "rate=1e-2", "--ranks", "2",
                                     "parallel=" + parallel, "--out", folder.path() / "r"});
      if (parallel == "fsdp" && mode == "mode=lora") {
        EXPECT_THAT(record.value("reason", ""), HasSubstr("parallel=fsdp does not shard"));
        continue;
      }
      const std::vector<double> together = losses_of(record);
      ASSERT_GE(together.size(), alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_NEAR(together[i], alone[i], 1e-4) << mode << " " << parallel << " step " << i;
      }
    }
  }
}

/// Weights of a folder are trained and written back, and a second training begins with them.
TEST(Finetune, WeightsComeFromAFolderAndGoToOne) {
  const TransformerShape shape = parse_decoder_shape(tiny_decoder).value();
  const TemporaryFolder model, results;
  write_model(model, shape, model_tensors(shape, random_weights(shape, 3)), DataType::bf16);
  const std::string weights = "weights=" + model.path().string();
  const std::string tuned = (results.path() / "tuned").string();
  const Json first =
      finetuned({weights, "steps=20", "rate=1e-2", "schedule=constant", "output=" + tuned}, false);
  ASSERT_EQ(first["status"], "passed") << first["reason"];
  const Json second = finetuned({"weights=" + tuned, "steps=4", "rate=1e-6"}, false);
  ASSERT_EQ(second["status"], "passed") << second["reason"];
  EXPECT_LT(number_of(second, "first_loss"),
            (number_of(first, "first_loss") + number_of(first, "last_loss")) / 2);
  EXPECT_TRUE(std::filesystem::exists(tuned + "/config.json"));
  const Json adapted = finetuned({"weights=" + tuned, "steps=4", "mode=lora", "rank=4"}, false);
  ASSERT_EQ(adapted["status"], "passed") << adapted["reason"];
  EXPECT_NEAR(number_of(adapted, "first_loss"), number_of(second, "first_loss"), 1e-4);
}

TEST(Finetune, WhatDoesNotFitIsOneLine) {
  const TemporaryFolder folder;
  const auto reason = [](const std::vector<std::string>& words) {
    return finetuned(words).value("reason", "");
  };
  const Json without_weights = finetuned({"weights=" + (folder.path() / "none").string()});
  EXPECT_EQ(without_weights["status"], "error");
  EXPECT_THAT(without_weights.value("reason", ""), HasSubstr("config.json"));
  EXPECT_THAT(reason({"mode=lora", "rank=64"}), HasSubstr("allowed: 1 to 32"));
  EXPECT_THAT(reason({"mode=lora", "rank=none"}), HasSubstr("rank=none is for mode=full"));
  EXPECT_THAT(reason({"rank=8"}), HasSubstr("rank=8 is for mode=lora; allowed with mode=full: auto "
                                            "or none"));
  EXPECT_THAT(reason({"output=x"}), HasSubstr("weights=FOLDER"));
  EXPECT_THAT(reason({"products=fp8", "precision=f32"}), HasSubstr("allowed: precision=bf16"));
  EXPECT_THAT(reason({"products=f16", "precision=bf16"}),
              HasSubstr("products=f16 is not for precision=bf16"));
  EXPECT_THAT(reason({"products=fp8", "sequence=63"}), HasSubstr("multiples of 16"));
  EXPECT_THAT(finetuned({"model=qwen3-0.6b", "sequence=40961"}, false).value("reason", ""),
              HasSubstr("sequence=40961 is more than the 40960 positions of the model"));
}

/// A tiny Qwen trained in FP8 has the losses of bf16 within half a percent after 100 steps.
TEST(Finetune, Fp8HasTheLossesOfBf16) {
  TransformerShape shape = parse_decoder_shape("2L4H2K16D64C96F300V").value();
  shape.head_norms = shape.tied = true;
  const TemporaryFolder model;
  write_tiny_model(model, shape);
  const auto trained = [&](const std::string& products) {
    return finetuned({"weights=" + model.path().string(), "steps=102", "rate=1e-3",
                      "precision=bf16", "states=master", products},
                     false);
  };
  const Json bf16 = trained("products=auto"), fp8 = trained("products=fp8");
  ASSERT_EQ(bf16["status"], "passed") << bf16["reason"];
  ASSERT_EQ(fp8["status"], "passed") << fp8["reason"];
  EXPECT_EQ(bf16["axes"]["products"], "bf16");
  EXPECT_EQ(fp8["axes"]["products"], "fp8");
  EXPECT_THAT(fp8["notes"].value("fp8", ""), HasSubstr("in bf16: head, attention"));
  EXPECT_FALSE(bf16["notes"].contains("fp8"));
  EXPECT_LT(number_of(bf16, "loss_at_step_100"), 0.8 * number_of(bf16, "first_loss"));
  EXPECT_NEAR(number_of(fp8, "loss_at_step_100") / number_of(bf16, "loss_at_step_100"), 1, 0.005);
  EXPECT_NE(losses_of(fp8), losses_of(bf16));
}

/// Ranks quantize what each of them has, and with fsdp each block's weights when they are gathered.
TEST(Finetune, RanksHaveTheLossesOfOneInFp8) {
  const std::vector<double> alone =
      losses_of(finetuned({"products=fp8", "steps=6", "accumulate=2", "rate=1e-2"}));
  for (const std::string parallel : {"ddp", "fsdp"}) {
    const TemporaryFolder folder;
    const std::vector<double> together =
        losses_of(finetuned({"products=fp8", "steps=6", "rate=1e-2", "--ranks", "2",
                             "parallel=" + parallel, "--out", folder.path() / "r"}));
    ASSERT_GE(together.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(together[i], alone[i], 0.02) << parallel << " step " << i;
    }
  }
}

TEST(Finetune, DataWithoutAnythingToLearnIsRefused) {
  const TemporaryFolder folder;
  folder.write("long.jsonl", R"({"instruction":")" + std::string(100, 'a') +
                                 R"(","input":"","output":"b"})" + "\n");
  const Json record = finetuned({"model=1L4H2K16D32C48F300V", "template=alpaca",
                                 "data=" + (folder.path() / "long.jsonl").string()},
                                false);
  EXPECT_THAT(record.value("reason", ""),
              HasSubstr("no token to train on has a loss in rows of 64"));
}

/// In few steps these adapters learn less than the batches' losses differ.
TEST(Finetune, ItsSuiteRunsWithASmallModel) {
  const Json record = finetuned(
      "sft", {"model=2L4H2K32D128C512F512V", "accumulate=1", "rate=2e-4", "steps=2", "eval=2"});
  ASSERT_EQ(record["status"], "passed") << record["reason"];
  EXPECT_EQ(record["axes"]["rank"], "32");
  EXPECT_EQ(record["axes"]["recompute"], "layer");
  EXPECT_EQ(record["curves"][1]["name"], "eval_loss");
  EXPECT_GT(number_of(record, "sample_rate"), 0);
  EXPECT_GT(number_of(record, "memory"), 0);
}

/// Four rows of 64 tokens are two batches; three epochs of them are six steps.
/// With seed 1 neither loss is lower after 14 steps of so little data, but one is after some more.
/// Adapters that do not move never learn; with seed 4 no difference between batches hides that.
TEST(Finetune, AdaptersThatLearnLittleTakeMoreSteps) {
  const auto trained = [](const std::string& seed, const std::string& rate) {
    const Outcome outcome = assay_run(
        {"run", "sft", "--telemetry", "off", "--json", "--device", "cpu", "--seed", seed, "batch=1",
         "model=2L4H2K32D128C512F512V", "accumulate=1", "sequence=64", "steps=10", rate});
    const std::vector<Json> records = json_lines(outcome.out);
    EXPECT_EQ(records.size(), 1u) << outcome.err;
    return records.empty() ? Json() : records.front();
  };
  const Json learning = trained("1", "rate=auto");
  EXPECT_EQ(learning["status"], "passed") << learning.value("reason", "");
  EXPECT_EQ(learning["curves"][0]["y"].size(), 14u);  // without the further steps
  const Json still = trained("4", "rate=1e-30");
  EXPECT_EQ(still["status"], "failed");
  EXPECT_THAT(still.value("reason", ""), HasSubstr(" after 126 steps"));
}

TEST(Finetune, EpochsAreStepsOverAFile) {
  const TemporaryFolder folder;
  std::string rows;
  for (int i = 0; i < 4; ++i) rows += R"({"text":")" + std::string(60, 'a') + "\"}\n";
  folder.write("rows.jsonl", rows);
  const std::string data = "data=" + (folder.path() / "rows.jsonl").string();
  const Json record = finetuned({"model=1L4H2K16D32C48F300V", data, "loss=tokens", "epochs=3",
                                 "schedule=linear", "rate=1e-2"},
                                false);
  EXPECT_EQ(losses_of(record).size(), 6u);
  // A rank that does not train has not read the file; two that do see half of it each.
  const std::vector<std::string> cell = {"model=1L4H2K16D32C48F300V", data, "loss=tokens"};
  const auto losses_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), cell.begin(), cell.end());
    return losses_of(finetuned(std::move(more), false));
  };
  EXPECT_EQ(losses_with({"epochs=3", "ranks=1", "--ranks", "2"}).size(), 6u);
  EXPECT_EQ(losses_with({"epochs=6", "--ranks", "2"}).size(), 6u);
  // What a checkpoint has trained counts; with less than a timed step left there is nothing to do.
  const std::string checkpoint = (folder.path() / "checkpoint").string();
  losses_with({"epochs=3", "save=" + checkpoint});
  EXPECT_EQ(losses_with({"epochs=6", "from=" + checkpoint}).size(), 6u);
  EXPECT_THAT(finetuned({"model=1L4H2K16D32C48F300V", data, "loss=tokens", "epochs=3",
                         "from=" + checkpoint},
                        false)
                  .value("reason", ""),
              HasSubstr("the epochs are 6 steps, of which 0 are left, but 5 are needed"));
  EXPECT_THAT(finetuned({"epochs=2"}).value("reason", ""), HasSubstr("epochs=2 is for data=FILE"));
  EXPECT_THAT(finetuned({"schedule=linear"}).value("reason", ""), HasSubstr("give steps=N"));
}

/// The small model of the check has adapters of a lower rank, and their scale.
TEST(Finetune, AdaptersOfALargeScaleAreChecked) {
  EXPECT_EQ(finetuned({"mode=lora", "rank=32", "alpha=640", "steps=2"})["status"], "passed");
}

/// A training that cannot write all files leaves those of the one before.
TEST(Finetune, AFailureLeavesTheOldWeights) {
  const TemporaryFolder model, results;
  write_tiny_model(model, parse_decoder_shape("1L4H2K16D32C48F300V").value());
  const std::string tuned = results.path() / "tuned";
  const auto train = [&](const std::string& rate) {
    return finetuned({"weights=" + model.path().string(), "output=" + tuned, "steps=2", rate},
                     false);
  };
  EXPECT_NE(train("rate=1e-3")["status"], "error");
  const auto before = read_operand(tuned + "/model.safetensors", 1 << 30);
  ASSERT_TRUE(before.ok()) << before.error().message;
  std::filesystem::create_directory(model.path() / "generation_config.json");  // cannot be read
  EXPECT_THAT(train("rate=1e-1").value("reason", ""), HasSubstr("Is a directory"));
  const auto after = read_operand(tuned + "/model.safetensors", 1 << 30);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(*after, *before);
  for (const auto& file : std::filesystem::directory_iterator(tuned)) {
    EXPECT_THAT(file.path().string(), Not(HasSubstr(".part")));
  }
}

/// A block's shared memory lies on the stack of a thread that computes on a CPU.
TEST(Finetune, ASmallLimitOfStacksIsEnough) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers need larger stacks";
  Process process(
      {"-c",
       std::string("ulimit -s 128; exec \"$0\" run finetune steps=5 batch=2 sequence=64 "
                   "--telemetry off --device cpu model=") +
           tiny_decoder,
       ASSAY_BINARY},
      {}, "", "/bin/sh");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Finetune, ASweepWithOneOutputIsRefused) {
  for (const char* flag : {"--dry-run", "--check", "--json"}) {
    const Outcome outcome =
        assay_run({"run", "finetune", std::string("model=") + tiny_decoder, "batch=1,2", "steps=1",
                   "save=checkpoint", "--device", "cpu", flag});
    EXPECT_EQ(outcome.status, 2) << flag;
    EXPECT_THAT(outcome.err, HasSubstr("save=checkpoint would be written by the cell with batch=1 "
                                       "and again by that with batch=2"));
  }
}

TEST(Finetune, AlphaIsOneThatAdaptersMayHave) {
  const Outcome outcome =
      assay_run({"run", "finetune", "mode=lora", "alpha=70000", "--device", "cpu", "--dry-run"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("above 0 up to 65536"));
}

TEST(Finetune, TheFolderOfTheWeightsIsNotReplaced) {
  const TemporaryFolder model;
  write_tiny_model(model, parse_decoder_shape("1L4H2K16D32C48F300V").value());
  const std::string folder = model.path();
  const Json record = finetuned({"weights=" + folder, "output=" + folder, "steps=2"}, false);
  EXPECT_THAT(record.value("reason", ""), HasSubstr("choose another"));
}

}  // namespace
}  // namespace assay
