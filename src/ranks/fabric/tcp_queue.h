// One queue of a TCP transport: a connection, a thread that receives, and one that sends what the
// socket did not accept at once. The receiving thread does an RDMA adapter's work while the rank
// sleeps: it stores written bytes, answers reads, fills posted receives and sends acknowledgements.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <span>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "core/mutex.h"
#include "ranks/fabric/tcp_inbox.h"
#include "ranks/fabric/transport.h"

namespace assay::tcp {

/// Precedes every message. Numbers have the machines' byte order, which is always little-endian.
struct Frame {
  enum Kind : std::uint32_t { write, send, read_request, read_reply, acknowledgement };
  Kind kind = write;
  std::uint32_t signalled = 0;
  std::uint64_t place = 0;   ///< offset in the receiver's window; unused for a send
  std::uint64_t answer = 0;  ///< for a read: offset in the reader's window
  std::uint64_t bytes = 0;   ///< size of the payload, or of the requested read
  std::uint64_t id = 0;
};

/// Reads small items through a buffer, and large ones directly.
class Reader {
 public:
  explicit Reader(int file) : file_(file), buffer_(buffer_bytes) {}
  /// Returns false if the connection ended.
  bool read(void* target, std::size_t bytes);

 private:
  static constexpr std::size_t buffer_bytes = 64 << 10;
  static constexpr std::size_t large = 16 << 10;

  int file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;   // the unread part of the buffer
  std::size_t ahead_ = buffer_bytes;  // how far to read ahead; large payloads come in series
};

class Queue {
 public:
  /// Makes `socket` blocking: the receiving thread waits inside recv().
  Queue(int number, Descriptor socket, const FabricWindow& window, Inbox& inbox);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  /// These do what Transport::post() and receive() say. They never fail: errors go to the inbox.
  void post(std::span<const FabricRequest> requests);
  void receive(std::uint64_t offset, std::uint64_t bytes, std::uint64_t id);
  const Descriptor& socket() const { return socket_; }

 private:
  struct Outgoing {
    Frame frame;
    const char* payload = nullptr;
    std::size_t payload_bytes = 0;
    std::size_t sent = 0;  ///< bytes of frame and payload
  };
  struct PostedReceive {
    std::uint64_t offset, bytes, id;
  };

  void receive_all();
  /// Returns false if the connection is unusable.
  bool handle(const Frame& frame);
  bool place(const Frame& frame);
  bool fill_receive(const Frame& frame);
  bool answer_read(const Frame& frame);
  bool inside(std::uint64_t offset, std::uint64_t bytes) const;
  bool refuse(const char* why);

  void send_left_over();
  void enqueue(std::span<const Outgoing> messages);
  void acknowledge(const Frame& frame);
  /// Sends what the socket accepts without waiting.
  void pump() REQUIRES(mutex_);
  void mark_sent(std::size_t bytes) REQUIRES(mutex_);

  const int number_;
  const Descriptor socket_;
  char* const window_;
  const std::uint64_t window_bytes_;
  Inbox& inbox_;
  Reader reader_;

  Mutex mutex_;
  std::condition_variable left_over_;  // wakes the sending thread
  std::condition_variable posted_;     // wakes the receiving thread
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::deque<Outgoing> outgoing_ GUARDED_BY(mutex_);
  std::deque<PostedReceive> receives_ GUARDED_BY(mutex_);

  std::thread receiver_, sender_;
};

}  // namespace assay::tcp
