// Decides, as vLLM's continuous batching does, which tokens of which sequences a step computes, and
// where in the cache they go. It has no clock and no I/O and is deterministic.
//
// Each step has a budget of tokens. Running sequences come first, in order of admission; then
// waiting ones, first come, first served, as long as tokens, batch slots and blocks are left. A
// prompt longer than what is left of the budget is computed in chunks. With `whole_prompts`, a
// prompt that the budget has room for beside decoding alone waits for the next step instead. When a
// running sequence needs a block and none is free, the one admitted last is preempted: it loses all
// its blocks and recomputes them later.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "serving/server/block_pool.h"

namespace assay::server {

struct SchedulerSettings {
  std::uint32_t blocks = 0;                 ///< blocks of block_tokens tokens
  std::uint32_t max_sequences = 256;        ///< that run at once
  std::uint64_t max_batched_tokens = 8192;  ///< the budget of a step
  bool prefix_cache = true;
  /// A prompt that the budget has room for is not cut into chunks: for engines whose attention is
  /// faster for a whole prompt than for its chunks, which read the cache.
  bool whole_prompts = false;
};

/// A prompt to be continued.
struct SequenceRequest {
  std::uint64_t id = 0;  ///< unique among the requests in the scheduler
  std::uint64_t prompt_tokens = 0;
  std::uint64_t output_tokens = 0;    ///< at least 1; with the prompt at most blocks x block_tokens
  std::vector<std::uint64_t> hashes;  ///< block_hashes() of the prompt; may be empty
};

/// What a step computes of one sequence.
struct StepPart {
  std::uint64_t id = 0;                 ///< of the request
  std::uint32_t slot = 0;               ///< below max_sequences, of no other running sequence
  std::uint64_t begin = 0, tokens = 0;  ///< which of its tokens: the prompt's and those generated
  bool decodes = false;                 ///< it is one token after those generated before
  bool yields = false;                  ///< the next token comes out of it
  std::span<const BlockPool::Block> blocks;  ///< blocks of the sequence from its first token on
};

/// What the engine computes next.
struct ScheduledStep {
  std::vector<StepPart> parts;           ///< one for each sequence that takes part
  std::vector<std::uint64_t> started;    ///< requests that left the queue for the first time
  std::vector<std::uint64_t> preempted;  ///< requests that went back to the front of the queue
};

/// A token produced by a step.
struct YieldedToken {
  std::uint64_t id = 0;
  std::uint64_t number = 0;  ///< from 1
  bool last = false;         ///< the request has ended and the scheduler forgets it
};

/// The counters of vLLM's metrics.
struct SchedulerCounters {
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0, generation_tokens = 0;
  std::uint64_t prefix_queries = 0, prefix_hits = 0;  ///< tokens
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerSettings& settings);
  Scheduler(Scheduler&& other) noexcept;
  ~Scheduler();

  /// Puts a request at the end of the queue.
  void submit(SequenceRequest request);
  /// Removes a request; does nothing if it is unknown. Not between schedule() and finish().
  void cancel(std::uint64_t id);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  /// Begins a step; call only if not idle(), and finish() after it. Valid until finish().
  const ScheduledStep& schedule();
  /// Ends the step, which has been computed, and returns the tokens that came out, one for each
  /// part that yields, in their order. `ends` is empty or has an element for each of them; where it
  /// is not 0, the request ends with this token. The result is valid until the next call.
  const std::vector<YieldedToken>& finish(std::span<const std::uint8_t> ends = {});

  /// Discards all prefixes. Does nothing and returns false while any request runs.
  bool reset_prefix_cache() { return pool_.forget(); }
  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t blocks() const { return pool_.size(); }
  std::size_t free_blocks() const { return pool_.free(); }
  const SchedulerCounters& counters() const { return counters_; }

 private:
  struct Sequence;

  bool schedule(Sequence& sequence, std::uint64_t& budget);
  bool schedule_running(std::uint64_t& budget);
  void admit(std::uint64_t& budget);
  void preempt_last();
  void advance(Sequence& sequence);
  void leave(Sequence& sequence);
  void list_parts();

  SchedulerSettings settings_;
  BlockPool pool_;
  SchedulerCounters counters_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;
  std::deque<Sequence*> waiting_;
  std::vector<std::uint32_t> free_slots_;
  ScheduledStep step_;
  std::vector<YieldedToken> tokens_;
};

}  // namespace assay::server
