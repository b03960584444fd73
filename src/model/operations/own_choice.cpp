#include "model/operations/own_choice.h"

#include <fmt/format.h>

#include <cmath>

#include "compute/blas/matrix_fill.h"
#include "compute/choice/choice_cache.h"
#include "compute/choice/fastest.h"
#include "compute/device/kernel_source.h"
#include "core/hash.h"
#include "model/operations/own_forward.h"
#include "model/weights.h"

namespace assay {
namespace {

constexpr std::size_t trial_element = 2;  // bytes

/// A trial of that shape, with the forward pass done.
Result<AttentionTrial> make_trial(Device& device, Stream& stream, DataType type,
                                  const AttentionShape& shape) {
  const std::int64_t tokens = shape.batch * shape.sequence, width = shape.width();
  const auto allocate = [&](std::uint64_t bytes) {
    return device.allocate(static_cast<std::size_t>(bytes), MemoryKind::device);
  };
  const std::uint64_t bytes = trial_element * static_cast<std::uint64_t>(tokens * width);
  const std::int64_t heads = shape.batch * shape.heads;
  AttentionTrial trial = {
      shape,
      TRY(allocate(3 * bytes)),
      TRY(allocate(bytes)),
      TRY(allocate(bytes)),
      TRY(allocate(3 * bytes)),
      TRY(allocate(sizeof(float) * static_cast<std::uint64_t>(heads * shape.sequence))),
      TRY(allocate(own_attention_scratch_bytes(heads, shape.sequence, shape.head_width)))};
  const auto program = TRY(device.build({"matrix", {}}));
  TRY(fill_matrix(stream, device.facts(), *program, trial.qkv.data(), type,
                  {tokens, 3 * width, 3 * width}, Inputs::normal, 1));
  TRY(fill_matrix(stream, device.facts(), *program, trial.dy.data(), type, {tokens, width, width},
                  Inputs::normal, 2));
  const OwnForward forward =
      TRY(choose_own_forward(device, type, shape.head_width, OwnKind::waves));
  TRY(forward.enqueue(stream, trial.y.data(), trial.qkv.data(), trial.log_sum.data(), shape));
  return trial;
}

/// How far `found` is from `expected`, of its norm; infinite if it is no number.
double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(double(found[i]) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  const double distance = std::sqrt(difference / size);
  return std::isfinite(distance) ? distance : HUGE_VAL;
}

}  // namespace

bool gains_by_groups(const DeviceFacts& facts) {
  return facts.backend == "cuda" && facts.arch == "sm_90";
}

Result<std::size_t> best_of_own(Device& device, DataType type, std::int64_t head_width,
                                const OwnChoice& choice, std::size_t count,
                                const std::function<std::string(std::size_t)>& describe,
                                const EnqueueTrial& enqueue,
                                const std::function<const Buffer*(const AttentionTrial&)>& result) {
  const auto stream = TRY(device.create_stream());
  // The last tiles are not full, and the first ones of a sequence have one step alone.
  const AttentionTrial small = TRY(make_trial(device, *stream, type, {1, 300, 2, head_width}));
  const auto result_of = [&](std::size_t i) -> Result<std::vector<float>> {
    const Buffer& made = *result(small);
    TRY(stream->fill(made.data(), 0xFF, made.bytes()));  // no number in either type
    TRY(enqueue(*stream, small, i));
    return read_weights(*stream, made.data(), type, made.bytes() / trial_element);
  };
  const std::vector<float> expected = TRY(result_of(0));
  constexpr double rounding = 1e-2;
  std::vector<std::size_t> right = {0};
  for (std::size_t i = 1; i < count; ++i) {
    const auto found = result_of(i);
    if (found.ok() && relative_difference(*found, expected) < rounding) right.push_back(i);
  }
  std::string sources;
  for (const char* source : choice.sources) sources += TRY(complete_source(source));
  const ChoiceCache cache = ChoiceCache::of_user(device.facts());
  const ChoiceKey key = {"own attention", sha256_hex(sources),
                         fmt::format("{} {} {}", choice.pass, name_of(type), head_width)};
  const auto known = cache.find(device.facts(), key);
  for (const std::size_t i : right) {
    if (known && *known == "of " + describe(i)) return i;
  }
  const AttentionTrial large = TRY(make_trial(device, *stream, type, {4, 2048, 16, head_width}));
  std::vector<Contender> contenders;
  for (const std::size_t i : right) {
    contenders.emplace_back([&, i](Stream& on) { return enqueue(on, large, i); });
  }
  const ContestResult fastest =
      TRY(find_fastest(device, *stream, contenders, {.final_seconds = 0.02}));
  cache.keep(device.facts(), key, "of " + describe(right[fastest.fastest]));
  return right[fastest.fastest];
}

}  // namespace assay
