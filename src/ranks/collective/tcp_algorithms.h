// Collective operations as streams and messages over TCP links.
#pragma once

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Memory for an operation, reused by the next one.
class TcpWorkspace {
 public:
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
/// all_to_all; direct messages to or from the root for gather and scatter. Error: failed, as
/// TcpLinks reports.
Status run_over_tcp(TcpLinks& links, TcpWorkspace& workspace, const CollectiveCall& call);

}  // namespace assay
