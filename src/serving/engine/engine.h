// Runs a model for a server, on a thread of its own. The engine takes requests, schedules steps and
// computes them on the device. It hands out tokens while other threads send those of the steps
// before.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "core/mutex.h"
#include "serving/engine/step_executor.h"
#include "serving/server/step_log.h"

namespace assay::engine {

/// The model, how it is computed, and what ends a reply.
struct EngineSettings {
  ExecutorSettings executor;
  bool prefix_cache = true;
  std::vector<std::uint32_t> end_tokens;  ///< tokens that end a reply
};

/// A prompt to be continued; requests with several prompts are several of these.
struct EngineRequest {
  std::uint64_t id = 0;               ///< which no other request has
  std::vector<std::uint32_t> prompt;  ///< at least one token, all in the vocabulary
  std::uint64_t output_tokens = 1;    ///< at most; with the prompt not more than max_length
  std::uint64_t min_tokens = 0;       ///< tokens of the reply before which no end token ends it
  bool ignore_end = false;            ///< end tokens are ordinary ones
  server::Sampling sampling;          ///< with a seed
  /// The number of likeliest tokens whose log probabilities are wanted beside the generated
  /// token's; empty: none are.
  std::optional<std::uint32_t> logprobs = {};
};

/// What happened to a request.
struct EngineEvent {
  enum class Kind {
    started,  ///< the request left the queue
    token,    ///< the next token of its reply
  };

  Kind kind = Kind::token;
  std::uint64_t id = 0;      ///< of the request
  std::uint64_t number = 0;  ///< of the token in its reply, from 1
  std::uint32_t token = 0;
  bool last = false;          ///< the reply ends with this token
  bool at_end_token = false;  ///< it does so because the token is an end token
  std::chrono::steady_clock::time_point when;
  std::shared_ptr<const RowLogprobs> logprobs = {};  ///< null: not wanted
};

/// The engine's state and counters.
struct EngineState {
  std::size_t running = 0, waiting = 0;     ///< requests
  std::size_t blocks = 0, free_blocks = 0;  ///< of the cache
  server::SchedulerCounters counters;
  std::uint64_t steps = 0, rows = 0;  ///< rows: tokens computed, without padding
  double device_seconds = 0;          ///< from a step's first upload to its tokens
  double host_seconds = 0;            ///< scheduling and handing out
  std::optional<Error> failure;       ///< why it has ended; empty: it has not
  bool stop_was_asked = false;        ///< of a rank that shares the model
};

class Engine {
 public:
  /// `device` must outlive it. Error: as from StepExecutor::create(); exhausted, without
  /// descriptors.
  static Result<std::unique_ptr<Engine>> start(Device& device, const EngineSettings& settings);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Functions that any thread may call.
  /// Error: usage, if the model cannot compute the request. It is refused here, because an error on
  /// the engine's thread would end all requests.
  Status submit(EngineRequest request);
  /// Ends a request. Events of the step that is being computed, and of those before it, may still
  /// come; no later ones do.
  void cancel(std::uint64_t id);
  /// Readable while there are events, or when the engine has failed.
  int descriptor() const { return events_there_.number(); }
  /// Replaces `events` by what came since the last call.
  void take(std::vector<EngineEvent>& events);
  EngineState state() const;
  const server::StepLog& step_log() const { return step_log_; }
  /// Names what computes the attention of whole prompts: StepExecutor::prompt_attention().
  std::string prompt_attention() const { return executor_->prompt_attention(); }
  /// Says what the products of quantized matrices read, and why: Decoder::inputs_of_products().
  const std::string& inputs_of_products() const { return inputs_of_products_; }
  /// Says what the cache of keys and values holds: StepExecutor::cache_type().
  const std::string& cache_type() const { return cache_type_; }
  /// Says how products are computed, as chosen before the start.
  const std::vector<DecoderVariants::ProductChoice>& product_choices() const {
    return product_choices_;
  }
  /// Discards all prefixes. Does nothing and returns false while any request runs.
  bool reset_prefix_cache();

 private:
  struct Mail {
    std::vector<EngineRequest> requests;
    std::vector<std::uint64_t> cancelled;

    bool empty() const { return requests.empty() && cancelled.empty(); }
    void clear() {
      requests.clear();
      cancelled.clear();
    }
  };
  struct Limits {
    std::uint64_t min_tokens = 0;
    bool ignore_end = false;
  };

  Engine(Device& device, const EngineSettings& settings, std::unique_ptr<StepExecutor> executor);
  Status check(const EngineRequest& request) const;
  void work();
  bool is_idle() const;
  bool wait_for_mail();
  void read_mail();
  Status compute_step();
  void hand_out(const server::ScheduledStep& step, std::span<const std::uint32_t> tokens);
  void announce();

  Device& device_;
  const EngineSettings settings_;
  const std::unique_ptr<StepExecutor> executor_;
  const std::string inputs_of_products_, cache_type_;
  const std::vector<DecoderVariants::ProductChoice> product_choices_;
  Descriptor events_there_;

  Mutex mail_mutex_;
  std::condition_variable mail_came_;
  Mail mail_ GUARDED_BY(mail_mutex_);
  bool stopping_ GUARDED_BY(mail_mutex_) = false;

  // The engine's thread plans and counts; others ask for the state and reset the prefix cache.
  mutable Mutex state_mutex_;
  server::Scheduler scheduler_ GUARDED_BY(state_mutex_);
  EngineState counted_ GUARDED_BY(state_mutex_);

  server::StepLog step_log_;

  // Only the engine's thread uses these.
  Mail read_;
  SequenceTexts texts_;
  std::unordered_map<std::uint64_t, Limits> limits_;
  std::vector<std::uint8_t> ends_;
  std::vector<std::shared_ptr<const RowLogprobs>> logprobs_;
  std::vector<EngineEvent> step_events_;

  Mutex events_mutex_;
  std::vector<EngineEvent> events_ GUARDED_BY(events_mutex_);

  std::thread thread_;
};

}  // namespace assay::engine
