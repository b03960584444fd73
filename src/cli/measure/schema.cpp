// assay schema: the JSON Schema of records, as published in docs/.
#include "cli/cli.h"
#include "cli/command.h"
#include "core/embedded.h"

namespace assay::cli::schema_command {
namespace {

int run(const Arguments&, Terminal& terminal) {
  for (const EmbeddedFile& file : embedded_schemas()) {
    if (file.name == "record.schema.json") terminal.print(file.text);
  }
  return exit_ok;
}

const Command command = {
    .name = "schema",
    .summary = "Print the JSON Schema of records",
    .group = CommandGroup::about,
    .positionals = "",
    .details = "",
    .options = {},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::schema_command
