#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "advise/doctor/advice.h"
#include "advise/doctor/version.h"
#include "core/json.h"

namespace assay::runtimes_check {
namespace {

constexpr Advice advice = {
    .wanted = "one version in reach",
    .why =
        "a process that loads two HIP runtimes, or two major versions of the CUDA runtime, finds "
        "no device or crashes, and which one a program gets depends on its search path",
    .source =
        "ROCm/TheRock, environment_setup guide: one runtime per process; NVIDIA CUDA "
        "Compatibility guide",
    .fix =
        "keep one: leave only its folder in LD_LIBRARY_PATH and /etc/ld.so.conf.d (sudo "
        "ldconfig), or run inside one virtual environment"};

struct Library {
  std::string path, version;
};

std::vector<Library> libraries_of(const Json& answer, const char* role) {
  std::vector<Library> libraries;
  const auto list = answer.find(role);
  if (list == answer.end() || !list->is_array()) return libraries;
  for (const Json& entry : *list) {
    if (!entry.is_object()) continue;
    const auto path = entry.find("path"), version = entry.find("version");
    if (path == entry.end() || !path->is_string()) continue;
    const bool versioned = version != entry.end() && version->is_string();
    libraries.push_back(
        {path->get<std::string>(), versioned ? version->get<std::string>() : std::string()});
  }
  return libraries;
}

/// Counts different versions of a runtime. Copies of one version are harmless. CUDA runtimes of one
/// major version are compatible; HIP runtimes are not. PyTorch's wheels omit the version number of
/// theirs, so it counts as one more runtime.
std::size_t count_versions(const std::vector<Library>& libraries, bool major_only) {
  std::set<std::string> versions;
  for (const Library& library : libraries) {
    versions.insert(major_only ? library.version.substr(0, library.version.find('.'))
                               : library.version);
  }
  return versions.size();
}

Finding look(const std::vector<Library>& libraries, bool major_only, const std::string& subject) {
  std::vector<std::string> shown;
  for (const Library& library : libraries) shown.push_back(library.path);
  const std::string found = fmt::format("{}", fmt::join(shown, ", "));
  const std::size_t versions = count_versions(libraries, major_only);
  if (versions < 2) return passed(advice, found, subject);
  return warned(advice, fmt::format("{} versions: {}", versions, found), subject);
}

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  const Json answer = context.machine.ask("libraries");
  if (!answer.is_object()) {
    return {unknown(advice, "the capture or folder has no list of this machine's libraries")};
  }
  std::vector<Finding> findings;
  for (const auto& [role, vendor, subject] : {std::tuple{"hip", "amd", "HIP runtime"},
                                              {"cudart", "nvidia", "CUDA runtime"},
                                              {"cuda", "nvidia", "CUDA driver library"}}) {
    if (!context.has(vendor)) continue;
    const std::vector<Library> libraries = libraries_of(answer, role);
    findings.push_back(libraries.empty()
                           ? unknown(advice, "not found in the usual library folders", subject)
                           : look(libraries, role == std::string_view("cudart"), subject));
  }
  return findings;
}

const CheckRegistry::Add registered{{"runtimes", "GPU runtimes in reach", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::runtimes_check
