#include "compute/vendor/attention/fused_attention.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

const FusedAttentionProvider* provider_for(const DeviceFacts& facts) {
  for (const FusedAttentionProvider& provider : FusedAttentionRegistry::entries()) {
    if (provider.backend == facts.backend) return &provider;
  }
  return nullptr;
}

std::uint64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return static_cast<std::uint64_t>((value + multiple - 1) / multiple * multiple);
}

}  // namespace

Status FusedAttention::forward_at(Stream&, void*, const void*, const SequencePlaces&) {
  return Error{ErrorKind::unsupported,
               "attention by " + library() + " takes no sequences with lengths of their own"};
}

Result<std::unique_ptr<FusedAttention>> FusedAttention::open_beside(
    Device& device, const FusedAttentionProblem& problem) {
  return open_fused_attention(device, problem);
}

std::uint64_t fused_attention_bytes(const FusedAttentionProblem& problem) {
  if (problem.forward_only) return 0;
  const auto heads = static_cast<std::uint64_t>(problem.batch * problem.heads);
  const auto rows = heads * static_cast<std::uint64_t>(problem.sequence);
  // One sum per row, and the gradients of queries in f32, to which blocks add in any order.
  const std::uint64_t sums = rows * sizeof(float);
  const std::uint64_t queries =
      rows * static_cast<std::uint64_t>(problem.head_width) * sizeof(float);
  if (!problem.same_bits) return sums + queries;
  // Or the gradients of all scores in two bytes, in whole tiles, from which one block makes those
  // of a query; where a device has no such way, it is the former after all.
  const std::uint64_t scores =
      heads * rounded_up(problem.sequence, 64) * rounded_up(problem.sequence, 128) * 2;
  return sums + std::max(queries, scores);
}

bool fused_attention_known(const DeviceFacts& facts) {
  return provider_for(facts) != nullptr;
}

bool fused_attention_gives_same_bits(const DeviceFacts& facts) {
  const FusedAttentionProvider* provider = provider_for(facts);
  return provider == nullptr || provider->same_bits;
}

std::optional<std::string> fused_attention_unsupported(const FusedAttentionProblem& problem,
                                                       const DeviceFacts& facts) {
  const FusedAttentionProvider* provider = provider_for(facts);
  if (provider == nullptr) {
    return fmt::format("no library for attention is known for {} devices", facts.backend);
  }
  return provider->unsupported(problem, facts);
}

Result<std::unique_ptr<FusedAttention>> open_fused_attention(Device& device,
                                                             const FusedAttentionProblem& problem) {
  if (auto reason = fused_attention_unsupported(problem, device.facts())) {
    return Error{ErrorKind::unsupported, "attention by a library: " + std::move(*reason)};
  }
  return provider_for(device.facts())->open(device, problem);
}

}  // namespace assay
