// assay health limits: limits from healthy nodes, and which limits of other programs can never
// fail.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "advise/health/limits/derive.h"
#include "advise/health/limits/gates.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/option_values.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"
#include "measure/sampling/runner.h"
#include "results/store/comparable_metrics.h"

namespace assay::cli::health_limits_command {
namespace {

using health::DerivedLimits;
using health::DerivedLine;
using health::GateFile;
using health::GateState;

constexpr std::array states = {GateState::gates, GateState::never_fails, GateState::never_passes,
                               GateState::records_only};

// --- --read

struct GateCounts {
  std::array<std::size_t, states.size()> of_state = {};
  std::size_t files = 0, placeholders = 0, without_limit = 0, not_enforced = 0, unread = 0;

  std::size_t gates() const {
    return of_state[0] + of_state[1] + of_state[2];  // what is only recorded is no gate
  }
};

GateCounts count_gates(const std::vector<GateFile>& files) {
  GateCounts counts;
  for (const GateFile& file : files) {
    counts.unread += file.problem.empty() ? 0 : 1;
    counts.files += file.problem.empty() ? 1 : 0;
    counts.without_limit += file.without_limit;
    counts.not_enforced += file.enforced == false ? 1 : 0;
    for (std::size_t i = 0; i < states.size(); ++i) counts.of_state[i] += file.count(states[i]);
    counts.placeholders += static_cast<std::size_t>(
        std::count_if(file.gates.begin(), file.gates.end(), [](const health::Gate& gate) {
          return gate.placeholder && gate.state != GateState::records_only;
        }));
  }
  return counts;
}

std::string share_text(std::size_t part, std::size_t whole) {
  return whole == 0
             ? ""
             : fmt::format(" ({})",
                           format_share(static_cast<double>(part) / static_cast<double>(whole)));
}

std::string summary_of(const GateCounts& counts) {
  std::string text = fmt::format(
      "{} gate{} in {} file{}: {} can never fail{}, {} can never pass{}, {} tell machines apart{}\n"
      "{} have a limit of 0 or of 1,000,000 and more{}; {} values more are only recorded\n",
      counts.gates(), counts.gates() == 1 ? "" : "s", counts.files, counts.files == 1 ? "" : "s",
      counts.of_state[1], share_text(counts.of_state[1], counts.gates()), counts.of_state[2],
      share_text(counts.of_state[2], counts.gates()), counts.of_state[0],
      share_text(counts.of_state[0], counts.gates()), counts.placeholders,
      share_text(counts.placeholders, counts.gates()), counts.of_state[3]);
  if (counts.without_limit > 0) {
    text += fmt::format("{} tests have no limit at all\n", counts.without_limit);
  }
  if (counts.not_enforced > 0) {
    text += fmt::format(
        "{} files are not enforced: their configuration says enforce_thresholds: "
        "false\n",
        counts.not_enforced);
  }
  if (counts.unread > 0) text += fmt::format("{} files could not be read\n", counts.unread);
  return text;
}

Json json_of(const std::vector<GateFile>& files, const GateCounts& counts) {
  Json list = Json::array();
  for (const GateFile& file : files) {
    Json json = {{"file", file.file}, {"format", file.format}};
    if (!file.problem.empty()) json["problem"] = file.problem;
    if (file.enforced) json["enforced"] = *file.enforced;
    json["without_limit"] = file.without_limit;
    json["gates"] = Json::array();
    for (const health::Gate& gate : file.gates) {
      Json one = {{"name", gate.name}, {"limit", gate.limit}, {"state", name_of(gate.state)}};
      if (!gate.why.empty()) one["why"] = gate.why;
      json["gates"].push_back(std::move(one));
    }
    list.push_back(std::move(json));
  }
  return {{"files", std::move(list)},
          {"gates", counts.gates()},
          {"never_fail", counts.of_state[1]},
          {"never_pass", counts.of_state[2]},
          {"tell_apart", counts.of_state[0]},
          {"only_recorded", counts.of_state[3]},
          {"zero_or_a_million", counts.placeholders}};
}

Result<int> read_files(const Arguments& arguments, Terminal& terminal) {
  const std::vector<GateFile> files = TRY(health::read_gates(arguments.all("--read")));
  const GateCounts counts = count_gates(files);
  if (arguments.has("--json")) {
    terminal.print(json_of(files, counts).dump(2, ' ', false, Json::error_handler_t::replace) +
                   "\n");
    return counts.of_state[1] > 0 ? exit_differs : exit_ok;
  }
  const auto width = static_cast<std::size_t>(terminal.width());
  const Style style = terminal.out_style();
  const auto right = Column::Align::right;
  Table table({{"file"},
               {"kind"},
               {"gates", right},
               {"never fail", right},
               {"never pass", right},
               {"only recorded", right},
               {"enforced", Column::Align::left, 1}});
  std::string problems;
  for (const GateFile& file : files) {
    if (!file.problem.empty()) {
      problems += fmt::format("{}\n", file.problem);
      continue;
    }
    const auto number = [&](GateState state) { return fmt::format("{}", file.count(state)); };
    table.add({file.file, file.format,
               fmt::format("{}", file.gates.size() - file.count(GateState::records_only)),
               number(GateState::never_fails), number(GateState::never_passes),
               number(GateState::records_only),
               file.enforced ? (*file.enforced ? "yes" : "no") : ""});
  }
  if (!table.empty()) terminal.print(table.render(width, style) + "\n");
  terminal.print(problems + summary_of(counts));
  return counts.of_state[1] > 0 ? exit_differs : exit_ok;
}

// --- limits of stores

Result<double> read_share(const Arguments& arguments, std::string_view option,
                          std::string_view otherwise) {
  const std::string text = arguments.get(option, otherwise);
  const std::string digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  const double share = text.ends_with('%') ? number / 100 : number;
  if (digits.empty() || *end != '\0' || !(share > 0 && share < 1)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} \"{}\" is not allowed; allowed: a share above 0% and below 100%, "
                             "e.g. {}",
                             option, text, otherwise)};
  }
  return share;
}

