#include "measure/benchmarks/decode/decoder_benchmark.h"

#include <fmt/format.h>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/benchmarks/decode/token_ids.h"
#include "model/transformer/decoder_config.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

constexpr std::string_view chosen_by_device = "auto";
constexpr std::string_view random_numbers = "random";
constexpr std::string_view no_adapter = "none";
constexpr std::string_view prompt_attention_axis = "attention";
constexpr std::string_view cache_axis = "cache";
constexpr std::size_t most_tokens_of_sequence = 1 << 20;

/// Why the vendor's library cannot compute attention of the cell's prompts; empty: it can.
std::optional<std::string> library_cannot(const DecoderCell& cell, const DeviceFacts& facts) {
  const TransformerShape& shape = cell.shape;
  return library_prompts_unsupported(
      facts, {cell.precision, shape.heads, shape.kv_heads, shape.head_width}, cell.tokens,
      cell.batch);
}

PromptWay prompt_way(std::string_view attention) {
  if (attention == "library") return PromptWay::library;
  return attention == "own" ? PromptWay::own : PromptWay::best;
}

/// The value of an axis that names a file or folder; empty if it names none.
std::filesystem::path path_in(const Cell& cell, std::string_view axis) {
  const std::string_view value = cell.text(axis);
  return value == random_numbers || value == no_adapter || value == "no" ? "" : value;
}

Status check_decoder_model(std::string_view text) {
  TRY(parse_decoder_shape(text));
  return {};
}

std::vector<Axis> decoder_axes(DecoderPhase phase, Axis tokens) {
  const std::string automatic(chosen_by_device);
  std::vector<std::string> models = {automatic};
  models.insert(models.end(), decoder_names().begin(), decoder_names().end());
  tokens.kind = Axis::Kind::integer;
  tokens.defaults = {automatic};
  tokens.choices = {automatic};
  tokens.least = 2;
  tokens.most = most_tokens_of_sequence;
  std::vector<Axis> axes = {
      {.name = "model",
       .description =
           "whose shapes it has; auto: those of the weights, or llama3-8b on a GPU, a million "
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
      {.name = "weights",
       .description = "random ones from the seed, or those of a model in Hugging Face's format: "
                      "config.json and safetensors",
       .kind = Axis::Kind::text,
       .defaults = {std::string(random_numbers)},
       .choices = {std::string(random_numbers)},
       .check = any_path,
       .allowed = "a folder"},
      {.name = "adapter",
       .description = "a LoRA adapter in PEFT's format, which is added to the weights of a folder",
       .kind = Axis::Kind::text,
       .defaults = {std::string(no_adapter)},
       .choices = {std::string(no_adapter)},
       .check = any_path,
       .allowed = "a folder"},
      {.name = "quantization",
       .description =
           "matrices of layers and the head as fp8 (e4m3) or int8, with a factor per row; fp8 "
           "quantizes what products read, too, where that is faster, fp8-weights never",
       .defaults = {"none"},
       .choices = quantization_names()},
      {.name = std::string(cache_axis),
       .description = "of keys and values: fp8 (e4m3), a factor per token and head; auto: as "
                      "precision",
       .defaults = {automatic},
       .choices = cache_type_names()},
  };
  if (phase == DecoderPhase::decode) {
    axes.push_back({.name = "generate",
                    .description = "tokens of each sequence in a sample, one after another, the "
                                   "last with this context; the value is the time of one",
                    .kind = Axis::Kind::integer,
                    .defaults = {"1"},
                    .choices = {},
                    .most = most_tokens_of_sequence});
    return axes;
  }
  axes.push_back({.name = std::string(prompt_attention_axis),
                  .description = "library: the vendor's (cuDNN; AITER, some prompts); own: assay's "
                                 "kernels; auto: library, where it can, as the note says",
                  .defaults = {automatic},
                  .choices = {automatic, "library", "own"}});
  axes.push_back({.name = "tokens",
                  .description =
                      "of the prompts: random ones, or ids as text, which every sequence "
                      "begins with",
                  .kind = Axis::Kind::text,
                  .defaults = {std::string(random_numbers)},
                  .choices = {std::string(random_numbers)},
                  .check = any_path,
                  .allowed = "a file"});
  axes.push_back({.name = "logits",
                  .description =
                      "safetensors to write when the cell ends: \"logits\" of every token "
                      "of the first sequence, f32, and \"tokens\"",
                  .kind = Axis::Kind::text,
                  .defaults = {"no"},
                  .choices = {"no"},
                  .check = any_path,
                  .allowed = "a file",
                  .is_written = true});
  return axes;
}

}  // namespace

