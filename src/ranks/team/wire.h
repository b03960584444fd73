// Frames over a TCP connection between two ranks: a kind, and bytes whose meaning the kind gives.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/child_process.h"
#include "core/result.h"

namespace assay {

struct Frame {
  char kind = 0;
  std::string payload;
};

/// One end of a connection. send() may be called from any thread, receive() from one.
class Wire {
 public:
  /// Takes the connected socket over.
  explicit Wire(int socket);

  int socket() const { return socket_.number(); }
  /// Error: failed if the other end is gone or takes nothing for ten seconds.
  Status send(char kind, std::string_view payload);
  /// Reads what has arrived, without waiting. False once the other end has closed the connection or
  /// sent what is no frame.
  bool read_arrived();
  /// The next whole frame that has arrived.
  std::optional<Frame> next();
  /// The next frame, waiting for it at most `seconds`. Error: failed, if none came.
  Result<Frame> wait(double seconds);

 private:
  Descriptor socket_;
  std::mutex sending_;
  std::string arrived_;
  std::size_t read_ = 0;  // bytes of arrived_ already handed out
};

/// Numbers and texts in a payload: fixed-width little-endian, texts with their length before them.
void put(std::string& payload, std::uint64_t number);
void put(std::string& payload, std::string_view text);

/// Takes a payload apart in the order it was put together; what is not there reads as 0 or empty
/// and ends ok().
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : rest_(payload) {}
  std::uint64_t number();
  std::string text();
  /// Whether everything asked for was there.
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace assay
