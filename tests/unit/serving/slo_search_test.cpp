#include "serving/slo_search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <set>

#include "core/random.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

using End = SearchResult::End;

/// A server as the search sees it.
struct ModelServer {
  double capacity = 100;                    ///< requests per second
  std::function<double(double rate)> used;  ///< share of the latency target; rate 0: one in flight
  double noise = 0;                         ///< lognormal, of `used`
  std::function<bool(const RateProbe&)> is_void = {};  ///< probes that the client made void
};

ProbeOutcome answer(const ModelServer& server, const RateProbe& probe, Random& random) {
  const bool open = probe.kind == RateProbe::Kind::at_rate;
  const bool full = probe.kind == RateProbe::Kind::full;
  ProbeOutcome outcome;
  const double rate = open ? probe.rate : full ? 1e9 : 0;
  outcome.throughput = open   ? std::min(probe.rate, server.capacity)
                       : full ? server.capacity
                              : server.capacity / 50;
  outcome.used = {server.used(rate) * std::exp(server.noise * random.normal()), 0.1};
  if (open && probe.rate > server.capacity / 0.95) outcome.fault = "saturated";
  if (server.is_void && server.is_void(probe)) {
    outcome.is_void = true;
    outcome.fault = "void";
  }
  return outcome;
}

struct Searched {
  SearchResult result;
  std::vector<RateProbe> probes;
};

Searched search(const ModelServer& server, const RateSearchSettings& settings = {},
                std::uint64_t seed = 1) {
  RateSearch searching(settings);
  Random random(seed);
  Searched searched;
  while (const auto probe = searching.next()) {
    searched.probes.push_back(*probe);
    searching.add(answer(server, *probe, random));
    if (searched.probes.size() > 1000) break;
  }
  searched.result = searching.result();
  return searched;
}

/// Waiting as in an M/M/1 queue: the target is used up where 1 / (1 - rate / capacity) is `limit`.
ModelServer queue(double limit, double noise = 0) {
  ModelServer server;
  server.used = [limit, capacity = server.capacity](double rate) {
    return rate < capacity ? 1 / ((1 - rate / capacity) * limit) : 50;
  };
  server.noise = noise;
  return server;
}

double boundary_of_queue(double limit) {
  return 100 * (1 - 1 / limit);
}

TEST(SloSearch, FindsWhereAQueueGetsTooSlowInFewRuns) {
  for (const double limit : {1.1, 1.3, 2.0, 3.0, 5.0, 10.0, 20.0}) {
    const double boundary = boundary_of_queue(limit);
    const Searched searched = search(queue(limit));
    const SearchResult& result = searched.result;
    SCOPED_TRACE(limit);
    ASSERT_EQ(result.end, End::found);
    EXPECT_THAT(result.passed->rate, AllOf(Ge(boundary / 1.052), Le(boundary)));
    EXPECT_THAT(result.failed->rate, AllOf(Ge(boundary), Le(boundary * 1.052)));
    EXPECT_LE(result.failed->rate, result.passed->rate * 1.052);
    EXPECT_LE(result.probes, boundary > 20 ? 12u : 14u) << "far below 0.7 of the throughput";
    EXPECT_EQ(result.probes, searched.probes.size());
    EXPECT_EQ(result.repeats, 3u);
    EXPECT_EQ(result.repeats_passed, 3u);
    EXPECT_DOUBLE_EQ(result.confidence, 0.875);
    EXPECT_LE(result.passed->used[0], 1);
    EXPECT_GT(result.failed->used[0], 1);
    EXPECT_EQ(result.full_throughput, 100);
  }
}

TEST(SloSearch, NoiseCostsLittlePrecisionAndFewRuns) {
  std::size_t probes = 0, searches = 0, off = 0, many = 0;
  for (const double limit : {1.5, 2.0, 3.0, 5.0, 10.0}) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Searched searched = search(queue(limit, 0.05), {}, seed);
      ASSERT_EQ(searched.result.end, End::found);
      const double ratio = searched.result.passed->rate / boundary_of_queue(limit);
      // The 5% sought, and on either side what 5% of noise amounts to at that slope.
      const double noise = 2 * 0.05 / (limit - 1);
      off += ratio > 1 + noise || ratio < 1 / (1.052 + noise);
      many += searched.result.probes > 12;
      probes += searched.result.probes;
      ++searches;
    }
  }
  EXPECT_LE(static_cast<double>(probes) / static_cast<double>(searches), 11);
  EXPECT_LE(static_cast<double>(many) / static_cast<double>(searches), 0.2);
  EXPECT_LE(static_cast<double>(off) / static_cast<double>(searches), 0.05);
}

