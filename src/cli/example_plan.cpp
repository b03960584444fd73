#include "cli/example_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/exit_code.h"
#include "core/suggest.h"

namespace assay::cli {
namespace {

std::string plan_name(const EmbeddedFile& plan) {
  return std::string(plan.name.substr(0, plan.name.rfind('.')));
}

}  // namespace

std::string names_of(const std::vector<EmbeddedFile>& plans) {
  std::string names;
  for (const EmbeddedFile& plan : plans) names += (names.empty() ? "" : " ") + plan_name(plan);
  return names;
}

int print_example_plan(const std::vector<EmbeddedFile>& plans, const Arguments& arguments,
                       Terminal& terminal) {
  if (arguments.has("--json")) {
    return report(terminal, {ErrorKind::usage, "--example prints YAML; leave out --json"});
  }
  const std::string name = arguments.get("--example");
  std::vector<std::string> names;
  for (const EmbeddedFile& file : plans) {
    names.push_back(plan_name(file));
    if (names.back() != name) continue;
    terminal.print(std::string(file.text));
    return exit_ok;
  }
  return report(terminal, {ErrorKind::usage,
                           fmt::format("--example \"{}\": there is no such plan{}; allowed: {}",
                                       name, did_you_mean(name, names), fmt::join(names, ", "))});
}

}  // namespace assay::cli
