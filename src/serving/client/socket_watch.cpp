#include "serving/client/socket_watch.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace assay {
namespace {

// Sockets of one turn: timers and connections come between turns.
constexpr int most_at_once = 64;

}  // namespace

SocketWatch::SocketWatch(boost::asio::io_context& loop) : loop_(loop), set_(loop) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  boost::system::error_code failed;
  if (set >= 0) set_.assign(set, failed);
  if (set >= 0 && failed) ::close(set);  // add() will say that there is none
}

Status SocketWatch::add(int file, Watcher& watcher) {
  const auto slot = static_cast<std::size_t>(file);
  if (watchers_.size() <= slot) watchers_.resize(slot + 1);
  watchers_[slot] = &watcher;
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.fd = file;
  if (!set_.is_open() || ::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, file, &event) != 0) {
    const std::string why = set_.is_open() ? std::strerror(errno) : "no epoll set could be made";
    watchers_[slot] = nullptr;
    return Error{ErrorKind::exhausted, "watching a socket: " + why};
  }
  wait();
  return {};
}

void SocketWatch::remove(int file) {
  watchers_[static_cast<std::size_t>(file)] = nullptr;
  ::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, file, nullptr);
}

void SocketWatch::wait() {
  if (waiting_) return;
  waiting_ = true;
  set_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                  [this](const boost::system::error_code& error) {
                    waiting_ = false;
                    if (!error) turn();
                  });
}

void SocketWatch::turn() {
  std::array<epoll_event, most_at_once> events;
  const int count = ::epoll_wait(set_.native_handle(), events.data(), most_at_once, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    Watcher* watcher = watchers_[static_cast<std::size_t>(event.data.fd)];
    if (watcher == nullptr) continue;  // removed in this turn
    watcher->on_ready((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
  }
  if (count == most_at_once) {
    boost::asio::post(loop_, [this] { turn(); });
  } else {
    wait();
  }
}

}  // namespace assay
