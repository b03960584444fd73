#include "compute/device/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/json.h"

namespace assay {
namespace {

Json facts_of(Backend& backend) {
  Json json;
  Json libraries = Json::array();
  for (const LibraryFact& library : backend.libraries()) {
    if (library.path.empty()) continue;
    Json fact = {{"role", library.role}, {"path", library.path}};
    if (!library.version.empty()) fact["version"] = library.version;
    libraries.push_back(std::move(fact));
  }
  Json devices = Json::array();
  for (const DeviceFacts& facts : backend.devices()) devices.push_back(to_json(facts));
  json["libraries"] = std::move(libraries);
  json["devices"] = std::move(devices);
  return json;
}

/// "cpu, cuda:0, cuda:1, fake, hip (absent)": the names a user can give.
std::string choices(std::vector<std::unique_ptr<Backend>>& backends) {
  std::vector<std::string> names;
  for (const auto& backend : backends) {
    const std::size_t count = backend->score() == 0 ? 0 : backend->devices().size();
    if (count == 0) names.push_back(fmt::format("{} (absent)", backend->name()));
    if (count == 1) names.emplace_back(backend->name());
    for (std::size_t i = 0; count > 1 && i < count; ++i) {
      names.push_back(fmt::format("{}:{}", backend->name(), i));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<int> parse_ordinal(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// The backend used if the user names none; null if all are absent.
Backend* default_backend(const std::vector<std::unique_ptr<Backend>>& backends) {
  Backend* best = nullptr;
  int best_score = 0;
  for (const auto& backend : backends) {
    const int score = backend->score();
    if (score > best_score) {
      best = backend.get();
      best_score = score;
    }
  }
  return best;
}

}  // namespace

Json facts_of(const std::vector<std::unique_ptr<Backend>>& backends) {
  Json present = Json::object();
  for (const auto& backend : backends) {
    if (backend->score() > 0) present[std::string(backend->name())] = facts_of(*backend);
  }
  return present;
}

std::vector<std::unique_ptr<Backend>> make_backends() {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const BackendFactory factory : BackendRegistry::entries()) backends.push_back(factory());
  std::sort(backends.begin(), backends.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  return backends;
}

Result<std::unique_ptr<Device>> open_device(std::vector<std::unique_ptr<Backend>>& backends,
                                            std::string_view choice) {
  if (choice.empty()) {
    Backend* backend = default_backend(backends);
    if (backend != nullptr) return backend->open(0);
    return Error{ErrorKind::unavailable, "no device: every backend is absent"};
  }
  const std::size_t colon = choice.find(':');
  const std::string_view name = choice.substr(0, colon);
  const auto found = std::find_if(backends.begin(), backends.end(),
                                  [&](const auto& backend) { return backend->name() == name; });
  const std::optional<int> ordinal =
      colon == std::string_view::npos ? std::optional(0) : parse_ordinal(choice.substr(colon + 1));
  if (found == backends.end() || !ordinal) {
    return Error{ErrorKind::usage,
                 fmt::format("device \"{}\": {}; allowed: {}", choice,
                             found == backends.end() ? fmt::format("no backend \"{}\"", name)
                                                     : "the part after ':' must be a number",
                             choices(backends))};
  }
  Backend& backend = **found;
  if (backend.score() == 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("device \"{}\": {} is absent: {}", choice, name, backend.absence())};
  }
  const std::size_t count = backend.devices().size();
  if (static_cast<std::size_t>(*ordinal) >= count) {
    return Error{ErrorKind::usage,
                 fmt::format("device \"{}\": {} has {} device{}; allowed: {}", choice, name, count,
                             count == 1 ? "" : "s", choices(backends))};
  }
  return backend.open(*ordinal);
}

bool chooses_cpu(const std::vector<std::unique_ptr<Backend>>& backends, std::string_view choice) {
  const Backend* backend = choice.empty() ? default_backend(backends) : nullptr;
  const std::string_view name =
      backend != nullptr ? backend->name() : choice.substr(0, choice.find(':'));
  return DeviceFacts{.backend = std::string(name)}.is_host_cpu();
}

Result<std::unique_ptr<Device>> open_device_of_rank(std::vector<std::unique_ptr<Backend>>& backends,
                                                    std::string_view choice, int local_rank) {
  if (choice.find(':') != std::string_view::npos) return open_device(backends, choice);
  Backend* backend = default_backend(backends);
  for (const auto& candidate : backends) {
    if (candidate->name() == choice) backend = candidate.get();
  }
  if (backend == nullptr || backend->score() == 0 ||
      (!choice.empty() && backend->name() != choice)) {
    return open_device(backends, choice);  // gives the error
  }
  const std::size_t count = backend->devices().size();
  const bool shared = count == 1 && backend->devices().front().pci.empty();  // a CPU
  if (shared) return backend->open(0);
  if (static_cast<std::size_t>(local_rank) >= count) {
    return Error{ErrorKind::usage,
                 fmt::format("this machine has local rank {} but only {} {} device{}; start "
                             "one rank per device",
                             local_rank, count, backend->name(), count == 1 ? "" : "s")};
  }
  return backend->open(local_rank);
}

}  // namespace assay
