// What every ring and chain is: a rank passes on a stream of bytes while it comes in, adding its
// own on the way. Pieces of it move as soon as they can, so that receiving, reducing and sending
// overlap within a rank and along the whole chain.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Bytes of a piece: small enough to be reduced while in the cache.
constexpr std::size_t tcp_piece_bytes = 256 * 1024;

/// What one rank does with the stream.
struct TcpStream {
  struct Outgoing {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Incoming {
    std::byte* out = nullptr;
    std::size_t bytes = 0;           ///< at most tcp_piece_bytes where `own` is given
    const std::byte* own = nullptr;  ///< reduced with what comes; null: it is only stored
    std::size_t after = 0;           ///< waits until so many bytes were sent: `out` is in use
    bool last = false;               ///< the last reduction of this piece, where `avg` divides
  };

  int to = -1, from = -1;  ///< -1: the stream ends or begins here
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  /// Bytes of `sends` that can go at once. The others are what comes in, as it comes in.
  std::size_t ready = 0;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
};

/// Error: failed, as TcpLinks says.
Status run_stream(TcpLinks& links, const TcpStream& stream);

}  // namespace assay
