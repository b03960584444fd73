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

Status check_problem(const FusedAttentionProblem& problem, const DeviceFacts& facts) {
  const FusedAttentionProvider* provider = provider_for(facts);
  if (provider != nullptr) return provider->check(problem, facts);
  return Error{ErrorKind::unsupported,
               fmt::format("no library for attention is known for {} devices", facts.backend)};
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

QueuedOperation queued_attention(const FusedAttentionProblem& problem, bool backward) {
  QueuedOperation operation;
  operation.name =
      fmt::format("attention {} {} batch={} sequence={} heads={}/{} width={}",
                  backward ? "backward" : "forward", name_of(problem.precision), problem.batch,
                  problem.sequence, problem.heads, problem.heads_of_keys(), problem.head_width);
  operation.math = problem.precision;
  if (problem.own_lengths) return operation;
  const auto rows = static_cast<double>(problem.batch * problem.sequence);
  const auto columns = static_cast<double>(problem.heads * problem.head_width);
  const auto columns_of_keys = static_cast<double>(problem.heads_of_keys() * problem.head_width);
  // Two products forward and five backward. Forward reads queries, keys and values and writes the
  // result; backward also reads the result and its gradient, and writes three gradients.
  operation.flops = (backward ? 5 : 2) * rows * columns * static_cast<double>(problem.sequence);
  operation.bytes = (backward ? 2 : 1) * rows * (2 * columns + 2 * columns_of_keys) *
                    static_cast<double>(size_of(problem.precision));
  return operation;
}

std::uint64_t fused_attention_bytes(const FusedAttentionProblem& problem) {
  if (problem.forward_only) return 0;
  const auto heads = static_cast<std::uint64_t>(problem.batch * problem.heads);
  const auto rows = heads * static_cast<std::uint64_t>(problem.sequence);
  // One sum per row, and the gradients of queries in f32, which blocks sum in any order.
  const std::uint64_t sums = rows * sizeof(float);
  const std::uint64_t queries =
      rows * static_cast<std::uint64_t>(problem.head_width) * sizeof(float);
  if (!problem.same_bits) return sums + queries;
  // Alternatively there are the gradients of all scores in two bytes, in whole tiles, from which
  // one block computes a query's gradients. A device without this variant falls back to the former.
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
  const Status can = check_problem(problem, facts);
  return can.ok() ? std::nullopt : std::optional(can.error().message);
}

Result<std::unique_ptr<FusedAttention>> open_fused_attention(Device& device,
                                                             const FusedAttentionProblem& problem) {
  if (const Status can = check_problem(problem, device.facts()); !can.ok()) {
    return Error{can.error().kind, "attention by a library: " + can.error().message};
  }
  return provider_for(device.facts())->open(device, problem);
}

}  // namespace assay