TEST(SloSearch, FindsACliff) {
  for (const double cliff : {12.0, 31.0, 66.0, 83.0, 97.0}) {
    SCOPED_TRACE(cliff);
    ModelServer server;
    server.used = [cliff](double rate) { return rate < cliff ? 0.2 : 30; };
    const SearchResult result = search(server).result;
    ASSERT_EQ(result.end, End::found);
    EXPECT_THAT(result.passed->rate, AllOf(Ge(cliff / 1.052), Le(cliff)));
    EXPECT_LE(result.probes, cliff > 50 ? 12u : 14u);
  }
}

TEST(SloSearch, DoesNotCreepTowardsACliffBehindAPlain) {
  // The fit always sees the root just above the rate that passed.
  ModelServer server;
  server.used = [](double rate) { return rate < 95 ? 0.99 : 30; };
  RateSearchSettings settings;
  settings.precision = 0.01;
  const SearchResult result = search(server, settings).result;
  ASSERT_EQ(result.end, End::found);
  EXPECT_THAT(result.passed->rate, AllOf(Ge(95 / 1.012), Le(95.0)));
  EXPECT_LE(result.probes, 18u);
}

TEST(SloSearch, SaysWhenOneRequestInFlightIsTooSlowAlready) {
  ModelServer server;
  server.used = [](double) { return 1.2; };
  const Searched searched = search(server);
  EXPECT_EQ(searched.result.end, End::unreachable);
  EXPECT_FALSE(searched.result.passed);
  EXPECT_EQ(searched.result.failed->used[0], 1.2);
  EXPECT_EQ(searched.probes.size(), 2u) << "the first may have met a cold server";
}

TEST(SloSearch, AColdServerHasASecondChance) {
  ModelServer server = queue(2);
  server.used = [used = server.used, calls = 0](double rate) mutable {
    return calls++ == 0 ? 7 : used(rate);
  };
  EXPECT_EQ(search(server).result.end, End::found);
}

TEST(SloSearch, SaysWhenOnlyOneRequestAtATimeMeetsTheTarget) {
  ModelServer server;
  server.used = [](double rate) { return rate > 0 ? 3 : 0.9; };
  const Searched searched = search(server);
  EXPECT_EQ(searched.result.end, End::too_slow);
  EXPECT_FALSE(searched.result.passed);
  EXPECT_DOUBLE_EQ(searched.result.failed->rate, 0.2) << "a tenth of the throughput of one";
  EXPECT_LE(searched.probes.size(), 9u);
}

TEST(SloSearch, StopsAtTheHighestRateAllowed) {
  ModelServer server;
  server.used = [](double) { return 0.5; };
  server.capacity = 1e6;
  RateSearchSettings settings;
  settings.most_rate = 1234.567;
  const Searched searched = search(server, settings);
  EXPECT_EQ(searched.result.end, End::capped);
  EXPECT_EQ(searched.result.passed->rate, 1234.567);
  EXPECT_FALSE(searched.result.failed);
  EXPECT_EQ(searched.result.repeats_passed, 3u);
  EXPECT_EQ(searched.probes.size(), 6u);
}

TEST(SloSearch, SaturationIsAFailureWhateverTheLatency) {
  ModelServer server;
  server.used = [](double) { return 0.5; };
  const SearchResult result = search(server).result;
  ASSERT_EQ(result.end, End::found);
  EXPECT_THAT(result.passed->rate, AllOf(Ge(100.0), Le(100 / 0.95)));
  EXPECT_EQ(result.failed->fault, "saturated");
  EXPECT_LE(result.probes, 12u);
}

TEST(SloSearch, AVoidRunIsRunAgain) {
  ModelServer server = queue(3);
  server.is_void = [](const RateProbe& probe) { return probe.number == 2 || probe.number == 3; };
  const Searched twice = search(server);
  EXPECT_EQ(twice.probes[2].rate, twice.probes[4].rate);
  EXPECT_EQ(twice.probes.size(), search(queue(3)).probes.size() + 2);
  EXPECT_EQ(twice.result.passed->rate, search(queue(3)).result.passed->rate);
}

