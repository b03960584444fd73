// Every kernel of assay's own attention against the definition. If one is wrong, another is chosen,
// and only a note tells so; here it fails.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "core/random.h"
#include "measure/benchmarks/attention/attention_reference.h"
#include "model/operations/flash_backward.h"
#include "model/operations/flash_forward.h"
#include "model/tensors/weights.h"

namespace assay::selftest::attention {
namespace {

/// One head of one sequence on the device, and what the definition makes of it.
struct Head {
  std::size_t tokens = 0, width = 0;
  DataType type = DataType::bf16;
  Buffer qkv, y, dy, d_qkv, log_sum, scratch;
  std::vector<double> result, gradients;  ///< [tokens, width] and [tokens, 3, width]

  AttentionShape shape() const {
    return {1, static_cast<std::int64_t>(tokens), 1, static_cast<std::int64_t>(width)};
  }
};

/// Writes normally distributed numbers and returns them as the device has them.
Result<std::vector<float>> random_numbers(Stream& stream, const Buffer& to, DataType type,
                                          std::uint64_t seed) {
  Random numbers(seed);
  std::vector<float> wanted(to.bytes() / size_of(type));
  for (float& x : wanted) x = static_cast<float>(numbers.normal());
  TRY(write_weights(stream, to.data(), type, wanted));
  return read_weights(stream, to.data(), type, wanted.size());
}

Result<Head> make_head(Stage& stage, std::size_t n, std::size_t w, DataType type) {
  const std::size_t row = w * size_of(type);
  const auto allocate = [&](std::size_t bytes) {
    return stage.device.allocate(bytes, MemoryKind::device);
  };
  Head made = {n,
               w,
               type,
               TRY(allocate(3 * n * row)),
               TRY(allocate(n * row)),
               TRY(allocate(n * row)),
               TRY(allocate(3 * n * row)),
               TRY(allocate(n * sizeof(float))),
               TRY(allocate(flash_attention_scratch_bytes(1, static_cast<std::int64_t>(n),
                                                          static_cast<std::int64_t>(w)))),
               {},
               {}};
  const std::vector<float> packed = TRY(random_numbers(stage.stream, made.qkv, type, 1));
  AttentionHead head = {n, w, {}, {}, {}, TRY(random_numbers(stage.stream, made.dy, type, 2))};
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto& part = i / w % 3 == 0 ? head.queries : i / w % 3 == 1 ? head.keys : head.values;
    part.push_back(packed[i]);
  }
  const AttentionReference reference(head);
  const auto append = [](std::vector<double>& to, const std::vector<double>& values) {
    to.insert(to.end(), values.begin(), values.end());
  };
  for (std::size_t token = 0; token < n; ++token) {
    append(made.result, reference.result(token));
    append(made.gradients, reference.query_gradient(token));
    const auto of_key = reference.key_value_gradients(token);
    append(made.gradients, of_key.key);
    append(made.gradients, of_key.value);
  }
  return made;
}

/// Compares every `parts`-th row of width elements, from row `part` on.
Status expect_near(Stage& stage, const Head& head, const Buffer& found,
                   const std::vector<double>& expected, std::size_t parts, std::size_t part,
                   std::string_view what) {
  const std::vector<float> all =
      TRY(read_weights(stage.stream, found.data(), head.type, expected.size()));
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i / head.width % parts != part) continue;
    difference += std::pow(all[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  const double error = std::sqrt(difference / size);
  const double allowed = head.type == DataType::bf16 ? 1e-2 : 2e-3;
  return expect(error < allowed, fmt::format("{}, {} tokens, part {} of {}: an error of {:.2g}, "
                                             "allowed {:.2g}",
                                             what, head.tokens, part, parts, error, allowed));
}

std::string described(std::string_view pass, const std::string& kernel) {
  return fmt::format("{} by {}", pass, kernel.empty() ? "waves" : kernel);
}

Status check_forward(Stage& stage, const Head& head, const FlashForward& forward) {
  TRY(stage.stream.fill(head.y.data(), 0xFF, head.y.bytes()));
  TRY(forward.enqueue(stage.stream, head.y.data(), head.qkv.data(), head.log_sum.data(),
                      head.shape()));
  return expect_near(stage, head, head.y, head.result, 1, 0,
                     described("forward", forward.describe()));
}

Status check_backward(Stage& stage, const Head& head, const FlashBackward& backward) {
  TRY(stage.stream.fill(head.d_qkv.data(), 0xFF, head.d_qkv.bytes()));
  TRY(backward.enqueue(stage.stream, head.d_qkv.data(), head.dy.data(), head.y.data(),
                       head.qkv.data(), {nullptr, head.log_sum.data(), head.scratch.data()},
                       head.shape()));
  for (std::size_t part = 0; part < 3; ++part) {
    if (head.tokens == 1 && part < 2) continue;  // one key has probability 1, and no gradient
    TRY(expect_near(stage, head, head.d_qkv, head.gradients, 3, part,
                    described("backward", backward.describe())));
  }
  return {};
}

/// Checks the kernels for single waves and those for warpgroups, on Hopper by wgmma, in every
/// division of the work. The last tiles are full, hold one token, or a part.
template <DataType type, std::size_t width>
Answer check_kernels(Stage& stage) {
  constexpr auto w = static_cast<std::int64_t>(width);
  const DeviceFacts& facts = stage.device.facts();
  if (const auto reason = flash_attention_unsupported(facts, type, w)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  std::vector<FlashForward> forwards;
  for (const OwnForwardGeometry& geometry : OwnForwardGeometry::all_of(facts, w)) {
    forwards.push_back(TRY(FlashForward::build(stage.device, type, w, geometry)));
  }
  std::vector<FlashBackward> backwards;
  for (const bool groups : {false, true}) {
    if (groups && !FlashBackward::has_groups(facts, w)) continue;
    backwards.push_back(TRY(FlashBackward::build(stage.device, type, w, groups)));
  }
  const std::vector<std::size_t> lengths =
      stage.large ? std::vector<std::size_t>{1, 64, 129, 300} : std::vector<std::size_t>{1, 70};
  for (const std::size_t tokens : lengths) {
    const Head head = TRY(make_head(stage, tokens, width, type));
    for (const FlashForward& forward : forwards) TRY(check_forward(stage, head, forward));
    for (const FlashBackward& backward : backwards) TRY(check_backward(stage, head, backward));
  }
  return fmt::format("{} kernels forward, {} backward", forwards.size(), backwards.size());
}

/// The kernels are compiled first, unless they are in the cache.
constexpr double limit_seconds = 120;

constexpr std::string_view about = "every kernel of own attention computes the definition";

const AddChecks registered{
    {.name = "attention-bf16-64",
     .topic = Topic::kernels,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_kernels<DataType::bf16, 64>},
    {.name = "attention-bf16-128",
     .topic = Topic::kernels,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_kernels<DataType::bf16, 128>},
    {.name = "attention-f16-64",
     .topic = Topic::kernels,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_kernels<DataType::f16, 64>},
    {.name = "attention-f16-128",
     .topic = Topic::kernels,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_kernels<DataType::f16, 128>},
};

}  // namespace
}  // namespace assay::selftest::attention
