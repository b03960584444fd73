// A scheduler's steps, computed: the tokens are those of the reference, however they were batched.
#include "serving/engine/step_executor.h"

#include <gtest/gtest.h>

#include <set>

#include "model/transformer/named_shapes.h"
#include "serving/engine/pass_sizes.h"
#include "serving/server/block_hash.h"
#include "support/decoder_reference.h"
#include "support/kernel_test.h"

namespace assay::engine {
namespace {

class StepExecutors : public KernelTest {
 protected:
  static ExecutorSettings settings() {
    return {.shape = parse_decoder_shape("2L4H2K16D64C96F131V").value(),
            .precision = DataType::f32,
            .seed = 5,
            .max_sequences = 4,
            .max_batched_tokens = 24,
            .max_length = 96,
            .blocks = 12};
  }

  static std::vector<std::uint32_t> prompt(std::uint32_t first, std::size_t count) {
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t i = 0; i < count; ++i) tokens.push_back((first + 37 * i) % 131);
    return tokens;
  }

  struct Run {
    std::vector<std::vector<std::uint32_t>> generated;
    server::SchedulerCounters counters;
    std::size_t free_blocks = 0, graphs = 0;
  };

  /// Generates `outputs` tokens after each prompt; the later ones come when the first has begun.
  Run run(const ExecutorSettings& executor_settings,
          const std::vector<std::vector<std::uint32_t>>& prompts, std::uint64_t outputs) {
    auto executor = StepExecutor::create(*device_, executor_settings);
    EXPECT_TRUE(executor.ok()) << executor.error().message;
    server::Scheduler scheduler(
        {.blocks = static_cast<std::uint32_t>(executor_settings.blocks),
         .max_sequences = static_cast<std::uint32_t>(executor_settings.max_sequences),
         .max_batched_tokens = static_cast<std::uint64_t>(executor_settings.max_batched_tokens)});
    SequenceTexts texts;
    Run run;
    run.generated.resize(prompts.size());
    std::size_t submitted = 0;
    for (int steps = 0; steps < 1000 && (submitted < prompts.size() || !scheduler.idle());
         ++steps) {
      if (submitted < prompts.size() && (submitted == 0 || steps % 3 == 2)) {
        const auto& text = prompts[submitted];
        scheduler.submit({submitted, text.size(), outputs, server::block_hashes(text)});
        texts[submitted] = {text, text.size(), {}};
        ++submitted;
      }
      if (scheduler.idle()) continue;
      const server::ScheduledStep& step = scheduler.schedule();
      const auto tokens = (*executor)->run(step, texts);
      EXPECT_TRUE(tokens.ok()) << tokens.error().message;
      if (!tokens.ok()) return run;
      std::size_t next = 0;
      for (const server::StepPart& part : step.parts) {
        if (!part.yields) continue;
        texts[part.id].tokens.push_back((*tokens)[next]);
        run.generated[part.id].push_back((*tokens)[next++]);
      }
      EXPECT_EQ(next, tokens->size());
      scheduler.finish();
    }
    run.counters = scheduler.counters();
    run.free_blocks = scheduler.free_blocks();
    run.graphs = (*executor)->graphs();
    return run;
  }

  void expect_reference(const Run& run, const std::vector<std::vector<std::uint32_t>>& prompts,
                        std::size_t outputs) {
    const ReferenceDecoder reference(*device_, settings().shape, settings().seed);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(run.generated[i],
                reference.generate({prompts[i].begin(), prompts[i].end()}, outputs))
          << "prompt " << i;
    }
  }
};

TEST_P(StepExecutors, GenerateTheReferencesTokensInBatchesAndChunks) {
  // The second is longer than a pass; so are several together.
  const std::vector<std::vector<std::uint32_t>> prompts = {prompt(1, 7), prompt(2, 33),
                                                           prompt(3, 1)};
  const Run done = run(settings(), prompts, 32);
  expect_reference(done, prompts, 32);
  EXPECT_EQ(done.counters.preemptions, 0u);
  EXPECT_EQ(done.free_blocks, 12u);
  EXPECT_GE(done.graphs, 2u);  // of one and of more sequences
}

