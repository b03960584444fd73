#include "ranks/team/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace assay {
namespace {

constexpr std::size_t header_bytes = 5;
constexpr std::size_t most_payload = std::size_t{64} << 20;
constexpr int send_patience_ms = 10000;

std::uint32_t length_at(const char* header) {
  std::uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(header[i]);
  return length;
}

}  // namespace

Status Wire::send(char kind, std::string_view payload) {
  std::string bytes(1, kind);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  bytes += payload;
  const MutexLock guard(sending_);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      pollfd file{socket(), POLLOUT, 0};
      if (::poll(&file, 1, send_patience_ms) == 0) {
        return Error{ErrorKind::failed, "the connection accepts no more data"};
      }
    } else {
      return Error{ErrorKind::failed, std::strerror(errno)};
    }
  }
  return {};
}

bool Wire::read_arrived() {
  if (read_ > 0) {
    arrived_.erase(0, read_);
    read_ = 0;
  }
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::recv(socket(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
      arrived_.append(buffer.data(), static_cast<std::size_t>(count));
      if (arrived_.size() >= header_bytes && length_at(&arrived_[1]) > most_payload) return false;
      if (arrived_.size() > most_payload) return true;  // deliver the received frames first
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      return count < 0 && errno == EAGAIN;
    }
  }
}

std::optional<Frame> Wire::next() {
  if (arrived_.size() - read_ < header_bytes) return std::nullopt;
  const std::size_t length = length_at(&arrived_[read_ + 1]);
  if (arrived_.size() - read_ < header_bytes + length) return std::nullopt;
  Frame frame{arrived_[read_], arrived_.substr(read_ + header_bytes, length)};
  read_ += header_bytes + length;
  return frame;
}

Result<Frame> Wire::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    if (auto frame = next()) return std::move(*frame);
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return Error{ErrorKind::failed, "nothing arrived in time"};
    pollfd file{socket(), POLLIN, 0};
    ::poll(&file, 1, static_cast<int>(left.count() * 1000) + 1);
    const bool open = read_arrived();
    if (auto frame = next()) return std::move(*frame);
    if (!open) return Error{ErrorKind::failed, "the other end closed the connection"};
  }
}

void put(std::string& payload, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) payload += static_cast<char>(number >> (8 * i) & 0xff);
}

void put(std::string& payload, std::string_view text) {
  put(payload, static_cast<std::uint64_t>(text.size()));
  payload += text;
}

std::uint64_t PayloadReader::number() {
  if (rest_.size() < 8) {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::uint64_t number = 0;
  for (int i = 7; i >= 0; --i) {
    number = number << 8 | static_cast<unsigned char>(rest_[static_cast<std::size_t>(i)]);
  }
  rest_.remove_prefix(8);
  return number;
}

std::string PayloadReader::text() {
  const std::uint64_t length = number();
  if (length > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  std::string text(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return text;
}

}  // namespace assay
