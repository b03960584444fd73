// The communicators of one run. Creating one takes seconds, so all users share it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"
#include "ranks/team/team.h"

namespace assay {

/// Holds one communicator over all ranks per library, created when first requested, and those split
/// from it. Users of a communicator must be destroyed before this object, and this object before
/// the device and the team.
class Communicators {
 public:
  Communicators(Device& device, Team& team) : device_(device), team_(team) {}

  /// Returns the communicator of the kind named `library` ("nccl"), valid as long as this object.
  /// All ranks call it together. Error: unsupported if this build has no such kind; otherwise the
  /// error of its creation on this or another rank. Every later call returns the same error.
  Result<Communicator*> get(std::string_view library);
  /// Returns a further communicator of `library`, made by Communicator::split() from the one
  /// over all ranks, with the same lifetime. All ranks call it together. Returns null if `colour`
  /// is negative. Error: as get() and Communicator::split(), on this or another rank.
  Result<Communicator*> split(std::string_view library, int colour, int key,
                              const CommunicatorConfig& config = {});
  /// Returns the communicator over the first `ranks` ranks of the team; repeated calls share one,
  /// with the same lifetime. All ranks call it together. Returns null on the other ranks. Error: as
  /// split().
  Result<Communicator*> first(std::string_view library, int ranks);
  /// Ends calls that hang because a rank is gone; the communicators are unusable afterwards.
  void abort();

 private:
  Result<std::unique_ptr<Communicator>> create(std::string_view library);

  Device& device_;
  Team& team_;
  std::map<std::string, Result<std::unique_ptr<Communicator>>, std::less<>> made_;
  std::vector<std::unique_ptr<Communicator>> parts_;
  std::map<std::pair<std::string, int>, Communicator*> first_;  // by library and ranks
};

/// A barrier: reduces one element, so no rank leaves before all have arrived. `two_floats` is
/// device memory for it. If the library works on the host, the stream's work is completed first.
Status start_together(Communicator& communicator, const Buffer& two_floats, Stream& stream);

/// Waits until the stream is idle, like wait_idle(), and then ends the team's wait: a series of
/// calls may exceed the team's deadline as long as no single call does. If a rank is lost
/// meanwhile, aborts the communicator so that buffers can be freed.
Status wait_for_ranks(Communicator& communicator, Stream& stream, Event& idle, Team& team);

/// Returns the name of the kind best suited to a device and a team; empty if there is none.
std::string_view best_communicator_kind(const Device& device, const Team& team);

}  // namespace assay
