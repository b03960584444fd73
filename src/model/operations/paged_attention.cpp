#include "model/operations/paged_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"

namespace assay {
namespace {

// These are those of kernels/paged_attention.cu.
constexpr unsigned paged_threads = 128;
constexpr std::int64_t widths[] = {16, 32, 64, 128}, most_group = 8;

}  // namespace

const char* name_of(PagedUnits units) {
  return units == PagedUnits::matrix ? "matrix units" : "vector units";
}

std::optional<std::string> PagedAttention::unsupported(PagedHeads heads) {
  if (std::ranges::find(widths, heads.width) == std::end(widths)) {
    return fmt::format("heads are {} wide, allowed are 16, 32, 64 and 128", heads.width);
  }
  if (heads.heads % heads.kv_heads != 0 || heads.heads / heads.kv_heads > most_group) {
    return fmt::format("{} heads share {} of keys, allowed are 1 to {} for each", heads.heads,
                       heads.kv_heads, most_group);
  }
  return std::nullopt;
}

bool PagedAttention::has_matrix_kernels(const DeviceFacts& facts, DataType type, PagedHeads heads) {
  return type == DataType::bf16 && (heads.width == 64 || heads.width == 128) &&
         has_own_matrix_units(facts);
}

Result<PagedAttention> PagedAttention::create(Device& device, PagedTypes types, PagedHeads heads,
                                              double norm_epsilon, PagedUnits units) {
  if (const auto reason = unsupported(heads)) return Error{ErrorKind::unsupported, *reason};
  PagedAttention made(device.facts(), heads, norm_epsilon);
  const char* const cache = !types.cache_codes ? "0" : is_fnuz(*types.cache_codes) ? "2" : "1";
  const std::vector<std::pair<std::string, std::string>> defines = {
      {"PAGED_WIDTH", std::to_string(heads.width)},
      {"PAGED_GROUP", std::to_string(heads.heads / heads.kv_heads)},
      {"PAGED_CACHE", cache}};
  made.program_ = TRY(device.build({"paged_attention", defines}));
  std::string suffix = types.numbers == DataType::bf16 ? "bf16" : "f32";
  if (types.cache_codes) suffix += fmt::format("_{}", name_of(*types.cache_codes));
  made.rotate_and_store_ = TRY(made.program_->kernel(fmt::format("rotate_and_store_{}", suffix)));
  if (units == PagedUnits::matrix) {
    made.tiles_ = TRY(device.build({"paged_tiles", defines}));
    made.attention_ =
        TRY(made.tiles_->kernel(fmt::format("paged_tiles_{}_{}", heads.width, suffix)));
    return made;
  }
  made.attention_ =
      TRY(made.program_->kernel(fmt::format("paged_attention_{}_{}", heads.width, suffix)));
  return made;
}

Status PagedAttention::store(Stream& stream, void* qkv, const PagedCache& cache,
                             const PagedRotation& rotation, const PagedTokens& tokens) {
  // A wave per head of a token.
  const std::int64_t vectors = tokens.count * (heads_.heads + 2 * heads_.kv_heads);
  return launch(
      stream, *rotate_and_store_,
      shape_of_elements(*facts_, vectors * facts_->wave_size * row_pack), {.programmatic = true},
      qkv, cache.keys, cache.values, cache.key_factors, cache.value_factors, rotation.query_norm,
      rotation.key_norm, rotation.angles, tokens.positions, tokens.sequences, tokens.tables,
      std::uint64_t(tokens.table_width), std::uint64_t(tokens.count), std::uint64_t(heads_.heads),
      std::uint64_t(heads_.kv_heads), std::uint64_t(heads_.width), norm_epsilon_);
}

Status PagedAttention::forward(Stream& stream, void* y, const void* qkv, const PagedCache& cache,
                               void* scratch, const PagedTokens& tokens) {
  return attend(stream, y, qkv, cache, {}, scratch, tokens);
}

Status PagedAttention::store_and_forward(Stream& stream, void* y, const void* qkv,
                                         const PagedCache& cache, const PagedRotation& rotation,
                                         void* scratch, const PagedTokens& tokens) {
  return attend(stream, y, qkv, cache, rotation, scratch, tokens);
}

Status PagedAttention::attend(Stream& stream, void* y, const void* qkv, const PagedCache& cache,
                              const PagedRotation& rotation, void* scratch,
                              const PagedTokens& tokens) {
  if ((rotation.query_norm == nullptr) != (rotation.key_norm == nullptr)) {
    return Error{ErrorKind::usage, "attention to the cache: norms of queries or of keys alone"};
  }
  const std::int64_t parts = splits(tokens.count, tokens.longest);
  auto* const arrived = static_cast<std::uint32_t*>(scratch);
  auto* const sums = reinterpret_cast<float*>(arrived + most_merging());
  float* const weights = sums + tokens.count * heads_.heads * parts * heads_.width;
  return launch(
      stream, *attention_,
      {{static_cast<unsigned>(tokens.count * heads_.kv_heads), static_cast<unsigned>(parts)},
       {paged_threads}},
      {.programmatic = true}, y, sums, weights, arrived, qkv, cache.keys, cache.values,
      cache.key_factors, cache.value_factors, rotation.query_norm, rotation.key_norm,
      rotation.angles, tokens.positions, tokens.sequences, tokens.tables,
      std::uint64_t(tokens.table_width), std::uint64_t(heads_.heads),
      std::uint64_t(heads_.kv_heads), std::uint64_t(parts),
      1 / std::sqrt(static_cast<float>(heads_.width)), norm_epsilon_);
}

std::uint64_t PagedAttention::scratch_bytes(std::int64_t tokens, std::int64_t longest) const {
  std::uint64_t most = 0;  // fewer tokens may be cut into more parts
  for (std::int64_t count = 1; count <= tokens; ++count) {
    const std::int64_t parts = splits(count, longest);
    if (parts == 1) break;
    most = std::max(most, std::uint64_t(count * heads_.heads * parts * (heads_.width + 2)));
  }
  return std::uint64_t(most_merging()) * sizeof(std::uint32_t) + most * sizeof(float);
}

std::int64_t PagedAttention::wanted_blocks() const {
  // A multiprocessor holds three blocks of the kernel for bf16 at once. With a fourth, which waits
  // for them, a step of 16 sequences of Qwen3-8B took 4% longer on an H200.
  constexpr int at_once = 3;
  return facts_->multiprocessors * (facts_->runs_on_host ? 1 : at_once);
}

std::int64_t PagedAttention::most_merging() const {
  constexpr std::int64_t of_pack = 8;  // so that what lies behind is aligned as packs of floats
  return (wanted_blocks() / 2 + of_pack) / of_pack * of_pack;
}

std::int64_t PagedAttention::splits(std::int64_t tokens, std::int64_t longest) const {
  constexpr std::int64_t least_keys = 64;  // fewer are not worth merging
  const std::int64_t wanted = wanted_blocks() / (tokens * heads_.kv_heads);
  return std::clamp<std::int64_t>(wanted, 1, longest / least_keys + 1);
}

}  // namespace assay
