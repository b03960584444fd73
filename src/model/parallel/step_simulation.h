// How long a step would take on other numbers of ranks. The times of the passes were measured. The
// communication goes through DataParallel itself, on a simulated device, and takes as long as a
// model of the communicator predicts. Where both overlap, each is slower by the factor that was
// measured. This is a model: it knows nothing of slower links between more ranks.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/operations/operation_cost.h"
#include "model/parallel/data_parallel.h"
#include "model/parallel/parameter_arenas.h"

namespace assay {

/// What a step says to DataParallel, and how long it computes before.
struct StepCall {
  enum class Kind {
    begin_pass,
    open_weights,
    close_weights,
    open_gradients,
    close_gradients,
    send_gradients,
    gather_rows,
    take_rows,  ///< lookups are added afterwards
    await_all_but_last,
    finish,  ///< after what all but the last add to the norm
    end,     ///< of the step, after the update
  };
  Kind kind = Kind::end;
  Phase phase = Phase::forward;    ///< of open_weights
  std::size_t section = 0;         ///< of calls about one; of rows that of their gradients
  bool first = true, last = true;  ///< of begin_pass
  std::uint64_t elements = 0;      ///< of gather_rows
  double seconds = 0;              ///< since the call before, or since the step began
  /// How many times as long these take beside operations between ranks of a kind; else 1.
  std::map<CollectiveOperation, double> slowed = {};
};

/// Records the calls of a step without communication, and their times.
class StepRecorder {
 public:
  /// `replayed`: the step is captured into a graph, whose replays take the times.
  StepRecorder(Device& device, bool replayed) : device_(device), replayed_(replayed) {}

  /// Before the first call.
  Status begin(Stream& stream) { return mark(stream); }
  Status note(Stream& stream, const StepCall& call) {
    calls_.push_back(call);
    return mark(stream);
  }
  /// With the times of the last run. The stream must be idle.
  Result<std::vector<StepCall>> calls() const;
  /// When the last run began, in s after an event.
  Result<double> begun_after(const Event& event) const {
    return events_.front()->seconds_since(event);
  }

 private:
  Status mark(Stream& stream);

  Device& device_;
  bool replayed_;
  std::vector<StepCall> calls_;
  std::vector<std::unique_ptr<Event>> events_;  // one more than calls
};

/// How long operations of a communicator take.
class ExchangeModel {
 public:
  /// `ranks`: of the communicator that was measured.
  explicit ExchangeModel(int ranks) : ranks_(ranks) {}

  /// `bytes`: of the larger of a rank's two buffers.
  void add(CollectiveOperation operation, std::uint64_t bytes, double seconds) {
    curves_[operation][bytes] = seconds;
  }
  /// Between measured sizes along a line, beyond them at the last one's bandwidth. On other numbers
  /// of ranks the time of the smallest size grows with log2 of them, as a tree's steps do, and the
  /// rest with bus_factor(). 0 for an operation that was not measured.
  double seconds(CollectiveOperation operation, std::uint64_t bytes, int ranks) const;
  /// Makes these operations, one after the other, take `together` seconds on the measured ranks: in
  /// a row each takes less than by itself. Nothing changes if that is 0: unknown.
  void spread_over(const std::vector<CollectiveCall>& calls, double together);
  /// How many times as long an operation takes while passes compute; at first 1.
  double slowed(CollectiveOperation operation) const {
    const auto known = slowed_.find(operation);
    return known != slowed_.end() ? known->second : 1;
  }
  void set_slowed(CollectiveOperation operation, double times) { slowed_[operation] = times; }

 private:
  int ranks_;
  std::map<CollectiveOperation, double> slowed_;
  std::map<CollectiveOperation, std::map<std::uint64_t, double>> curves_;
};

/// Seconds of a step of `ranks` ranks that each compute what `calls` say. `arenas`: of the training
/// whose calls they are, `plan` its plan: another number of ranks cuts its sections anew.
Result<double> simulated_step(const std::vector<StepCall>& calls, const ExchangeModel& model,
                              const ParameterPlan& plan, const ParameterArenas& arenas, int ranks);

}  // namespace assay
