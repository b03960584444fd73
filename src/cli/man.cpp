// assay man: the manual, from the same descriptions as --help.
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/manual.h"

namespace assay::cli::man_command {
namespace {

int run(const Arguments& arguments, Terminal& terminal) {
  terminal.print(arguments.has("--markdown") ? markdown_manual() : man_page());
  return exit_ok;
}

const Command command = {
    .name = "man",
    .summary = "Print the manual page",
    .group = CommandGroup::about,
    .positionals = "",
    .details = R"(  assay man | man -l -

)",
    .options = {{"--markdown", "", "as Markdown: docs/cli.md", ""}},
    .run = &run,
    .no_json = "it prints documents",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::man_command
