// NCCL's operations on the host, executed piece by piece through the windows of the ranks' world.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libraries/nccl_world.h"
#include "ranks/collective/communicator.h"

namespace mi300x {

enum class NcclKind : int {
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter,
  messages
};

struct NcclMessage {
  bool sends = false;
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

struct NcclCall {
  NcclKind kind = NcclKind::messages;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  assay::DataType type = assay::DataType::u8;
  assay::Reduction op = assay::Reduction::sum;
  int root = 0;
  std::vector<NcclMessage> messages = {};

  /// Returns model time from the chip's links; never a measurement.
  double seconds(int ranks) const;
};

/// Executes the call together with all other ranks. Returns false if the ranks' calls do not match
/// or a rank is gone; `problem` then describes it. Throws what the virtual runtime throws for
/// invalid memory.
bool perform(NcclWorld& world, const NcclCall& call, std::string& problem);

}  // namespace mi300x
