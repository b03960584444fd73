// The common form of rings and chains. A rank forwards a stream of bytes while it is still
// arriving, and may reduce it with its own data. Pieces are forwarded as soon as possible, so that
// receiving, reducing and sending overlap within a rank and along the whole chain.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Bytes per piece: small enough to be reduced while in the cache.
constexpr std::size_t tcp_piece_bytes = 256 * 1024;

/// What one rank does with the stream.
struct TcpStream {
  struct Outgoing {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Incoming {
    std::byte* out = nullptr;
    std::size_t bytes = 0;           ///< at most tcp_piece_bytes if `own` is set
    const std::byte* own = nullptr;  ///< reduced with the received bytes; null: only stored
    std::size_t after = 0;  ///< bytes of all `sends` to be sent before `out` may be overwritten
    bool last = false;      ///< the last reduction of this piece, in which `avg` divides
  };

  int to = -1, from = -1;  ///< -1: the stream ends or begins at this rank
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  /// Bytes of `sends` that can be sent at once. The rest becomes ready as the stream arrives.
  std::size_t ready = 0;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
};

/// Error: failed, as TcpLinks reports.
Status run_stream(TcpLinks& links, const TcpStream& stream);

}  // namespace assay
