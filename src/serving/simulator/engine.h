// Continuous batching as vLLM does it, as a discrete-event model: no clock, no I/O, deterministic
// for a seed.
//
// Each step has a budget of tokens. Running sequences come first, in order of admission; then
// waiting ones, first come, first served, as long as tokens, batch slots and blocks are left. A
// prompt longer than what is left of the budget is computed in chunks. When a running sequence
// needs a block and none is free, the one admitted last is preempted: it loses all its blocks and
// recomputes them later.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "serving/simulator/block_pool.h"
#include "serving/simulator/capacity.h"

namespace assay::simulator {

struct EngineSettings {
  Model model;
  Hardware hardware;
  std::uint32_t blocks = 0;  ///< blocks of block_tokens tokens
  std::uint32_t max_sequences = 256;
  std::uint64_t max_batched_tokens = 8192;
  bool prefix_cache = true;
  double jitter = 0;  ///< sigma of a lognormal factor with mean 1 on the time of each step
  std::uint64_t seed = 0;
};

struct EngineRequest {
  std::uint64_t id = 0;  ///< unique among the requests in the engine
  std::uint64_t prompt_tokens = 0;
  std::uint64_t output_tokens = 0;    ///< at least 1; with the prompt at most blocks x block_tokens
  std::vector<std::uint64_t> hashes;  ///< block_hashes() of the prompt; may be empty
};

/// A token produced at the end of a step.
struct EngineToken {
  std::uint64_t id = 0;
  std::uint64_t number = 0;  ///< from 1
  bool last = false;         ///< the request has ended and the engine forgets it
};

struct Step {
  double seconds = 0;
  std::vector<EngineToken> tokens;
  std::vector<std::uint64_t> started;    ///< requests that left the queue for the first time
  std::vector<std::uint64_t> preempted;  ///< requests that went back to the front of the queue
};

/// The counters of vLLM's metrics.
struct EngineCounters {
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0, generation_tokens = 0;
  std::uint64_t prefix_queries = 0, prefix_hits = 0;  ///< tokens
};

class Engine {
 public:
  explicit Engine(const EngineSettings& settings);
  Engine(Engine&& other) noexcept;
  ~Engine();

  void submit(EngineRequest request);
  /// Removes a request; does nothing if it is unknown.
  void cancel(std::uint64_t id);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  /// Begins a step; call only if not idle(). The engine is already in the state at the step's end.
  Step step();

  /// False while any request runs.
  bool reset_prefix_cache() { return pool_.forget(); }
  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  double cache_usage() const;
  const EngineCounters& counters() const { return counters_; }

 private:
  struct Sequence;

  bool schedule(Sequence& sequence, std::uint64_t& budget, StepWork& work);
  bool schedule_running(std::uint64_t& budget, StepWork& work, Step& step);
  void admit(std::uint64_t& budget, StepWork& work, Step& step);
  void preempt_last(Step& step);
  void advance(Step& step);

  EngineSettings settings_;
  BlockPool pool_;
  Random random_;
  EngineCounters counters_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;
  std::deque<Sequence*> waiting_;
};

}  // namespace assay::simulator
