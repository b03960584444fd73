// Training: gradients are compared with the reference in every precision and with every
// implementation of attention; replaying and recomputing must not change a bit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/contracts/small_gpt.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "model/perceptron/mlp_self_check.h"
#include "model/training/training_self_check.h"

namespace assay::selftest::training {
namespace {

/// The largest error of several gates.
struct WorstGate {
  GateResult gate;
  std::string of;

  Status add(const GateResult& found, std::string what) {
    TRY(expect(found.passed,
               fmt::format("{}: {} is off by {:.2g}, allowed {:.2g}; the loss by {:.2g}", what,
                           found.worst, found.gradient_error, found.tolerance, found.loss_error)));
    if (!of.empty() && !is_worse(found.gradient_error, gate.gradient_error)) return {};
    gate = found;
    of = std::move(what);
    return {};
  }
  std::string text() const {
    return fmt::format("largest error {:.2g} of {:.2g}, {} of {}", gate.gradient_error,
                       gate.tolerance, gate.worst, of);
  }
};

/// Why this way cannot be computed; empty: it can.
std::optional<std::string> lacks(const TransformerSettings& settings, const DeviceFacts& facts) {
  const AttentionWay way = settings.plan.attention;
  if (way == AttentionWay::own) {
    return flash_attention_unsupported(facts, settings.precision, settings.plan.shape.head_width);
  }
  if (!is_by_library(way)) return std::nullopt;
  FusedAttentionProblem problem = fused_attention_of(settings.plan);
  problem.sequence = 256;  // or what the gate takes, if the library takes more
  return fused_attention_unsupported(problem, facts);
}

Answer gradients(Stage& stage, DataType precision, std::int64_t head_width) {
  WorstGate worst;
  std::set<std::string> missing;
  for (const AttentionWay way : {AttentionWay::plain, AttentionWay::own, AttentionWay::library,
                                 AttentionWay::library_unordered}) {
    TransformerSettings settings = small_training(precision);
    settings.plan.shape.width = settings.plan.shape.heads * head_width;
    settings.plan.shape.head_width = head_width;
    settings.plan.attention = way;
    if (const auto reason = lacks(settings, stage.device.facts())) {
      missing.insert(*reason);
      continue;
    }
    const auto gate = check_training(stage.device, stage.stream, settings);
    const std::string what = fmt::format("attention {}", name_of(way));
    if (!gate.ok()) return Error{gate.error().kind, what + ": " + gate.error().message};
    TRY(worst.add(*gate, what));
  }
  return fmt::format("{}{}{}", worst.text(),
                     missing.empty() ? "" : "; left out: ", fmt::join(missing, "; "));
}

Answer perceptron(Stage& stage) {
  WorstGate worst;
  for (const DataType precision : {DataType::f32, DataType::bf16, DataType::f16}) {
    for (const bool bias : {true, false}) {
      MlpSettings settings;
      settings.plan.shape = TRY(parse_mlp_shape("24-72-40-16"));
      settings.plan.shape.bias = bias;
      settings.plan.batch = 7;
      settings.plan.type = settings.precision = precision;
      settings.measured_products = false;
      const auto gate = TRY(check_training(stage.device, stage.stream, settings));
      TRY(worst.add(gate, fmt::format("{}{}", name_of(precision), bias ? "" : " without biases")));
    }
  }
  return worst.text();
}

/// The weights after some steps, in which the last are replayed if `graph`.
Result<std::vector<float>> trained(Stage& stage, const TransformerSettings& settings,
                                   const TokenBatches& data, bool graph) {
  auto training = TRY(TransformerTraining::create(stage.device, stage.stream, settings, data));
  TRY(training->step(stage.stream));
  std::unique_ptr<Graph> replayed;
  if (graph) {
    replayed = TRY(captured(stage.stream, [&] { return training->step(stage.stream); }));
  }
  for (int i = 0; i < (stage.large ? 20 : 3); ++i) {
    TRY(graph ? stage.stream.launch(*replayed) : training->step(stage.stream));
  }
  return training->weights(stage.stream);
}

Answer same_bits(Stage& stage, AttentionWay way) {
  TransformerSettings settings = small_training(DataType::bf16);
  settings.plan.shape.width = 128;
  settings.plan.shape.head_width = 64;
  settings.plan.attention = way;
  // The last tile is not full, if the library takes that.
  settings.plan.sequence = settings.plan.shape.positions = stage.large ? 150 : 70;
  const DeviceFacts& facts = stage.device.facts();
  if (is_by_library(way)) {
    if (fused_attention_unsupported(fused_attention_of(settings.plan), facts)) {
      settings.plan.sequence = settings.plan.shape.positions = 256;
    }
    const auto fused = TRY(open_fused_attention(stage.device, fused_attention_of(settings.plan)));
    if (!fused->deterministic()) {
      return Error{ErrorKind::unsupported,
                   fused->library() + " is not deterministic on this device"};
    }
  } else if (const auto reason = lacks(settings, facts)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  const TokenBatches data = random_batches(settings.plan, 4, 5);
  const std::vector<float> once = TRY(trained(stage, settings, data, false));
  const auto expect_bits = [&](bool graph, const std::vector<float>& bits,
                               std::string_view otherwise) -> Status {
    const std::vector<float> weights = TRY(trained(stage, settings, data, graph));
    return expect(weights == bits, otherwise);
  };
  TRY(expect_bits(false, once, "repeated steps give other bits"));
  TRY(expect_bits(true, once, "a graph gives other bits"));
  for (const Recompute recompute : {Recompute::perceptron, Recompute::layer}) {
    settings.plan.recompute = recompute;
    TRY(expect_bits(true, once, "recomputing gives other bits"));
  }
  // The GELU by itself has the bits of the kernel, not those of a product's epilogue.
  settings.fuse_gelu = false;
  settings.plan.recompute = Recompute::none;
  const std::vector<float> separate = TRY(trained(stage, settings, data, true));
  for (const Recompute recompute : {Recompute::activation, Recompute::selective}) {
    settings.plan.recompute = recompute;
    TRY(expect_bits(true, separate, "recomputing the GELU or norms gives other bits"));
  }
  return passed();
}

/// On CPUs and emulated GPUs heads of one width are enough.
template <DataType precision>
Answer gradients_of_all_widths(Stage& stage) {
  std::string answer;
  for (const std::int64_t width : {32, 64, 128}) {
    const auto found = gradients(stage, precision, width);
    if (!found.ok()) {
      return Error{found.error().kind,
                   fmt::format("heads {} wide, {}", width, found.error().message)};
    }
    answer += fmt::format("{}{} wide: {}", answer.empty() ? "" : "; ", width, *found);
    if (!stage.large) break;
  }
  return answer;
}

/// The kernels are compiled first, unless they are in the cache.
constexpr double limit_seconds = 120;

const AddChecks registered{
    {.name = "training-gradients-f32",
     .topic = Topic::kernels,
     .about = "gradients of a GPT in f32 are the reference's",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &gradients_of_all_widths<DataType::f32>},
    {.name = "training-gradients-tf32",
     .topic = Topic::kernels,
     .about = "gradients of a GPT in tf32 are the reference's",
     .limit_seconds = limit_seconds,
     .run = &gradients_of_all_widths<DataType::tf32>},
    {.name = "training-gradients-bf16",
     .topic = Topic::kernels,
     .about = "gradients of a GPT in bf16 are the reference's",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &gradients_of_all_widths<DataType::bf16>},
    {.name = "training-gradients-f16",
     .topic = Topic::kernels,
     .about = "gradients of a GPT in f16 are the reference's",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &gradients_of_all_widths<DataType::f16>},
    {.name = "training-gradients-perceptron",
     .topic = Topic::kernels,
     .about = "gradients of a perceptron in f32, bf16 and f16 are the reference's",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &perceptron},
    {.name = "training-same-bits-own",
     .topic = Topic::kernels,
     .about = "replayed, recomputed and repeated steps give the same bits with own attention",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return same_bits(stage, AttentionWay::own); }},
    {.name = "training-same-bits-library",
     .topic = Topic::libraries,
     .about = "replayed, recomputed and repeated steps give the same bits with the library's",
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return same_bits(stage, AttentionWay::library); }},
};

}  // namespace
}  // namespace assay::selftest::training
