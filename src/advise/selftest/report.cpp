#include "advise/selftest/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>

#include "advise/selftest/anonymous_text.h"
#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/optional_json_members.h"
#include "core/version.h"
#include "results/store/json_reader.h"

namespace assay::selftest {
namespace {

constexpr int format_version = 1;
constexpr std::size_t most_checks = 10'000;

/// The numbers at the beginning of the kernel's release, behind which some put names.
std::string kernel_version() {
  utsname system = {};
  if (::uname(&system) != 0) return "";
  const std::string release = system.release;
  return release.substr(0, release.find_first_not_of("0123456789."));
}

std::string today() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

Json to_json(const Machine& machine) {
  Json json = Json::object();
  put_present(json, "device", machine.device);
  put_present(json, "arch", machine.arch);
  put_present(json, "partition", machine.partition);
  put_present(json, "memory_bytes", machine.memory_bytes);
  json["multiprocessors"] = machine.multiprocessors;
  if (machine.emulated) json["emulated"] = true;
  if (machine.small_work) json["small_work"] = true;
  json["devices"] = machine.devices;
  json["libraries"] = Json::object();
  for (const auto& [role, version] : machine.libraries) json["libraries"][role] = version;
  return json;
}

Result<Machine> machine_from(const JsonReader& json) {
  Machine machine;
  TRY(json.optional("device", machine.device));
  TRY(json.optional("arch", machine.arch));
  TRY(json.optional("partition", machine.partition));
  TRY(json.optional("memory_bytes", machine.memory_bytes));
  TRY(json.optional("multiprocessors", machine.multiprocessors));
  TRY(json.optional("devices", machine.devices));
  machine.emulated = json.has("emulated") && TRY(json.flag("emulated"));
  machine.small_work = json.has("small_work") && TRY(json.flag("small_work"));
  if (json.has("libraries")) machine.libraries = TRY(json.texts("libraries"));
  return machine;
}

Json to_json(const CheckOutcome& outcome) {
  Json json = {{"check", outcome.check}, {"outcome", name_of(outcome.outcome)}};
  put_present(json, "detail", anonymous_text(outcome.detail));
  json["seconds"] = outcome.seconds;
  return json;
}

Result<CheckOutcome> outcome_from(const JsonReader& json) {
  CheckOutcome outcome;
  outcome.check = TRY(json.text("check"));
  outcome.outcome = TRY(json.one_of("outcome", Outcome::passed, Outcome::stopped));
  TRY(json.optional("detail", outcome.detail));
  TRY(json.optional("seconds", outcome.seconds));
  return outcome;
}

}  // namespace

Report begin_report() {
  Report report;
  report.assay = fmt::format("{} ({})", version(), git_hash());
  report.day = today();
  report.kernel = kernel_version();
  return report;
}

Result<Machine> describe_machine(std::string_view device_choice) {
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, device_choice));
  const DeviceFacts& facts = device->facts();
  Machine machine = {.device = facts.name,
                     .arch = facts.arch,
                     .partition = facts.partition,
                     .memory_bytes = facts.memory_bytes,
                     .multiprocessors = facts.multiprocessors,
                     .emulated = facts.emulated,
                     .small_work = !suits_large_work(facts),
                     .devices = device->siblings(),
                     .libraries = {}};
  for (const auto& backend : backends) {
    if (backend->name() != facts.backend) continue;
    for (const LibraryFact& library : backend->libraries()) {
      machine.libraries.emplace_back(library.role,
                                     library.path.empty() ? "not found" : library.version);
    }
  }
  return machine;
}

Json to_json(const Report& report) {
  Json json = {{"selftest", format_version}, {"assay", report.assay}, {"day", report.day}};
  put_present(json, "kernel", report.kernel);
  json["machine"] = to_json(report.machine);
  json["checks"] = Json::array();
  for (const CheckOutcome& outcome : report.outcomes) json["checks"].push_back(to_json(outcome));
  return json;
}

Result<Report> parse_report(std::string_view text) {
  const Json json = TRY(parse_json(text));
  const JsonReader reader = TRY(JsonReader::of(json));
  const std::uint64_t format = TRY(reader.count("selftest"));
  if (format != format_version) {
    return reader.wrong("selftest", fmt::format("is {}; this assay reads reports of version {}",
                                                format, format_version));
  }
  Report report;
  report.assay = TRY(reader.text("assay"));
  TRY(reader.optional("day", report.day));
  TRY(reader.optional("kernel", report.kernel));
  const auto machine = TRY(reader.object("machine"));
  report.machine = TRY(machine_from(machine));
  const Json* const checks = reader.find("checks");
  if (checks == nullptr || !checks->is_array() || checks->size() > most_checks) {
    return reader.wrong("checks", fmt::format("must be a list of at most {}", most_checks));
  }
  for (std::size_t i = 0; i < checks->size(); ++i) {
    const auto member = TRY(JsonReader::of((*checks)[i], fmt::format("checks[{}]", i)));
    report.outcomes.push_back(TRY(outcome_from(member)));
  }
  return report;
}

Tally count(const std::vector<CheckOutcome>& outcomes) {
  Tally tally;
  for (const CheckOutcome& each : outcomes) {
    if (each.outcome == Outcome::passed) {
      ++tally.passed;
    } else if (each.outcome == Outcome::untested) {
      ++tally.untested;
    } else if (each.outcome == Outcome::stopped) {
      ++tally.stopped;
    } else {
      ++tally.faults;
    }
  }
  return tally;
}

}  // namespace assay::selftest
