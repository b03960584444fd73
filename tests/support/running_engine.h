// An LLM server with a tiny model on the CPU, running on a separate thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model/transformer/named_shapes.h"
#include "serving/engine/engine_server.h"
#include "support/one_cpu.h"
#include "support/test_device.h"

namespace assay::engine {

inline EngineServerSettings tiny() {
  EngineServerSettings settings;
  settings.port = 0;
  settings.engine.executor = {.shape = parse_decoder_shape("1L2H1K16D32C48F300V").value(),
                              .precision = DataType::f32,
                              .seed = 3,
                              .max_sequences = 16,
                              .max_batched_tokens = 32,
                              .max_length = 128,
                              .blocks = 64};
  settings.model = {.name = "tiny", .owner = "assay", .max_length = 128, .vocabulary = 300};
  return settings;
}

class RunningEngine {
 public:
  explicit RunningEngine(const EngineServerSettings& settings) : device_(open_test_device("cpu")) {
    auto server = EngineServer::open(*device_, settings);
    EXPECT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] { status_ = server_->run([this] { return stop_.load(); }); });
  }
  ~RunningEngine() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    EXPECT_TRUE(status_.ok());
  }
  std::uint16_t port() const {
    const std::string url = server_->url();
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  Device& device() { return *device_; }
  const EngineServer& server() const { return *server_; }
  /// Waits until no request is left; returns whether all blocks are free then.
  bool all_blocks_become_free() const {
    const auto begin = std::chrono::steady_clock::now();
    EngineState state = server_->state();
    while (state.running + state.waiting > 0 && seconds_since(begin) < 60) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      state = server_->state();
    }
    return state.running + state.waiting == 0 && state.free_blocks == state.blocks;
  }

 private:
  const OneCpu one_cpu_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<EngineServer> server_;
  std::atomic<bool> stop_{false};
  Status status_;
  std::thread thread_;
};

/// Returns tokens of the tiny model's vocabulary.
inline std::vector<std::int32_t> prompt_of(std::int32_t first, std::size_t count) {
  std::vector<std::int32_t> prompt;
  for (std::size_t i = 0; i < count; ++i) {
    prompt.push_back((first + 41 * static_cast<std::int32_t>(i)) % 300);
  }
  return prompt;
}

}  // namespace assay::engine
