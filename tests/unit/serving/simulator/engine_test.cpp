// Continuous batching, the cache of prefixes and preemption, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "serving/server/block_hash.h"
#include "serving/simulator/fixed_timing.h"
#include "serving/simulator/presets.h"
#include "serving/simulator/simulated_text.h"
#include "serving/simulator/workload_run.h"
#include "support/step_reference.h"

namespace assay::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EngineSettings settings_of(std::uint32_t blocks) {
  EngineSettings settings;
  settings.model = *find_model("llama-3.1-8b");
  settings.hardware = {4.3e12, 600e12, 0};
  settings.scheduler.blocks = blocks;
  return settings;
}

std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

SequenceRequest request_of(std::uint64_t id, std::size_t prompt, std::uint64_t output,
                           std::uint32_t first_token = 0) {
  return {id, prompt, output, block_hashes(tokens_from(first_token, prompt))};
}

double usage_of(Engine& engine) {
  const Scheduler& scheduler = engine.scheduler();
  return 1 - double(scheduler.free_blocks()) / double(scheduler.blocks());
}

std::vector<std::uint64_t> ids_of(const Step& step) {
  std::vector<std::uint64_t> ids;
  for (const YieldedToken& token : step.tokens) ids.push_back(token.id);
  return ids;
}

/// Runs to the end: the number of the last token of each request.
std::map<std::uint64_t, std::uint64_t> drain(Engine& engine) {
  std::map<std::uint64_t, std::uint64_t> tokens;
  for (int steps = 0; !engine.scheduler().idle() && steps < 100000; ++steps) {
    for (const YieldedToken& token : engine.step().tokens) {
      std::uint64_t& last = tokens[token.id];
      if (last != 0) EXPECT_EQ(token.number, last + 1);
      last = token.number;
    }
  }
  EXPECT_TRUE(engine.scheduler().idle());
  return tokens;
}

TEST(SimBlockHash, EqualPrefixesShareHashesUpToTheFirstDifference) {
  auto tokens = tokens_from(7, 64);
  const auto hashes = block_hashes(tokens);
  ASSERT_EQ(hashes.size(), 4u);
  tokens[20] = 0;
  const auto other = block_hashes(tokens);
  EXPECT_EQ(other[0], hashes[0]);
  for (int i = 1; i < 4; ++i) EXPECT_NE(other[i], hashes[i]) << i;
  EXPECT_THAT(block_hashes(tokens_from(7, 15)), IsEmpty());
  EXPECT_NE(hashes[0], hashes[1]);
}

TEST(SimBlockHash, ATokenIsFourBytesOfText) {
  std::vector<std::uint32_t> tokens;
  SimulatedText().append("", tokens);
  EXPECT_THAT(tokens, IsEmpty());
  SimulatedText().append("abcd", tokens);
  SimulatedText().append("abcda", tokens);
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0], tokens[1]);
  EXPECT_EQ(tokens[2], 'a');
  EXPECT_LT(tokens[0], find_model("llama-2-7b")->vocabulary) << "the smallest vocabulary";
}

TEST(SimBlockPool, TheBlockFreeForLongestIsTakenFirstAndForgotten) {
  BlockPool pool(4);
  std::vector<BlockPool::Block> a, b;
  pool.take(2, a);
  pool.hold(a[0], 100);
  pool.hold(a[1], 101);
  pool.release(a);
  const std::vector<std::uint64_t> prefix = {100, 101, 102};
  EXPECT_EQ(pool.held(prefix), 2u);
  EXPECT_EQ(pool.free(), 4u);
  pool.take(3, b);  // the two unused blocks, then the end of the prefix
  EXPECT_EQ(pool.held(prefix), 1u);
  EXPECT_EQ(pool.held_and_free(std::span(prefix).first(1)), 1u);
  std::vector<BlockPool::Block> c;
  pool.share(std::span(prefix).first(1), c);
  EXPECT_THAT(c, ElementsAre(a[0]));
  EXPECT_EQ(pool.free(), 0u);
  EXPECT_FALSE(pool.forget());
  pool.release(b);
  pool.release(c);
  EXPECT_TRUE(pool.forget());
  EXPECT_EQ(pool.held(prefix), 0u);
}

