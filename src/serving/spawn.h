// Servers that this process starts for a measurement and ends after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "serving/client/url.h"
#include "serving/visible_devices.h"

namespace assay {

/// What to start. In words and in values of variables "{port}" and "{index}" stand for the server's
/// port and its number from 0 on.
struct SpawnPlan {
  std::vector<std::string> words;  ///< "{port}" must be in one of them
  int servers = 1;
  std::vector<std::pair<std::string, std::string>> variables;  ///< besides this process's own
  /// Of which each server gets one; must have as many as there are servers. Empty: all see all.
  std::optional<VisibleDevices> devices;
  double timeout_seconds = 600;  ///< from the start until all of them answer
  std::filesystem::path logs;    ///< of server 0 is LOGS-0.log, created or written anew
};

/// While servers are waited for.
struct SpawnState {
  int ready = 0;
  double seconds = 0;     ///< since the start
  std::string last_line;  ///< that the first one which is not ready wrote; may be empty
};

class SpawnedServers {
 public:
  /// Starts them on free ports of this machine, all at once, and waits until each answers
  /// GET /health or, where there is no such page, GET /v1/models with HTTP 200. `progress` is
  /// called several times a second and may be empty. Error: usage, if no word has "{port}";
  /// unavailable, with the last line of its output, if one ends or does not answer in time;
  /// interrupted.
  static Result<std::unique_ptr<SpawnedServers>> start(
      const SpawnPlan& plan, const std::function<bool()>& stop_requested,
      const std::function<void(const SpawnState&)>& progress);

  SpawnedServers(const SpawnedServers&) = delete;
  SpawnedServers& operator=(const SpawnedServers&) = delete;
  /// Ends them, each with its process group: SIGTERM and, after ten seconds, SIGKILL.
  ~SpawnedServers();

  /// http://127.0.0.1:PORT of each.
  std::vector<Url> urls() const;
  /// Whether none has ended. Error: unavailable, with the last line that it wrote.
  Status check() const;

 private:
  class Server;
  SpawnedServers() = default;
  Status wait(const SpawnPlan& plan, const std::function<bool()>& stop_requested,
              const std::function<void(const SpawnState&)>& progress);

  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace assay
