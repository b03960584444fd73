// Boost.Asio as the simulator uses it. No macros that change it: all of the program must see the
// same Asio.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace assay::simulator {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

}  // namespace assay::simulator
