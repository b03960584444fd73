// The communicators of one run: making one takes seconds, so all cells share it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"
#include "ranks/team/team.h"

namespace assay {

/// One communicator per library, made when first asked for. Owned by whoever runs the cells, and
/// destroyed before the device and the team; every Case that uses one before that.
class Communicators {
 public:
  Communicators(Device& device, Team& team) : device_(device), team_(team) {}

  /// The communicator of a kind of that name ("nccl"), valid as long as this object. All ranks call
  /// it together. Error: unsupported if this build has no such kind; what making it said, here or
  /// on another rank, and the same again whenever it is asked for.
  Result<Communicator*> get(std::string_view library);
  /// Ends what hangs in them because a rank is gone; they are of no use then.
  void abort();

 private:
  Result<std::unique_ptr<Communicator>> create(std::string_view library);

  Device& device_;
  Team& team_;
  std::map<std::string, Result<std::unique_ptr<Communicator>>, std::less<>> made_;
};

/// A reduction of one element, which no rank leaves before all have come to it: `two_floats` is its
/// device memory. What the stream holds is complete before a library that works on the host begins.
Status start_together(Communicator& communicator, const Buffer& two_floats, Stream& stream);

/// Until the stream is idle, as wait_idle(). If a rank is lost meanwhile, what hangs is aborted, so
/// that buffers can be freed.
Status wait_for_ranks(Communicator& communicator, Stream& stream, Event& idle, Team& team);

/// Operations of `seconds` each that make a sample of about `sample_seconds`, 1 at least. A library
/// that queues on a stream gets 20 at most, which is what a device's queue takes while it is held.
int launches_for(const Communicator& communicator, double sample_seconds, double seconds);

/// The name of the kind that suits a device and a team best; empty if none does.
std::string_view best_communicator_kind(const Device& device, const Team& team);

}  // namespace assay
