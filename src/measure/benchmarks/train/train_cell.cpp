#include "measure/benchmarks/train/train_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "compute/device/helpers.h"
#include "core/disk_room.h"
#include "core/units.h"
#include "measure/benchmarks/attention/attention_ways.h"
#include "measure/benchmarks/collective/collective_cell.h"
#include "measure/benchmarks/train/train_choice.h"
#include "model/training/checkpoint.h"
#include "model/transformer/named_shapes.h"
#include "ranks/collective/communicators.h"

namespace assay {
namespace {

constexpr std::string_view by_device = "auto";
constexpr std::string_view all_powers = "powers";
constexpr std::string_view fastest_library = "fastest";
constexpr const char* small_model = "4L4H128C256V";  // a million parameters, for CPUs
constexpr std::int64_t bytes_vocabulary = 256;

Status check_model(std::string_view text) {
  if (is_mlp(text)) {
    const auto shape = parse_mlp_shape(text);
    return shape.ok() ? Status() : Status(shape.error());
  }
  const auto shape = parse_shape(text);
  if (shape.ok()) return {};
  return Error{shape.error().kind,
               shape.error().message + "; or a perceptron: mlp, or widths such as 784-512-16"};
}

Status check_rate(std::string_view text) {
  char* end = nullptr;
  const std::string copy(text);
  const double rate = std::strtod(copy.c_str(), &end);
  if (!copy.empty() && *end == '\0' && rate > 0 && rate <= 1) return {};
  return Error{
      ErrorKind::usage,
      fmt::format("\"{}\" is not a learning rate; allowed: above 0 up to 1, e.g. 6e-4", text)};
}

std::vector<std::string> libraries_of_training() {
  std::vector<std::string> choices = library_choices();
  choices.emplace_back(fastest_library);
  choices.emplace_back("none");
  return choices;
}

std::vector<Axis> make_train_axes() {
  std::vector<std::string> models = {std::string(by_device)};
  models.insert(models.end(), gpt_names().begin(), gpt_names().end());
  models.insert(models.end(), decoder_names().begin(), decoder_names().end());
  models.emplace_back("mlp");
  return {
      {.name = "model",
       .description = "size of a GPT, a Llama or Qwen, or mlp, a perceptron of three layers, "
                      "4096-8192-8192-4096; auto: 124M on a GPU, a million parameters on a CPU",
       .kind = Axis::Kind::text,
       .defaults = {std::string(by_device)},
       .choices = models,
       .check = check_model,
       .allowed =
           "or numbers with letters: 6L6H384C is a GPT of 6 layers, 6 heads, width 384 (also F "
           "hidden width, V vocabulary), 2L4H2K64D256C a Llama with 2 heads of keys, 64 wide; or "
           "the widths of a perceptron: 784-512-16"},
      {.name = "batch",
       .description = "sequences or, of a perceptron, samples of one pass",
       .kind = Axis::Kind::integer,
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device)},
       .most = 65536},
      {.name = "sequence",
       .description = "tokens of a sequence",
       .kind = Axis::Kind::integer,
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device)},
       .most = 1 << 20},
      {.name = "precision",
       .description = "f32 and tf32: everything in f32, products rounded to tf32; bf16, f16: "
                      "weights, gradients and activations in it, with a loss scale in f16; auto: "
                      "bf16 on a GPU, f32 on a CPU",
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device), "f32", "tf32", "bf16", "f16"}},
      {.name = "states",
       .description =
           "master: f32 moments and, beside bf16 and f16, f32 master weights; stochastic: "
           "bf16 moments and weights, rounded stochastically",
       .defaults = {"master"},
       .choices = {"master", "stochastic"}},
      {.name = "optimizer",
       .description = "adamw, or sgd, gradient descent without moments",
       .defaults = {"adamw"},
       .choices = {"adamw", "sgd"}},
      {.name = "accumulate",
       .description = "passes whose gradients make one update",
       .kind = Axis::Kind::integer,
       .defaults = {"1"},
       .choices = {},
       .most = 1024},
      {.name = "recompute",
       .description = "what backward computes again instead of keeping it",
       .defaults = {"none"},
       .choices = {"none", "gelu", "selective", "perceptron", "layer"}},
      attention_axis(),
      {.name = "ranks",
       .description = "how many ranks train together; all: the whole team; powers: 1, 2, 4 and so "
                      "on up to the whole team, one after the other",
       .kind = Axis::Kind::integer,
       .defaults = {"all"},
       .choices = {"all", std::string(all_powers)},
       .most = 65536},
      {.name = "scaling",
       .description = "weak: batch is that of each rank; strong: of all ranks together, which cut "
                      "it; none: one rank alone",
       .defaults = {"weak"},
       .choices = {"weak", "strong", "none"}},
      {.name = "parallel",
       .description =
           "how they do: ddp adds gradients up, zero1 also cuts what the optimizer keeps "
           "into slices, fsdp everything; none: each trains alone, all at the same time",
       .defaults = {"ddp"},
       .choices = {"ddp", "zero1", "fsdp", "none"}},
      {.name = "sums",
       .description = "type in which gradients are added up over ranks; auto: that of gradients; "
                      "none: ranks that train alone",
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device), "f32", "bf16", "f16", "none"}},
      {.name = "bucket",
       .description = "least bytes of gradients that are sent together; auto: 8 to 128 MiB, the "
                      "fastest, measured once and remembered; none: ranks that train alone",
       .kind = Axis::Kind::size,
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device), "none"}},
      {.name = "library",
       .description =
           "what ranks talk through; auto: nccl for NVIDIA, rccl for AMD, mpi for CPUs "
           "under mpirun, else tcp; fastest: that or peer, measured once and remembered; "
           "none: ranks that train alone",
       .defaults = {std::string(by_device)},
       .choices = libraries_of_training()},
      {.name = "graph",
       .description = "whether a step is one replayed graph or single launches",
       .defaults = {"on"},
       .choices = {"on", "off"}},
      {.name = "bias",
       .description = "whether the matrices of blocks and layers have those biases that belong to "
                      "the model",
       .defaults = {"on"},
       .choices = {"on", "off"}},
      {.name = "clip",
       .description = "whether gradients are limited to a norm of 1",
       .defaults = {"on"},
       .choices = {"on", "off"}},
      {.name = "rate",
       .description =
           "highest learning rate, after a warm-up of 10 steps; then a cosine to a tenth "
           "of it at step 10,000; auto: by the size of the model, 0.1 for sgd",
       .kind = Axis::Kind::text,
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device)},
       .check = check_rate,
       .allowed = "above 0 up to 1"},
      {.name = "steps",
       .description = "timed steps, after 4 others; auto: until their time is precise",
       .kind = Axis::Kind::integer,
       .defaults = {std::string(by_device)},
       .choices = {std::string(by_device)},
       .most = 1'000'000},
      {.name = "data",
       .description = "tokens with a rule to learn, made from the seed, or those of a file",
       .kind = Axis::Kind::text,
       .defaults = {"synthetic"},
       .choices = {"synthetic"},
       .check = any_path,
       .allowed = "a file"},
      {.name = "tokens",
       .description =
           "how the file stores a token: a byte of text, or numbers as nanoGPT and llm.c "
           "write them",
       .defaults = {"bytes"},
       .choices = {"bytes", "u16", "u32"}},
      {.name = "from",
       .description = "checkpoint with which training goes on",
       .kind = Axis::Kind::text,
       .defaults = {"start"},
       .choices = {"start"},
       .check = any_path,
       .allowed = "a file"},
      {.name = "save",
       .description = "checkpoint to write when the cell ends, also after Ctrl-C",
       .kind = Axis::Kind::text,
       .defaults = {"no"},
       .choices = {"no"},
       .check = any_path,
       .allowed = "a file",
       .is_written = true},
  };
}