TEST_P(StepExecutors, PreemptedSequencesGoOnWhereTheyWere) {
  const std::vector<std::vector<std::uint32_t>> prompts = {prompt(4, 20), prompt(5, 20),
                                                           prompt(6, 20)};
  ExecutorSettings small = settings();
  small.blocks = 6;  // 96 tokens for three sequences of 60
  const Run done = run(small, prompts, 40);
  expect_reference(done, prompts, 40);
  EXPECT_GT(done.counters.preemptions, 0u);
  EXPECT_EQ(done.free_blocks, 6u);
}

TEST_P(StepExecutors, CachedPrefixesAreThoseThatWereComputed) {
  std::vector<std::uint32_t> longer = prompt(7, 32);
  longer.insert(longer.end(), {9, 8, 7});
  const std::vector<std::vector<std::uint32_t>> prompts = {prompt(7, 32), longer, prompt(7, 32)};
  const Run done = run(settings(), prompts, 8);
  expect_reference(done, prompts, 8);
  EXPECT_GT(done.counters.prefix_hits, 0u);
}

TEST_P(StepExecutors, OfOneSizeComputeEachTokenInTheSameWay) {
  ExecutorSettings one_size = settings();
  one_size.deterministic = true;
  one_size.precision = DataType::bf16;
  const auto alone = run(one_size, {prompt(8, 21)}, 16).generated.front();
  const Run beside = run(one_size, {prompt(9, 30), prompt(8, 21), prompt(10, 3)}, 16);
  EXPECT_EQ(beside.generated[1], alone);
  EXPECT_EQ(beside.graphs, 1u);
}

TEST_P(StepExecutors, DrawTokensBySeed) {
  const auto drawn = [&](double temperature, std::uint64_t seed) {
    auto executor = StepExecutor::create(*device_, settings()).value();
    server::Scheduler scheduler({.blocks = 12, .max_sequences = 4, .max_batched_tokens = 24});
    SequenceTexts texts;
    const auto text = prompt(11, 5);
    texts[0] = {text, text.size(), {.temperature = temperature, .seed = seed}};
    scheduler.submit({0, text.size(), 12, {}});
    while (!scheduler.idle()) {
      const auto tokens = executor->run(scheduler.schedule(), texts).value();
      texts[0].tokens.push_back(tokens.front());
      scheduler.finish();
    }
    return texts[0].tokens;
  };
  EXPECT_EQ(drawn(1, 3), drawn(1, 3));
  EXPECT_NE(drawn(1, 3), drawn(1, 4));
  EXPECT_EQ(drawn(1e-6, 3), drawn(0, 0));
}

/// A token that was generated is not generated again, if each costs more than logits differ.
TEST_P(StepExecutors, PenaltiesKeepTokensFromComingAgain) {
  auto executor = StepExecutor::create(*device_, settings()).value();
  server::Scheduler scheduler({.blocks = 12, .max_sequences = 4, .max_batched_tokens = 24});
  SequenceTexts texts;
  texts[0] = SequenceText::of_prompt(prompt(11, 5), {.presence_penalty = 2});
  texts[1] = SequenceText::of_prompt(prompt(11, 5), {});  // beside it, without penalties
  for (const std::uint64_t id : {0, 1}) scheduler.submit({id, 5, 12, {}});
  while (!scheduler.idle()) {
    const server::ScheduledStep& step = scheduler.schedule();
    const auto tokens = executor->run(step, texts).value();
    std::size_t next = 0;
    for (const server::StepPart& part : step.parts) {
      if (part.yields) texts[part.id].add(tokens[next++]);
    }
    scheduler.finish();
  }
  const auto reply = [&](std::uint64_t id) {
    return std::vector<std::uint32_t>(texts[id].tokens.begin() + 5, texts[id].tokens.end());
  };
  const std::vector<std::uint32_t> penalized = reply(0);
  EXPECT_EQ(std::set<std::uint32_t>(penalized.begin(), penalized.end()).size(), 12u);
  EXPECT_EQ(reply(0).front(), reply(1).front());
}

ASSAY_KERNEL_BUILDS(StepExecutors);

TEST(PassSizes, AreFewAndWasteLittle) {
  EXPECT_EQ(pass_sizes(24), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 20, 24}));
  for (std::int64_t count = 17; count < 5000; ++count) {
    const std::int64_t size = pass_size(count);
    EXPECT_GE(size, count);
    EXPECT_LT(4 * size, 5 * count + 4) << count;
    EXPECT_EQ(pass_size(size), size);
  }
  EXPECT_LE(pass_sizes(8192).size(), 45u);
}

}  // namespace
}  // namespace assay::engine
