#include "serving/client/stamped_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace assay {
namespace {

using std::chrono::nanoseconds;

nanoseconds since_epoch(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

/// How long ago the kernel stamped what came with `message`: zero if it did not.
nanoseconds age(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_TIMESTAMPNS) continue;
    timespec stamp = {}, now = {};
    std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
    ::clock_gettime(CLOCK_REALTIME, &now);  // the clock of stamps
    const nanoseconds passed = since_epoch(now) - since_epoch(stamp);
    // Someone set the clock meanwhile.
    if (passed < nanoseconds(0) || passed > std::chrono::seconds(10)) return {};
    return passed;
  }
  return {};
}

}  // namespace

void StampedSocket::prepare() {
  boost::system::error_code unimportant;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), unimportant);
  const int on = 1;
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

std::size_t StampedSocket::read(boost::asio::mutable_buffer buffer,
                                boost::system::error_code& error) {
  alignas(cmsghdr) std::array<char, 128> control;
  iovec bytes{buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  arrived_ = LoadClock::now();
  if (got < 0) error.assign(errno, boost::asio::error::get_system_category());
  if (got == 0 && buffer.size() > 0) error = boost::asio::error::eof;
  if (got <= 0) return 0;
  arrived_ -= age(message);
  return static_cast<std::size_t>(got);
}

}  // namespace assay
