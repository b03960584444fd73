#include "serving/client/http_call.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "serving/client/http_connection.h"

namespace assay {
namespace {

constexpr std::size_t most_bytes = 64 << 20;

struct WholeReply final : ReplyReader {
  HttpReply reply;
  ReplyEnd how = ReplyEnd::silent;
  std::string error;
  boost::asio::io_context* loop = nullptr;

  void on_status(int status) override { reply.status = status; }
  std::string on_body(std::string_view bytes, LoadClock::time_point) override {
    reply.body.append(bytes);
    return reply.body.size() <= most_bytes ? "" : "it is longer than 64 MiB";
  }
  void on_end(ReplyEnd end, std::string_view text) override {
    how = end;
    error = text;
    loop->stop();
  }
};

}  // namespace

Result<HttpReply> http_call(const Endpoint& endpoint, std::string_view method,
                            std::string_view path, std::string_view fields, std::string_view body,
                            double seconds) {
  boost::asio::io_context loop(1);
  SocketWatch watch(loop);
  WholeReply reader;
  reader.loop = &loop;
  const auto connection = HttpConnection::make(loop, watch, endpoint);
  connection->ask(http_request(method, endpoint.url, path, fields, body), reader);
  loop.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds)));
  if (reader.how == ReplyEnd::silent) {
    connection->close();
    reader.error = fmt::format("no reply within {:.0f} s", seconds);
  }
  if (reader.how != ReplyEnd::complete) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{}{}: {}", text_of(endpoint.url), path, reader.error)};
  }
  return std::move(reader.reply);
}

}  // namespace assay
