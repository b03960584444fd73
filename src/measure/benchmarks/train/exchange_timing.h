// What it costs ranks that compute together to tell each other things: the time of what they do
// over and over, a step or a pass, with that exchange and without it, and of the exchange alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/model_ranks.h"

namespace assay {

/// Seconds, medians of several.
struct ExchangeTimes {
  double step = 0;       ///< of a step
  double passes = 0;     ///< of a step without the exchange, on the slowest rank
  double alone = 0;      ///< of the exchange with nothing beside it
  double one = 0;        ///< of one operation, where measure_call() measured it
  double bus_bytes = 0;  ///< that the exchange moves, as bus_factor() counts them
  double skew = 0;       ///< how much longer a step without it takes on the slowest rank than on
                         ///< the fastest, as a share
  /// Of the devices after steps without the exchange, hertz; 0: unknown.
  double lowest_clock = 0, highest_clock = 0;

  /// What of a step is spent waiting for the exchange. It may be below 0 by chance.
  double exposed() const { return step - passes; }
};

/// What ranks do over and over, by the work that it queues.
struct ExchangingWork {
  std::function<Status()> step;    ///< all of it
  std::function<Status()> passes;  ///< without what ranks tell each other
  std::function<Status()> alone;   ///< nothing but that
  /// What they told each other in the last step.
  std::function<std::vector<CollectiveCall>()> exchanged;
  /// How long a row of steps, or of passes, goes on, s: a power limit lets single ones have a
  /// higher clock. 0: each is timed by itself.
  double goes_on = 0;
};

/// Times work that all ranks of a communicator begin together.
class RankStopwatch {
 public:
  static Result<RankStopwatch> create(Device& device, Stream& stream, ModelRanks ranks);

  /// Seconds on this rank's clock. `before`, unless null, is queued first and not timed: while the
  /// device works on it, the host gets ahead. Error: of queueing; failed, if a rank is lost.
  Result<double> time(const std::function<Status()>& queue,
                      const std::function<Status()>& before = nullptr);
  /// Of all ranks' numbers, which all of them call together. Fails as time().
  Result<float> sum(float mine);

 private:
  RankStopwatch(Stream& stream, ModelRanks ranks) : stream_(stream), ranks_(ranks) {}
  Status wait();

  Stream& stream_;
  ModelRanks ranks_;
  std::unique_ptr<Event> begin_, end_, idle_;
  Buffer barrier_;
};

/// Work to be queued again and again, as a graph if `replayed`.
class RepeatedWork {
 public:
  static Result<RepeatedWork> create(Stream& stream, bool replayed, std::function<Status()> queue);

  Status operator()() { return graph_ ? stream_.launch(*graph_) : queue_(); }

 private:
  RepeatedWork(Stream& stream, std::function<Status()> queue)
      : stream_(stream), queue_(std::move(queue)) {}

  Stream& stream_;
  std::function<Status()> queue_;
  std::unique_ptr<Graph> graph_;
};

/// Measures on this rank, whose clock is both of the two. `replayed`: the work is captured once and
/// replayed. All ranks of the communicator call it together. Error: of queueing; failed, if a rank
/// is lost.
Result<ExchangeTimes> measure_exchange(const ExchangingWork& work, Device& device, Stream& stream,
                                       ModelRanks ranks, bool replayed);

/// Seconds of one call among many in a row, on this rank. Called and fails as measure_exchange().
Result<double> measure_call(const CollectiveCall& call, Device& device, Stream& stream,
                            ModelRanks ranks, bool replayed);

/// One rank's times as text for the others, and what they come to for all ranks together. Empty
/// texts are those of ranks without times. Error: failed if a text is not of this form.
std::string to_text(const ExchangeTimes& times);
Result<ExchangeTimes> of_all_ranks(const std::vector<std::string>& texts);

}  // namespace assay
