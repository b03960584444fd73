#include "cli/machine/watch_exporter.h"

#include <fmt/format.h>

#include <utility>

#include "core/units.h"
#include "serving/server/http_text.h"
#include "serving/server/listener.h"
#include "serving/server/server_endpoints.h"

namespace assay::cli {
namespace {

using server::Connection;
using server::HttpRequest;

class MetricsHandler final : public server::RequestHandler {
 public:
  explicit MetricsHandler(const MakePage& page) : page_(page) {}

  void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) override {
    const bool gets = request.method == "GET" || request.method == "HEAD";
    const bool found = request.path == "/metrics";
    server::ReplyHead head = {.status = !found ? 404
                                        : gets ? 200
                                               : 405,
                              .content_type = "text/plain; charset=utf-8",
                              .close = !request.keep_alive,
                              .extra = found && !gets ? "allow: GET, HEAD\r\n" : ""};
    std::string body = found ? "this path allows GET, HEAD\n" : "the metrics are at /metrics\n";
    if (head.status == 200) {
      head.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
      body = page_();
    }
    connection->write_whole(head, body);
    head.close ? connection->close() : connection->next();
  }

 private:
  const MakePage& page_;
};

Result<server::Tcp::endpoint> endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto port = parse_integer(colon == std::string::npos ? "" : address.substr(colon + 1));
  if (!port.ok() || *port > UINT16_MAX) {
    return Error{
        ErrorKind::usage,
        fmt::format("bad address \"{}\": give address and port, e.g. 127.0.0.1:9400", address)};
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return server::Tcp::endpoint(TRY(server::numeric_address(host)),
                               static_cast<std::uint16_t>(*port));
}

}  // namespace

Status serve_metrics(const std::string& address, const MakePage& page,
                     const std::function<void(const std::string& url)>& listening,
                     const std::function<bool()>& stop) {
  const server::Tcp::endpoint endpoint = TRY(endpoint_of(address));
  MetricsHandler handler(page);
  server::Loop loop;
  server::Listener listener(loop, handler);
  TRY(listener.listen(endpoint));
  listening(server::url_of(endpoint.address(), listener.port()) + "/metrics");
  loop.run(stop);
  listener.close();
  return {};
}

}  // namespace assay::cli
