// Says how many connections this process can open, checked before a run.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace assay {

/// How many connections this process may have.
struct SocketLimits {
  std::size_t descriptors = 0;  ///< open files of this process, after raising its soft limit
  std::size_t ports = 0;        ///< for connections to one address and port of a server
};

/// Raises the soft limit of open files to the hard one.
SocketLimits raise_socket_limits();

/// Checks that `connections`, spread evenly over `targets` servers, are possible. Error: exhausted,
/// naming the limit that is too low and how to raise it.
Status check_sockets(const SocketLimits& limits, std::size_t connections, std::size_t targets);

}  // namespace assay
