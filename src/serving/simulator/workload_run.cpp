#include "serving/simulator/workload_run.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/random.h"
#include "serving/server/block_hash.h"

namespace assay::simulator {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// An engine and the step it is in.
struct ModelledServer {
  Engine engine;
  Step step;
  double step_end = never;
  std::size_t unfinished = 0;
};

class Run {
 public:
  Run(const EngineSettings& settings, int engines, std::span<const WorkloadRequest> workload,
      Arrival loop)
      : workload_(workload), loop_(loop) {
    for (int i = 0; i < engines; ++i) servers_.push_back({Engine(settings), {}, never, 0});
    outcome_.requests.resize(workload.size());
  }

  WorkloadOutcome all() {
    while (true) {
      std::size_t next = 0;
      for (std::size_t i = 1; i < servers_.size(); ++i) {
        if (servers_[i].step_end < servers_[next].step_end) next = i;
      }
      const double arrival = next_arrival();
      if (arrival == never && servers_[next].step_end == never) break;
      if (arrival <= servers_[next].step_end) {
        arrive(arrival);
      } else {
        finish_step(servers_[next]);
      }
    }
    for (ModelledServer& server : servers_) {
      outcome_.preemptions += server.engine.scheduler().counters().preemptions;
    }
    return std::move(outcome_);
  }

 private:
  double next_arrival() const {
    if (arrived_ == workload_.size()) return never;
    if (loop_.in_flight == 0) return workload_[arrived_].arrival;
    return arrived_ - finished_ < loop_.in_flight ? now_ : never;
  }

  void arrive(double now) {
    now_ = now;
    outcome_.requests[arrived_].arrival = now;
    std::size_t chosen = arrived_ % servers_.size();
    for (std::size_t i = 1; i < servers_.size(); ++i) {
      const std::size_t other = (arrived_ + i) % servers_.size();
      if (servers_[other].unfinished < servers_[chosen].unfinished) chosen = other;
    }
    const WorkloadRequest& request = workload_[arrived_];
    outcome_.requests[arrived_].engine = static_cast<int>(chosen);
    ModelledServer& server = servers_[chosen];
    ++server.unfinished;
    server.engine.scheduler().submit(
        {arrived_++, request.prompt_tokens, request.output_tokens, request.hashes});
    if (server.step_end == never) begin_step(server, now);
  }

  static void begin_step(ModelledServer& server, double now) {
    if (server.engine.scheduler().idle()) {
      server.step_end = never;
      return;
    }
    server.step = server.engine.step();
    server.step_end = now + server.step.seconds;
  }

  void finish_step(ModelledServer& server) {
    const double now = now_ = server.step_end;
    for (const YieldedToken& token : server.step.tokens) {
      RequestOutcome& request = outcome_.requests[token.id];
      if (token.number == 1) request.first = now;
      if (!token.last) continue;
      request.finish = now;
      --server.unfinished;
      ++finished_;
    }
    begin_step(server, now);
  }

  std::span<const WorkloadRequest> workload_;
  const Arrival loop_;
  double now_ = 0;
  std::size_t finished_ = 0;
  std::vector<ModelledServer> servers_;
  std::size_t arrived_ = 0;
  WorkloadOutcome outcome_;
};

}  // namespace

Result<WorkloadOutcome> run_workload(const EngineSettings& settings, int engines,
                                     std::span<const WorkloadRequest> workload, Arrival loop) {
  const std::uint64_t room = settings.scheduler.blocks * block_tokens;
  for (const WorkloadRequest& request : workload) {
    if (request.prompt_tokens + request.output_tokens <= room) continue;
    return Error{ErrorKind::usage,
                 fmt::format("a request of {} + {} tokens does not fit in a cache of {} tokens",
                             request.prompt_tokens, request.output_tokens, room)};
  }
  return Run(settings, engines, workload, loop).all();
}

std::vector<WorkloadRequest> poisson_workload(std::size_t count, double rate,
                                              std::uint64_t prompt_tokens,
                                              std::uint64_t output_tokens, std::uint64_t seed) {
  Random random(seed);
  std::vector<WorkloadRequest> workload(count);
  double now = 0;
  for (WorkloadRequest& request : workload) {
    now += -std::log(1 - random.uniform()) / rate;
    request = {now, prompt_tokens, output_tokens, {}};
  }
  return workload;
}

}  // namespace assay::simulator
