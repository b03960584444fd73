// One cell of `rdma`, driven by ranks that are threads, as the runner drives it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/thread_team.h"
#include "support/test_device.h"

namespace assay {

struct PairOutcome {
  std::string error;          ///< every rank must have the same error
  double value = 0;           ///< median of the cell's quantity, timed by rank `from`
  double mean_bandwidth = 0;  ///< bytes/s, over all samples together
  Verification verification;
  std::map<std::string, std::string> notes;
};

/// `settings` replace axes of a default cell: rank 0 writes 4 KiB to rank 1 over TCP.
inline Cell rdma_cell(const std::map<std::string, std::string>& settings) {
  std::map<std::string, std::string> chosen = {
      {"from", "0"},        {"to", "1"},       {"op", "write"}, {"metric", "bandwidth"},
      {"direction", "one"}, {"qps", "1"},      {"depth", "16"}, {"batch", "1"},
      {"transport", "tcp"}, {"nic", "routed"}, {"gid", "auto"}, {"memory", "host"},
      {"size", "4096"}};
  for (const auto& [axis, value] : settings) chosen[axis] = value;
  std::vector<std::pair<std::string, std::string>> values;
  for (const Axis& axis : find_benchmark("rdma")->axes()) {
    values.emplace_back(axis.name, chosen.at(axis.name));
  }
  return {"rdma", values};
}

/// Prepares, takes `samples` and verifies on one rank.
inline void run_rank(const Cell& cell, Team& team, int samples, PairOutcome& outcome) {
  const auto device = open_test_device("cpu");
  const auto stream = device->create_stream();
  ASSERT_TRUE(stream);
  const auto note = [&](const Error& error) { outcome.error = error.message; };
  Communicators unused(*device, team);
  auto prepared = find_benchmark("rdma")->prepare(cell, {*device, **stream, 7, team, unused});
  if (!prepared) return note(prepared.error());
  Case& work = **prepared;
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    if (const Status led = work.lead_in(**stream); !led) return note(led.error());
    const auto begin = std::chrono::steady_clock::now();
    if (const Status ran = work.enqueue(**stream); !ran) return note(ran.error());
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto verification = work.verify(**stream);
  if (!verification) return note(verification.error());
  outcome.verification = *verification;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const Work done = work.work();
  outcome.value =
      work.quantity() == Quantity::latency ? median / done.repetitions : done.bytes / median;
  outcome.mean_bandwidth = done.bytes * static_cast<double>(seconds.size()) /
                           std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (const auto& [key, value] : work.notes()) outcome.notes[key] = value;
}

inline PairOutcome run_pair(const std::map<std::string, std::string>& settings, int ranks = 2,
                            int samples = 3) {
  const Cell cell = rdma_cell(settings);
  ThreadTeam team(ranks);
  std::vector<PairOutcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      PairOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      run_rank(cell, team.rank(rank), samples, outcome);
      if (!outcome.error.empty()) team.rank(rank).die();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const PairOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, outcomes[0].error);
    EXPECT_EQ(outcome.verification.passed, outcomes[0].verification.passed);
  }
  const auto from = static_cast<std::size_t>(cell.integer("from"));
  return outcomes[from < outcomes.size() ? from : 0];
}

}  // namespace assay
