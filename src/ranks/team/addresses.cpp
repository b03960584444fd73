#include "ranks/team/addresses.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/units.h"
#include "ranks/team/network_addresses.h"

namespace assay {
namespace {

/// Connects the non-blocking `socket` and waits until it is connected.
Status finish_connect(int socket, const addrinfo& to, double seconds) {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return Error{ErrorKind::failed, std::strerror(errno)};
  pollfd file{socket, POLLOUT, 0};
  if (::poll(&file, 1, static_cast<int>(seconds * 1000)) <= 0) {
    return Error{ErrorKind::failed, fmt::format("no answer within {:.0f} s", seconds)};
  }
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return Error{ErrorKind::failed, std::strerror(error)};
  return {};
}

}  // namespace

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  for (const NetworkAddress& network : own_networks()) addresses.push_back(network.text);
  addresses.emplace_back("127.0.0.1");
  return addresses;
}

std::string with_port(const std::vector<std::string>& hosts, int port) {
  std::string text;
  for (const std::string& host : hosts) {
    const bool six = host.find(':') != std::string::npos;
    text += fmt::format("{}{}{}{}:{}", text.empty() ? "" : ",", six ? "[" : "", host,
                        six ? "]" : "", port);
  }
  return text;
}

Result<int> connect_to(const std::string& host, int port, double seconds) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = fmt::format("{}", port);
  if (const int error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); error != 0) {
    return Error{ErrorKind::failed, ::gai_strerror(error)};
  }
  Result<int> connected = Error{ErrorKind::failed, "it has no address"};
  for (const addrinfo* at = found; at != nullptr && !connected.ok(); at = at->ai_next) {
    const int socket =
        ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (socket < 0) {
      connected = Error{ErrorKind::failed, std::strerror(errno)};
      continue;
    }
    if (const Status done = finish_connect(socket, *at, seconds); done.ok()) {
      connected = socket;
    } else {
      ::close(socket);
      connected = done.error();
    }
  }
  ::freeaddrinfo(found);
  return connected;
}

std::vector<std::pair<std::string, int>> parse_addresses(const std::string& text) {
  std::vector<std::pair<std::string, int>> addresses;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = item.rfind(':');
    if (colon == std::string::npos) continue;
    const auto port = parse_integer(item.substr(colon + 1));
    std::string host = item.substr(0, colon);
    if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
    if (!port.ok() || *port == 0 || *port > 65535 || host.empty()) continue;
    addresses.emplace_back(std::move(host), static_cast<int>(*port));
  }
  return addresses;
}

}  // namespace assay
