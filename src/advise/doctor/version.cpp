#include "advise/doctor/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "machine/system/fact_source.h"

namespace assay {
namespace {

/// The version file that ROCm packages have had since 3.x; ROCm 7 also installs below core-X.Y.
std::optional<Version> version_in(const Machine& machine, const std::filesystem::path& folder) {
  const auto text = read_fact(machine, folder / ".info/version");
  return text ? parse_version(*text) : std::nullopt;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  const std::size_t first = text.find_first_of("0123456789");
  if (first == std::string_view::npos) return std::nullopt;
  Version version;
  const char* at = text.data() + first;
  const char* const end = text.data() + text.size();
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    const auto [rest, error] = std::from_chars(at, end, *part);
    if (error != std::errc{}) break;
    at = rest;
    if (at == end || *at != '.') break;
    ++at;
  }
  return version;
}

std::string to_string(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::optional<Version> read_rocm_version(const Machine& machine) {
  if (const auto version = version_in(machine, "opt/rocm")) return version;
  std::optional<Version> newest;
  for (const char* folder : {"opt", "opt/rocm"}) {
    for (const std::string& name : machine.list(folder)) {
      if (!name.starts_with("rocm-") && !name.starts_with("core-")) continue;
      newest = std::max(newest, version_in(machine, std::filesystem::path(folder) / name));
    }
  }
  return newest;
}

std::optional<Version> read_kernel_version(const Machine& machine) {
  const auto text = read_fact(machine, "proc/sys/kernel/osrelease");
  return text ? parse_version(*text) : std::nullopt;
}

}  // namespace assay
