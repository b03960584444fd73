#include "measure/benchmarks/tensor_parallel/tensor_cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"
#include "measure/benchmarks/collective/collective_cell.h"
#include "model/transformer/named_shapes.h"
#include "ranks/collective/communicators.h"

namespace assay {
namespace {

constexpr std::string_view toy_model = "toy", undecided = "auto", none = "none", powers = "powers";
constexpr std::string_view cache_axis = "cache";

Status check_shared_model(std::string_view text) {
  TRY(parse_decoder_shape(text));
  return {};
}

std::vector<Axis> make_tensor_axes() {
  const std::string automatic(undecided);
  std::vector<std::string> models = {std::string(toy_model)};
  models.insert(models.end(), decoder_names().begin(), decoder_names().end());
  std::vector<std::string> libraries = library_choices();
  libraries.emplace_back(none);
  return {
      {.name = "model",
       .description = "toy: two linear layers, the first cut among ranks, its outputs gathered; or "
                      "a decoder, each of whose layers is cut, by its name",
       .kind = Axis::Kind::text,
       .defaults = {std::string(toy_model)},
       .choices = models,
       .check = check_shared_model,
       .allowed = "or numbers with letters: 2L4H2K64D256C is 2 layers, 4 heads of queries and 2 of "
                  "keys, 64 wide, width 256 (also F hidden width, V vocabulary)"},
      {.name = "pass",
       .description = "of a decoder: decode, one more token of each sequence; prompt, whole "
                      "prompts; of the toy forward",
       .defaults = {automatic},
       .choices = {automatic, "decode", "prompt", "forward"}},
      {.name = "batch",
       .description = "rows of the toy, sequences of a decoder; auto: 128, 256 ... 32768 rows on a "
                      "GPU, 128 on a CPU; 1 sequence",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic},
       .most = 1 << 20},
      {.name = "tokens",
       .description = "of a decoder: those that each new one sees, itself included, or those of "
                      "each prompt; auto: 1024 or 2048 on a GPU, 64 on a CPU; of the toy none",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic, std::string(none)},
       .least = 2,
       .most = 1 << 20},
      {.name = "hidden",
       .description = "width of the toy; of a decoder its own",
       .kind = Axis::Kind::integer,
       .defaults = {"4096"},
       .choices = {"own"},
       .most = 1 << 20},
      {.name = "precision",
       .description = "of weights and products; auto: f32 of the toy and on a CPU, bf16 of a "
                      "decoder on a GPU",
       .defaults = {automatic},
       .choices = {automatic, "f32", "bf16"}},
      {.name = "quantization",
       .description = "of a decoder: matrices of layers and the head as fp8 (e4m3) or int8, with a "
                      "factor per row of what a rank has",
       .defaults = {std::string(none)},
       .choices = quantization_names()},
      {.name = std::string(cache_axis),
       .description = "of a decoder's keys and values: fp8 (e4m3), a factor per token and head; "
                      "auto: as precision",
       .defaults = {automatic},
       .choices = cache_type_names()},
      {.name = "ranks",
       .description = "how many ranks share the model; all: the whole team; powers: 1, 2, 4 and so "
                      "on up to the whole team, one after the other",
       .kind = Axis::Kind::integer,
       .defaults = {"all"},
       .choices = {"all", std::string(powers)},
       .most = 4096},
      {.name = "library",
       .description = "what ranks talk through, as of collective; peer adds up small messages in "
                      "one kernel; auto: nccl for NVIDIA, rccl for AMD, else mpi or tcp; none: one "
                      "rank alone",
       .defaults = {automatic},
       .choices = libraries},
      {.name = "launch",
       .description = "a pass with its exchange replayed as one graph, or queued anew",
       .defaults = {"graph"},
       .choices = {"graph", "stream"}},
  };
}

bool is_toy(const Cell& cell) {
  return cell.text("model") == toy_model;
}

Cell with_number_of_ranks(const Cell& cell, int ranks, std::string_view best) {
  Cell decided = with_value(cell, "ranks", std::to_string(ranks));
  if (ranks == 1) return with_value(decided, "library", none);
  if (decided.text("library") == undecided && !best.empty()) {
    decided = with_value(decided, "library", best);
  }
  return decided;
}

std::vector<Cell> with_batches(const Cell& cell, bool large) {
  if (cell.text("batch") != undecided) return {cell};
  if (!is_toy(cell)) return {with_value(cell, "batch", "1")};
  constexpr int first = 128, last = 32768;
  std::vector<Cell> cells;
  for (int batch = first; batch <= (large ? last : first); batch *= 2) {
    cells.push_back(with_value(cell, "batch", std::to_string(batch)));
  }
  return cells;
}

Result<LayersCell> parse_toy(const Cell& cell, int ranks) {
  if (cell.text("quantization") != none || cell.text(cache_axis) == "fp8") {
    return Error{ErrorKind::usage,
                 "model=toy has neither codes nor a cache; set quantization and cache only for the "
                 "model of a decoder"};
  }
  LayersCell parsed;
  parsed.batch = static_cast<std::int64_t>(cell.integer("batch"));
  parsed.hidden = static_cast<std::int64_t>(cell.integer("hidden"));
  parsed.precision = cell.text("precision") == "bf16" ? DataType::bf16 : DataType::f32;
  constexpr std::int64_t unit = 8;  // elements that a kernel reads at once
  if (parsed.hidden % (unit * ranks) == 0) return parsed;
  return Error{ErrorKind::usage,
               fmt::format("hidden={} on {} ranks, allowed are multiples of {} for each",
                           parsed.hidden, ranks, unit)};
}

