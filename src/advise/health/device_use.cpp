#include "advise/health/device_use.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/file_error.h"
#include "core/file_lock.h"
#include "core/units.h"
#include "machine/telemetry/source.h"

namespace assay::health {
namespace {

Status check_in_use(const DeviceFacts& facts, double bytes) {
  // Drivers and this process's context take less.
  constexpr double of_driver = std::uint64_t{2} << 30;
  if (bytes <= of_driver) return {};
  return Error{
      ErrorKind::unavailable,
      fmt::format("{} of the memory of {}:{} are in use, so other processes seem to use it; "
                  "end them, or give --shared",
                  format_memory(static_cast<std::uint64_t>(bytes)), facts.backend, facts.ordinal)};
}

}  // namespace

Result<Descriptor> lock_device(const DeviceFacts& facts) {
  std::string name = facts.pci.empty() ? fmt::format("{}-{}", facts.backend, facts.ordinal)
                                       : facts.pci + facts.partition;
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ' '; }, '-');
  std::error_code problem;
  // A GPU has one lock, whatever TMPDIR is. Tests on hosts and devices that do not exist may run at
  // the same time.
  const std::filesystem::path folder = facts.pci.empty() || facts.emulated
                                           ? std::filesystem::temp_directory_path(problem)
                                           : std::filesystem::path("/tmp");
  const std::filesystem::path path = folder / ("assay-health-" + name + ".lock");
  // Other users' files in a folder for all may be opened, but not with O_CREAT.
  constexpr mode_t for_all = 0644;
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), flags));
  if (!file.is_open()) {
    file.reset(::open(path.c_str(), flags | O_CREAT, for_all));
    // The umask must not keep other users out.
    if (file.is_open()) (void)::fchmod(file.number(), for_all);
  }
  if (!file.is_open()) {
    const int error = errno;
    return Error{kind_of_file_error(error),
                 fmt::format("cannot make the lock {}: {}", path.string(), std::strerror(error))};
  }
  struct stat what = {};
  if (::fstat(file.number(), &what) != 0 || !S_ISREG(what.st_mode)) {
    return Error{ErrorKind::file,
                 fmt::format("the lock {} is no ordinary file; remove it", path.string())};
  }
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return file;
  if (const int error = errno; error != EWOULDBLOCK) {
    return Error{kind_of_file_error(error),
                 fmt::format("cannot lock {}: {}", path.string(), std::strerror(error))};
  }
  return Error{ErrorKind::unavailable,
               fmt::format("{}:{} is under test by {}; wait for its end, or name another device "
                           "with --device",
                           facts.backend, facts.ordinal, lock_holder(file.number()))};
}

Status check_unused(const Device& device) {
  const DeviceFacts& facts = device.facts();
  if (facts.runs_on_host || facts.emulated) return {};
  const auto [free, total] = TRY(device.memory_free_and_total());
  return check_in_use(facts, static_cast<double>(total - free));
}

Status check_unused(const DeviceFacts& facts, const std::filesystem::path& root) {
  if (facts.pci.empty() || facts.emulated) return {};
  TelemetryRequest request{.root = root, .hardware = facts.pci};
  const TelemetrySources sources = open_telemetry_sources(std::move(request));
  const std::vector<Channel> channels = channels_of(sources);
  const std::vector<double> values = read_sources(sources, true);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (channels[i].quantity == "memory_used" && std::isfinite(values[i])) {
      TRY(check_in_use(facts, values[i]));
    }
  }
  return {};
}

}  // namespace assay::health
