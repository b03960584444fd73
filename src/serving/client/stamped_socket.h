// A TCP socket that knows when its data arrived at this machine. The kernel stamps every packet, so
// that time this program spends on other work or waiting for a core is not attributed to the
// server.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace assay {

using LoadClock = std::chrono::steady_clock;

/// Enables receive timestamps on the socket, and disables Nagle's algorithm.
void prepare_stamps(int file);

struct StampedRead {
  ssize_t bytes = 0;  ///< as of recv(): 0 the end, below 0 an error in errno
  /// When the packet with the last of the bytes arrived; without a kernel stamp, or with one from
  /// the future or more than 10 s old, when they were read. It is too early for bytes that had to
  /// wait for a lost packet before them.
  LoadClock::time_point arrived;
};
/// Reads what has arrived; never waits.
StampedRead read_stamped(int file, void* target, std::size_t bytes);

/// Has the interface of Asio's own sockets for reading and writing, so that TLS can run on top.
class StampedSocket {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;
  using lowest_layer_type = Socket::lowest_layer_type;

  explicit StampedSocket(boost::asio::io_context& loop) : socket_(loop) {}

  Socket& socket() { return socket_; }
  executor_type get_executor() { return socket_.get_executor(); }
  lowest_layer_type& lowest_layer() { return socket_.lowest_layer(); }

  /// Arrival time of the last data read.
  LoadClock::time_point arrived() const { return arrived_; }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    const boost::asio::mutable_buffer buffer = *boost::asio::buffer_sequence_begin(buffers);
    if (buffer.size() > 0) return wait_and_read(buffer, std::forward<Handler>(handler));
    // TLS already holds decrypted data and only needs its handler called from the loop.
    boost::asio::post(get_executor(), [handler = std::forward<Handler>(handler)]() mutable {
      handler(boost::system::error_code(), 0);
    });
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  template <typename Handler>
  void wait_and_read(boost::asio::mutable_buffer buffer, Handler handler) {
    socket_.async_wait(Socket::wait_read, [this, buffer, handler = std::move(handler)](
                                              boost::system::error_code error) mutable {
      const std::size_t bytes = error ? 0 : read(buffer, error);
      if (error == boost::asio::error::would_block)
        return wait_and_read(buffer, std::move(handler));
      handler(error, bytes);
    });
  }
  /// Reads what has arrived. would_block: nothing.
  std::size_t read(boost::asio::mutable_buffer buffer, boost::system::error_code& error);

  Socket socket_;
  LoadClock::time_point arrived_;
};

}  // namespace assay
