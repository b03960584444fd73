// A simulated server on a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "serving/simulator/simulated_server.h"
#include "support/http_client.h"

namespace assay::simulator {

inline ServerSettings fixed_settings(double ttft = 0.02, double itl = 0.005) {
  ServerSettings settings;
  settings.port = 0;
  settings.fixed = FixedTiming{ttft, itl, {}};
  return settings;
}

class RunningServer {
 public:
  explicit RunningServer(const ServerSettings& settings) {
    auto server = Server::open(settings);
    EXPECT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  ~RunningServer() {
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port(std::size_t server = 0) const {
    const std::string url = server_->urls().at(server);
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

 private:
  std::unique_ptr<Server> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline std::string ask(const RunningServer& server, const std::string& request) {
  return assay::ask(server.port(), request);
}

constexpr const char* stream_of_8 =
    R"({"prompt":[1,2,3],"max_tokens":8,"stream":true,"stream_options":{"include_usage":true}})";

inline std::string ask_stream(const RunningServer& server) {
  return ask(server, post("/v1/completions", stream_of_8));
}

inline std::string metric(const RunningServer& server, const std::string& line_begin) {
  return assay::metric(server.port(), line_begin);
}

}  // namespace assay::simulator
