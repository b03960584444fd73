// assay health: its kinds are commands of two words.
#include "cli/cli.h"
#include "cli/command.h"

namespace assay::cli::health_command {
namespace {

int run(const Arguments&, Terminal& terminal) {
  return report(terminal, {ErrorKind::usage, "name a test: sdc or burn"});
}

const Command command = {
    .name = "health",
    .summary = "Is this machine sound, and what it should be?",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details = "",
    .options = {},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_command
