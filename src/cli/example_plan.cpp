#include "cli/example_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/exit_code.h"
#include "core/suggest.h"

namespace assay::cli {

int print_example_plan(const std::vector<EmbeddedFile>& plans, const std::string& name,
                       Terminal& terminal) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : plans) {
    names.emplace_back(file.name.substr(0, file.name.rfind('.')));
    if (names.back() != name) continue;
    terminal.print(std::string(file.text));
    return exit_ok;
  }
  return report(terminal, {ErrorKind::usage,
                           fmt::format("--example \"{}\": there is no such plan{}; allowed: {}",
                                       name, did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace assay::cli
