#include "measure/benchmarks/finetune/finetune_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compute/device/helpers.h"
#include "measure/benchmarks/finetune/finetune_model.h"
#include "model/training/fp8_layout.h"
#include "model/transformer/decoder_config.h"
#include "model/transformer/lora.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

constexpr const char* decided_later = "auto";
constexpr const char* of_no_adapter = "none";
constexpr const char* random_weights_of_model = "random";
constexpr const char* no_epochs = "none";
constexpr const char* synthetic_documents_only = "synthetic";
constexpr const char* fp8_products = "fp8";
constexpr const char* small_decoder = "2L4H2K32D128C512V";  // for CPUs

Status check_decoder(std::string_view text) {
  const auto shape = parse_decoder_shape(text);
  return shape.ok() ? Status() : Status(shape.error());
}

Status check_alpha(std::string_view text) {
  char* end = nullptr;
  const std::string copy(text);
  const double alpha = std::strtod(copy.c_str(), &end);
  if (!copy.empty() && *end == '\0' && alpha > 0 && alpha <= most_lora_alpha) return {};
  return Error{ErrorKind::usage,
               fmt::format("\"{}\" is no alpha; allowed: above 0 up to {}", text, most_lora_alpha)};
}

Status check_targets(std::string_view text) {
  const auto targets = parse_lora_targets(text);
  return targets.ok() ? Status() : Status(targets.error());
}