/// The default batch: that of the table in docs/training.md for the models listed there, otherwise
/// 8.
std::int64_t usual_batch(std::string_view model) {
  constexpr std::pair<std::string_view, std::int64_t> known[] = {
      {"30M", 32}, {"124M", 16}, {"354M", 8}, {"773M", 4},
      {"1.5B", 4}, {"3B", 2},    {"7B", 8},   {"13B", 4}};
  for (const auto& [name, batch] : known) {
    if (model == name) return batch;
  }
  return is_mlp(model) ? 256 : 8;
}

/// The default learning rate; for GPTs that of the GPT-3 model of similar size (Brown et al. 2020,
/// table 2.1).
const char* usual_rate(const Cell& cell) {
  if (cell.text("optimizer") == "sgd") return "0.1";
  if (is_mlp(cell.text("model"))) return "3e-4";
  const auto shape = parse_shape(cell.text("model"));
  const double parameters = shape.ok() ? shape->parameters() : 0;
  constexpr std::pair<double, const char*> known[] = {{200e6, "6e-4"}, {500e6, "3e-4"},
                                                      {1e9, "2.5e-4"}, {2e9, "2e-4"},
                                                      {4e9, "1.6e-4"}, {9e9, "1.2e-4"}};
  for (const auto& [most, rate] : known) {
    if (parameters <= most) return rate;
  }
  return "1e-4";
}

