// Servers that this process starts for a measurement and stops afterwards.
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

/// What to start. In words and variable values, "{port}" and "{index}" stand for the server's port
/// and its number, from 0, and so do terms of them: "/dev/dri/renderD{128+8*index}".
struct SpawnPlan {
  std::vector<std::string> words;  ///< "{port}" must be in one of them
  int servers = 1;
  /// Names and values added to its environment.
  std::vector<std::pair<std::string, std::string>> variables;
  /// The GPUs, one per server; at least as many as there are servers. Empty: every server sees all.
  std::optional<VisibleDevices> devices;
  double timeout_seconds = 600;  ///< from the start until all of them answer
  std::filesystem::path logs;    ///< path prefix: server 0 writes LOGS-0.log, which is overwritten
};

/// Checks whether the servers could be started, without starting them. Error: usage, if no word
/// has "{port}"; unavailable, if there is no such program.
Status check_spawn(const SpawnPlan& plan);

/// The state while waiting for servers.
struct SpawnState {
  int ready = 0;          ///< programs that answer, counted from the first one on
  double seconds = 0;     ///< since the start
  std::string last_line;  ///< last output of the first server that is not ready; may be empty
};

class SpawnedServers {
 public:
  /// Starts them on free ports of this machine, all at once, and waits until each answers GET
  /// /health or, if there is no such page, GET /v1/models with HTTP 200. A program that is several
  /// servers, `assay serve --partitions 8` or `assay serve-sim --servers 8`, gets as many free
  /// ports in a row and must say of each that it listens there. `progress` is called several times
  /// a second and may be empty. Error: as from check_spawn(); unavailable, with the last line of
  /// its output, if a server ends or does not answer in time; exhausted, if there are no free
  /// ports; as create_folder() (core/write_file.h), if a log cannot be written; usage, if such a
  /// program is given --json; interrupted.
  static Result<std::unique_ptr<SpawnedServers>> start(
      const SpawnPlan& plan, const std::function<bool()>& stop_requested,
      const std::function<void(const SpawnState&)>& progress);

  SpawnedServers(const SpawnedServers&) = delete;
  SpawnedServers& operator=(const SpawnedServers&) = delete;
  /// Stops all servers, each with its process group: SIGTERM and, after ten seconds, SIGKILL.
  ~SpawnedServers();

  /// http://127.0.0.1:PORT of each; of a program that is several servers, of all of them.
  std::vector<Url> urls() const;
  /// Checks that no server has ended. Error: unavailable, with the last line that it wrote.
  Status check() const;

 private:
  class Server;
  SpawnedServers() = default;
  Status wait(const SpawnPlan& plan, const std::function<bool()>& stop_requested,
              const std::function<void(const SpawnState&)>& progress);

  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace assay