TEST(SimEngine, ARequestAloneTakesItsPrefillAndItsDecodeSteps) {
  const EngineSettings settings = settings_of(1000);
  Engine engine(settings);
  engine.scheduler().submit(request_of(1, 512, 3));
  const Step first = engine.step();
  EXPECT_DOUBLE_EQ(first.seconds, prefill_seconds(settings.model, settings.hardware, 512));
  EXPECT_THAT(first.started, ElementsAre(1));
  EXPECT_THAT(ids_of(first), ElementsAre(1));
  EXPECT_EQ(engine.scheduler().running(), 1u);
  EXPECT_NEAR(usage_of(engine), 32. / 1000, 1e-12);
  const Step second = engine.step();
  EXPECT_DOUBLE_EQ(second.seconds, decode_seconds(settings.model, settings.hardware, 1, 513));
  EXPECT_FALSE(second.tokens[0].last);
  EXPECT_TRUE(engine.step().tokens[0].last);
  EXPECT_TRUE(engine.scheduler().idle());
  EXPECT_EQ(usage_of(engine), 0);
  EXPECT_EQ(engine.scheduler().counters().prompt_tokens, 512u);
  EXPECT_EQ(engine.scheduler().counters().generation_tokens, 3u);
}

TEST(SimEngine, APromptBeyondTheBudgetComesInChunksBesideDecoding) {
  EngineSettings settings = settings_of(1000);
  settings.scheduler.max_batched_tokens = 100;
  Engine engine(settings);
  engine.scheduler().submit(request_of(1, 50, 10));
  engine.step();
  engine.scheduler().submit(request_of(2, 250, 2, 1000));
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(1));  // 1 + 99 tokens
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(1));  // 1 + 99
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(1, 2));
}

TEST(SimEngine, APromptWithRoomOfItsOwnIsNotCut) {
  EngineSettings settings = settings_of(1000);
  settings.scheduler.max_batched_tokens = 100;
  settings.scheduler.whole_prompts = true;
  Engine engine(settings);
  for (std::uint64_t id = 0; id < 3; ++id) {
    engine.scheduler().submit(request_of(id, 60, 10, static_cast<std::uint32_t>(1000 * id)));
  }
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(0));  // 40 tokens are left
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(0, 1));
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(0, 1, 2));
  // 97 tokens are left beside three that decode: nobody would wait for more.
  engine.scheduler().submit(request_of(3, 98, 2, 5000));
  engine.scheduler().submit(request_of(4, 97, 2, 7000));
  EXPECT_THAT(engine.step().started, ElementsAre(3));
  const Step after = engine.step();  // the last token of the one, 96 for the other
  EXPECT_THAT(ids_of(after), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(after.started, IsEmpty());
  EXPECT_THAT(engine.step().started, ElementsAre(4));
}

TEST(SimEngine, NoMoreSequencesRunThanAreAllowed) {
  EngineSettings settings = settings_of(1000);
  settings.scheduler.max_sequences = 2;
  Engine engine(settings);
  for (std::uint64_t id = 0; id < 3; ++id) engine.scheduler().submit(request_of(id, 16, 2));
  EXPECT_THAT(engine.step().started, ElementsAre(0, 1));
  EXPECT_EQ(engine.scheduler().running(), 2u);
  EXPECT_EQ(engine.scheduler().waiting(), 1u);
  EXPECT_THAT(engine.step().started, IsEmpty());
  EXPECT_THAT(engine.step().started, ElementsAre(2));
}

TEST(SimEngine, WithoutFreeBlocksTheLatestIsPreemptedAndComputedAgain) {
  EngineSettings settings = settings_of(8);  // 128 tokens for two sequences of 16 + 80
  settings.scheduler.prefix_cache = false;
  Engine engine(settings);
  engine.scheduler().submit(request_of(1, 16, 80));
  engine.scheduler().submit(request_of(2, 16, 80, 500));
  const auto tokens = drain(engine);
  EXPECT_EQ(tokens.at(1), 80u);
  EXPECT_EQ(tokens.at(2), 80u);
  EXPECT_EQ(engine.scheduler().counters().preemptions, 1u);
  EXPECT_EQ(engine.scheduler().counters().prompt_tokens, 32u);  // recomputed tokens count once
  EXPECT_EQ(usage_of(engine), 0);
}

