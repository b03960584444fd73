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

// Sockets handled per turn; timers and new connections get their turn in between.
constexpr int most_at_once = 64;
// Time between turns. If each of 100,000 tokens per second woke this process, it and the sender
// would spend a tenth of their time on wake-ups. Data read late keeps the kernel's receive time;
// only a request triggered by the end of a reply goes out this much later.
constexpr auto between_turns = std::chrono::microseconds(200);

}  // namespace

SocketWatch::SocketWatch(boost::asio::io_context& loop) : loop_(loop), set_(loop), rest_(loop) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  boost::system::error_code failed;
  if (set >= 0) set_.assign(set, failed);
  if (set >= 0 && failed) ::close(set);  // add() will report it
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
  const auto then = [this](const boost::system::error_code& error) { on_waited(error); };
  if (rested_ > std::chrono::steady_clock::now()) {
    rest_.expires_at(rested_);
    rest_.async_wait(then);
  } else {
    set_.async_wait(boost::asio::posix::stream_descriptor::wait_read, then);
  }
}

void SocketWatch::on_waited(const boost::system::error_code& error) {
  waiting_ = false;
  if (!error) turn();
}

void SocketWatch::turn() {
  std::array<epoll_event, most_at_once> events;
  const int count = ::epoll_wait(set_.native_handle(), events.data(), most_at_once, 0);
  if (count > 0) rested_ = std::chrono::steady_clock::now() + between_turns;
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
