#include "cli/serving/serve_sim_calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/cli.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "results/store/store.h"
#include "serving/engine/cache_plan.h"
#include "serving/simulator/compared_loads.h"

namespace assay::cli {
namespace {

namespace sim = simulator;

// Seconds between two passes on a device, for uploading rows and scheduling.
constexpr double between_passes = 1e-4;
// Default number of cache blocks: enough that requests rarely wait for one.
constexpr std::uint64_t usual_blocks = 65536;

Result<std::uint64_t> limit(const Arguments& arguments, std::string_view option,
                            std::uint64_t otherwise) {
  if (!arguments.has(option)) return otherwise;
  const auto value = parse_integer(arguments.get(option));
  if (!value.ok()) return about(option, value.error());
  if (*value >= 1 && *value <= UINT32_MAX) return *value;
  return Error{ErrorKind::usage,
               fmt::format("{}: {} is not between 1 and {}", option, *value, UINT32_MAX)};
}

std::string value_text(const sim::ComparedFigure& figure, double value) {
  return figure.unit == "s" ? format_seconds(value)
                            : fmt::format("{} {}", format_significant(value), figure.unit);
}

Json to_json(const std::vector<sim::ComparedLoad>& loads, const sim::MeasuredTimes& times) {
  Json json = {{"kind", "model"}, {"fit_error", times.largest_error()}, {"loads", Json::array()}};
  for (const sim::ComparedLoad& load : loads) {
    Json figures = Json::object();
    for (const sim::ComparedFigure& figure : load.figures) {
      figures[figure.name] = {{"measured", figure.measured},
                              {"predicted", figure.predicted},
                              {"error", figure.error()}};
    }
    json["loads"].push_back({{"load", load.load},
                             {"requests", load.requests},
                             {"input", load.prompt_tokens},
                             {"output", load.output_tokens},
                             {"figures", std::move(figures)}});
  }
  return json;
}

std::string to_text(const std::vector<sim::ComparedLoad>& loads, const sim::MeasuredTimes& times,
                    const Terminal& terminal) {
  using Align = Column::Align;
  Table table({{"load"},
               {"tokens", Align::right},
               {"figure"},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"error", Align::right}});
  std::vector<double> errors;
  for (const sim::ComparedLoad& load : loads) {
    for (const sim::ComparedFigure& figure : load.figures) {
      table.add({load.load, fmt::format("{} + {}", load.prompt_tokens, load.output_tokens),
                 figure.name, value_text(figure, figure.measured),
                 value_text(figure, figure.predicted),
                 fmt::format("{:+.1f}%", 100 * figure.error())});
      if (figure.name == "output_throughput") errors.push_back(std::abs(figure.error()));
    }
  }
  std::string text = fmt::format("times of passes are within {:.1f}% of those measured\n",
                                 100 * times.largest_error()) +
                     table.render(static_cast<std::size_t>(terminal.width()), terminal.out_style());
  if (!errors.empty()) {
    text += fmt::format("the throughput is predicted within {:.1f}%\n",
                        100 * *std::max_element(errors.begin(), errors.end()));
  }
  return text;
}

/// Returns the error about the option's store, with the first of the lines that could not be read.
Error about_store(std::string_view option, const StoredRecords& stored, const Error& error) {
  const std::vector<std::string>& problems = stored.problems;
  if (problems.empty()) return about(option, error);
  return {error.kind, fmt::format("{}: {}; {} of its lines could not be read, first {}", option,
                                  error.message, problems.size(), problems.front())};
}

}  // namespace

Result<sim::EngineSettings> calibrated_engine(const Arguments& arguments) {
  const auto stored = read_records(arguments.get("--calibrate-from"), Detail::summary);
  if (!stored.ok()) return about("--calibrate-from", stored.error());
  const auto passes = sim::measured_passes(stored->records, arguments.get("--model"));
  if (!passes.ok()) return about_store("--calibrate-from", *stored, passes.error());
  auto times = sim::MeasuredTimes::fit(*passes);
  if (!times.ok()) return about_store("--calibrate-from", *stored, times.error());
  const bool on_cpu =
      std::any_of(stored->records.begin(), stored->records.end(), [](const Record& record) {
        return record.cell.benchmark() == "decode" && record.device.is_host_cpu();
      });
  const engine::UsualLimits usual = engine::usual_limits(!on_cpu);
  sim::EngineSettings made;
  made.measured = std::move(*times);
  made.hardware.launch_seconds = between_passes;
  made.scheduler.max_sequences = static_cast<std::uint32_t>(
      TRY(limit(arguments, "--max-num-seqs", static_cast<std::uint64_t>(usual.max_sequences))));
  made.scheduler.max_batched_tokens = TRY(limit(
      arguments, "--max-num-batched-tokens", static_cast<std::uint64_t>(usual.max_batched_tokens)));
  made.scheduler.blocks =
      static_cast<std::uint32_t>(TRY(limit(arguments, "--num-gpu-blocks-override", usual_blocks)));
  made.scheduler.prefix_cache = !arguments.has("--no-prefix-cache");
  made.scheduler.whole_prompts = true;  // as of `assay serve`
  return made;
}

Status predict_measured_loads(const Arguments& arguments, Terminal& terminal) {
  const sim::EngineSettings engine = TRY(calibrated_engine(arguments));
  const auto servers = TRY(limit(arguments, "--servers", 1));
  const auto stored = read_records(arguments.get("--against"), Detail::summary);
  if (!stored.ok()) return about("--against", stored.error());
  const auto loads = sim::compare_loads(stored->records, engine, static_cast<int>(servers));
  if (!loads.ok()) return about_store("--against", *stored, loads.error());
  if (!engine.measured->separates_pairs()) {
    terminal.note(
        "note: no two results of prefill have as many tokens in prompts of different "
        "lengths, so the attention of long prompts counts for short ones too; measure "
        "e.g. `assay run prefill batch=1,4 prompt=64,256,1024`\n");
  }
  terminal.print(arguments.has("--json") ? json_line(to_json(*loads, *engine.measured)) + "\n"
                                         : to_text(*loads, *engine.measured, terminal));
  return {};
}

}  // namespace assay::cli
