// Causal self-attention, forward and backward, by a vendor's library: the counterpart for attention
// of blas.h. Everything slow (graphs, plans, memory) happens in open(); forward() and backward()
// only queue work, so that a graph can capture them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Queries, keys and values are packed, [batch * sequence, 3, heads, head width]; so are their
/// gradients. The result and its gradient are [batch * sequence, heads, head width].
struct FusedAttentionProblem {
  DataType precision = DataType::bf16;
  std::int64_t batch = 0, sequence = 0, heads = 0, head_width = 0;
  /// Whether a backward pass that always gives the same bits is taken where there is one, although
  /// it may be slower and need memory that grows with the square of the sequence.
  bool same_bits = true;
};

/// Must be destroyed before the device; to be used from one thread at a time.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  /// log_sum: f32 [batch, heads, sequence], for backward().
  virtual Status forward(Stream& stream, void* y, const void* qkv, void* log_sum) = 0;
  virtual Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y,
                          const void* qkv, const void* log_sum) = 0;
  /// "cuDNN 9.19.0"
  virtual std::string library() const = 0;
  /// Whether backward() always gives the same bits.
  virtual bool deterministic() const = 0;
  /// Bytes that it holds on the device.
  virtual std::uint64_t allocated_bytes() const = 0;
};

/// What such a library needs on the device beyond operands, known without it. The little that a
/// version may need more is part of allocated_bytes().
std::uint64_t fused_attention_bytes(const FusedAttentionProblem& problem);

/// How a library registers itself; each is one file in this folder.
struct FusedAttentionProvider {
  std::string_view backend;  ///< "cuda": devices it works on
  bool same_bits = true;     ///< whether it computes problems that ask for the same bits
  /// Why the library cannot compute the problem on such a device; also if it is not installed.
  std::optional<std::string> (*unsupported)(const FusedAttentionProblem& problem,
                                            const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install; unsupported or
  /// failed with what the library says.
  Result<std::unique_ptr<FusedAttention>> (*open)(Device& device,
                                                  const FusedAttentionProblem& problem);
};
using FusedAttentionRegistry = Registry<FusedAttentionProvider>;

/// Whether the library for such a device computes problems that ask for the same bits; also true if
/// there is none.
bool fused_attention_gives_same_bits(const DeviceFacts& facts);

/// Why no library computes this on such a device; empty: one should, and open_fused_attention()
/// asks it.
std::optional<std::string> fused_attention_unsupported(const FusedAttentionProblem& problem,
                                                       const DeviceFacts& facts);
Result<std::unique_ptr<FusedAttention>> open_fused_attention(Device& device,
                                                             const FusedAttentionProblem& problem);

}  // namespace assay
