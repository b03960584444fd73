// Collective operations over TCP links.
#pragma once

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Memory for an operation, reused by the next one.
class TcpWorkspace {
 public:
  /// Returns uninitialised memory of at least `bytes` bytes; a larger request invalidates what an
  /// earlier one returned.
  std::byte* at_least(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset(new std::byte[bytes]);
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

/// Runs `call` on this rank and returns when this rank's part is done. It uses rings for
/// all_reduce, reduce_scatter and all_gather; a pipelined chain for broadcast and reduce; pairs for
/// all_to_all; direct messages to or from the root for gather and scatter, and between neighbours
/// for send_recv. `call.send` and `call.receive` are addresses that the host can read and write.
/// Error: failed, naming the rank that is gone; then the links are out of step, and the caller must
/// close() them.
Status run_over_tcp(TcpLinks& links, TcpWorkspace& workspace, const CollectiveCall& call);

}  // namespace assay
