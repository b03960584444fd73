// One simulated server: a port, an engine or fixed times, counters.
#pragma once

#include "serving/simulator/connection.h"
#include "serving/simulator/generation_request.h"
#include "serving/simulator/server.h"
#include "serving/simulator/server_metrics.h"
#include "serving/simulator/token_source.h"

namespace assay::simulator {

class Instance final : public RequestHandler {
 public:
  /// `index` gives each instance its own seed. `settings` and `loop` must outlive the instance.
  Instance(Loop& loop, const ServerSettings& settings, std::uint64_t index);

  /// Error: unavailable, naming what failed.
  Status listen(const Tcp::endpoint& endpoint);
  std::uint16_t port() const;
  void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) override;

 private:
  void accept();
  void generate(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
                Dialect dialect, bool always_streams);
  Status check(const GenerationRequest& asked, std::uint64_t tokens) const;
  void answer(Connection& connection, const HttpRequest& request, int status, std::string_view body,
              std::string_view type = "application/json");
  void refuse(Connection& connection, const HttpRequest& request, int status,
              std::string_view message);
  void answer_simple(Connection& connection, const HttpRequest& request);
  std::string metrics_text();
  std::string models_text() const;

  Loop& loop_;
  const ServerSettings& settings_;
  std::uint64_t seed_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::shared_ptr<ServerMetrics> metrics_ = std::make_shared<ServerMetrics>();
  std::shared_ptr<EngineDriver> driver_;  // null with fixed times
  std::uint64_t requests_ = 0;            // well-formed generation requests so far
};

}  // namespace assay::simulator
