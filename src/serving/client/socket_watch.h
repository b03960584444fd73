// Says which of many sockets have something to read. Each is registered once, so that a piece of a
// reply costs the one system call that reads it: with Asio's own sockets it would be two or three.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

#include "core/result.h"

namespace assay {

class SocketWatch {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    /// The socket may have become readable or writable, which is said once: what is there must be
    /// used up. `over`: the other end has said its last, an error or the end will be read.
    virtual void on_ready(bool over) = 0;
  };

  explicit SocketWatch(boost::asio::io_context& loop);
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  /// `watcher` must be removed before it goes and before `file` is closed. Error: exhausted.
  Status add(int file, Watcher& watcher);
  void remove(int file);
  /// For whoever reads a watched socket, until it returns: one place for all stays in the cache.
  std::vector<char>& scratch() { return scratch_; }

 private:
  void wait();
  void on_waited(const boost::system::error_code& error);
  void turn();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor set_;  ///< of epoll
  boost::asio::steady_timer rest_;
  std::chrono::steady_clock::time_point rested_;  ///< when the next turn may come
  std::vector<Watcher*> watchers_;                ///< by file; null: none
  std::vector<char> scratch_ = std::vector<char>(16 << 10);
  bool waiting_ = false;
};

}  // namespace assay
