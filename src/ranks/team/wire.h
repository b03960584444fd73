// Frames over a TCP connection between two ranks. A frame has a kind, and bytes whose meaning
// depends on the kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/descriptor.h"
#include "core/mutex.h"
#include "core/result.h"

namespace assay {

struct Frame {
  char kind = 0;
  std::string payload;
};

/// One end of a connection. Any thread may call send(), one thread may receive.
class Wire {
 public:
  /// `socket` must be connected and non-blocking.
  explicit Wire(Descriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.number(); }
  /// `payload` has at most 64 MiB. Error: failed if the other end is gone or accepts no data for
  /// ten seconds.
  Status send(char kind, std::string_view payload);
  /// Reads what has arrived, without waiting. Returns false if the other end has closed the
  /// connection or sent a frame of more than 64 MiB.
  bool read_arrived();
  /// Returns the next whole frame that has arrived; empty if there is none.
  std::optional<Frame> next();
  /// Returns the next frame; waits at most `seconds` for it. Error: failed if none arrived.
  Result<Frame> wait(double seconds);

 private:
  Descriptor socket_;
  Mutex sending_;
  std::string arrived_;
  std::size_t read_ = 0;  // bytes of arrived_ already returned
};

/// Appends numbers and texts to a payload: numbers are fixed-width little-endian; texts follow
/// their length.
void put(std::string& payload, std::uint64_t number);
void put(std::string& payload, std::string_view text);

/// Reads a payload in the order in which it was written. Missing items read as 0 or empty and make
/// ok() false.
class PayloadReader {
 public:
  /// `payload` must outlive the reader.
  explicit PayloadReader(std::string_view payload) : rest_(payload) {}
  explicit PayloadReader(std::string&& payload) = delete;
  std::uint64_t number();
  std::string text();
  /// Returns whether all items read so far existed.
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace assay
