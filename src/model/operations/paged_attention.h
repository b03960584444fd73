// Attention of tokens to a paged cache of keys and values (kernels/paged_attention.cu, and on
// matrix units kernels/paged_tiles.cu).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// Tokens of a block of the cache.
inline constexpr std::int64_t page_tokens = 16;

struct PagedHeads {
  std::int64_t heads = 0;     ///< of queries
  std::int64_t kv_heads = 0;  ///< of keys and of values; divides heads
  std::int64_t width = 0;     ///< of each
};

/// Which tokens a pass computes; i32 in device memory, there before the kernel in front of
/// attention begins: attention reads it while that one still runs.
struct PagedTokens {
  std::int64_t count = 0;
  std::int64_t longest = 0;         ///< no position is larger
  const void* positions = nullptr;  ///< [count], of the token in its sequence, from 0
  const void* sequences = nullptr;  ///< [count], a row of tables
  const void* tables = nullptr;     ///< [sequences, table_width], blocks of the cache
  std::int64_t table_width = 0;
};

/// One layer of the cache: keys and values, each [blocks, kv_heads, page_tokens, width]. Codes have
/// a factor for each vector, [blocks, kv_heads, page_tokens] in f32: its largest magnitude by that
/// of a code.
struct PagedCache {
  void *keys = nullptr, *values = nullptr;
  float *key_factors = nullptr, *value_factors = nullptr;
};

/// What attention reads and writes.
struct PagedTypes {
  DataType numbers;  ///< of queries, new keys and values, results: f32, bf16
  std::optional<DataType> cache_codes = {};  ///< e4m3 or e4m3_fnuz; empty: the cache holds numbers
};

/// What queries and keys go through before attention: both are normed by their norm[width], unless
/// both norms are null, and rotated. `angles`: f32 [positions, width], cosines, then sines, of half
/// the width each.
struct PagedRotation {
  const void *query_norm = nullptr, *key_norm = nullptr, *angles = nullptr;
};

/// What computes scores and adds up values.
enum class PagedUnits { vector, matrix };
/// Returns the name for the screen: "vector units" or "matrix units".
const char* name_of(PagedUnits units);

class PagedAttention {
 public:
  /// Error: unsupported, naming the widths and groups of heads that are computed.
  static Result<PagedAttention> create(Device& device, PagedTypes types, PagedHeads heads,
                                       double norm_epsilon, PagedUnits units);
  /// Returns whether there are kernels for matrix units: in bf16, for heads 64 or 128 wide.
  static bool has_matrix_kernels(const DeviceFacts& facts, DataType type, PagedHeads heads);
  /// Returns why there is none; empty if there is.
  static std::optional<std::string> unsupported(PagedHeads heads);

  /// qkv[tokens, heads + 2 kv_heads, width]: queries and keys are rotated in place, then keys and
  /// values are copied into the cache, or rounded to its codes.
  Status store(Stream& stream, void* qkv, const PagedCache& cache, const PagedRotation& rotation,
               const PagedTokens& tokens);
  /// y[tokens, heads, width] = what each query sees of its sequence up to its own position.
  /// `scratch`: scratch_bytes(), zero before its first use.
  Status forward(Stream& stream, void* y, const void* qkv, const PagedCache& cache, void* scratch,
                 const PagedTokens& tokens);
  /// Returns whether one launch takes less time than two: where tokens are so few that their keys
  /// are cut into parts, launches are what the device waits for. With more, each block's own
  /// rotation takes longer than a launch (measured on H100: passes of 64 sequences 0.7% longer).
  bool prefers_one_launch(const PagedTokens& tokens) const {
    return splits(tokens.count, tokens.longest) > 1;
  }
  PagedUnits units() const { return tiles_ ? PagedUnits::matrix : PagedUnits::vector; }
  /// Both in one launch, which leaves qkv as it is: for tokens of which none sees another.
  Status store_and_forward(Stream& stream, void* y, const void* qkv, const PagedCache& cache,
                           const PagedRotation& rotation, void* scratch, const PagedTokens& tokens);
  /// Bytes of scratch for passes of up to `tokens` tokens; they are the same for all units.
  std::uint64_t scratch_bytes(std::int64_t tokens, std::int64_t longest) const;

 private:
  PagedAttention(const DeviceFacts& facts, PagedHeads heads, double norm_epsilon)
      : facts_(&facts), heads_(heads), norm_epsilon_(static_cast<float>(norm_epsilon)) {}
  /// `rotation` without angles: qkv is rotated, keys and values are in the cache.
  Status attend(Stream& stream, void* y, const void* qkv, const PagedCache& cache,
                const PagedRotation& rotation, void* scratch, const PagedTokens& tokens);
  /// The most blocks whose splits are merged: a u32 each, at the beginning of the scratch memory.
  std::int64_t most_merging() const;
  std::int64_t wanted_blocks() const;
  /// Into how many parts the keys of a token are cut, so that all of the device has work.
  std::int64_t splits(std::int64_t tokens, std::int64_t longest) const;

  const DeviceFacts* facts_;
  PagedHeads heads_;
  float norm_epsilon_;
  std::unique_ptr<Program> program_, tiles_;
  Kernel *rotate_and_store_ = nullptr, *attention_ = nullptr;
};

}  // namespace assay