std::vector<Axis> make_finetune_axes() {
  std::vector<std::string> models = {decided_later};
  models.insert(models.end(), decoder_names().begin(), decoder_names().end());
  std::vector<Axis> axes = {
      {.name = "model",
       .description = "a Llama or Qwen; auto: that of the weights, else qwen3-0.6b on a GPU and a "
                      "small one on a CPU",
       .kind = Axis::Kind::text,
       .defaults = {decided_later},
       .choices = models,
       .check = check_decoder,
       .allowed = "or numbers with letters: 2L4H2K64D256C has 2 layers, 4 heads, 2 heads of keys, "
                  "64 wide, and width 256"},
      {.name = "weights",
       .description = "random ones, or a folder of a model in Hugging Face's format",
       .kind = Axis::Kind::text,
       .defaults = {random_weights_of_model},
       .choices = {random_weights_of_model},
       .check = any_path,
       .allowed = "a folder"},
      {.name = "mode",
       .description = "full: all parameters are trained; lora: adapters of matrices, beside frozen "
                      "parameters",
       .defaults = {"full"},
       .choices = {"full", "lora"}},
      {.name = "rank",
       .description = "rank of adapters; auto: 16; none: mode=full",
       .kind = Axis::Kind::integer,
       .defaults = {decided_later},
       .choices = {decided_later, of_no_adapter},
       .most = 1024},
      {.name = "alpha",
       .description = "adapters are scaled by alpha / rank; auto: twice the rank",
       .kind = Axis::Kind::text,
       .defaults = {decided_later},
       .choices = {decided_later, of_no_adapter},
       .check = check_alpha,
       .allowed = fmt::format("above 0 up to {}", most_lora_alpha)},
      {.name = "targets",
       .description = "matrices with adapters; torchtune: q, v, o and the perceptron; trl: q and "
                      "v; auto: all",
       .kind = Axis::Kind::text,
       .defaults = {decided_later},
       .choices = {decided_later, of_no_adapter, "torchtune", "trl", "all"},
       .check = check_targets,
       .allowed = "or some of q, k, v, o, gate, up, down, joined by +"},
      {.name = "data",
       .description = "synthetic documents, or a JSONL file of messages, instructions or texts",
       .kind = Axis::Kind::text,
       .defaults = {synthetic_documents_only},
       .choices = {synthetic_documents_only},
       .check = any_path,
       .allowed = "a file"},
      {.name = "template",
       .description = "chat template of the data; auto: that of the weights' folder",
       .defaults = {decided_later},
       .choices = {decided_later, "chatml", "llama3", "alpaca"}},
      {.name = "loss",
       .description = "what of the data has a loss: replies, or all tokens",
       .defaults = {"replies"},
       .choices = {"replies", "tokens"}},
      {.name = "packing",
       .description = "documents: many in a row, attention within them; causal: many in a row, "
                      "which is one sequence; none: one in a row, then padding",
       .defaults = {"documents"},
       .choices = {"documents", "causal", "none"}},
  };
  for (Axis& axis :
       axes_of_training({"batch",      "sequence",  "precision", "states",  "optimizer",
                         "accumulate", "recompute", "attention", "ranks",   "scaling",
                         "parallel",   "sums",      "bucket",    "library", "graph",
                         "clip",       "rate",      "steps",     "from",    "save"})) {
    axes.push_back(std::move(axis));
  }
  const auto axis_named = [&](std::string_view name) -> Axis& {
    return *std::ranges::find(axes, name, &Axis::name);
  };
  const auto after_precision = std::ranges::find(axes, "precision", &Axis::name) + 1;
  axes.insert(after_precision,
              {.name = "products",
               .description = "type in which blocks' matrices are multiplied; fp8: e4m3, and e5m2 "
                              "for gradients, with a factor of each tensor, beside "
                              "precision=bf16; auto: that of precision",
               .defaults = {decided_later},
               .choices = {decided_later, "f32", "tf32", "bf16", "f16", "fp8"}});
  Axis& states = axis_named("states");
  states.description += "; auto: stochastic for mode=full in bf16, else master";
  states.defaults = {decided_later};
  states.choices.insert(states.choices.begin(), decided_later);
  axis_named("rate").description =
      "highest learning rate, see schedule; auto: 1e-5 for weights of a folder, 3e-4 for random "
      "ones, and ten times as much for adapters, at most 1e-3";
  axes.push_back({.name = "schedule",
                  .description =
                      "the learning rate rises over 10 steps; then cosine: to a tenth at "
                      "step 10,000; linear: to 0 after the last of the given steps or epochs; "
                      "constant: it stays",
                  .defaults = {"cosine"},
                  .choices = {"cosine", "linear", "constant"}});
  axes.push_back({.name = "epochs",
                  .description = "how often the documents of a file are trained on; none: steps "
                                 "decides",
                  .kind = Axis::Kind::integer,
                  .defaults = {no_epochs},
                  .choices = {no_epochs},
                  .most = 10'000});
  axes.push_back({.name = "eval",
                  .description = "steps between evaluations of documents that no step trains on; "
                                 "end: only after the last step",
                  .kind = Axis::Kind::integer,
                  .defaults = {"end"},
                  .choices = {"end"},
                  .most = 1'000'000});
  axes.push_back({.name = "output",
                  .description = "folder for the trained weights in Hugging Face's format (with "
                                 "weights of a folder), or for the adapter as PEFT has it",
                  .kind = Axis::Kind::text,
                  .defaults = {"no"},
                  .choices = {"no"},
                  .check = any_path,
                  .allowed = "a folder",
                  .is_written = true});
  return axes;
}

bool has_folder(const Cell& cell) {
  return cell.text("weights") != random_weights_of_model;
}

Result<TransformerShape> shape_of(const Cell& cell) {
  if (!has_folder(cell)) return parse_decoder_shape(cell.text("model"));
  const TransformerShape shape = TRY(read_decoder_config(std::string(cell.text("weights"))));
  if (cell.text("model") != decided_later) TRY(check_decoder_shape(shape, cell.text("model")));
  return shape;
}

Result<std::optional<LoraSettings>> parse_lora(const Cell& cell) {
  const bool lora = cell.text("mode") == "lora";
  for (const char* axis : {"rank", "alpha", "targets"}) {
    const std::string_view value = cell.text(axis);
    if ((value != of_no_adapter) == lora) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{}={} is for mode={}; allowed with mode={}: auto or {}", axis, value,
                             lora ? "full" : "lora", lora ? "lora" : "full",
                             lora ? "a value" : of_no_adapter)};
  }
  if (!lora) return std::optional<LoraSettings>();
  return std::optional<LoraSettings>(
      LoraSettings{.rank = static_cast<std::int64_t>(cell.integer("rank")),
                   .alpha = std::strtod(std::string(cell.text("alpha")).c_str(), nullptr),
                   .targets = TRY(parse_lora_targets(cell.text("targets")))});
}

/// How long the training lasts, as far as its data and its learning rate depend on that.
Status read_length(const Cell& cell, FinetuneData& data) {
  const bool has_steps = cell.text("steps") != decided_later;
  if (cell.text("epochs") != no_epochs) {
    data.epochs = static_cast<std::int64_t>(cell.integer("epochs"));
    if (data.file.empty() || has_steps) {
      return Error{ErrorKind::usage,
                   fmt::format("epochs={} is for data=FILE without steps", *data.epochs)};
    }
  } else if (has_steps) {
    data.steps = static_cast<std::int64_t>(cell.integer("steps") + steps_before_timed);
  }
  if (cell.text("schedule") != "linear") return {};
  if (!data.epochs && !has_steps) {
    return Error{ErrorKind::usage,
                 "schedule=linear ends at a known step; give steps=N, or epochs=N with data=FILE"};
  }
  if (has_steps && cell.text("from") != "start") {
    return Error{ErrorKind::usage,
                 "schedule=linear counts steps from the start of the training; with from=FILE give "
                 "epochs=N"};
  }
  data.linear_rate = std::strtof(std::string(cell.text("rate")).c_str(), nullptr);
  return {};
}