TEST(SloSearch, ANoisyClientEndsItInsteadOfLoweringTheRate) {
  ModelServer server = queue(3);
  server.is_void = [](const RateProbe& probe) { return probe.rate > 68; };
  const Searched searched = search(server);
  EXPECT_EQ(searched.result.end, End::noisy);
  EXPECT_FALSE(searched.result.passed);  // 70 is the first rate
  EXPECT_FALSE(searched.result.failed);
  EXPECT_EQ(searched.probes.size(), 5u);  // single, full and three times the same
  server.is_void = [](const RateProbe& probe) { return probe.number == 4; };
  EXPECT_EQ(search(server).result.end, End::found);
  server.is_void = [](const RateProbe& probe) { return probe.kind == RateProbe::Kind::full; };
  EXPECT_EQ(search(server).result.end, End::found);  // it only bounds the rates
  server.is_void = [](const RateProbe& probe) { return probe.kind == RateProbe::Kind::single; };
  EXPECT_EQ(search(server).result.end, End::noisy);
}

TEST(SloSearch, FreshRepeatsDecide) {
  // Rates up to 50 requests a second always pass, higher ones only the first time.
  ModelServer server;
  std::set<double> seen;
  server.used = [&seen](double rate) {
    if (rate <= 50) return 0.5;
    return rate < 80 && seen.insert(rate).second ? 0.9 : 1.5;
  };
  RateSearchSettings settings;
  settings.precision = 0.1;
  const Searched searched = search(server, settings);
  ASSERT_EQ(searched.result.end, End::found);
  EXPECT_THAT(searched.result.passed->rate, AllOf(Ge(50 / 1.11), Le(50.0)));
  EXPECT_EQ(searched.result.repeats_passed, 3u);
}

TEST(SloSearch, OneFailedRepeatOfThreeLeavesItUnsure) {
  ModelServer server;
  server.used = [repeats = 0](double rate) mutable {
    if (rate > 75) return 2.0;
    return rate == 70 && ++repeats == 3 ? 1.1 : 0.8;
  };
  RateSearchSettings settings;
  settings.precision = 1;
  const SearchResult result = search(server, settings).result;
  ASSERT_EQ(result.end, End::found);
  EXPECT_EQ(result.passed->rate, 70);
  EXPECT_EQ(result.repeats_passed, 2u);
  EXPECT_DOUBLE_EQ(result.confidence, 0.5);
}

TEST(SloSearch, AVoidRepeatIsRunAgainAndSaysNothing) {
  ModelServer server;
  server.used = [runs = 0](double rate) mutable {
    if (rate > 75) return 2.0;
    if (rate < 70) return 0.5;
    ++runs;
    return runs == 3 || runs == 4 ? 30 : 0.8;
  };
  server.is_void = [](const RateProbe& probe) { return probe.number == 5 || probe.number == 6; };
  RateSearchSettings settings;
  settings.precision = 1;
  const Searched searched = search(server, settings);
  ASSERT_EQ(searched.result.end, End::found);
  EXPECT_DOUBLE_EQ(searched.result.passed->used[0], 0.8);
  EXPECT_EQ(searched.result.repeats, 3u);
  EXPECT_EQ(searched.result.repeats_passed, 3u);
  EXPECT_EQ(searched.probes[7].repeat, 2u);
}

TEST(SloSearch, EveryProbeHasItsNumber) {
  const Searched searched = search(queue(3, 0.3), {}, 5);
  for (std::size_t i = 0; i < searched.probes.size(); ++i) {
    EXPECT_EQ(searched.probes[i].number, i);
  }
  EXPECT_EQ(searched.probes.back().repeat, 3u);
}

TEST(SloSearch, AlwaysEnds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random chaos(seed);
    ModelServer server;
    server.used = [&](double) { return std::exp(3 * chaos.normal()); };
    server.capacity = std::exp(10 * chaos.normal());
    server.is_void = [&](const RateProbe&) { return chaos.uniform() < 0.3; };
    RateSearchSettings settings;
    settings.precision = 0.01;
    const Searched searched = search(server, settings, seed);
    EXPECT_LE(searched.probes.size(), settings.most_probes);
    for (const RateProbe& probe : searched.probes) EXPECT_TRUE(std::isfinite(probe.rate));
  }
  ModelServer dead;
  dead.used = [](double) { return 0.5; };
  dead.capacity = 0;
  EXPECT_EQ(search(dead).result.end, End::too_slow)
      << "a throughput of 0 is no rate to search from";
}

TEST(SloSearch, SaysThatItWasStopped) {
  RateSearchSettings settings;
  settings.most_probes = 4;
  const SearchResult result = search(queue(3), settings).result;
  EXPECT_EQ(result.end, End::stopped);
  EXPECT_EQ(result.repeats, 0u);
  EXPECT_EQ(result.confidence, 0);
}

}  // namespace
}  // namespace assay
