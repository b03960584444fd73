// The cost of communication between ranks that compute together: the time of repeated work (a
// training step or an inference pass) with communication and without it, and the time of the
// communication alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/parallel/model_ranks.h"

namespace assay {

/// Times in seconds; each is a median of several.
struct ExchangeTimes {
  double step = 0;       ///< one step with communication
  double passes = 0;     ///< one step without communication, on the slowest rank
  double alone = 0;      ///< the communication alone, with nothing running next to it
  double one = 0;        ///< one collective, if measure_call() measured it
  double bus_bytes = 0;  ///< bytes of the communication's calls, each times its bus_factor()
  double skew = 0;       ///< slowest over fastest rank's step without communication, minus 1
  /// Lowest and highest clock of the ranks' devices after steps without communication, in Hz; 0 if
  /// unknown.
  double lowest_clock = 0, highest_clock = 0;

  /// Seconds of a step that are spent waiting for communication. May be slightly negative by
  /// chance.
  double exposed() const { return step - passes; }
  /// Adds the note that exposed() says nothing, because the step took more than 2% longer without
  /// communication than with it, as happens beside other programs.
  void add_doubt(std::vector<std::pair<std::string, std::string>>& notes) const;
};

/// Repeated work of ranks, such as a training step, as functions that queue it on a stream.
struct ExchangingWork {
  std::function<Status()> step;    ///< the whole work, with communication
  std::function<Status()> passes;  ///< the same work without communication
  std::function<Status()> alone;   ///< the communication alone
  /// The collectives of the last step.
  std::function<std::vector<CollectiveCall>()> exchanged;
  /// Seconds that a row of back-to-back steps or passes lasts; 0 times each one by itself. Rows are
  /// needed where a power limit exists, because single steps would run at a higher clock.
  double goes_on = 0;
};

/// Times work that all ranks of a communicator begin together.
class RankStopwatch {
 public:
  /// `stream` and what `ranks` points to must outlive it. Error: as from the device's calls.
  static Result<RankStopwatch> create(Device& device, Stream& stream, ModelRanks ranks);

  /// Starts all ranks together and returns the seconds that the work queued by `queue` takes on
  /// this rank's device. `before`, unless null, is queued first and not timed, so that the host can
  /// queue ahead while the device is busy. Error: from queueing; failed if a rank is lost.
  Result<double> time(const std::function<Status()>& queue,
                      const std::function<Status()>& before = nullptr);
  /// The sum of all ranks' numbers. All ranks call it together. Errors as for time().
  Result<float> sum(float mine);

 private:
  RankStopwatch(Stream& stream, ModelRanks ranks) : stream_(stream), ranks_(ranks) {}
  Status wait();

  Stream& stream_;
  ModelRanks ranks_;
  std::unique_ptr<Event> begin_, end_, idle_;
  Buffer barrier_;
};

/// Work that is queued repeatedly; captured once and replayed as a graph if `replayed`.
class RepeatedWork {
 public:
  /// `stream` must outlive it. Error: that of `queue` or of capturing it.
  static Result<RepeatedWork> create(Stream& stream, bool replayed, std::function<Status()> queue);

  Status operator()() { return graph_ ? stream_.launch(*graph_) : queue_(); }

 private:
  RepeatedWork(Stream& stream, std::function<Status()> queue)
      : stream_(stream), queue_(std::move(queue)) {}

  Stream& stream_;
  std::function<Status()> queue_;
  std::unique_ptr<Graph> graph_;
};

/// Measures the times on this rank; lowest_clock and highest_clock are both this device's clock.
/// `replayed`: the work is captured once as a graph and replayed. All ranks of the communicator
/// call it together. Error: from queueing; failed if a rank is lost.
Result<ExchangeTimes> measure_exchange(const ExchangingWork& work, Device& device, Stream& stream,
                                       ModelRanks ranks, bool replayed);

/// Mean seconds of one call among many back to back, on this rank. Ranks and errors as for
/// measure_exchange().
Result<double> measure_call(const CollectiveCall& call, Device& device, Stream& stream,
                            ModelRanks ranks, bool replayed);

/// to_text() serialises one rank's times to send them to the others; of_all_ranks() combines the
/// texts of all ranks. Ranks without times have empty texts. Error: failed if a text is malformed.
std::string to_text(const ExchangeTimes& times);
Result<ExchangeTimes> of_all_ranks(const std::vector<std::string>& texts);

}  // namespace assay
