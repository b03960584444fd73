// Attention of prompts of any lengths by the vendor's library, as a server computes them, against
// the definition.
#include <gtest/gtest.h>

#include "compute/vendor/attention/fused_attention.h"
#include "model/operations/prompt_attention.h"
#include "support/prompt_reference.h"
#include "support/test_device.h"

namespace assay {
namespace {

TEST(GpuPrompts, OfAnyLengthsAreTheDefinitions) {
  constexpr std::int64_t rows = 700, longest = 400;
  const PromptHeads heads = {DataType::bf16, 32, 8, 128};
  auto backends = make_backends();
  auto opened = open_device(backends, "");
  if (!opened || (*opened)->facts().max_threads_per_block == 1) {
    GTEST_SKIP() << "no accelerator on this machine";
  }
  Device& device = **opened;
  const FusedAttentionProblem problem = {.precision = heads.type,
                                         .batch = 1,
                                         .sequence = longest,
                                         .heads = heads.heads,
                                         .head_width = heads.head_width,
                                         .kv_heads = heads.kv_heads,
                                         .forward_only = true,
                                         .own_lengths = true};
  if (const auto reason = fused_attention_unsupported(problem, device.facts())) {
    GTEST_SKIP() << *reason;
  }
  auto stream = std::move(device.create_stream()).value();
  auto attention =
      open_prompt_attention(device, heads, {PromptWay::library, true}, {rows, 100, longest});
  ASSERT_TRUE(attention) << attention.error().message;
  const PromptReference reference(heads, rows);
  const auto bytes_of = [](const std::vector<std::uint16_t>& codes) { return 2 * codes.size(); };
  std::vector<std::uint16_t> result = reference.untouched();
  const Buffer qkv =
      std::move(device.allocate(bytes_of(reference.qkv()), MemoryKind::device)).value();
  const Buffer y = std::move(device.allocate(bytes_of(result), MemoryKind::device)).value();
  ASSERT_TRUE(stream->copy(qkv.data(), reference.qkv().data(), qkv.bytes()));

  const std::vector<std::vector<PromptRows>> passes = {
      {{0, 7, 1}, {9, 5, 2}, {20, 130, 1}, {160, 2, 1}, {299, 1, 1}},
      {{150, 150, 1}},
      {},
      {{2, 3, 80}},  // more than a call has
      {{1, 20, 3}},  // of four and of sixteen that a call has
      {{0, 128, 5}},
      {{10, 5, 1}, {20, 200, 1}, {225, 60, 2}, {350, 129, 1}},  // classes take turns
      {{37, 400, 1}},
      {{699, 1, 1}},
  };
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    SCOPED_TRACE(pass);
    result = reference.untouched();
    ASSERT_TRUE(stream->copy(y.data(), result.data(), y.bytes()));
    ASSERT_TRUE(stream->synchronize());
    const Status begun = (*attention)->begin(*stream, passes[pass]);
    ASSERT_TRUE(begun) << begun.error().message;
    for (int layer = 0; layer < 2; ++layer) {
      const Status done = (*attention)->forward(*stream, y.data(), qkv.data());
      ASSERT_TRUE(done) << done.error().message;
    }
    ASSERT_TRUE(stream->copy(result.data(), y.data(), y.bytes()));
    ASSERT_TRUE(stream->synchronize());
    reference.expect(result, passes[pass]);
  }
}

}  // namespace
}  // namespace assay
