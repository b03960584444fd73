// assay trace anonymize: a copy of a profiler's trace that can be sent to others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "results/traces/anonymous/anonymous_trace.h"

namespace assay::cli::trace_anonymize_command {
namespace {

std::string counts_text(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} ({})", name, count));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

int run(const Arguments& arguments, Terminal& terminal) {
  // The first positional is "anonymize".
  const std::string& from = arguments.positionals.at(1);
  if (!arguments.has("--output")) {
    return report(terminal, {ErrorKind::usage,
                             "trace anonymize needs a file to write: assay trace anonymize "
                             "trace.json.gz -o anonymous.json.gz"});
  }
  const std::string to = arguments.get("--output");
  const auto copy = anonymize_trace_file(from, to);
  if (!copy.ok()) return report(terminal, copy.error());
  if (arguments.has("--json")) {
    const Json json = {{"file", to},
                       {"events", copy->events},
                       {"replaced", copy->replaced},
                       {"left_out", copy->left_out}};
    terminal.print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return exit_ok;
  }
  terminal.print(fmt::format(
      "{}: {} events\n  replaced, different texts: {}\n  left out: {}\n"
      "  names of kernels, operators and calls are kept: look through them before you send it\n",
      shown_line(to, 500), copy->events, counts_text(copy->replaced), counts_text(copy->left_out)));
  return exit_ok;
}

const Command command = {
    .name = "trace anonymize",
    .summary = "Copy a trace without names of hosts, users, files and the program's own ranges",
    .group = CommandGroup::diagnose,
    .positionals = "FILE",
    .least_positionals = 2,
    .most_positionals = 2,
    .details =
        R"(Copies a trace of PyTorch's profiler (also of vLLM and SGLang), so that it can be sent to others.
Times and all other numbers stay as they are, and so do names of kernels, operators and calls,
shapes and types. The program's own ranges become annotation-1, annotation-2; ProfilerStep#N stays.
Frames of Python become python-1, processes process-1. Anything else is kept only if it is
known to say nothing about the machine, its users and its files.

  assay trace anonymize trace.json.gz -o anonymous.json.gz

)",
    .options = {{"--output", "FILE", "file to write, also -o; compressed if its name ends in .gz",
                 "file", false, "--out"}},
    .run = &run,
    .operands = "file",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::trace_anonymize_command