DecoderBenchmark::DecoderBenchmark(DecoderPhase phase, std::string name, std::string summary,
                                   Axis tokens_axis)
    : phase_(phase),
      name_(std::move(name)),
      summary_(std::move(summary)),
      tokens_axis_(tokens_axis.name),
      axes_(decoder_axes(phase, std::move(tokens_axis))) {}

std::vector<Cell> DecoderBenchmark::expand(const Cell& cell, const Device& device,
                                           const Team&) const {
  const bool large = suits_large_work(device.facts());
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, const char* on_gpu, const char* otherwise) {
    if (decided.text(axis) != chosen_by_device) return;
    decided = with_value(decided, axis, large ? on_gpu : otherwise);
  };
  const std::filesystem::path folder = path_in(cell, "weights");
  if (folder.empty()) decide("model", "llama3-8b", "2L4H2K64D192C512F4096V");
  // Without a readable shape the axis stays undecided, and prepare() reports why.
  const auto shape =
      folder.empty() ? parse_decoder_shape(decided.text("model")) : read_decoder_config(folder);
  if (shape.ok() && decided.text("model") == chosen_by_device) {
    decided = with_value(decided, "model", decoder_shape_text(*shape));
  }
  const auto decide_tokens = [&](std::int64_t on_gpu, std::int64_t otherwise) {
    if (decided.text(tokens_axis_) != chosen_by_device) return;
    std::int64_t tokens = large ? on_gpu : otherwise;
    if (shape.ok()) tokens = within_positions(*shape, tokens);
    decided = with_value(decided, tokens_axis_, std::to_string(tokens));
  };
  if (phase_ == DecoderPhase::decode) {
    decide_tokens(1024, 64);
  } else if (path_in(cell, "tokens").empty()) {
    decide_tokens(2048, 64);
  } else if (cell.text(tokens_axis_) == chosen_by_device) {
    if (const auto ids = read_token_ids(path_in(cell, "tokens"), most_tokens_of_sequence);
        ids.ok()) {
      decided = with_value(decided, tokens_axis_, std::to_string(ids->size()));
    }
  }
  decide("precision", "bf16", "f32");
  // Cells without an adapter or a cache of codes are those of records from before these axes.
  if (decided.text("adapter") == no_adapter) decided = without_axis(decided, "adapter");
  if (decided.text(cache_axis) == chosen_by_device) decided = without_axis(decided, cache_axis);
  return {decided};
}

Result<DecoderCell> DecoderBenchmark::decided(const Cell& cell, const Device& device) const {
  // An axis that a file should have decided is undecided: return the file's own error.
  if (cell.text("model") == chosen_by_device && !path_in(cell, "weights").empty()) {
    TRY(read_decoder_config(path_in(cell, "weights")));
  }
  if (phase_ == DecoderPhase::prefill && cell.text(tokens_axis_) == chosen_by_device &&
      !path_in(cell, "tokens").empty()) {
    TRY(read_token_ids(path_in(cell, "tokens"), most_tokens_of_sequence));
  }
  for (const Axis& axis : axes_) {
    // Only its plans show whether the library can compute the prompts; a note of the record names
    // the implementation used.
    if (axis.name == prompt_attention_axis || axis.name == cache_axis) continue;
    if (cell.text(axis.name) == chosen_by_device) {
      return Error{ErrorKind::usage, fmt::format("{} is not decided yet", axis.name)};
    }
  }
  return parse(cell, device);
}

