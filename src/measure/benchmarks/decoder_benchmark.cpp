#include "measure/benchmarks/decoder_benchmark.h"

#include <fmt/format.h>

#include "compute/device/helpers.h"
#include "core/units.h"

namespace assay {
namespace {

constexpr std::string_view chosen_by_device = "auto";

Status check_decoder_model(std::string_view text) {
  TRY(parse_decoder_shape(text));
  return {};
}

std::vector<Axis> decoder_axes(Axis tokens) {
  const std::string automatic(chosen_by_device);
  std::vector<std::string> models = {automatic};
  models.insert(models.end(), decoder_names().begin(), decoder_names().end());
  tokens.kind = Axis::Kind::integer;
  tokens.defaults = {automatic};
  tokens.choices = {automatic};
  tokens.least = 2;
  tokens.most = 1 << 20;
  return {
      {.name = "model",
       .description =
           "whose shapes it has; weights are random; auto: llama3-8b on a GPU, a million "
           "parameters on a CPU",
       .kind = Axis::Kind::text,
       .defaults = {automatic},
       .choices = models,
       .check = check_decoder_model,
       .allowed = "or numbers with letters: 2L4H2K64D256C is 2 layers, 4 heads of queries and 2 of "
                  "keys, 64 wide, width 256 (also F hidden width, V vocabulary)"},
      {.name = "batch",
       .description = "sequences",
       .kind = Axis::Kind::integer,
       .defaults = {"1"},
       .choices = {},
       .most = 65536},
      std::move(tokens),
      {.name = "precision",
       .description = "of weights, cache and products; auto: bf16 on a GPU, f32 on a CPU",
       .defaults = {automatic},
       .choices = {automatic, "f32", "bf16"}},
  };
}

}  // namespace

DecoderBenchmark::DecoderBenchmark(DecoderPhase phase, std::string name, std::string summary,
                                   Axis tokens_axis)
    : phase_(phase),
      name_(std::move(name)),
      summary_(std::move(summary)),
      tokens_axis_(tokens_axis.name),
      axes_(decoder_axes(std::move(tokens_axis))) {}

std::vector<Cell> DecoderBenchmark::expand(const Cell& cell, const Device& device,
                                           const Team&) const {
  const bool large = suits_large_work(device.facts());
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, const char* on_gpu, const char* otherwise) {
    if (decided.text(axis) != chosen_by_device) return;
    decided = with_value(decided, axis, large ? on_gpu : otherwise);
  };
  decide("model", "llama3-8b", "2L4H2K64D192C512F4096V");
  decide(tokens_axis_, phase_ == DecoderPhase::prefill ? "2048" : "1024", "64");
  decide("precision", "bf16", "f32");
  return {decided};
}

Result<DecoderCell> DecoderBenchmark::parse(const Cell& cell) const {
  DecoderCell parsed;
  parsed.phase = phase_;
  parsed.shape = TRY(parse_decoder_shape(cell.text("model")));
  parsed.precision = cell.text("precision") == "bf16" ? DataType::bf16 : DataType::f32;
  parsed.batch = static_cast<std::int64_t>(cell.integer("batch"));
  parsed.tokens = static_cast<std::int64_t>(cell.integer(tokens_axis_));
  return parsed;
}

std::optional<std::string> DecoderBenchmark::unsupported(const Cell& cell,
                                                         const Device& device) const {
  for (const Axis& axis : axes_) {
    if (cell.text(axis.name) == chosen_by_device) {
      return fmt::format("{} is not decided yet", axis.name);
    }
  }
  const auto parsed = parse(cell);
  if (!parsed.ok()) return parsed.error().message;
  // Every token of a pass is a row of a grid.
  constexpr std::int64_t most_tokens = 1 << 24;
  if (parsed->batch > most_tokens / parsed->tokens) {
    return fmt::format("batch={} {}={}: {} tokens at most are allowed", parsed->batch, tokens_axis_,
                       parsed->tokens, most_tokens);
  }
  const std::uint64_t needed = memory_of(parsed->settings(0)).all();
  const std::uint64_t most = device.facts().memory_bytes;
  if (most == 0 || needed <= most) return std::nullopt;
  return fmt::format("needs {}, the device has {}", format_memory(needed), format_memory(most));
}

std::string DecoderBenchmark::requirements(const Cell& cell, const Device&) const {
  const auto parsed = parse(cell);
  if (!parsed.ok()) return "";
  const DecoderMemory memory = memory_of(parsed->settings(0));
  return fmt::format("{} of memory: weights {}, cache {}, activations {}",
                     format_memory(memory.all()), format_memory(memory.weights),
                     format_memory(memory.cache), format_memory(memory.activations));
}

Result<std::unique_ptr<Case>> DecoderBenchmark::prepare(const Cell& cell,
                                                        PrepareContext context) const {
  return prepare_decoder_case(TRY(parse(cell)), context);
}

}  // namespace assay
