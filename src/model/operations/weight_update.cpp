#include "model/operations/weight_update.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

// Odd and with bits everywhere (2^64 / the golden ratio): pieces round by random bits of their own.
constexpr std::uint64_t rounding_stride = 0x9E3779B97F4A7C15;

bool is_stochastic(const ParameterPlan& plan) {
  return plan.type == DataType::bf16 && plan.states == OptimizerStates::stochastic;
}

}  // namespace

Result<WeightUpdate> WeightUpdate::create(Device& device, Stream& stream, const ParameterPlan& plan,
                                          const UpdateSettings& settings,
                                          const std::vector<float>& rates,
                                          std::vector<UpdatePiece> pieces, std::uint64_t seed,
                                          Elementwise& elementwise) {
  WeightUpdate made(device.facts(), TRY(Kernels::build(device, "weight_update", plan.type)));
  const std::string rule = plan.optimizer == Optimizer::adamw ? "adamw" : "sgd";
  made.sum_squares_ = TRY(made.kernels_.of_type("sum_squares"));
  made.sum_partial_ = TRY(made.kernels_.plain("sum_partial"));
  made.prepare_ = TRY(made.kernels_.plain("prepare_update"));
  made.change_ = TRY(made.kernels_.of_type(is_stochastic(plan) ? rule + "_stochastic" : rule));
  made.end_step_ = TRY(made.kernels_.plain("end_step"));
  made.elementwise_ = &elementwise;
  made.plan_ = plan;
  made.settings_ = settings;
  made.seed_ = seed;
  made.rates_ = TRY(device.allocate(rates.size() * sizeof(float), MemoryKind::device));
  TRY(stream.copy(made.rates_.data(), rates.data(), made.rates_.bytes()));
  TRY(stream.synchronize());
  // One piece may be added in two parts, neither of which takes more blocks than the whole.
  std::uint64_t floats = 1, most = 0;
  for (const UpdatePiece& piece : pieces) {
    const std::uint64_t blocks = made.shape_of(piece.elements).grid.x;
    floats += blocks;
    most = std::max(most, blocks);
  }
  floats += most;
  made.partial_ = TRY(device.allocate(floats * sizeof(float), MemoryKind::device));
  made.pieces_ = std::move(pieces);
  return made;
}

LaunchShape WeightUpdate::shape_of(std::size_t elements) const {
  return shape_of_elements(*facts_, std::int64_t(elements));
}

Status WeightUpdate::begin(Stream& stream) {
  for (const UpdatePiece& piece : pieces_) {
    if (piece.master != nullptr) {
      TRY(elementwise_->widen(stream, static_cast<float*>(piece.master), piece.weights,
                              piece.elements));
    }
    if (plan_.moment_bytes() == 0) continue;
    TRY(stream.fill(piece.first, 0, piece.elements * plan_.moment_bytes()));
    TRY(stream.fill(piece.second, 0, piece.elements * plan_.moment_bytes()));
  }
  return {};
}

Status WeightUpdate::update(Stream& stream, StepState* state, const SumOverRanks& sum) {
  TRY(prepare(stream, state, sum));
  for (const UpdatePiece& piece : pieces_) TRY(change_weights(stream, piece, state));
  return launch(stream, *end_step_, {}, state);
}

Status WeightUpdate::add_squares(Stream& stream, std::size_t first) {
  std::size_t before = 0;  // elements of earlier pieces
  for (const UpdatePiece& piece : pieces_) {
    const std::size_t from = std::max(first, before);
    const std::size_t end = std::min(squared_from_, before + piece.elements);
    if (from < end) {
      const auto* const gradients = static_cast<const std::byte*>(piece.gradients);
      const LaunchShape shape = shape_of(end - from);
      TRY(launch(stream, *sum_squares_, shape, partial_.as<float>() + partials_,
                 gradients + (from - before) * size_of(plan_.type), std::uint64_t(end - from)));
      partials_ += shape.grid.x;
    }
    before += piece.elements;
  }
  squared_from_ = std::min(squared_from_, first);
  return {};
}

void WeightUpdate::forget_squares() {
  partials_ = 0;
  squared_from_ = everything_left;
}

Status WeightUpdate::prepare(Stream& stream, StepState* state, const SumOverRanks& sum) {
  TRY(add_squares(stream, 0));
  auto* partial = partial_.as<float>();
  std::uint64_t count = partials_;
  forget_squares();
  const LaunchShape one_block = {{1}, {block_threads}};
  if (sum) {
    float* const total = partial + count;
    TRY(launch(stream, *sum_partial_, one_block, total, partial, count));
    TRY(sum(stream, total));
    partial = total;
    count = 1;
  }
  return launch(stream, *prepare_, one_block, state, partial, count, rates_.data(),
                std::uint64_t(rates_.bytes() / sizeof(float)), settings_);
}

Status WeightUpdate::change_weights(Stream& stream, const UpdatePiece& piece,
                                    const StepState* state) {
  const LaunchShape shape = shape_of(piece.elements);
  const auto count = std::uint64_t(piece.elements);
  const UpdatePiece& a = piece;
  const std::uint64_t seed = seed_ + rounding_stride * piece.begin;
  if (plan_.optimizer == Optimizer::sgd) {
    if (is_stochastic(plan_)) {
      return launch(stream, *change_, shape, a.weights, a.gradients, state, settings_, count, seed);
    }
    return launch(stream, *change_, shape, a.weights, a.master, a.gradients, state, settings_,
                  count);
  }
  if (is_stochastic(plan_)) {
    return launch(stream, *change_, shape, a.weights, a.first, a.second, a.gradients, state,
                  settings_, count, seed);
  }
  return launch(stream, *change_, shape, a.weights, a.master, a.first, a.second, a.gradients, state,
                settings_, count);
}

}  // namespace assay