TEST(SimEngine, NobodyOvertakesAPreemptedRequest) {
  EngineSettings settings = settings_of(8);
  settings.scheduler.max_sequences = 2;
  Engine engine(settings);
  engine.scheduler().submit(request_of(1, 16, 80));
  engine.scheduler().submit(request_of(2, 16, 80, 500));
  engine.scheduler().submit(request_of(3, 16, 1, 900));  // a block is enough for it
  Step step;
  while (step.preempted.empty()) step = engine.step();
  EXPECT_THAT(step.preempted, ElementsAre(2));
  while (step.tokens.empty() || !step.tokens[0].last) {
    EXPECT_THAT(ids_of(step), ElementsAre(1));
    step = engine.step();
  }
  EXPECT_THAT(ids_of(engine.step()), ElementsAre(2, 3));
}

TEST(SimEngine, ACommonPrefixIsComputedOnce) {
  const EngineSettings settings = settings_of(1000);
  Engine engine(settings);
  engine.scheduler().submit(request_of(1, 512, 1));
  drain(engine);
  engine.scheduler().submit(request_of(2, 512, 1));
  const Step again = engine.step();
  // The last block is computed all the same: the first output token comes from it.
  EXPECT_LT(again.seconds, prefill_seconds(settings.model, settings.hardware, 512) / 2);
  EXPECT_EQ(engine.scheduler().counters().prefix_queries, 1024u);
  EXPECT_EQ(engine.scheduler().counters().prefix_hits, 496u);
  EXPECT_TRUE(engine.scheduler().reset_prefix_cache());
  engine.scheduler().submit(request_of(3, 512, 2));
  engine.step();
  EXPECT_EQ(engine.scheduler().counters().prefix_hits, 496u);
  EXPECT_FALSE(engine.scheduler().reset_prefix_cache());  // a request is running
}

TEST(SimEngine, AnotherPromptFindsNoPrefix) {
  Engine engine(settings_of(1000));
  engine.scheduler().submit(request_of(1, 512, 1));
  engine.scheduler().submit(request_of(2, 512, 1, 7777));
  drain(engine);
  EXPECT_EQ(engine.scheduler().counters().prefix_hits, 0u);
}

TEST(SimEngine, SequencesShareTheBlocksOfTheirPrefix) {
  Engine engine(settings_of(100));
  engine.scheduler().submit(request_of(1, 160, 5));
  engine.step();
  engine.scheduler().submit(request_of(2, 160, 5));
  engine.step();
  // 10 blocks, one as the first grows, and the last prompt block of the second.
  EXPECT_NEAR(usage_of(engine), 0.12, 1e-12);
  drain(engine);
  EXPECT_EQ(usage_of(engine), 0);
}

TEST(SimEngine, ACancelledRequestLeavesNothing) {
  Engine engine(settings_of(100));
  engine.scheduler().submit(request_of(1, 100, 50));
  engine.scheduler().submit(request_of(2, 100, 5));
  engine.step();
  engine.scheduler().cancel(1);
  engine.scheduler().cancel(99);
  EXPECT_EQ(engine.scheduler().running(), 1u);
  EXPECT_EQ(drain(engine).count(1), 0u);
  EXPECT_EQ(usage_of(engine), 0);
}

TEST(SimEngine, JitterIsSeededAndKeepsTheMean) {
  EngineSettings settings = settings_of(1000);
  const auto total = [&](std::uint64_t seed) {
    settings.jitter = 0.3;
    settings.seed = seed;
    Engine engine(settings);
    engine.scheduler().submit(request_of(1, 16, 4000));
    double seconds = 0;
    while (!engine.scheduler().idle()) seconds += engine.step().seconds;
    return seconds;
  };
  EXPECT_EQ(total(1), total(1));
  EXPECT_NE(total(1), total(2));
  settings.jitter = 0;
  Engine exact(settings);
  exact.scheduler().submit(request_of(1, 16, 4000));
  double seconds = 0;
  while (!exact.scheduler().idle()) seconds += exact.step().seconds;
  EXPECT_NEAR(total(1) / seconds, 1, 0.02);
}

