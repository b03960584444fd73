// Attention of tokens to a paged cache of keys and values (kernels/paged_attention.cu).
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/operations/kernels.h"

namespace assay {

/// Tokens of a block of the cache.
inline constexpr std::int64_t page_tokens = 16;

struct PagedHeads {
  std::int64_t heads = 0;     ///< of queries
  std::int64_t kv_heads = 0;  ///< of keys and of values; divides heads
  std::int64_t width = 0;     ///< of each
};

/// Which tokens a pass computes; i32 in device memory.
struct PagedTokens {
  std::int64_t count = 0;
  std::int64_t longest = 0;         ///< no position is larger
  const void* positions = nullptr;  ///< [count], of the token in its sequence, from 0
  const void* sequences = nullptr;  ///< [count], a row of tables
  const void* tables = nullptr;     ///< [sequences, table_width], blocks of the cache
  std::int64_t table_width = 0;
};

/// One layer of the cache: keys and values, each [blocks, kv_heads, page_tokens, width].
struct PagedCache {
  void *keys = nullptr, *values = nullptr;
};

class PagedAttention {
 public:
  /// Error: unsupported, naming the widths and groups of heads that are computed.
  static Result<PagedAttention> create(Device& device, DataType type, PagedHeads heads,
                                       double norm_epsilon);
  /// Why there is none; empty: there is.
  static std::optional<std::string> unsupported(PagedHeads heads);

  /// qkv[tokens, heads + 2 kv_heads, width]: queries and keys are normed by these norms[width]
  /// (unless null) and rotated in place, then keys and values are copied into the cache. `angles`:
  /// f32 [positions, width], cosines, then sines, of half the width each.
  Status store(Stream& stream, void* qkv, const PagedCache& cache, const void* query_norm,
               const void* key_norm, const void* angles, const PagedTokens& tokens);
  /// y[tokens, heads, width] = what each query sees of its sequence up to its own position.
  /// `scratch`: scratch_bytes().
  Status forward(Stream& stream, void* y, const void* qkv, const PagedCache& cache, void* scratch,
                 const PagedTokens& tokens);
  /// Of any pass of up to `tokens` tokens.
  std::uint64_t scratch_bytes(std::int64_t tokens, std::int64_t longest) const;

 private:
  PagedAttention(const DeviceFacts& facts, PagedHeads heads, double norm_epsilon)
      : facts_(&facts), heads_(heads), norm_epsilon_(static_cast<float>(norm_epsilon)) {}
  /// Into how many parts the keys of a token are cut, so that all of the device has work.
  std::int64_t splits(std::int64_t tokens, std::int64_t longest) const;

  const DeviceFacts* facts_;
  PagedHeads heads_;
  float norm_epsilon_;
  std::unique_ptr<Program> program_;
  Kernel *rotate_and_store_ = nullptr, *attention_ = nullptr, *merge_splits_ = nullptr;
};

}  // namespace assay
