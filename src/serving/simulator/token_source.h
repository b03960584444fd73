// Gives a reply its tokens, at fixed times or from a simulated engine.
#pragma once

#include <memory>
#include <unordered_map>

#include "serving/server/loop.h"
#include "serving/server/token_sink.h"
#include "serving/simulator/fixed_timing.h"
#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

/// Gives `sink` the `tokens` tokens of each of `choices`: the first at received + TTFT, each later
/// one ITL after the one before was due, even if that was written late.
void start_fixed(Loop& loop, const FixedTiming& timing, std::uint64_t seed, double received,
                 std::size_t choices, std::uint64_t tokens, std::shared_ptr<TokenSink> sink);

/// Runs an engine by the loop's clock.
class EngineDriver final : public Due,
                           public TokenSource,
                           public std::enable_shared_from_this<EngineDriver> {
 public:
  EngineDriver(Loop& loop, const EngineSettings& settings) : loop_(loop), engine_(settings) {}

  /// Returns the request's id, for cancel(), after storing it in `request.id`.
  std::uint64_t submit(SequenceRequest request, std::size_t choice,
                       std::shared_ptr<TokenSink> sink);
  void cancel(std::uint64_t id) override;
  Scheduler& scheduler() { return engine_.scheduler(); }
  void on_due(double due) override;  ///< ends the current step

 private:
  struct Reader {
    std::size_t choice;
    std::shared_ptr<TokenSink> sink;
  };

  void begin_step(double when);

  Loop& loop_;
  Engine engine_;
  Step step_;
  bool stepping_ = false;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, Reader> readers_;
};

}  // namespace assay::simulator
