// assay fingerprint: everything about a machine that could explain a difference.
#include "machine/system/fingerprint.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "machine/system/capture.h"
#include "results/store/store.h"

namespace assay::cli::fingerprint_command {
namespace {

/// One line for a value that is not a plain list of facts.
std::string short_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return json_line(value);
}

void add_rows(Table& table, const Json& value, const std::string& name) {
  const bool branch =
      value.is_object() || (value.is_array() && !value.empty() && value.front().is_object());
  if (!branch) {
    table.add({name, short_text(value)});
    return;
  }
  const std::string prefix = name.empty() ? "" : name + ".";
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_rows(table, value[i], prefix + std::to_string(i));
    }
    return;
  }
  for (const auto& [key, inner] : value.items()) add_rows(table, inner, prefix + key);
}

std::string text_of(const Json& fingerprint, const Terminal& terminal) {
  const Style style = terminal.out_style();
  std::string text;
  for (const auto& [section, facts] : fingerprint.items()) {
    Table table({{"fact"}, {"value"}});
    add_rows(table, facts, "");
    if (table.empty()) continue;
    text += style.bold(section) + "\n";
    const std::string rows = table.render(static_cast<std::size_t>(terminal.width()), style);
    text += rows.substr(rows.find('\n') + 1) + "\n";  // without the headings
  }
  return text + fmt::format("fingerprint {}\n", fingerprint_id(fingerprint));
}

int run(const Arguments& arguments, Terminal& terminal) {
  Json fingerprint;
  if (arguments.has("--from")) {
    const auto machine = open_machine(arguments.get("--from"));
    if (!machine.ok()) return report(terminal, about("--from", machine.error()));
    fingerprint = take_fingerprint({}, **machine);
  } else {
    complain_without_proc(terminal);
    fingerprint = take_fingerprint(facts_of(make_backends()));
  }
  terminal.print(arguments.has("--json")
                     ? fingerprint.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                     : text_of(fingerprint, terminal));
  return exit_ok;
}

const Command command = {
    .name = "fingerprint",
    .summary = "Show everything about this machine that could explain a difference",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details =
        R"(Hardware, firmware, drivers, libraries, limits, container, hypervisor and the environment
variables that affect performance; `assay run` stores this with every record. Needs no
privileges. Variables and boot options that are not known to change speed may be secrets, so only
their names and a short hash of each value are shown. The last line is the hash that identifies
the fingerprint in a store.

  assay fingerprint --json > node7.json
  assay fingerprint --from capture.json

)",
    .options = {{"--from", "FILE",
                 "describe a captured machine, or one whose files were copied to a folder",
                 "file"}},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::fingerprint_command