/// How many percent slower than the median the limit is.
std::string slack_text(const DerivedLine& line) {
  const double ratio =
      line.better == Better::higher ? line.median / line.value : line.value / line.median;
  return format_percent(ratio - 1);
}

std::string table_of(const DerivedLimits& limits, std::size_t width, const Style& style) {
  const auto right = Column::Align::right;
  Table table({{"cell"},
               {"metric"},
               {"nodes", right},
               {"median", right},
               {"slowest", right},
               {"limit", right},
               {"slower than the median", right, 2},
               {"finds 3% slower", right, 2},
               {"method", Column::Align::left, 1}});
  for (const DerivedLine& line : limits.lines) {
    table.add({line.key.cell, line.key.metric, fmt::format("{}", line.nodes),
               format_in(line.median, line.unit), format_in(line.worst, line.unit),
               format_in(line.value, line.unit), slack_text(line),
               format_share(share_found(line, 0.03)), method_text(line)});
  }
  std::string text = table.render(width, style) + "\n";
  for (const DerivedLine& line : limits.lines) {
    if (line.outliers.empty()) continue;
    text += wrapped(fmt::format("outlier in {}: {}; if it is not healthy, leave it out, because it "
                                "loosens the limit",
                                line.key.cell, fmt::join(line.outliers, ", ")),
                    2, width) +
            "\n";
  }
  for (const std::string& one : limits.left_out) text += "left out: " + one + "\n";
  return text + wrapped(method_text(limits), 0, width) + "\n";
}

Json json_of(const DerivedLimits& limits) {
  Json lines = Json::array();
  for (const DerivedLine& line : limits.lines) {
    lines.push_back({{"cell", line.key.cell},
                     {"metric", line.key.metric},
                     {line.better == Better::higher ? "at_least" : "at_most", line.value},
                     {"unit", line.unit},
                     {"nodes", line.nodes},
                     {"median", line.median},
                     {"worst", line.worst},
                     {"share_found_3_percent_slower", share_found(line, 0.03)},
                     {"method", method_text(line)},
                     {"outliers", line.outliers}});
  }
  return {{"device", limits.device},       {"nodes", limits.nodes},
          {"rate", limits.rule.rate},      {"confidence", limits.rule.confidence},
          {"method", method_text(limits)}, {"limits", std::move(lines)},
          {"left_out", limits.left_out}};
}

