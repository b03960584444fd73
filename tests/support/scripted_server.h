// A server on a separate thread that sends exactly the bytes that a test specifies.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay {

class ScriptedServer {
 public:
  /// The connection of a request, to which a reply is written.
  class Client {
   public:
    explicit Client(int socket) : socket_(socket) {}
    /// The request line and the header of the request to answer.
    const std::string& head() const { return head_; }
    void say(std::string_view bytes) {
      (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void wait(double seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
    /// Waits until the other side closes the connection, discarding what it sends until then.
    void wait_for_close() {
      const timeval most{60, 0};
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
      char dropped[4096];
      while (::recv(socket_, dropped, sizeof(dropped), 0) > 0) {
      }
      closed_ = true;
    }
    /// Returns whether the other side has closed the connection.
    bool hung_up() const {
      char byte;
      const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    }
    /// Closes the connection with a reset instead of an orderly end.
    void reset() {
      const linger hard{1, 0};
      ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
      closed_ = true;
    }
    void close() { closed_ = true; }
    bool closed() const { return closed_; }

    /// Sends the head of a stream; its pieces are HTTP chunks.
    void begin_stream() {
      say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
          "chunked\r\n\r\n");
    }
    void chunk(std::string_view text) { say(fmt::format("{:x}\r\n{}\r\n", text.size(), text)); }
    void event(std::string_view json) { chunk(fmt::format("data: {}\n\n", json)); }
    void token(std::string_view text) {
      event(fmt::format(R"({{"choices":[{{"index":0,"text":"{}","finish_reason":null}}]}})", text));
    }
    void usage(int prompt, int output) {
      event(fmt::format(R"({{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})",
                        prompt, output));
    }
    void end_stream() {
      chunk("data: [DONE]\n\n");
      say("0\r\n\r\n");
    }

   private:
    friend class ScriptedServer;
    int socket_;
    bool closed_ = false;
    std::string head_;
  };
  /// Answers request `number`, from 0, whose body is `body`.
  using Reply = std::function<void(Client&, int number, const std::string& body)>;

  /// `refuse`, if given, may answer and close before the body of a request has arrived. `port` 0
  /// means any free port.
  explicit ScriptedServer(Reply reply, std::function<void(Client&)> refuse = nullptr, int port = 0)
      : reply_(std::move(reply)), refuse_(std::move(refuse)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const int bytes =
        1 << 16;  // fixed, because a large default would take a whole request that nobody reads
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    (void)::listen(listener_, 1000);
    socklen_t length = sizeof(address);
    (void)::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    {
      const std::lock_guard guard(mutex_);
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  int requests() const { return requests_; }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    for (;;) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      ++connections_;
      const std::lock_guard guard(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) {
    Client client(socket);
    std::string text;
    char buffer[4096];
    while (!client.closed()) {
      const std::size_t head = text.find("\r\n\r\n");
      std::size_t body = 0;
      if (head != text.npos) {
        client.head_ = text.substr(0, head);
        const std::size_t field = text.find("Content-Length: ");
        if (field < head) body = std::stoul(text.substr(field + 16, 20));
        if (refuse_) {
          refuse_(client);
          break;
        }
      }
      if (head != text.npos && text.size() >= head + 4 + body) {
        reply_(client, requests_++, text.substr(head + 4, body));
        text.erase(0, head + 4 + body);
        continue;
      }
      const ssize_t bytes = ::recv(socket, buffer, sizeof(buffer), 0);
      if (bytes <= 0) break;
      text.append(buffer, static_cast<std::size_t>(bytes));
    }
    const std::lock_guard guard(mutex_);
    std::erase(sockets_, socket);
    ::close(socket);
  }

  Reply reply_;
  const std::function<void(Client&)> refuse_;
  int listener_ = -1, port_ = 0;
  std::atomic<int> requests_ = 0, connections_ = 0;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread thread_;
};

}  // namespace assay
