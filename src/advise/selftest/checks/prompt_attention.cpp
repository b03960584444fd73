// Attention of prompts of any lengths, as a server computes it, by the vendor's library and by
// assay's own kernels, against the definition.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/contracts/prompt_reference.h"
#include "compute/vendor/attention/fused_attention.h"

namespace assay::selftest::prompt_attention {
namespace {

using Pass = std::vector<PromptRows>;

/// What a server may be asked for, and what suits a device that is slow.
struct Prompts {
  PromptHeads heads;
  PromptLimits limits;
  std::vector<Pass> passes;
};

Prompts many_prompts(DataType type) {
  return {{type, 32, 8, 128},
          {700, 100, 400},
          {
              {{0, 7, 1}, {9, 5, 2}, {20, 130, 1}, {160, 2, 1}, {299, 1, 1}},
              {{150, 150, 1}},
              {},
              {{2, 3, 80}},  // more than a call has
              {{1, 20, 3}},  // of four and of sixteen that a call has
              {{0, 128, 5}},
              {{10, 5, 1}, {20, 200, 1}, {225, 60, 2}, {350, 129, 1}},  // classes take turns
              {{37, 400, 1}},
              {{699, 1, 1}},
          }};
}
Prompts few_prompts(DataType type) {
  return {{type, 4, 2, 64},
          {160, 8, 70},
          {{{0, 7, 1}, {9, 5, 2}, {20, 70, 1}, {159, 1, 1}}, {}, {{40, 3, 4}}}};
}

Answer check_way(Stage& stage, DataType type, PromptWay way) {
  const Prompts prompts = stage.large ? many_prompts(type) : few_prompts(type);
  const PromptHeads& heads = prompts.heads;
  if (way == PromptWay::library) {
    const FusedAttentionProblem problem = {.precision = heads.type,
                                           .batch = 1,
                                           .sequence = prompts.limits.length,
                                           .heads = heads.heads,
                                           .head_width = heads.head_width,
                                           .kv_heads = heads.kv_heads,
                                           .forward_only = true,
                                           .own_lengths = true};
    if (const auto reason = fused_attention_unsupported(problem, stage.device.facts())) {
      return Error{ErrorKind::unsupported, *reason};
    }
  }
  const auto attention =
      TRY(open_prompt_attention(stage.device, heads, {way, true}, prompts.limits));
  if (attention == nullptr) {
    return Error{ErrorKind::unsupported, "prompts are computed through the cache here"};
  }
  const PromptAttentionReference reference(heads, prompts.limits.tokens);
  const std::size_t bytes = sizeof(std::uint16_t) * reference.qkv().size();
  std::vector<std::uint16_t> result = reference.unwritten_y();
  const Buffer qkv = TRY(stage.device.allocate(bytes, MemoryKind::device));
  const Buffer y =
      TRY(stage.device.allocate(sizeof(std::uint16_t) * result.size(), MemoryKind::device));
  TRY(stage.stream.copy(qkv.data(), reference.qkv().data(), bytes));
  for (std::size_t i = 0; i < prompts.passes.size(); ++i) {
    const Pass& pass = prompts.passes[i];
    result = reference.unwritten_y();
    TRY(stage.stream.copy(y.data(), result.data(), y.bytes()));
    TRY(stage.stream.synchronize());
    TRY(attention->begin(stage.stream, pass));
    for (int layer = 0; layer < 2; ++layer) {
      TRY(attention->forward(stage.stream, y.data(), qkv.data()));
    }
    TRY(stage.stream.copy(result.data(), y.data(), y.bytes()));
    TRY(stage.stream.synchronize());
    Pass computed;
    for (const PromptRows& rows : pass) {
      if (attention->computes(rows)) computed.push_back(rows);
    }
    const Status held = reference.check(result, computed);
    if (!held.ok()) {
      return Error{held.error().kind, fmt::format("pass {}: {}", i, held.error().message)};
    }
  }
  return attention->name();
}

const AddChecks registered{
    {.name = "prompts-library",
     .topic = Topic::libraries,
     .about = "the library's attention of prompts of any lengths is the definition's",
     .run = [](Stage& stage) { return check_way(stage, DataType::bf16, PromptWay::library); }},
    {.name = "prompts-own-bf16",
     .topic = Topic::kernels,
     .about = "own attention of prompts of any lengths is the definition's",
     .accelerator = false,
     .run = [](Stage& stage) { return check_way(stage, DataType::bf16, PromptWay::own); }},
    {.name = "prompts-own-f16",
     .topic = Topic::kernels,
     .about = "own attention of prompts of any lengths is the definition's",
     .accelerator = false,
     .run = [](Stage& stage) { return check_way(stage, DataType::f16, PromptWay::own); }},
};

}  // namespace
}  // namespace assay::selftest::prompt_attention
