#include "measure/benchmarks/train/training_benchmark.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/input_file.h"
#include "core/units.h"
#include "measure/benchmarks/train/train_case.h"
#include "measure/benchmarks/train/train_choice.h"
#include "measure/benchmarks/train/train_model.h"
#include "model/transformer/decoder_config.h"
#include "ranks/collective/communicators.h"

namespace assay {
namespace {

/// Returns whether the cell names a folder of weights whose config.json cannot be read or used.
bool names_wrong_weights(const Cell& cell) {
  const std::string_view weights = cell.text("weights");
  return !weights.empty() && weights != "random" && !read_decoder_config(weights).ok();
}

/// Checks that a file can be opened. A pipe passes: whoever opens it takes it from its reader.
Status check_readable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored)) return {};
  InputFile file;
  const int error = file.open(path);
  return error == 0 ? Status() : Status(unreadable(path, error));
}

}  // namespace

bool TrainingBenchmark::redundant(const Cell& cell) const {
  const std::string_view precision = cell.text("precision");
  return cell.text("states") == "stochastic" && precision != "bf16" && precision != "auto";
}

std::vector<Cell> TrainingBenchmark::expand(const Cell& cell, const Device& device,
                                            const Team& team) const {
  std::vector<Cell> cells;
  for (const Cell& one : decide_ranks(cell, device, team)) {
    cells.push_back(decide(one, device.facts()));
  }
  return cells;
}

std::optional<std::string> TrainingBenchmark::unsupported(const Cell& cell,
                                                          const Device& device) const {
  const auto parsed = parse(cell);
  // prepare() reports a wrong file. It does not mean that the device lacks something.
  if (!parsed.ok() && names_wrong_weights(cell)) return std::nullopt;
  if (!parsed.ok()) return parsed.error().message;
  const TrainModel& model = *parsed->model;
  if (const auto reason = model.unsupported(device.facts())) return reason;
  const std::uint64_t needed = model.memory().total();
  const std::uint64_t most = device.facts().memory_bytes;
  if (most == 0 || needed <= most) return std::nullopt;
  return fmt::format("training needs {}, the device has {}; {}", format_memory(needed),
                     format_memory(most), model.what_would_fit(most));
}

Status TrainingBenchmark::check_files(const Cell& cell, const Device&, const Team& team) const {
  const TrainCell parsed = TRY(parse(cell));
  if (parsed.data != "synthetic") TRY(check_readable(parsed.data));
  if (team.rank() == 0) TRY(check_disk_room(parsed));
  return parsed.from.empty() ? Status() : check_readable(parsed.from);
}

std::string TrainingBenchmark::requirements(const Cell& cell, const Device& device) const {
  const auto parsed = parse(cell);
  if (!parsed.ok()) return parsed.error().message;
  const TrainModel& model = *parsed->model;
  const TrainingMemory memory = model.memory();
  std::string text = fmt::format(
      "{} for {:.4g} parameters: parameters {}, gradients {}, optimizer {}, activations {}, "
      "logits {}, scratch {}, exchange {}",
      format_memory(memory.total()), model.parameters(), format_memory(memory.parameters),
      format_memory(memory.gradients), format_memory(memory.optimizer),
      format_memory(memory.activations), format_memory(memory.logits),
      format_memory(memory.scratch), format_memory(memory.exchange));
  const auto now = device.memory_free_and_total();
  if (now.ok()) {
    text += fmt::format("; the largest batch for the {} that are free is {}",
                        format_memory(now->first), model.largest_batch(now->first));
  }
  if (const Status room = check_disk_room(*parsed); !room.ok()) text += "; " + room.error().message;
  return text;
}

Result<std::unique_ptr<Case>> TrainingBenchmark::prepare(const Cell& cell,
                                                         PrepareContext context) const {
  TrainCell parsed = TRY(parse(cell));
  if (parsed.ranks > context.team.size()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("ranks={} of a team of {}; start as many: --ranks, --hosts or mpirun",
                             parsed.ranks, context.team.size())};
  }
  ExchangeChoice exchange = TRY(exchange_of(cell, parsed, context));
  TrainingRanks ranks = {nullptr, &context.team};
  if (parsed.model->parallel().ranks > 1) {
    ranks.communicator = TRY(context.communicators.first(exchange.library, parsed.ranks));
    parsed.model->set_bucket(exchange.bucket);
  }
  return prepare_train_case(std::move(parsed), std::move(exchange), context, ranks);
}

}  // namespace assay
