// Causal self-attention of packed queries, keys and values, [tokens, heads + 2 kv_heads, head
// width], with several implementations.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "compute/vendor/attention/fused_attention.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/operations/typed_kernels.h"

namespace assay {

struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, head_width = 0;
  /// Heads of keys and values; each is shared by equally many neighbouring query heads. 0: as many
  /// as query heads.
  std::int64_t kv_heads = 0;
  /// i32 [batch, sequence] on the device: the first token of its sequence that a token attends to,
  /// because its document begins there. It never falls within a sequence. Null: 0 for all.
  const std::int32_t* document_starts = nullptr;

  std::int64_t heads_of_keys() const { return kv_heads > 0 ? kv_heads : heads; }
  std::int64_t width() const { return heads * head_width; }
  /// Elements of a token's queries, keys and values.
  std::int64_t qkv_width() const { return (heads + 2 * heads_of_keys()) * head_width; }
};

/// What forward() leaves for backward(), beside its result; each way uses one of them.
struct AttentionMemory {
  void* probabilities = nullptr;  ///< of the element type, [batch, heads, sequence, sequence]
  void* log_sum = nullptr;        ///< f32 [batch, heads, sequence]; null: no backward() follows
  void* scratch = nullptr;        ///< flash_attention_scratch_bytes(); a library needs none
};

class Attention {
 public:
  virtual ~Attention() = default;
  /// y[tokens, width]
  virtual Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                         const AttentionShape& shape) = 0;
  /// The gradient of qkv, all of it written. y: the result of forward().
  virtual Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y,
                          const void* qkv, const AttentionMemory& memory,
                          const AttentionShape& shape) = 0;
  /// What computes it, beyond the name of the way: "(cuDNN 9.19.0), not deterministic"; may be
  /// empty.
  virtual std::string detail() const { return ""; }
  /// Bytes that it holds on the device itself.
  virtual std::uint64_t allocated_bytes() const { return 0; }
};

/// By matrix products and a softmax in memory: works wherever those do, and is slow and large.
/// `plans` must outlive it.
Result<std::unique_ptr<Attention>> plain_attention(Device& device, GemmPlans& plans,
                                                   DataType precision);

/// Which kernels compute own attention: those of single waves, or those of warpgroups
/// (kernels/warpgroup_tile.h: on Hopper by wgmma) where they exist for the device and the width;
/// best: the fastest on the device.
enum class FlashKind { best, waves, groups };

struct FlashAttentionSettings {
  /// best: what the environment variable ASSAY_OWN_ATTENTION names, "waves" or "groups", if it is
  /// set.
  FlashKind kind = FlashKind::best;
  bool backward = true;    ///< whether backward() will be called
  bool documents = false;  ///< whether AttentionShape::document_starts will be given
};

/// By assay's own kernels on matrix units, which keep no scores. One kernel always gives the same
/// bits; which one is the fastest was measured and is kept in the user's cache, and another kernel
/// rounds otherwise. `type`: bf16 or f16. Error: usage, for another word in ASSAY_OWN_ATTENTION;
/// unsupported, for a kind that is not written for this width; as of Device::build().
Result<std::unique_ptr<Attention>> flash_attention(Device& device, DataType type,
                                                   std::int64_t head_width,
                                                   const FlashAttentionSettings& settings = {});
/// Returns why flash_attention() cannot compute this; empty if it can.
std::optional<std::string> flash_attention_unsupported(const DeviceFacts& facts, DataType precision,
                                                       std::int64_t head_width);
/// Bytes of scratch that backward() of flash_attention() needs. `heads`: of all sequences.
std::uint64_t flash_attention_scratch_bytes(std::int64_t heads, std::int64_t sequence,
                                            std::int64_t head_width);

/// By the vendor's library (compute/vendor/attention), for one shape; it brings its own scratch.
Result<std::unique_ptr<Attention>> library_attention(Device& device,
                                                     const FusedAttentionProblem& problem);

}  // namespace assay
