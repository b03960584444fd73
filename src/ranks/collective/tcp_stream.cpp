#include "ranks/collective/tcp_stream.h"

#include <algorithm>
#include <array>

#include "ranks/collective/local_reduction.h"

namespace assay {
namespace {

class StreamRun {
 public:
  StreamRun(TcpLinks& links, const TcpStream& stream) : links_(links), stream_(stream) {}

  Status run() {
    std::vector<pollfd> interests;
    for (;;) {
      TRY(send());
      TRY(receive());
      const bool all_sent = sending_ == stream_.sends.size();
      const bool all_received = receiving_ == stream_.receives.size();
      if (all_sent && all_received) return {};
      interests.clear();
      if (!all_sent && sent_ < limit()) interests.push_back(links_.interest(stream_.to, POLLOUT));
      if (!all_received && stream_.receives[receiving_].after <= sent_) {
        interests.push_back(links_.interest(stream_.from, POLLIN));
      }
      TRY(links_.wait(interests));
    }
  }

 private:
  std::size_t limit() const { return stream_.ready + processed_; }

  Status send() {
    while (sending_ < stream_.sends.size()) {
      const TcpStream::Outgoing& piece = stream_.sends[sending_];
      const std::size_t bytes = std::min(piece.bytes - of_piece_sent_, limit() - sent_);
      if (bytes == 0) return {};
      const std::size_t moved =
          TRY(links_.send_some(stream_.to, piece.data + of_piece_sent_, bytes));
      if (moved == 0) return {};
      sent_ += moved;
      of_piece_sent_ += moved;
      if (of_piece_sent_ < piece.bytes) continue;
      of_piece_sent_ = 0;
      ++sending_;
    }
    return {};
  }

  /// Receives at most one piece, so that sending continues in between.
  Status receive() {
    if (receiving_ == stream_.receives.size()) return {};
    const TcpStream::Incoming& piece = stream_.receives[receiving_];
    if (piece.after > sent_) return {};
    std::byte* into = piece.own == nullptr ? piece.out : scratch();
    while (of_piece_received_ < piece.bytes) {
      const std::size_t moved = TRY(links_.receive_some(stream_.from, into + of_piece_received_,
                                                        piece.bytes - of_piece_received_));
      if (moved == 0) return {};
      of_piece_received_ += moved;
      if (piece.own == nullptr) processed_ += moved;
    }
    if (piece.own != nullptr) reduce(piece);
    of_piece_received_ = 0;
    ++receiving_;
    return {};
  }

  void reduce(const TcpStream::Incoming& piece) {
    const std::size_t count = piece.bytes / size_of(stream_.type);
    reduce_elements(stream_.type, stream_.reduction, piece.out, scratch(), piece.own, count);
    if (piece.last && stream_.reduction == Reduction::avg) {
      divide_elements(stream_.type, piece.out, links_.size(), count);
    }
    processed_ += piece.bytes;
  }

  std::byte* scratch() {
    if (scratch_ == nullptr) scratch_.reset(new Scratch);
    return scratch_->data();
  }

  using Scratch = std::array<std::byte, tcp_piece_bytes>;

  TcpLinks& links_;
  const TcpStream& stream_;
  std::unique_ptr<Scratch> scratch_;
  std::size_t sending_ = 0, of_piece_sent_ = 0, sent_ = 0;
  std::size_t receiving_ = 0, of_piece_received_ = 0, processed_ = 0;
};

}  // namespace

Status run_stream(TcpLinks& links, const TcpStream& stream) {
  return StreamRun(links, stream).run();
}

}  // namespace assay
