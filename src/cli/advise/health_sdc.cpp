// assay health sdc: finds devices that compute wrongly.
#include <fmt/format.h>

#include "advise/health/device_use.h"
#include "advise/health/sdc_reference.h"
#include "cli/advise/health_device.h"
#include "cli/advise/health_sdc_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "ranks/team/agreement.h"

namespace assay::cli::health_sdc_command {
namespace {

constexpr std::size_t most_reference_bytes = 64 << 20;
constexpr std::string_view default_file = "assay-health-sdc.json";

/// Returns the text of the reference, or nothing if none is given. Error: as read_operand(); usage,
/// naming the file, if it is no reference, such as an empty file.
Result<std::string> read_reference_file(const Arguments& arguments) {
  if (!arguments.has("--reference")) return std::string();
  const std::string file = arguments.get("--reference");
  std::string text = TRY(read_operand(file, most_reference_bytes));
  const auto reference = health::read_reference(text);
  if (!reference.ok()) return about(fmt::format("--reference {}", file), reference.error());
  return text;
}

Result<int> test(const Arguments& arguments, Terminal& terminal) {
  health::SdcPlan plan = TRY(read_sdc_plan(arguments));
  const std::string file = arguments.get("--output", default_file),
                    reference_file = arguments.get("--write-reference");
  TRY(check_two_files("--output", file, "--write-reference", reference_file));
  const Result<std::string> reference = read_reference_file(arguments);
  const HealthDevice opened = TRY(open_for_health(arguments, {"health", "sdc"},
                                                  {"--duration", "--device", "--seed", "--only",
                                                   "--memory", "--shared", "--plant", "--patience"},
                                                  terminal));
  Team& team = opened.team();
  Status ready = reference.ok() ? Status() : Status(reference.error());
  if (ready.ok() && !arguments.has("--shared")) ready = health::check_unused(*opened.device);
  if (ready.ok() && team.rank() == 0) ready = check_result_file(file);
  if (ready.ok() && team.rank() == 0 && !reference_file.empty()) {
    ready = check_writable(reference_file);
  }
  TRY(agree(team, "beginning", ready));
  plan.reference = TRY(from_rank_0(team, "reading the reference", *reference));
  if (team.rank() == 0) plan.progress = shown_progress(terminal);
  catch_interrupts();
  const health::SdcOutcome outcome = TRY(check_corruption(plan, *opened.device, team));
  if (team.rank() > 0) return exit_ok;
  TRY(keep_result(
      arguments, terminal, file, to_json(outcome),
      sdc_text(outcome, static_cast<std::size_t>(terminal.width()), terminal.out_style())));
  if (!reference_file.empty()) {
    const auto text = reference_of(outcome, *opened.device);
    if (text.ok()) TRY(write_file(reference_file, *text));
    terminal.note(text.ok()
                      ? fmt::format("wrote {}: the reference for other devices of this kind\n",
                                    reference_file)
                      : text.error().message + "\n");
  }
  return status_of(outcome);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = test(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "health sdc",
    .summary = "Find devices that compute wrongly: silent data corruption",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .least_positionals = 1,
    .most_positionals = 1,
    .details =
        R"(Repeats work whose results must have the same bits each time: steps of training and inference,
matrix products, attention, reductions, copies, with --ranks also collectives, and patterns in free
memory. The device leaves a checksum of everything that each operation writes. They are compared
with those of its other repetitions, with those of other devices of its kind (--ranks, the majority
is right), and with a reference (--reference). What a library does not repeat bit for bit here is
found out first, left out by name and never blamed on the device.

On a difference the work is replayed, and the first operation that differs is named with the address,
the expected and the found bits, and the device's clock, temperature, power and memory errors. The
verdict is SOUND with the smallest rate of faults that would have been seen, CORRUPT, or UNKNOWN.
Ctrl-C ends the test and keeps what it has. A device whose memory others use is refused without
--shared. docs/health.md describes the units.
Exit status: 0 SOUND, 3 CORRUPT, 6 UNKNOWN, or none of the faults of --plant was planted.

  assay health sdc --duration 10min
  assay health sdc --duration 2h --ranks 8 --write-reference h200.json
  assay health sdc --reference h200.json --device cuda:3
  assay health sdc --only gemm,train --duration 1min

)",
    .options = with_rank_options({
        {"--duration", "TIME", "how long to test, e.g. 10min or 2h; default 10min", ""},
        {"--only", "ID[,ID...]", "only units whose names begin so, e.g. gemm or memory_patterns",
         ""},
        {"--memory", "PERCENT", "share of the free memory that patterns cover; default 90", ""},
        {"--shared", "", "also if other processes use the device's memory", ""},
        {"--reference", "FILE", "compare also with the checksums of a device of this kind", "file"},
        {"--write-reference", "FILE",
         "write the checksums for other devices if the verdict is SOUND", "file"},
        {"--output", "FILE", "where the result goes; default: assay-health-sdc.json", "file"},
    }),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_sdc_command