std::int64_t usual_sequence(std::string_view model, bool on_cpu) {
  if (on_cpu) return 64;
  return model == "7B" || model == "13B" ? 1024 : 512;
}

Result<ParallelPlan> parse_parallel_plan(const Cell& cell, DataType type) {
  ParallelPlan plan;
  const int ranks = std::max(1, static_cast<int>(cell.integer("ranks")));
  if (cell.text("parallel") == "none") {
    plan.replicas = ranks;
    return plan;
  }
  plan.ranks = ranks;
  if (plan.ranks == 1) return plan;
  plan.sharding = cell.text("parallel") == "zero1"  ? Sharding::optimizer
                  : cell.text("parallel") == "fsdp" ? Sharding::parameters
                                                    : Sharding::none;
  const std::string_view sums = cell.text("sums");
  if (sums != "f32" && sums != name_of(type)) {
    return Error{
        ErrorKind::usage,
        fmt::format("sums={} is not for gradients of {}; allowed: f32{}", sums, name_of(type),
                    type == DataType::f32 ? "" : fmt::format(", {}", name_of(type)))};
  }
  plan.f32_sums = sums == "f32" && type != DataType::f32;
  if (cell.text("bucket") == "none") {
    return Error{ErrorKind::usage,
                 fmt::format("bucket=none is for ranks that train alone, not for parallel={}; "
                             "allowed: auto or bytes, such as 32MiB",
                             cell.text("parallel"))};
  }
  if (cell.text("bucket") != by_device) plan.bucket_bytes = cell.integer("bucket");
  return plan;
}

Result<ParameterPlan> parse_parameter_plan(const Cell& cell, DataType precision) {
  ParameterPlan plan;
  plan.type = precision == DataType::tf32 ? DataType::f32 : precision;
  const bool stochastic = cell.text("states") == "stochastic";
  if (stochastic && plan.type != DataType::bf16) {
    return Error{ErrorKind::usage,
                 fmt::format("states=stochastic is for precision=bf16, not {}; allowed: master",
                             cell.text("precision"))};
  }
  plan.states = stochastic ? OptimizerStates::stochastic : OptimizerStates::master;
  plan.optimizer = cell.text("optimizer") == "sgd" ? Optimizer::sgd : Optimizer::adamw;
  plan.parallel = TRY(parse_parallel_plan(cell, plan.type));
  return plan;
}

/// The batch of one pass on one rank.
Result<std::int64_t> parse_batch(const Cell& cell) {
  const auto batch = static_cast<std::int64_t>(cell.integer("batch"));
  const std::int64_t cuts = batch_cuts(cell);
  if (batch % cuts == 0) return batch / cuts;
  return Error{ErrorKind::usage,
               fmt::format("scaling=strong cuts a batch among ranks: batch={} is not a multiple "
                           "of ranks={}",
                           batch, cuts)};
}

TrainingSettings parse_settings(const Cell& cell) {
  TrainingSettings settings;
  settings.precision = *parse_data_type(cell.text("precision"));
  settings.accumulate = static_cast<std::int64_t>(cell.integer("accumulate"));
  settings.update.clip = cell.text("clip") == "on" ? 1.0f : 0.0f;
  constexpr std::int64_t warm_up_steps = 10, steps = 10000;
  settings.rates = warmup_and_cosine(std::strtof(std::string(cell.text("rate")).c_str(), nullptr),
                                     warm_up_steps, steps);
  return settings;
}

