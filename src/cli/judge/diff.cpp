// assay diff: what differs between two machines or two results, the likeliest explanation first.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/judge/differences_view.h"
#include "compute/device/backend.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "judge/compare/fingerprint_diff.h"
#include "machine/system/capture.h"
#include "machine/system/fingerprint.h"
#include "results/store/stored_fingerprint.h"

namespace assay::cli::diff_command {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{256} << 20;

/// A capture describes the machine but not what assay could open on it, so the latter is compared
/// only if both sides have it.
void drop_unknown(Json& a, Json& b) {
  for (const char* section : {"backends"}) {
    const auto known = [&](const Json& json) {
      return json.contains(section) && !json[section].empty();
    };
    if (known(a) == known(b)) continue;
    a.erase(section);
    b.erase(section);
  }
}

/// "here", a store ("DIR" or "DIR:RUN"), or a file: a fingerprint or a capture.
Result<Json> fingerprint_of(const std::string& name) {
  std::error_code ignored;
  if (name == "here") return take_fingerprint(facts_of(make_backends()));
  TRY(check_access(name));
  if (fs::is_directory(name, ignored)) return read_stored_fingerprint(name, "");
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos && fs::is_directory(name.substr(0, colon), ignored)) {
    return read_stored_fingerprint(name.substr(0, colon), name.substr(colon + 1));
  }
  if (!fs::exists(name, ignored)) {
    return Error{ErrorKind::usage, fmt::format("{} is not a file, a store or the word here", name)};
  }
  const auto json = parse_json(TRY(read_operand(name, most_bytes)));
  const bool fingerprint =
      json.ok() && json->is_object() && json->contains("host") && json->contains("virtualization");
  if (fingerprint) return *json;
  if (!json.ok() || !json->is_object() || !json->contains("format")) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is neither what `assay fingerprint --json` nor what `assay doctor "
                             "--capture` wrote{}{}",
                             name, json.ok() ? "" : ": ", json.ok() ? "" : json.error().message)};
  }
  auto machine = machine_from_capture(*json);
  if (!machine.ok()) return about(name, machine.error());
  return take_fingerprint({}, **machine);
}

int run(const Arguments& arguments, Terminal& terminal) {
  auto a = fingerprint_of(arguments.positionals[0]);
  if (!a.ok()) return report(terminal, a.error());
  auto b = fingerprint_of(arguments.positionals[1]);
  if (!b.ok()) return report(terminal, b.error());
  drop_unknown(*a, *b);
  const std::vector<Difference> differences = diff_fingerprints(*a, *b);
  terminal.print(arguments.has("--json")
                     ? to_json(differences).dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n"
                     : differences_text(differences, static_cast<std::size_t>(terminal.width()),
                                        terminal.out_style()));
  const bool same = std::ranges::all_of(differences, [](const Difference& difference) {
    return difference.likelihood == Likelihood::identity;
  });
  return same ? exit_ok : exit_differs;
}

const Command command = {
    .name = "diff",
    .summary = "Show what differs between two machines or two results, likeliest causes first",
    .group = CommandGroup::diagnose,
    .positionals = "A B",
    .least_positionals = 2,
    .most_positionals = 2,
    .details =
        R"(A and B are each one of: the word here, which means this machine in its present state; a store
that `assay run` wrote (its last run) or STORE:RUN; a file from `assay fingerprint --json`; a
capture from `assay doctor --capture`. The first column says how likely it is that the difference
explains a gap in performance; identity marks facts that only identify the machine. Exit status:
0 if nothing else differs, 1 if something does.

  assay diff node7.json here
  assay diff results/bare-metal results/container

)",
    .options = {},
    .run = &run,
    .operands = "here",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::diff_command