Result<DecoderCell> parse_decoder(const Cell& cell, int ranks, const Device& device) {
  DecoderCell parsed;
  parsed.phase = cell.text("pass") == "prompt" ? DecoderPhase::prefill : DecoderPhase::decode;
  parsed.shape = TRY(parse_decoder_shape(cell.text("model")));
  parsed.precision = cell.text("precision") == "bf16" ? DataType::bf16 : DataType::f32;
  parsed.batch = static_cast<std::int64_t>(cell.integer("batch"));
  parsed.tokens = static_cast<std::int64_t>(cell.integer("tokens"));
  TRY(check_positions(parsed.shape, "tokens=", parsed.tokens));
  parsed.part.ranks = ranks;
  parsed.quantization = quantization_named(cell.text("quantization"), device.facts());
  parsed.cache_codes = cache_codes_named(cell.text(cache_axis), device.facts());
  if (parsed.phase == DecoderPhase::prefill) parsed.attention = PromptWay::best;
  TRY(validate(parsed.shape, parsed.part, parsed.quantization.codes.has_value()));
  constexpr std::int64_t most_tokens = 1 << 24;  // every token of a pass is a row of a grid
  if (parsed.batch <= most_tokens / parsed.tokens) return parsed;
  return Error{ErrorKind::usage, fmt::format("batch={} tokens={}: {} tokens at most are allowed",
                                             parsed.batch, parsed.tokens, most_tokens)};
}

}  // namespace

std::uint64_t LayersCell::bytes(int ranks) const {
  const std::int64_t rows = batch * hidden, own = hidden / ranks;
  const std::int64_t weights = own * (hidden + 1) + hidden * (hidden + 1);
  const std::int64_t gathered = ranks > 1 ? rows + batch * own : 0;
  const std::int64_t reference = 2 * hidden * (hidden + 1) + rows;
  return static_cast<std::uint64_t>(weights + 3 * rows + gathered + reference) * size_of(precision);
}

std::uint64_t TensorCell::bytes() const {
  if (const auto* const of_toy = std::get_if<LayersCell>(&model)) return of_toy->bytes(ranks);
  return memory_of(std::get<DecoderCell>(model).settings(0)).all();
}

const std::vector<Axis>& tensor_axes() {
  static const std::vector<Axis> axes = make_tensor_axes();
  return axes;
}

bool is_redundant_tensor_cell(const Cell& cell) {
  const std::string_view pass = cell.text("pass"), tokens = cell.text("tokens");
  if (is_toy(cell)) {
    return (pass != undecided && pass != "forward") || (tokens != undecided && tokens != none) ||
           cell.text("hidden") == "own" || cell.text("quantization") != none ||
           cell.text(cache_axis) == "fp8";
  }
  return pass == "forward" || tokens == none;
}

std::vector<Cell> expand_tensor_cell(const Cell& cell, const Device& device, const Team& team) {
  const bool large = suits_large_work(device.facts());
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, std::string_view value) {
    if (decided.text(axis) == undecided) decided = with_value(decided, axis, value);
  };
  if (is_toy(cell)) {
    decide("pass", "forward");
    decide("tokens", none);
    decide("precision", "f32");
  } else {
    decide("pass", "decode");
    const char* const of_gpu = decided.text("pass") == "prompt" ? "2048" : "1024";
    decide("tokens", large ? of_gpu : "64");
    decide("precision", large ? "bf16" : "f32");
    decided = with_value(decided, "hidden", "own");
  }
  // Cells without a cache of codes are those of records from before this axis.
  if (decided.text(cache_axis) == undecided) decided = without_axis(decided, cache_axis);
  const std::string_view best = best_communicator_kind(device, team);
  std::vector<int> numbers;
  if (cell.text("ranks") == powers) {
    for (int i = 1; i < team.size(); i *= 2) numbers.push_back(i);
  }
  const bool of_team = cell.text("ranks") == powers || cell.text("ranks") == "all";
  numbers.push_back(of_team ? team.size() : static_cast<int>(cell.integer("ranks")));
  std::vector<Cell> cells;
  for (const int ranks : numbers) {
    const std::vector<Cell> more = with_batches(with_number_of_ranks(decided, ranks, best), large);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  return cells;
}

Result<TensorCell> parse_tensor_cell(const Cell& cell, const Device& device) {
  for (const Axis& axis : tensor_axes()) {
    const std::string_view value = cell.text(axis.name);
    if (value != undecided) continue;
    return Error{ErrorKind::unsupported,
                 axis.name == "library" ? std::string("this build has no collective library for "
                                                      "this device")
                                        : fmt::format("{} is not decided yet", axis.name)};
  }
  TensorCell parsed;
  parsed.ranks = static_cast<int>(cell.integer("ranks"));
  parsed.library = cell.text("library");
  parsed.graph = cell.text("launch") == "graph";
  if (is_toy(cell)) {
    parsed.model = TRY(parse_toy(cell, parsed.ranks));
  } else {
    parsed.model = TRY(parse_decoder(cell, parsed.ranks, device));
  }
  return parsed;
}

}  // namespace assay
