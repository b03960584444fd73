// Collective operations and messages, checked element by element: the part of a communicator's
// contract that says what its operations compute.
#pragma once

#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"

namespace assay::selftest {

/// One operation on all ranks, as one of them sees it. Its inputs are small numbers, which every
/// type holds, and so are their sums and products over five ranks.
struct CollectiveExample {
  CollectiveCall call;  ///< the addresses are set by check_collective()
  int rank = 0, ranks = 1;
  bool in_place = false;

  /// Returns the example as text: "all_reduce f32 sum count 7 root 0 rank 1 of 3 in place".
  std::string text() const;
};

/// Returns whether an operation can have its input and its result in the same memory.
bool has_in_place(CollectiveOperation operation);

/// Memory of a device to which operands are copied, for libraries that need them there.
struct DeviceOperands {
  Buffer in, out;

  /// Each operand has room for `bytes`. A call needs 72 more than `count` elements of each rank
  /// take.
  static Result<DeviceOperands> create(Device& device, std::size_t bytes);
};

/// Runs `example` on this rank and compares all memory that belongs to it: results, input, and what
/// surrounds them. Operands are in host memory unless `on_device` has room for them. Error:
/// verification, if an element is wrong; else the communicator's or device's.
Status check_collective(Communicator& communicator, Stream& stream, CollectiveExample example,
                        const DeviceOperands* on_device = nullptr);

/// How many calls were run, and how many the communicator does not support.
struct CollectiveTally {
  int run = 0, refused = 0;
};

/// Runs every operation, type, reduction and root, in place and not, for each of `counts`, which
/// are at most 3000. Wrong elements end it only after the last call, so that ranks stay together.
/// Error: the first one of check_collective().
Result<CollectiveTally> check_collectives(Communicator& communicator, Stream& stream, int rank,
                                          int ranks, const std::vector<std::size_t>& counts,
                                          const DeviceOperands* on_device = nullptr);

/// Exchanges messages of several sizes in host memory with every rank, including this one. Error:
/// verification if one is wrong; the communicator's.
Status check_messages(Communicator& communicator, Stream& stream, int rank, int ranks);

}  // namespace assay::selftest
