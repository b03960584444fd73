// Simulates LLM servers on one thread, with the interfaces of vLLM, llama.cpp and TGI over
// HTTP/1.1.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "serving/server/server_endpoints.h"
#include "serving/server_facts.h"
#include "serving/simulator/faults.h"
#include "serving/simulator/fixed_timing.h"
#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

struct ServerSettings {
  std::string host = "127.0.0.1";  ///< a numeric address
  std::uint16_t port = 8000;       ///< port of the first server; 0: any free port for each
  int servers = 1;  ///< number of servers; they have consecutive ports and an engine each
  ServedModelFacts model{.name = "assay-sim", .owner = std::string(simulated_owner)};
  std::optional<FixedTiming> fixed;  ///< if set, there is no engine
  EngineSettings engine;  ///< settings of each server; its blocks must fit model.max_length
  FaultPlan faults;
  std::optional<server::ConnectionLimits> limits;  ///< empty: those of the process
  std::uint64_t seed = 0;
};

class Server {
 public:
  /// Starts listening. Error: usage if the address, the name or the last port is invalid;
  /// unavailable, naming the port, if it cannot be opened.
  static Result<std::unique_ptr<Server>> open(const ServerSettings& settings);
  virtual ~Server() = default;

  /// Returns a URL for each server: "http://127.0.0.1:8000".
  virtual std::vector<std::string> urls() const = 0;
  /// Serves until stop() returns true; stop() is called ten times a second.
  virtual void run(const std::function<bool()>& stop) = 0;
};

}  // namespace assay::simulator