TEST(SimWorkload, AFewRequestsTakeTheTimeTheyHaveAlone) {
  const EngineSettings settings = settings_of(1000);
  const std::vector<WorkloadRequest> workload = {{1, 512, 2, {}}, {5, 512, 2, {}}};
  const auto outcome = run_workload(settings, 1, workload);
  ASSERT_TRUE(outcome.ok());
  const double prefill = prefill_seconds(settings.model, settings.hardware, 512);
  EXPECT_DOUBLE_EQ(outcome->requests[0].first, 1 + prefill);
  EXPECT_DOUBLE_EQ(outcome->requests[1].first, 5 + prefill);
  EXPECT_NEAR(outcome->requests[1].finish - outcome->requests[1].first,
              decode_seconds(settings.model, settings.hardware, 1, 513), 1e-12);
}

TEST(SimWorkload, TheBalancerGivesToTheLeastLoaded) {
  const EngineSettings settings = settings_of(1000);
  std::vector<WorkloadRequest> workload(8, {0, 100, 10, {}});
  workload[0].output_tokens = 2000;  // keeps its engine busy
  workload.push_back({2, 100, 10, {}});
  workload.push_back({2, 100, 10, {}});
  const auto outcome = run_workload(settings, 4, workload);
  ASSERT_TRUE(outcome.ok());
  std::map<int, int> counts;
  for (int i = 0; i < 8; ++i) ++counts[outcome->requests[i].engine];
  EXPECT_THAT(counts,
              ElementsAre(std::pair(0, 2), std::pair(1, 2), std::pair(2, 2), std::pair(3, 2)));
  EXPECT_NE(outcome->requests[8].engine, 0);
  EXPECT_NE(outcome->requests[9].engine, 0);
}

TEST(SimWorkload, BeyondCapacityWaitingGrowsWithoutLossOfRequests) {
  EngineSettings settings = settings_of(300);
  const auto workload = poisson_workload(400, 200, 200, 50, 3);
  const auto outcome = run_workload(settings, 1, workload);
  ASSERT_TRUE(outcome.ok());
  for (std::size_t i = 0; i < workload.size(); ++i) {
    EXPECT_GT(outcome->requests[i].first, workload[i].arrival);
    EXPECT_GT(outcome->requests[i].finish, outcome->requests[i].first);
  }
  EXPECT_GT(outcome->requests[399].first - workload[399].arrival, 1);
  EXPECT_LT(outcome->requests[0].first - workload[0].arrival, 0.1);
  const auto again = run_workload(settings, 1, workload);
  EXPECT_EQ(again->requests[399].finish, outcome->requests[399].finish);
}

TEST(SimWorkload, ARequestThatCanNeverFitIsRefused) {
  const std::vector<WorkloadRequest> workload = {{0, 160, 1, {}}};
  EXPECT_FALSE(run_workload(settings_of(10), 1, workload).ok());
}

TEST(SimWorkload, PoissonArrivalsHaveTheirRate) {
  const auto workload = poisson_workload(20000, 5, 1, 1, 11);
  EXPECT_NEAR(20000 / workload.back().arrival, 5, 0.15);
  EXPECT_TRUE(std::is_sorted(workload.begin(), workload.end(),
                             [](const auto& a, const auto& b) { return a.arrival < b.arrival; }));
}

TEST(SimSpread, ParsesAndKeepsTheMean) {
  Random random(5);
  for (const char* text : {"none", "uniform:0.5", "lognormal:0.4"}) {
    const auto spread = Spread::parse(text);
    ASSERT_TRUE(spread.ok()) << text;
    double sum = 0, least = 10, most = 0;
    for (int i = 0; i < 20000; ++i) {
      const double factor = spread->factor(random);
      sum += factor;
      least = std::min(least, factor);
      most = std::max(most, factor);
    }
    EXPECT_NEAR(sum / 20000, 1, 0.01) << text;
    if (spread->kind == Spread::Kind::none) EXPECT_EQ(least, most);
    if (spread->kind == Spread::Kind::uniform) EXPECT_NEAR(most - least, 1, 0.01);
    if (spread->kind == Spread::Kind::lognormal) EXPECT_GT(most, 2);
  }
  for (const char* text : {"", "uniform", "uniform:", "uniform:1", "uniform:-1", "normal:0.2",
                           "lognormal:0.2x", "none:1", "uniform:nan"}) {
    EXPECT_FALSE(Spread::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace assay::simulator
