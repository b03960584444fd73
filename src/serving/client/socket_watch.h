// Tells which of many sockets are readable. Each is registered once, so that a piece of a reply
// costs only the system call that reads it; with Asio's sockets it would cost two or three.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

#include "core/result.h"

namespace assay {

/// Its functions are called on the loop's thread, and so is on_ready(). It may come up to 0.2 ms
/// late, so that many sockets share a wake-up.
class SocketWatch {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    /// The socket may have become readable or writable. This is reported once (edge-triggered), so
    /// read until nothing is left. `over`: the peer has closed; reading will return an error or the
    /// end.
    virtual void on_ready(bool over) = 0;
  };

  explicit SocketWatch(boost::asio::io_context& loop);
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  /// `watcher` must be removed before it is destroyed and before `file` is closed. Error:
  /// exhausted.
  Status add(int file, Watcher& watcher);
  void remove(int file);
  /// A read buffer for the duration of one callback; one buffer shared by all sockets stays in the
  /// CPU's cache.
  std::vector<char>& scratch() { return scratch_; }

 private:
  void wait();
  void on_waited(const boost::system::error_code& error);
  void turn();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor set_;  ///< set of sockets that epoll watches
  boost::asio::steady_timer rest_;
  std::chrono::steady_clock::time_point rested_;  ///< earliest time of the next turn
  std::vector<Watcher*> watchers_;                ///< indexed by file; null: none
  std::vector<char> scratch_ = std::vector<char>(16 << 10);
  bool waiting_ = false;
};

}  // namespace assay