Result<DecoderCell> DecoderBenchmark::parse(const Cell& cell, const Device& device) const {
  DecoderCell parsed;
  parsed.phase = phase_;
  parsed.folder = path_in(cell, "weights");
  parsed.adapter = path_in(cell, "adapter");
  const std::string_view model = cell.text("model");
  if (parsed.folder.empty() && !parsed.adapter.empty()) {
    return Error{ErrorKind::usage, "an adapter belongs to a model's weights; set weights=FOLDER"};
  }
  if (parsed.folder.empty()) {
    parsed.shape = TRY(parse_decoder_shape(model));
  } else {
    parsed.shape = TRY(read_decoder_config(parsed.folder));
    if (const Status same = check_decoder_shape(parsed.shape, model); !same.ok()) {
      return Error{same.error().kind,
                   fmt::format("weights={}: {}", parsed.folder.string(), same.error().message)};
    }
  }
  parsed.precision = cell.text("precision") == "bf16" ? DataType::bf16 : DataType::f32;
  parsed.quantization = quantization_named(cell.text("quantization"), device.facts());
  if (parsed.quantization.codes) TRY(validate_quantized(parsed.shape));
  parsed.cache_codes = cache_codes_named(cell.text(cache_axis), device.facts());
  parsed.batch = static_cast<std::int64_t>(cell.integer("batch"));
  if (phase_ == DecoderPhase::prefill) {
    parsed.attention = prompt_way(cell.text(prompt_attention_axis));
    parsed.logits = path_in(cell, "logits");
    const std::filesystem::path tokens = path_in(cell, "tokens");
    if (!tokens.empty()) parsed.text = TRY(read_token_ids(tokens, most_tokens_of_sequence));
    if (parsed.text.size() == 1) {
      return Error{ErrorKind::usage,
                   fmt::format("{} has 1 token; allowed: 2 or more", tokens.string())};
    }
    for (const std::int32_t id : parsed.text) {
      if (id < parsed.shape.vocabulary) continue;
      return Error{ErrorKind::usage, fmt::format("{}: token {}, the model has {}", tokens.string(),
                                                 id, parsed.shape.vocabulary)};
    }
  }
  parsed.tokens = static_cast<std::int64_t>(cell.integer(tokens_axis_));
  TRY(check_positions(parsed.shape, tokens_axis_ + "=", parsed.tokens));
  if (phase_ == DecoderPhase::decode) {
    parsed.generated = static_cast<std::int64_t>(cell.integer("generate"));
    if (parsed.generated > parsed.tokens) {
      return Error{ErrorKind::usage, fmt::format("generate={} {}={}, allowed: no more than that",
                                                 parsed.generated, tokens_axis_, parsed.tokens)};
    }
  }
  if (!parsed.text.empty() && std::ssize(parsed.text) != parsed.tokens) {
    return Error{ErrorKind::usage,
                 fmt::format("{}={}, but the file has {} tokens; leave {} out", tokens_axis_,
                             parsed.tokens, parsed.text.size(), tokens_axis_)};
  }
  return parsed;
}

bool DecoderBenchmark::names_files(const Cell& cell) const {
  return !path_in(cell, "weights").empty() || !path_in(cell, "adapter").empty() ||
         (phase_ == DecoderPhase::prefill && !path_in(cell, "tokens").empty());
}

std::optional<std::string> DecoderBenchmark::unsupported(const Cell& cell,
                                                         const Device& device) const {
  const auto parsed = decided(cell, device);
  // A wrong file is an error that prepare() reports. It does not mean that the device lacks
  // something.
  if (!parsed.ok() && names_files(cell)) return std::nullopt;
  if (!parsed.ok()) return parsed.error().message;
  // Every token of a pass is a row of a grid.
  constexpr std::int64_t most_tokens = 1 << 24;
  if (parsed->batch > most_tokens / parsed->tokens) {
    return fmt::format("batch={} {}={}: {} tokens at most are allowed", parsed->batch, tokens_axis_,
                       parsed->tokens, most_tokens);
  }
  if (parsed->attention == PromptWay::library) {
    if (const auto reason = library_cannot(*parsed, device.facts())) {
      return "attention=library: " + *reason;
    }
  }
  const std::uint64_t needed = memory_of(parsed->settings(0)).all();
  const std::uint64_t most = device.facts().memory_bytes;
  if (most == 0 || needed <= most) return std::nullopt;
  return fmt::format("needs {}, the device has {}", format_memory(needed), format_memory(most));
}

Status DecoderBenchmark::check_files(const Cell& cell, const Device& device, const Team&) const {
  const auto parsed = decided(cell, device);
  return parsed.ok() ? Status() : Status(parsed.error());
}

std::string DecoderBenchmark::requirements(const Cell& cell, const Device& device) const {
  const auto parsed = decided(cell, device);
  if (!parsed.ok()) return "";
  const DecoderMemory memory = memory_of(parsed->settings(0));
  return fmt::format("{} of memory: weights {}, cache {}, activations {}",
                     format_memory(memory.all()), format_memory(memory.weights),
                     format_memory(memory.cache), format_memory(memory.activations));
}

Result<std::unique_ptr<Case>> DecoderBenchmark::prepare(const Cell& cell,
                                                        PrepareContext context) const {
  DecoderCell decided_cell = TRY(decided(cell, context.device));
  decided_cell.graph = !context.repeatable;
  return prepare_decoder_case(decided_cell, context);
}

}  // namespace assay
