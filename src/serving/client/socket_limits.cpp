#include "serving/client/socket_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>

#include "core/read_file.h"

namespace assay {
namespace {

constexpr const char* port_range = "/proc/sys/net/ipv4/ip_local_port_range";
/// Files open besides the connections: the store, libraries, telemetry.
constexpr std::size_t other_files = 64;

std::size_t local_ports() {
  constexpr std::size_t linux_default = 60999 - 32768 + 1;
  const auto text = read_file(port_range);
  unsigned low = 0, high = 0;
  if (!text || std::sscanf(text->c_str(), "%u %u", &low, &high) != 2 || high < low) {
    return linux_default;
  }
  return high - low + 1;
}

}  // namespace

SocketLimits raise_socket_limits() {
  rlimit files = {};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlimit wanted{files.rlim_max, files.rlim_max};
  if (files.rlim_cur < files.rlim_max && ::setrlimit(RLIMIT_NOFILE, &wanted) == 0) files = wanted;
  return {static_cast<std::size_t>(files.rlim_cur), local_ports()};
}

Status check_sockets(const SocketLimits& limits, std::size_t connections, std::size_t targets) {
  const std::size_t files = connections + other_files;
  if (files > limits.descriptors) {
    return Error{
        ErrorKind::exhausted,
        fmt::format("{} requests at once need {} open files, and this process may have {}; "
                    "raise the limit (ulimit -Hn {}), or send fewer at once "
                    "(--max-concurrency)",
                    connections, files, limits.descriptors, files)};
  }
  const std::size_t per_target = (connections + targets - 1) / targets;
  if (per_target > limits.ports) {
    return Error{
        ErrorKind::exhausted,
        fmt::format("{} requests at once to one server need as many local ports, and there are {} "
                    "({}); widen that range, or send fewer at once (--max-concurrency)",
                    per_target, limits.ports, port_range)};
  }
  return {};
}

}  // namespace assay
