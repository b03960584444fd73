// assay health burn: load for a long time, with every result checked.
#include <fmt/format.h>

#include <algorithm>

#include "advise/health/burn.h"
#include "advise/health/device_use.h"
#include "cli/advise/health_device.h"
#include "cli/advise/health_sdc_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"
#include "ranks/team/agreement.h"

namespace assay::cli::health_burn_command {
namespace {

using health::BurnOutcome;
using health::BurnRank;
using health::BurnWindow;

constexpr std::string_view default_file = "assay-health-burn.json";
constexpr std::size_t most_rows = 12;  // of windows; longer burn-ins show every n-th

std::string number(const std::optional<double>& value, std::string_view unit) {
  return value ? fmt::format("{:.0f} {}", *value, unit) : std::string();
}

std::string windows_table(const BurnRank& rank, std::size_t width, const Style& style) {
  constexpr auto right = Column::Align::right;
  Table table({{"at", right},
               {"speed", right},
               {"FLOP/s", right, 1},
               {"bytes/s", right, 1},
               {"clock", right, 1},
               {"power", right, 1},
               {"hottest", right, 1},
               {"throttled", right, 1},
               {"by", Column::Align::left, 1}});
  const std::size_t step =
      (rank.windows.size() + most_rows - 1) / std::max<std::size_t>(1, most_rows);
  for (std::size_t i = 0; i < rank.windows.size(); i += std::max<std::size_t>(1, step)) {
    const BurnWindow& window = rank.windows[i];
    const auto rate = [&](double amount, const char* unit) {
      return amount > 0 ? format_rate(amount / window.seconds, unit) : std::string();
    };
    table.add({format_clock(window.begin), fmt::format("{:.1f}%", 100 * window.speed),
               rate(window.flops, "FLOP/s"), rate(window.bytes, "bytes/s"),
               window.clock_hz ? format_frequency(*window.clock_hz) : "",
               number(window.power_watts, "W"), number(window.temperature_celsius, "C"),
               window.throttled_share ? format_share(*window.throttled_share) : "",
               window.throttled});
  }
  return table.empty() ? "" : table.render(width, style);
}

std::string burn_text(const BurnOutcome& outcome, std::size_t width, const Style& style) {
  std::string text = sdc_text(outcome.results, width, style);
  for (const BurnRank& rank : outcome.ranks) {
    if (outcome.ranks.size() > 1) text += fmt::format("rank {}, {}\n", rank.rank, rank.device);
    text += windows_table(rank, width, style);
    constexpr double percent = 100;
    if (const auto drift = drift_per_hour(rank)) {
      text +=
          fmt::format("Speed changes by {:+.2f}% in an hour, 95% interval {:+.2f} to {:+.2f}%.\n",
                      percent * drift->value, percent * (drift->value - drift->margin95),
                      percent * (drift->value + drift->margin95));
    }
    if (!rank.ended_by.empty()) {
      text += style.red("ended early") + fmt::format(" on rank {}: {}\n", rank.rank, rank.ended_by);
    }
  }
  if (const auto slowest = slowest_of(outcome)) {
    text += fmt::format("The slowest is rank {}, {} slower than the fastest.\n", slowest->first,
                        format_share(slowest->second));
  }
  return text;
}

int burn_status(const BurnOutcome& outcome) {
  const bool ended = std::ranges::any_of(
      outcome.ranks, [](const BurnRank& rank) { return !rank.ended_by.empty(); });
  return ended && outcome.results.difference_count == 0 ? exit_cell_error
                                                        : status_of(outcome.results);
}

Result<int> burn(const Arguments& arguments, Terminal& terminal) {
  health::BurnPlan plan;
  plan.sdc = TRY(read_sdc_plan(arguments));
  plan.load = TRY(health::parse_load(arguments.get("--load", "all")));
  const std::string file = arguments.get("--output", default_file);
  const HealthDevice opened =
      TRY(open_for_health(arguments, {"health", "burn"},
                          {"--duration", "--device", "--seed", "--only", "--memory", "--load",
                           "--shared", "--plant", "--patience"},
                          terminal));
  Team& team = opened.team();
  Status ready = arguments.has("--shared") ? Status() : health::check_unused(*opened.device);
  if (ready.ok() && team.rank() == 0) ready = check_result_file(file);
  TRY(agree(team, "beginning", ready));
  if (team.rank() == 0) plan.sdc.progress = shown_progress(terminal);
  catch_interrupts();
  const BurnOutcome outcome = TRY(burn_in(plan, *opened.device, team));
  if (team.rank() > 0) return exit_ok;
  TRY(keep_result(
      arguments, terminal, file, to_json(outcome),
      burn_text(outcome, static_cast<std::size_t>(terminal.width()), terminal.out_style())));
  return burn_status(outcome);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = burn(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "health burn",
    .summary = "Keep a device busy for a long time and check every result",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .least_positionals = 1,
    .most_positionals = 1,
    .details =
        R"(Repeats matrix products, training steps, memory operations or copies without pauses, and compares
every result as `assay health sdc` does. It reports speed, clock, power, temperature and causes of
throttling over time, how the speed drifts, and with --ranks which device is slowest. It ends early on
a thermal slowdown, which the chip begins at its own limit, and on uncorrected memory errors. A device
whose memory others use is refused without --shared. Only one test at a time gets a device.
Exit status: 0 if all results are right, 1 if it ended early, 3 CORRUPT, 6 UNKNOWN, or none of the
faults of --plant was planted.

  assay health burn --duration 1h --ranks 8
  assay health burn --duration 10min --load products --device hip:0

)",
    .options = with_rank_options({
        {"--duration", "TIME", "how long, e.g. 10min or 2h; default 10min", ""},
        {"--load", "KIND", "products, training, memory, copies or all; default all",
         "products training memory copies all"},
        {"--only", "ID[,ID...]", "only units whose names begin so", ""},
        {"--memory", "PERCENT", "share of the free memory that patterns cover; default 90", ""},
        {"--shared", "", "also if other processes use the device's memory", ""},
        {"--output", "FILE", "where the result goes; default: assay-health-burn.json", "file"},
    }),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_burn_command