Result<std::unique_ptr<TrainModel>> parse_mlp(const Cell& cell) {
  for (const auto& [axis, usual] : {std::pair("sequence", "1"),
                                    {"recompute", "none"},
                                    {"attention", "auto"},
                                    {"data", "synthetic"},
                                    {"tokens", "bytes"}}) {
    if (cell.text(axis) == usual) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("{}={} is for transformers; model={} is a perceptron and has no such thing",
                    axis, cell.text(axis), cell.text("model"))};
  }
  MlpSettings settings;
  static_cast<TrainingSettings&>(settings) = parse_settings(cell);
  MlpPlan& plan = settings.plan;
  static_cast<ParameterPlan&>(plan) = TRY(parse_parameter_plan(cell, settings.precision));
  plan.shape = TRY(parse_mlp_shape(cell.text("model")));
  plan.shape.bias = cell.text("bias") == "on";
  plan.batch = TRY(parse_batch(cell));
  return train_mlp(std::move(settings), batch_cuts(cell));
}

Result<std::unique_ptr<TrainModel>> parse_gpt(const Cell& cell) {
  TransformerShape shape = TRY(parse_shape(cell.text("model")));
  if (cell.text("bias") == "off") shape.biases = Biases::none;
  TransformerSettings settings = TRY(parse_transformer(cell, shape));
  TokenSource source;
  source.data = cell.text("data");
  source.bytes_per_token = cell.text("tokens") == "u16" ? 2 : cell.text("tokens") == "u32" ? 4 : 1;
  // Text read as bytes needs a vocabulary of 256 only, unless the model names another one.
  const bool bytes = source.data != "synthetic" && source.bytes_per_token == 1;
  if (bytes && cell.text("model").find_first_of("Vv") == std::string_view::npos) {
    settings.plan.shape.vocabulary = bytes_vocabulary;
  }
  source.batch_cuts = batch_cuts(cell);
  return train_gpt(std::move(settings), std::move(source));
}

Cell with_ranks(const Cell& cell, int ranks, std::string_view library) {
  Cell decided = with_value(cell, "ranks", std::to_string(ranks));
  std::vector<const char*> unused;
  if (ranks == 1) unused = {"scaling", "parallel"};
  if (ranks == 1 || cell.text("parallel") == "none") {
    unused.insert(unused.end(), {"sums", "bucket", "library"});
  }
  for (const char* axis : unused) decided = with_value(decided, axis, "none");
  if (decided.text("library") == by_device && !library.empty()) {
    decided = with_value(decided, "library", std::string(library));
  }
  return decided;
}

}  // namespace

Status check_disk_room(const TrainCell& cell) {
  std::vector<PlannedFile> files;
  if (!cell.save.empty()) {
    const auto trained = static_cast<double>(cell.model->sections().back().end);
    files.push_back({cell.save, checkpoint_bytes(cell.model->plan_of_parameters(), trained)});
  }
  if (!cell.output.empty()) files.push_back({cell.output, cell.model->output_bytes()});
  return check_room(files);
}

const std::vector<Axis>& train_axes() {
  static const std::vector<Axis> axes = make_train_axes();
  return axes;
}

std::vector<Axis> axes_of_training(const std::vector<std::string>& names) {
  std::vector<Axis> axes;
  for (const std::string& name : names) {
    const auto axis = std::ranges::find(train_axes(), name, &Axis::name);
    if (axis != train_axes().end()) axes.push_back(*axis);
  }
  return axes;
}

Cell with_best_attention(const Cell& cell, const DeviceFacts& facts,
                         const std::function<Result<TrainCell>(const Cell&)>& parse) {
  for (const AttentionWay way : {best_library_way(facts), AttentionWay::own}) {
    const Cell candidate = with_value(cell, "attention", std::string(name_of(way)));
    const auto parsed = parse(candidate);
    if (!parsed.ok() || parsed->model->unsupported(facts)) continue;
    const bool fits =
        facts.memory_bytes == 0 || parsed->model->memory().total() <= facts.memory_bytes;
    if (fits || !is_by_library(way)) return candidate;
  }
  return with_value(cell, "attention", "plain");
}

std::int64_t batch_cuts(const Cell& cell) {
  return cell.text("scaling") == "strong" ? static_cast<std::int64_t>(cell.integer("ranks")) : 1;
}

