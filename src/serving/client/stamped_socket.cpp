#include "serving/client/stamped_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
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

/// The kernel's timestamp in `message`; now if there is none.
LoadClock::time_point arrival(msghdr& message) {
  timespec stamp = {}, now = {};
  bool stamped = false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_TIMESTAMPNS) continue;
    std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
    stamped = true;
  }
  // Read the stamps' clock first: being descheduled between the two reads then makes a time late,
  // never early.
  ::clock_gettime(CLOCK_REALTIME, &now);
  const LoadClock::time_point read = LoadClock::now();
  const nanoseconds age = since_epoch(now) - since_epoch(stamp);
  // Any other age means that the system clock was set meanwhile.
  const bool likely = age >= nanoseconds(0) && age <= std::chrono::seconds(10);
  return stamped && likely ? read - age : read;
}

}  // namespace

void prepare_stamps(int file) {
  const int on = 1;
  ::setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(file, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

StampedRead read_stamped(int file, void* target, std::size_t bytes) {
  alignas(cmsghdr) std::array<char, 128> control;
  iovec place{target, bytes};
  msghdr message = {};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  StampedRead read;
  do {
    read.bytes = ::recvmsg(file, &message, MSG_DONTWAIT);
  } while (read.bytes < 0 && errno == EINTR);
  const int error = errno;
  read.arrived = read.bytes > 0 ? arrival(message) : LoadClock::now();
  errno = error;
  return read;
}

std::size_t StampedSocket::read(boost::asio::mutable_buffer buffer,
                                boost::system::error_code& error) {
  const StampedRead read = read_stamped(socket_.native_handle(), buffer.data(), buffer.size());
  arrived_ = read.arrived;
  if (read.bytes < 0) error.assign(errno, boost::asio::error::get_system_category());
  if (read.bytes == 0 && buffer.size() > 0) error = boost::asio::error::eof;
  return read.bytes > 0 ? static_cast<std::size_t>(read.bytes) : 0;
}

}  // namespace assay
