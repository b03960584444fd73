// Boost.Asio as the simulator uses it: one thread, no exceptions of its own.
#pragma once

#define BOOST_ASIO_NO_DEPRECATED
#define BOOST_ASIO_DISABLE_THREADS
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace assay::simulator {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

}  // namespace assay::simulator