Result<TransformerSettings> parse_transformer(const Cell& cell, TransformerShape shape) {
  TransformerSettings settings;
  static_cast<TrainingSettings&>(settings) = parse_settings(cell);
  TransformerPlan& plan = settings.plan;
  static_cast<ParameterPlan&>(plan) = TRY(parse_parameter_plan(cell, settings.precision));
  plan.shape = shape;
  plan.batch = TRY(parse_batch(cell));
  plan.sequence = static_cast<std::int64_t>(cell.integer("sequence"));
  if (plan.shape.position == PositionKind::learned) plan.shape.positions = plan.sequence;
  TRY(check_positions(plan.shape, "sequence=", plan.sequence));
  const std::string_view recompute = cell.text("recompute");
  plan.recompute = recompute == "gelu"         ? Recompute::activation
                   : recompute == "selective"  ? Recompute::selective
                   : recompute == "perceptron" ? Recompute::perceptron
                   : recompute == "layer"      ? Recompute::layer
                                               : Recompute::none;
  plan.one_pass = settings.accumulate == 1;
  plan.attention = parse_attention_way(cell.text("attention"));
  return settings;
}

std::vector<Cell> decide_ranks(const Cell& cell, const Device& device, const Team& team) {
  const std::string_view library = best_communicator_kind(device, team);
  const std::string_view ranks = cell.text("ranks");
  if (ranks == "all") return {with_ranks(cell, team.size(), library)};
  if (ranks != all_powers) {
    return {with_ranks(cell, static_cast<int>(cell.integer("ranks")), library)};
  }
  std::vector<Cell> cells;
  for (int i = 1; i < team.size(); i *= 2) cells.push_back(with_ranks(cell, i, library));
  cells.push_back(with_ranks(cell, team.size(), library));
  return cells;
}

Cell decide_train_cell(const Cell& cell, const DeviceFacts& facts) {
  const bool on_cpu = !suits_large_work(facts);
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, const std::string& value) {
    if (decided.text(axis) == by_device) decided = with_value(decided, axis, value);
  };
  decide("model", on_cpu ? small_model : "124M");
  const std::string model(decided.text("model"));
  decide("batch", std::to_string(usual_batch(model)));
  decide("sequence", std::to_string(is_mlp(model) ? 1 : usual_sequence(model, on_cpu)));
  decide("precision", on_cpu ? "f32" : "bf16");
  decide("rate", usual_rate(decided));
  const std::string precision(decided.text("precision"));
  decide("sums", precision == "tf32" ? "f32" : precision);
  if (decided.text("attention") == by_device && !is_mlp(model)) {
    decided = with_best_attention(decided, facts, parse_train_cell);
  }
  return decided;
}

Result<TrainCell> parse_train_cell(const Cell& cell) {
  auto model = is_mlp(cell.text("model")) ? TRY(parse_mlp(cell)) : TRY(parse_gpt(cell));
  TrainCell parsed = TRY(complete_train_cell(std::move(model), cell));
  parsed.data = cell.text("data");
  return parsed;
}

Result<TrainCell> complete_train_cell(std::unique_ptr<TrainModel> model, const Cell& cell) {
  TrainCell parsed;
  parsed.model = std::move(model);
  parsed.graph = cell.text("graph") == "on";
  parsed.ranks = static_cast<int>(cell.integer("ranks"));
  parsed.library = cell.text("library");
  const ParallelPlan& parallel = parsed.model->parallel();
  parsed.chooses_library = parallel.ranks > 1 && parsed.library == fastest_library;
  // Ranks with sharded parameters use no buckets, and a model smaller than every bucket is sent at
  // once.
  if (cell.text("bucket") == by_device && parallel.ranks > 1 && !parallel.slices_parameters() &&
      parsed.model->memory().gradients > std::ranges::min(bucket_candidates())) {
    parsed.buckets = bucket_candidates();
  }
  if (cell.text("steps") != by_device) parsed.steps = cell.integer("steps");
  if (cell.text("from") != "start") parsed.from = cell.text("from");
  if (cell.text("save") != "no") parsed.save = cell.text("save");
  if (!parsed.save.empty() && parallel.replicas > 1) {
    return Error{ErrorKind::usage,
                 fmt::format("save={} would be written by {} ranks that train alone; allowed with "
                             "ranks=1, or parallel=ddp, zero1, fsdp",
                             parsed.save, parallel.replicas)};
  }
  return parsed;
}

}  // namespace assay
