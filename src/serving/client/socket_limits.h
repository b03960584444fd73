// How many connections this process can have, found out before a run needs them.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace assay {

struct SocketLimits {
  std::size_t descriptors = 0;  ///< open files of this process, after raising its soft limit
  std::size_t ports = 0;        ///< for connections to one address and port of a server
};

/// Raises the soft limit of open files to the hard one.
SocketLimits raise_socket_limits();

/// Whether `connections`, spread evenly over `targets` servers, fit. Error: exhausted, with what is
/// too small and how to change it.
Status check_sockets(const SocketLimits& limits, std::size_t connections, std::size_t targets);

}  // namespace assay
