// assay diff: what differs between two machines or two results, the likeliest explanation first.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "device/backend.h"
#include "store/stored_fingerprint.h"
#include "system/capture.h"
#include "system/fingerprint.h"
#include "system/fingerprint_diff.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{256} << 20;

/// A capture says what the machine is, and not what assay could open on it: that is compared only
/// where both sides know it.
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
  if (name == "here") return take_fingerprint(make_backends());
  if (fs::is_directory(name, ignored)) return read_stored_fingerprint(name, "");
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos && fs::is_directory(name.substr(0, colon), ignored)) {
    return read_stored_fingerprint(name.substr(0, colon), name.substr(colon + 1));
  }
  if (!fs::exists(name, ignored)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is no file, no store and not the word here", name)};
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

std::string short_text(const Json& value, const Style& style) {
  if (value.is_null()) return style.dim("absent");
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const std::vector<Difference>& differences, const Terminal& terminal) {
  const Style style = terminal.out_style();
  if (differences.empty()) return "no difference\n";
  Table table({{"likely"}, {"fact"}, {"A"}, {"B"}, {"acts on", Column::Align::left, 1}});
  for (const Difference& difference : differences) {
    std::string likelihood(name_of(difference.likelihood));
    if (difference.likelihood == Likelihood::high) likelihood = style.bold(likelihood);
    table.add({likelihood, difference.path, short_text(difference.a, style),
               short_text(difference.b, style), difference.why});
  }
  return table.render(static_cast<std::size_t>(terminal.width()), style, 0) +
         fmt::format("{} difference{}\n", differences.size(), differences.size() == 1 ? "" : "s");
}

Json json_of(const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& difference : differences) {
    list.push_back({{"path", difference.path},
                    {"a", difference.a},
                    {"b", difference.b},
                    {"likelihood", name_of(difference.likelihood)},
                    {"why", difference.why}});
  }
  return list;
}

int run(const Arguments& arguments, Terminal& terminal) {
  auto a = fingerprint_of(arguments.positionals[0]);
  if (!a.ok()) return report(terminal, a.error());
  auto b = fingerprint_of(arguments.positionals[1]);
  if (!b.ok()) return report(terminal, b.error());
  drop_unknown(*a, *b);
  const std::vector<Difference> differences = diff_fingerprints(*a, *b);
  terminal.print(arguments.has("--json")
                     ? json_of(differences).dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n"
                     : text_of(differences, terminal));
  return exit_ok;
}

const Command command = {
    .name = "diff",
    .summary = "Show what differs between two machines or two results, likeliest causes first",
    .positionals = "A B",
    .least_positionals = 2,
    .most_positionals = 2,
    .details =
        "A and B are each one of: the word here, this machine as it is now; a store that `assay "
        "run`\n"
        "wrote (its last run) or STORE:RUN; a file from `assay fingerprint --json`; a capture "
        "from\n"
        "`assay doctor --capture`. The first column says how likely the difference explains a gap "
        "in\n"
        "performance; identity marks what only says which machine it was.\n"
        "\n"
        "  assay diff node7.json here\n"
        "  assay diff results/bare-metal results/container\n"
        "\n",
    .options = {},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli
