// An HTTP client for tests of servers, which sees every byte and every closed connection.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

namespace assay {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A blocking client with a timeout of `patience` seconds.
class Client {
 public:
  explicit Client(std::uint16_t port, int patience = 60)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval most{patience, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    connected_ =
        connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;  // NOLINT
    EXPECT_TRUE(connected_);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Returns the result of one read; empty at the end, after an error, and on a timeout.
  std::string read() {
    std::string bytes(1 << 20, '\0');
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    error = got < 0 ? errno : 0;
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    return bytes;
  }
  std::string read_until(std::string_view mark) {
    std::string all;
    while (all.find(mark) == std::string::npos) {
      const std::string bytes = read();
      if (bytes.empty()) break;
      all += bytes;
    }
    return all;
  }
  std::string read_all() { return read_until("\x01"); }  // \x01 is never sent

  int error = 0;

 private:
  int socket_;
  bool connected_ = false;
};

inline std::string post(std::string_view path, std::string_view body, bool close = true) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         (close ? "Connection: close\r\n" : "") + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

inline std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

inline std::string ask(std::uint16_t port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.read_all();
}

inline std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

/// Returns the body without its chunks' frames.
inline std::string body_of(const std::string& reply) {
  std::string body;
  std::size_t at = reply.find("\r\n\r\n");
  if (at == std::string::npos) return "";
  at += 4;
  if (reply.find("transfer-encoding: chunked") > at) return reply.substr(at);
  while (at < reply.size()) {
    std::size_t used = 0;
    const std::size_t size = std::stoul(reply.substr(at, 10), &used, 16);
    if (size == 0) break;
    body += reply.substr(at + used + 2, size);
    at += used + 2 + size + 2;
  }
  return body;
}

/// Returns the value of the sample on the page /metrics whose line begins with `line_begin`; empty
/// if there is none.
inline std::string metric(std::uint16_t port, const std::string& line_begin) {
  const std::string page = ask(port, get("/metrics"));
  const std::size_t at = page.find("\n" + line_begin);
  if (at == std::string::npos) return "";
  const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
  return line.substr(line.rfind(' ') + 1);
}

}  // namespace assay
