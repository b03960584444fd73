#include "ranks/fabric/tcp_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/tcp.h"

namespace assay::tcp {
namespace {

constexpr int look_milliseconds = 100;          // time between checks of whether to stop
constexpr std::size_t most_at_once = 32;        // messages per system call
constexpr std::size_t most_received = 1 << 20;  // bytes per system call

Descriptor blocking(Descriptor socket) {
  ::fcntl(socket.number(), F_SETFL, ::fcntl(socket.number(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

}  // namespace

bool Reader::read(void* target, std::size_t bytes) {
  auto* at = static_cast<char*>(target);
  while (bytes > 0) {
    if (begin_ < end_) {
      const std::size_t taken = std::min(bytes, end_ - begin_);
      std::memcpy(at, buffer_.data() + begin_, taken);
      begin_ += taken;
      at += taken;
      bytes -= taken;
      continue;
    }
    const bool direct = bytes >= large;
    ssize_t got = 0;
    do {
      got = direct ? ::recv(file_, at, std::min(bytes, most_received), 0)
                   : ::recv(file_, buffer_.data(), std::max(bytes, ahead_), 0);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    if (direct) {
      at += got;
      bytes -= static_cast<std::size_t>(got);
      ahead_ = sizeof(Frame);
    } else {
      begin_ = 0;
      end_ = static_cast<std::size_t>(got);
      if (bytes != sizeof(Frame)) ahead_ = buffer_bytes;
    }
  }
  return true;
}

Queue::Queue(int number, Descriptor socket, const FabricWindow& window, Inbox& inbox)
    : number_(number),
      socket_(blocking(std::move(socket))),
      window_(static_cast<char*>(window.address)),
      window_bytes_(window.bytes),
      inbox_(inbox),
      reader_(socket_.number()),
      receiver_([this] { receive_all(); }),
      sender_([this] { send_left_over(); }) {}

Queue::~Queue() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  left_over_.notify_one();
  posted_.notify_one();
  ::shutdown(socket_.number(), SHUT_RDWR);
  receiver_.join();
  sender_.join();
}

void Queue::post(std::span<const FabricRequest> requests) {
  std::array<Outgoing, most_at_once> messages;
  while (!requests.empty()) {
    const std::size_t count = std::min(requests.size(), messages.size());
    for (std::size_t i = 0; i < count; ++i) {
      const FabricRequest& request = requests[i];
      Frame frame{Frame::write,   request.signalled ? 1u : 0u,
                  request.remote, request.local,
                  request.bytes,  request.id};
      messages[i] = {};
      if (request.operation == FabricOperation::read) {
        frame.kind = Frame::read_request;
      } else {
        if (request.operation == FabricOperation::send) frame.kind = Frame::send;
        messages[i].payload = window_ + request.local;
        messages[i].payload_bytes = request.bytes;
      }
      messages[i].frame = frame;
    }
    enqueue(std::span(messages).first(count));
    requests = requests.subspan(count);
  }
}

void Queue::receive(std::uint64_t offset, std::uint64_t bytes, std::uint64_t id) {
  {
    const MutexLock lock(mutex_);
    receives_.push_back({offset, bytes, id});
  }
  posted_.notify_one();
}

void Queue::receive_all() {
  Frame frame;
  while (reader_.read(&frame, sizeof frame)) {
    if (!handle(frame)) break;
  }
  const MutexLock lock(mutex_);
  if (stopping_) return;
  inbox_.fail({ErrorKind::failed, fmt::format("tcp: the connection to {} of queue {} ended early",
                                              tcp_peer(socket_), number_)});
}

bool Queue::handle(const Frame& frame) {
  switch (frame.kind) {
    case Frame::write:
    case Frame::read_reply:
      return place(frame);
    case Frame::send:
      return fill_receive(frame);
    case Frame::read_request:
      return answer_read(frame);
    case Frame::acknowledgement:
      inbox_.complete({number_, false, frame.id});
      return true;
  }
  return refuse("a message of unknown kind");
}

bool Queue::place(const Frame& frame) {
  if (!inside(frame.place, frame.bytes)) return refuse("data for a place outside the window");
  if (!reader_.read(window_ + frame.place, frame.bytes)) return false;
  if (frame.kind == Frame::write) {
    inbox_.landed(number_);
    acknowledge(frame);
  } else if (frame.signalled != 0) {
    inbox_.complete({number_, false, frame.id});
  }
  return true;
}

bool Queue::fill_receive(const Frame& frame) {
  PostedReceive posted{};
  {
    MutexLock lock(mutex_);
    posted_.wait(lock.native(),
                 [this]() REQUIRES(mutex_) { return stopping_ || !receives_.empty(); });
    if (stopping_) return false;
    posted = receives_.front();
    receives_.pop_front();
  }
  if (frame.bytes > posted.bytes) return refuse("a message larger than the receive posted for it");
  if (!inside(posted.offset, frame.bytes)) return refuse("a receive outside the window");
  if (!reader_.read(window_ + posted.offset, frame.bytes)) return false;
  inbox_.complete({number_, true, posted.id});
  acknowledge(frame);
  return true;
}

bool Queue::answer_read(const Frame& frame) {
  if (!inside(frame.place, frame.bytes)) return refuse("a read outside the window");
  const Frame reply{Frame::read_reply, frame.signalled, frame.answer, 0, frame.bytes, frame.id};
  const Outgoing message{reply, window_ + frame.place, frame.bytes, 0};
  enqueue({&message, 1});
  return true;
}

bool Queue::inside(std::uint64_t offset, std::uint64_t bytes) const {
  return offset <= window_bytes_ && bytes <= window_bytes_ - offset;
}

bool Queue::refuse(const char* why) {
  inbox_.fail({ErrorKind::failed,
               fmt::format("tcp: {} sent {} on queue {}", tcp_peer(socket_), why, number_)});
  return false;
}

void Queue::acknowledge(const Frame& frame) {
  if (frame.signalled == 0) return;
  const Outgoing message{{Frame::acknowledgement, 1, 0, 0, 0, frame.id}, nullptr, 0, 0};
  enqueue({&message, 1});
}

void Queue::enqueue(std::span<const Outgoing> messages) {
  const MutexLock lock(mutex_);
  outgoing_.insert(outgoing_.end(), messages.begin(), messages.end());
  // Unsignalled messages are held back until a signalled one follows, because nobody waits for them
  // yet.
  if (messages.back().frame.signalled == 0 && outgoing_.size() < most_at_once) return;
  pump();
  if (!outgoing_.empty()) left_over_.notify_one();
}

void Queue::send_left_over() {
  MutexLock lock(mutex_);
  while (true) {
    left_over_.wait(lock.native(),
                    [this]() REQUIRES(mutex_) { return stopping_ || !outgoing_.empty(); });
    if (stopping_) return;
    lock.unlock();
    pollfd entry{socket_.number(), POLLOUT, 0};
    ::poll(&entry, 1, look_milliseconds);
    lock.lock();
    pump();
  }
}

void Queue::pump() {
  while (!outgoing_.empty()) {
    std::array<iovec, 2 * most_at_once> parts;
    std::size_t count = 0;
    for (std::size_t i = 0; i < outgoing_.size() && i < most_at_once; ++i) {
      Outgoing& message = outgoing_[i];
      const std::size_t head = std::min(message.sent, sizeof(Frame));
      const std::size_t body = message.sent - head;
      if (head < sizeof(Frame)) {
        parts[count++] = {reinterpret_cast<char*>(&message.frame) + head, sizeof(Frame) - head};
      }
      if (body < message.payload_bytes) {
        parts[count++] = {const_cast<char*>(message.payload) + body, message.payload_bytes - body};
      }
    }
    msghdr wire{};
    wire.msg_iov = parts.data();
    wire.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.number(), &wire, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      const int number = errno;
      inbox_.fail({ErrorKind::failed, fmt::format("tcp: sending on queue {}: {} (errno {})",
                                                  number_, std::strerror(number), number)});
      outgoing_.clear();
      return;
    }
    mark_sent(static_cast<std::size_t>(sent));
  }
}

void Queue::mark_sent(std::size_t bytes) {
  while (!outgoing_.empty()) {
    Outgoing& message = outgoing_.front();
    const std::size_t whole = sizeof(Frame) + message.payload_bytes;
    const std::size_t taken = std::min(bytes, whole - message.sent);
    message.sent += taken;
    bytes -= taken;
    if (message.sent < whole) return;
    outgoing_.pop_front();
  }
}

}  // namespace assay::tcp