Packing parse_packing(std::string_view name) {
  return name == "causal" ? Packing::causal : name == "none" ? Packing::none : Packing::documents;
}

const char* usual_finetune_rate(const Cell& cell) {
  if (cell.text("optimizer") == "sgd") return "0.1";
  const bool lora = cell.text("mode") == "lora";
  if (has_folder(cell)) return lora ? "1e-4" : "1e-5";
  return lora ? "1e-3" : "3e-4";
}

}  // namespace

const std::vector<Axis>& finetune_axes() {
  static const std::vector<Axis> axes = make_finetune_axes();
  return axes;
}

Cell decide_finetune_cell(const Cell& cell, const DeviceFacts& facts) {
  const bool on_cpu = !suits_large_work(facts);
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, const std::string& value) {
    if (decided.text(axis) == decided_later) decided = with_value(decided, axis, value);
  };
  if (!has_folder(decided)) decide("model", on_cpu ? small_decoder : "qwen3-0.6b");
  const auto shape = shape_of(decided);
  if (shape.ok()) decide("model", decoder_shape_text(*shape));
  const bool lora = decided.text("mode") == "lora";
  if (lora) {
    decide("rank", "16");
    decide("targets", "all");
    if (decided.text("rank") != of_no_adapter) {
      decide("alpha", std::to_string(2 * decided.integer("rank")));
    }
  } else {
    for (const char* axis : {"rank", "alpha", "targets"}) decide(axis, of_no_adapter);
  }
  decide("batch", on_cpu ? "4" : "1");
  const std::int64_t usual_sequence = on_cpu ? 128 : 8192;
  decide("sequence",
         std::to_string(shape.ok() ? within_positions(*shape, usual_sequence) : usual_sequence));
  const std::string products(decided.text("products"));
  decide("precision", products == fp8_products    ? "bf16"
                      : products != decided_later ? products
                      : on_cpu                    ? "f32"
                                                  : "bf16");
  const std::string precision(decided.text("precision"));
  decide("products", precision);
  decide("states", precision == "bf16" && !lora ? "stochastic" : "master");
  decide("rate", usual_finetune_rate(decided));
  decide("sums", precision == "tf32" ? "f32" : precision);
  if (decided.text("attention") == decided_later) {
    decided = with_best_attention(decided, facts, parse_finetune_cell);
  }
  return decided;
}

Result<TrainCell> parse_finetune_cell(const Cell& cell) {
  const TransformerShape shape = TRY(shape_of(cell));
  TransformerSettings settings = TRY(parse_transformer(cell, shape));
  settings.plan.lora = TRY(parse_lora(cell));
  if (settings.plan.lora) TRY(validate(*settings.plan.lora, settings.plan.shape));
  settings.plan.fp8 = cell.text("products") == fp8_products;
  if (!settings.plan.fp8 && cell.text("products") != cell.text("precision")) {
    return Error{ErrorKind::usage,
                 fmt::format("products={} is not for precision={}; allowed: auto, or fp8 with "
                             "precision=bf16",
                             cell.text("products"), cell.text("precision"))};
  }
  TRY(validate_fp8(settings.plan));
  if (has_folder(cell)) settings.weights = std::string(cell.text("weights"));
  if (cell.text("schedule") == "constant") {
    constexpr std::size_t warm_up_steps = 10;
    settings.rates.resize(warm_up_steps + 1);
  }
  const Packing packing = parse_packing(cell.text("packing"));
  settings.plan.documents = packing == Packing::documents;
  const std::string output = cell.text("output") != "no" ? std::string(cell.text("output")) : "";
  if (!output.empty() && settings.weights.empty()) {
    return Error{
        ErrorKind::usage,
        fmt::format("output={} is for weights=FOLDER, to which an adapter belongs and whose "
                    "configuration trained weights need",
                    output)};
  }
  FinetuneData data = {.packing = packing, .batch_cuts = batch_cuts(cell)};
  if (cell.text("data") != synthetic_documents_only) data.file = cell.text("data");
  if (cell.text("template") != decided_later) data.chat_template = cell.text("template");
  data.loss_on_all = cell.text("loss") == "tokens";
  TRY(read_length(cell, data));
  TrainCell parsed =
      TRY(complete_train_cell(finetune_model(std::move(settings), std::move(data)), cell));
  parsed.data = cell.text("data");
  parsed.output = output;
  if (const int alone = parsed.model->parallel().replicas; !output.empty() && alone > 1) {
    return Error{
        ErrorKind::usage,
        fmt::format("output={} would be written by {} ranks that train alone; allowed with "
                    "ranks=1, or parallel=ddp, zero1, fsdp",
                    output, alone)};
  }
  if (cell.text("eval") != "end") parsed.steps_between_evaluations = cell.integer("eval");
  return parsed;
}

}  // namespace assay