Result<int> make_limits(const Arguments& arguments, Terminal& terminal) {
  const std::vector<std::string> operands(arguments.positionals.begin() + 1,
                                          arguments.positionals.end());
  if (operands.empty()) {
    return Error{ErrorKind::usage,
                 "no stores; name one for each healthy node, or a folder that holds them, or read "
                 "limits of other programs with --read FILE"};
  }
  health::DeriveRule rule;
  rule.rate = TRY(read_share(arguments, "--rate", "1%"));
  rule.confidence = TRY(read_share(arguments, "--confidence", "95%"));
  const std::string format = arguments.get("--format", "assay");
  if (format != "assay" && format != "cvs" && format != "plain") {
    return Error{ErrorKind::usage,
                 fmt::format("--format \"{}\" is unknown; allowed: assay, cvs, plain", format)};
  }
  const std::string out = arguments.get("--output");
  if (out.empty() && arguments.has("--json")) {
    for (const char* option : {"--format", "--name"}) {
      if (!arguments.has(option)) continue;
      return Error{ErrorKind::usage,
                   fmt::format("{} is about the file, and --json prints the table instead; add "
                               "--output FILE, or leave {} out",
                               option, option)};
    }
  }
  if (!out.empty()) {
    const Status writable = check_writable(out);
    if (!writable.ok()) return about("--output", writable.error());
  }
  rule.per_run = arguments.has("--per-run");
  const auto nodes = TRY(health::read_population(operands, rule.per_run));
  const DerivedLimits limits = TRY(health::derive_limits(nodes, rule));
  const std::string date = utc_now().substr(0, 10);
  const std::string text = format == "cvs" ? limits_cvs(limits, date)
                           : format == "plain"
                               ? limits_plain(limits, date)
                               : limits_yaml(limits, arguments.get("--name", "ours"), date);
  if (!out.empty()) TRY(write_file(out, text));
  if (arguments.has("--json")) {
    terminal.print(json_of(limits).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return exit_ok;
  }
  if (out.empty()) {
    terminal.note(
        table_of(limits, static_cast<std::size_t>(terminal.error_width()), terminal.error_style()));
    terminal.print(text);
    return exit_ok;
  }
  terminal.print(
      table_of(limits, static_cast<std::size_t>(terminal.width()), terminal.out_style()) +
      fmt::format("wrote {}\n", out));
  return exit_ok;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status =
      arguments.has("--read") ? read_files(arguments, terminal) : make_limits(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "health limits",
    .summary = "Make limits from healthy nodes, or say which limits of others can never fail",
    .group = CommandGroup::diagnose,
    .positionals = "[STORE|FOLDER...]",
    .least_positionals = 1,
    .most_positionals = 4096,
    .details =
        R"(Each STORE holds the records of a healthy node; a FOLDER holds such stores. For every cell, the
limit is the tightest that at most --rate of healthy nodes fail, over all lines together, which is
true with --confidence. Enough nodes promise this for every distribution; fewer, for a normal one of
the logarithm of times; the file says which, and how many nodes more would do. `assay health accept
--limits FILE` uses the file. --json prints the table as JSON, and not the file.

With --read, the limits are those of other programs: threshold files of ROCm's Cluster Validation
Suite (JSON), configurations of the ROCm Validation Suite and of node health checks (.conf), or
assay's own. Each gate is judged: can it fail, and can it pass? Exit status: 1 if any can never fail.

  assay health limits fleet/ --rate 1% --output ours.yaml
  assay health limits node1 node2 node3 --format cvs --output thresholds.json
  assay health limits --read cvs/input

)",
    .options =
        {
            {"--rate", "SHARE", "share of healthy nodes that may fail, default 1%", ""},
            {"--confidence", "SHARE", "probability that the rate is kept, default 95%", ""},
            {"--per-run", "", "take every run as a node: limits for these machines alone", ""},
            {"--format", "NAME", "of the file: assay (default), cvs or plain YAML",
             "assay cvs plain"},
            {"--name", "NAME", "name of the limits, default ours", ""},
            {"--output", "FILE", "where to write; default: standard output", "file", false,
             "--out"},
            {"--read", "FILE", "judge the limits in a file of another program, or all in a folder",
             "file", true},
        },
    .run = &run,
    .operands = "folder",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_limits_command
