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

/// Queries, keys and values are packed, [batch * sequence, heads + 2 kv_heads, head width]; so are
/// their gradients. The result and its gradient are [batch * sequence, heads, head width].
struct FusedAttentionProblem {
  DataType precision = DataType::bf16;
  std::int64_t batch = 0, sequence = 0, heads = 0, head_width = 0;
  /// Whether a backward pass that always gives the same bits is taken where there is one, although
  /// it may be slower and need memory that grows with the square of the sequence.
  bool same_bits = true;
  /// Of keys and values, each shared by as many neighbouring heads of queries; 0: as many as heads.
  std::int64_t kv_heads = 0;
  /// No backward() follows, and no log_sum is written: of inference. Only then may heads of keys be
  /// fewer than those of queries.
  bool forward_only = false;
  /// Sequences have lengths of their own, up to `sequence`, and begin at any row: forward_at()
  /// computes them. With forward_only.
  bool own_lengths = false;

  std::int64_t heads_of_keys() const { return kv_heads > 0 ? kv_heads : heads; }
};

/// Where sequences with lengths of their own lie: arrays on the device.
struct SequencePlaces {
  const std::int32_t* lengths = nullptr;  ///< [batch], tokens; 0: this one is not there
  /// [batch + 1]: where each begins in qkv and in the result, and where the last one ends, in
  /// elements; never falling, and gaps stay as they are.
  const std::int32_t *qkv_offsets = nullptr, *y_offsets = nullptr;
};

/// Must be destroyed before the device; to be used from one thread at a time.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  /// log_sum: f32 [batch, heads, sequence], for backward(); null with forward_only.
  virtual Status forward(Stream& stream, void* y, const void* qkv, void* log_sum) = 0;
  /// The same with own_lengths, which not all libraries compute.
  virtual Status forward_at(Stream& stream, void* y, const void* qkv, const SequencePlaces& places);
  virtual Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y,
                          const void* qkv, const void* log_sum) = 0;
  /// Attention of another problem on the same device, never at the same time as this one: it may
  /// share what this one holds there, such as workspaces. Error: as open_fused_attention().
  virtual Result<std::unique_ptr<FusedAttention>> open_beside(Device& device,
                                                              const FusedAttentionProblem& problem);
  /// "cuDNN 9.19.0"
  virtual std::string library() const = 0;
  /// Whether backward(), or with forward_only forward(), always gives the same bits.
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
  bool same_bits = true;     ///< whether it computes backward passes that ask for the same bits
  /// Why the library cannot compute the problem on such a device; also if it is not installed.
  std::optional<std::string> (*unsupported)(const FusedAttentionProblem& problem,
                                            const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install; unsupported or
  /// failed with what the library says.
  Result<std::unique_ptr<FusedAttention>> (*open)(Device& device,
                                                  const FusedAttentionProblem& problem);
};
using FusedAttentionRegistry = Registry<FusedAttentionProvider>;

/// Whether there is a library for such devices, installed or not.
bool fused_attention_known(const DeviceFacts& facts);

/// Whether the library for such a device computes backward passes that ask for the same bits; also
/// true if there is none.
bool fused_attention_gives_same_bits(const DeviceFacts& facts);

/// Why no library computes this on such a device; empty: one should, and open_fused_attention()
/// asks it.
std::optional<std::string> fused_attention_unsupported(const FusedAttentionProblem& problem,
                                                       const DeviceFacts& facts);
Result<std::unique_ptr<FusedAttention>> open_fused_attention(Device& device,
                                                             const FusedAttentionProblem& problem);

}  // namespace assay
