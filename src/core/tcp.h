// TCP sockets, over IPv6 and IPv4 alike: listening, connecting and accepting. Every socket made
// here is non-blocking, is not inherited by programs that this process starts, and sends small
// messages at once (TCP_NODELAY).
#pragma once

#include <span>
#include <string>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// Returns a socket that listens on `port` of every interface, or only of 127.0.0.1 if `local`;
/// port 0 takes any free port. Error: failed, with the system's message.
Result<Descriptor> listen_tcp(int port, bool local = false);

/// Returns the port of this process's end of a socket; 0 if it has none.
int tcp_port(const Descriptor& socket);

/// Returns a connection to the next caller of a listening socket; a closed descriptor if there is
/// none now, or it cannot be accepted.
Descriptor accept_tcp(const Descriptor& listener);

/// Begins to connect to a numeric address; the socket becomes writable when the attempt has
/// succeeded or failed. Error: failed, with the system's message, also if `address` is not numeric.
Result<Descriptor> begin_connect(const std::string& address, int port);

/// Returns ok if the connection begun by begin_connect() succeeded. Call it once the socket is
/// writable; before, it returns ok, too. Error: failed, with the system's message.
Status connect_result(const Descriptor& socket);

/// Returns a connected socket to a host name or address, whichever of the name's addresses answers
/// first. Error: failed, with the system's message, or because the name was not resolved or no
/// address answered within `seconds`.
Result<Descriptor> connect_to(const std::string& host, int port, double seconds);
/// Connects to the first of several numeric addresses that answers. Error: as connect_to(); failed
/// if one is not numeric.
Result<Descriptor> connect_to_first(std::span<const std::string> addresses, int port,
                                    double seconds);

/// Returns the address of the other end, "10.0.0.1:4711" or "[fe80::1]:4711"; empty if there is
/// none.
std::string tcp_peer(const Descriptor& socket);

}  // namespace assay
