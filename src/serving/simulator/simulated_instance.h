// Simulates one server: with an engine or fixed times, faults and counters.
#pragma once

#include <array>

#include "serving/server/server_endpoints.h"
#include "serving/simulator/simulated_server.h"
#include "serving/simulator/simulated_text.h"
#include "serving/simulator/token_source.h"

namespace assay::simulator {

class SimulatedInstance final : public Instance {
 public:
  /// `index` gives each instance its own seed. `settings` and `loop` must outlive the instance.
  SimulatedInstance(Loop& loop, const ServerSettings& settings, std::uint64_t index);

 protected:
  void generate(const std::shared_ptr<Connection>& connection, AcceptedRequest request) override;
  std::uint64_t usual_tokens(const GenerationRequest& asked) const override;
  std::string metrics_text() override;
  bool reset_prefix_cache() override;

 private:
  const ServerSettings& settings_;
  std::uint64_t seed_;
  std::shared_ptr<ServerMetrics> metrics_ = std::make_shared<ServerMetrics>();
  std::shared_ptr<EngineDriver> driver_;  // null with fixed times
  std::uint64_t requests_ = 0;            // well-formed generation requests so far
  std::array<std::uint64_t, fault_count> faults_{};
};

}  // namespace assay::simulator
