// Attention of the whole prompts among the rows of a decoder's pass, which needs no cache: by the
// vendor's library where it can, or by assay's own kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "core/data_type.h"

namespace assay {

/// Neighbouring rows that are whole prompts of one length, one after another.
struct PromptRows {
  std::int32_t begin = 0, length = 0, count = 0;

  std::int64_t end() const { return begin + std::int64_t{length} * count; }
  bool operator==(const PromptRows&) const = default;
};

enum class PromptWay {
  best,     ///< by the library, where it can, else the own one
  library,  ///< by the vendor's library
  own,      ///< by assay's own kernels, or where they cannot, through the cache
};

struct PromptAttentionSettings {
  PromptWay way = PromptWay::best;
  /// Prompts of any lengths come, and passes with prompts are not captured. The library's plans are
  /// then made at once, for classes of lengths and numbers of prompts. Otherwise each length and
  /// number gets a plan for it alone, when it first comes.
  bool any_lengths = false;
};

struct PromptHeads {
  DataType type = DataType::bf16;
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
};

/// The largest sizes of a pass.
struct PromptLimits {
  std::int64_t tokens = 0, sequences = 0;
  std::int64_t length = 0;  ///< tokens of a prompt
};

class PromptAttention {
 public:
  virtual ~PromptAttention() = default;
  /// What forward() will compute, until it is told anew: those of `prompts` that it computes(), in
  /// the order of rows, none twice. With any_lengths, everything queued before must have ended.
  virtual Status begin(Stream& stream, std::span<const PromptRows> prompts) = 0;
  /// y[tokens, heads, head width] of qkv[tokens, heads + 2 kv_heads, head width]; only the rows of
  /// prompts are touched.
  virtual Status forward(Stream& stream, void* y, const void* qkv) = 0;
  /// Returns whether forward() computes these prompts, which were given to begin(). Otherwise they
  /// need the cache, because neither the library nor assay's kernels can compute them.
  virtual bool computes(const PromptRows& prompts) const;
  /// The implementation so far: "library (cuDNN 9.19.0)", "cache", or "own" with
  /// Attention::detail(). If the library was asked in vain, the reason follows: "own (no plan for
  /// attention forward: ...)".
  virtual std::string name() const = 0;
};

/// Null: all prompts must be computed through the cache. Error: unsupported, with
/// PromptWay::library, saying why the library cannot; of the device.
Result<std::unique_ptr<PromptAttention>> open_prompt_attention(
    Device& device, const PromptHeads& heads, const PromptAttentionSettings& settings,
    const PromptLimits& limits);

/// Returns why the library cannot compute `count` prompts of this length; empty if it should.
std::optional<std::string> library_prompts_unsupported(const DeviceFacts& facts,
                                                       const PromptHeads& heads,
                                                       std::int64_t length, std::int64_t count);

}  // namespace assay
