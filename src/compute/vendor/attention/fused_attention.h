// Causal self-attention, forward and backward, through a vendor's library: what blas.h is for
// GEMMs. Everything slow (graphs, plans, memory) happens in open(). forward() and backward() only
// queue work, so that a graph can capture them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "compute/device/queued_operation.h"
#include "core/data_type.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Queries, keys and values are packed, [batch * sequence, heads + 2 kv_heads, head width]; so are
/// their gradients. The result and its gradient are [batch * sequence, heads, head width].
struct FusedAttentionProblem {
  DataType precision = DataType::bf16;
  std::int64_t batch = 0, sequence = 0, heads = 0, head_width = 0;
  /// Whether to prefer a deterministic backward pass where there is one, although it may be slower
  /// and need memory that grows with the square of the sequence length.
  bool same_bits = true;
  /// Heads of keys and values; each is shared by equally many neighbouring query heads. 0: as many
  /// as query heads.
  std::int64_t kv_heads = 0;
  /// For inference: there is no backward pass, and log_sum is not written.
  bool forward_only = false;
  /// Sequences have individual lengths, up to `sequence`, and begin at any row; forward_at()
  /// computes them. Requires forward_only.
  bool own_lengths = false;

  std::int64_t heads_of_keys() const { return kv_heads > 0 ? kv_heads : heads; }
};

/// Where sequences with individual lengths lie: arrays on the device.
struct SequencePlaces {
  const std::int32_t* lengths = nullptr;  ///< [batch], tokens; 0: the sequence is absent
  /// [batch + 1]: the element at which each sequence begins in qkv and in the result, and the end
  /// of the last. They never decrease; the contents of gaps stay unchanged.
  const std::int32_t *qkv_offsets = nullptr, *y_offsets = nullptr;
};

/// Must be destroyed before the device, and used by one thread at a time.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  /// Queues the forward pass. log_sum is f32 [batch, heads, sequence], for backward(); it is null
  /// with forward_only. Each pass fails with `failed` or `unsupported` and what the library says.
  virtual Status forward(Stream& stream, void* y, const void* qkv, void* log_sum) = 0;
  /// Computes sequences with individual lengths (own_lengths), which not all libraries support.
  virtual Status forward_at(Stream& stream, void* y, const void* qkv, const SequencePlaces& places);
  virtual Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y,
                          const void* qkv, const void* log_sum) = 0;
  /// Opens attention for another problem on the same device. It may share device memory such as
  /// workspaces with this object, so the two must never run at the same time. The memory may move:
  /// no queued work may use it, and graphs captured before must not be launched again. Error: as
  /// open_fused_attention().
  virtual Result<std::unique_ptr<FusedAttention>> open_beside(Device& device,
                                                              const FusedAttentionProblem& problem);
  /// Returns the library's name and version: "cuDNN 9.19.0".
  virtual std::string library() const = 0;
  /// Returns whether backward(), or with forward_only forward(), always gives the same bits.
  virtual bool deterministic() const = 0;
  /// Returns the bytes of device memory that it holds.
  virtual std::uint64_t allocated_bytes() const = 0;
};

/// Describes a pass for recorders of timelines. Half of all scores count, as the others are masked
/// (Dao 2023); sequences with individual lengths have no count.
QueuedOperation queued_attention(const FusedAttentionProblem& problem, bool backward);

/// Returns the device memory that such a library needs beyond operands, without loading it.
/// allocated_bytes() includes the little that some versions need in addition.
std::uint64_t fused_attention_bytes(const FusedAttentionProblem& problem);

/// How a library registers itself; each is one file in this folder.
struct FusedAttentionProvider {
  std::string_view backend;  ///< "cuda": devices it works on
  bool same_bits = true;     ///< whether it has a backward pass for problems with same_bits
  /// Checks that the library can compute the problem on such a device. Error: unsupported if it
  /// cannot; unavailable if it is not installed.
  Status (*check)(const FusedAttentionProblem& problem, const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install; unsupported or
  /// failed with what the library says.
  Result<std::unique_ptr<FusedAttention>> (*open)(Device& device,
                                                  const FusedAttentionProblem& problem);
};
using FusedAttentionRegistry = Registry<FusedAttentionProvider>;

/// Returns whether there is a library for such devices, installed or not.
bool fused_attention_known(const DeviceFacts& facts);

/// Returns whether the library for such a device has a deterministic backward pass; also true if
/// there is no library.
bool fused_attention_gives_same_bits(const DeviceFacts& facts);

/// Returns why no library computes this problem on such a device. Empty if one should;
/// open_fused_attention() then asks it.
std::optional<std::string> fused_attention_unsupported(const FusedAttentionProblem& problem,
                                                       const DeviceFacts& facts);
/// Opens the library that computes attention on such a device. Error: with the reason that
/// fused_attention_unsupported() returns, unavailable if the library is not installed, otherwise
/// unsupported; else that of opening the library.
Result<std::unique_ptr<FusedAttention>> open_fused_attention(Device& device,
                                                             const FusedAttentionProblem& problem);

}  // namespace assay
