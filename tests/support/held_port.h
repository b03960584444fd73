// Holds a TCP port that no other program can take.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/descriptor.h"

namespace assay {

/// Binds a free port and does not listen on it. The kernel never chooses a bound port for another
/// socket, and refuses connections to it. A socket with SO_REUSEADDR, which assay's listeners have,
/// can still listen on it.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    socklen_t bytes = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.number(), generic, bytes), 0);
    EXPECT_EQ(::getsockname(socket_.number(), generic, &bytes), 0);
    number_ = ntohs(address.sin_port);
  }
  int number() const { return number_; }

 private:
  Descriptor socket_;
  int number_ = 0;
};

}  // namespace assay
