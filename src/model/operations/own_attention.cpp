// Attention by assay's own kernels (own_forward.h and kernels/flash_backward.cu).
#include <fmt/format.h>

#include <cmath>

#include "compute/device/helpers.h"
#include "compute/device/matrix_types.h"
#include "model/operations/attention.h"
#include "model/operations/own_forward.h"

namespace assay {
namespace {

constexpr std::int64_t element = 2;  // bytes

/// How blocks share the backward pass; the names are those of flash_backward.cu's macros.
struct BackwardGeometry {
  std::int64_t waves, rows, keys, queries, stages;

  /// Tiles of keys and values, the scores of a step and their gradients, and tiles of queries and
  /// gradients of results.
  unsigned shared_bytes(std::int64_t head_width) const {
    return static_cast<unsigned>(element * 2 *
                                 ((keys + stages * queries) * head_width + keys * queries));
  }
};

BackwardGeometry backward_geometry(const DeviceFacts& facts, std::int64_t head_width) {
  if (runs_on_host(facts)) return {1, 64, 64, 64, 1};  // what is compiled in
  if (facts.backend == "cuda") {
    // The largest tiles whose sums fit into registers: every operand is read for more products.
    for (const std::int64_t stages : {2, 1}) {
      const BackwardGeometry large = {8, 32, 128, head_width > 64 ? 64 : 128, stages};
      constexpr std::uint64_t rows_of_queries = 8192;  // bytes at most, beside the tiles
      if (large.shared_bytes(head_width) + rows_of_queries <= facts.shared_bytes_per_block) {
        return large;
      }
    }
    return {4, 32, 64, 64, 1};
  }
  // As large as 64 KiB of shared memory allow; every thread copies a part of each tile.
  return {4, 32, 64, head_width > 64 ? 32 : 64, 1};
}

/// Queries in a tile of the backward pass divide this, so that its scratch does not depend on the
/// device.
constexpr std::int64_t most_queries_of_tile = 128;
constexpr std::int64_t bytes_of_row = 16, bytes_of_sum = 4;  // as in flash_backward.cu

std::int64_t whole_tiles(std::int64_t rows, std::int64_t tile) {
  return (rows + tile - 1) / tile * tile;
}

class OwnAttention final : public Attention {
 public:
  OwnAttention(Device& device, DataType type, std::int64_t head_width, OwnForward forward)
      : device_(device),
        facts_(device.facts()),
        type_(type),
        head_width_(head_width),
        forward_(std::move(forward)),
        backward_geometry_(backward_geometry(facts_, head_width)) {}

  Status load() {
    const BackwardGeometry& b = backward_geometry_;
    backward_program_ = TRY(build("flash_backward", {{"FLASH_WAVES", b.waves},
                                                     {"FLASH_ROWS", b.rows},
                                                     {"FLASH_KEYS", b.keys},
                                                     {"FLASH_QUERIES", b.queries},
                                                     {"FLASH_STAGES", b.stages}}));
    tops_ = TRY(find(*backward_program_, "tops"));
    rows_ = TRY(find(*backward_program_, "rows"));
    backward_ = TRY(find(*backward_program_, "backward"));
    query_gradients_ = TRY(find(*backward_program_, "query_gradients"));
    return backward_->allow_dynamic_shared(b.shared_bytes(head_width_));
  }

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    return forward_.enqueue(stream, y, qkv, memory.log_sum, shape);
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    const auto sequence = std::uint64_t(shape.sequence), heads = std::uint64_t(shape.heads);
    const std::int64_t all_heads = shape.batch * shape.heads;
    const BackwardGeometry& g = backward_geometry_;
    // In the order of own_attention_scratch_bytes().
    auto* const rows = static_cast<std::byte*>(memory.scratch);
    const std::int64_t all_rows = all_heads * whole_tiles(shape.sequence, most_queries_of_tile);
    std::byte* const sums = rows + all_rows * bytes_of_row;
    std::byte* const tops = sums + all_rows * head_width_ * bytes_of_sum;
    TRY(stream.fill(tops, 0, std::size_t(all_heads * 2 * head_width_ * bytes_of_sum)));
    TRY(launch(stream, *tops_, grid(shape, tokens_of_tops, waves_of_tops, 0), tops, qkv, sequence,
               heads));
    TRY(launch(stream, *rows_, shape_of_elements(facts_, all_rows * head_width_), rows, sums, dy, y,
               memory.log_sum, tops, std::uint64_t(shape.batch), sequence, heads));
    TRY(launch(stream, *backward_, grid(shape, g.keys, g.waves, g.shared_bytes(head_width_)), d_qkv,
               sums, dy, qkv, rows, tops, sequence, heads, scale()));
    const auto tile_bytes = static_cast<unsigned>(g.queries * head_width_ * element);
    return launch(stream, *query_gradients_, grid(shape, g.queries, g.waves, tile_bytes), d_qkv,
                  sums, rows, tops, sequence, heads, scale());
  }

  std::string detail() const override {
    const std::string forward = forward_.describe();
    return forward.empty() ? "" : fmt::format("(forward: {})", forward);
  }

 private:
  // Of a block that looks for the largest keys and values; tokens as in flash_backward.cu.
  static constexpr std::int64_t tokens_of_tops = 1024, waves_of_tops = 8;

  Result<std::unique_ptr<Program>> build(
      const char* source, std::initializer_list<std::pair<const char*, std::int64_t>> geometry) {
    ProgramSource wanted = {source,
                            {{"FLASH_WIDTH", std::to_string(head_width_)},
                             {"FLASH_ONLY", std::string(name_of(type_))},
                             {"FLASH_TYPE", type_ == DataType::bf16 ? "Bf16" : "F16"}}};
    for (const auto& [macro, number] : geometry) {
      wanted.defines.emplace_back(macro, std::to_string(number));
    }
    return device_.build(wanted);
  }
  Result<Kernel*> find(Program& program, const char* name) const {
    return program.kernel(fmt::format("flash_{}_{}_{}", name, head_width_, name_of(type_)));
  }

  float scale() const { return 1 / std::sqrt(static_cast<float>(head_width_)); }
  /// All tiles of `rows` queries or keys of all heads.
  LaunchShape grid(const AttentionShape& shape, std::int64_t rows, std::int64_t waves,
                   unsigned shared_bytes) const {
    const std::int64_t tiles = (shape.sequence + rows - 1) / rows;
    return {{static_cast<unsigned>(shape.batch * shape.heads * tiles)},
            {static_cast<unsigned>(waves * facts_.wave_size)},
            shared_bytes};
  }

  Device& device_;
  const DeviceFacts& facts_;
  DataType type_;
  std::int64_t head_width_;
  OwnForward forward_;
  BackwardGeometry backward_geometry_;
  std::unique_ptr<Program> backward_program_;
  Kernel *tops_ = nullptr, *rows_ = nullptr, *backward_ = nullptr, *query_gradients_ = nullptr;
};

}  // namespace

std::optional<std::string> own_attention_unsupported(const DeviceFacts& facts, DataType precision,
                                                     std::int64_t head_width) {
  if (precision != DataType::bf16 && precision != DataType::f16) {
    return fmt::format("computes in bf16 or f16, not in {}", name_of(precision));
  }
  if (head_width != 32 && head_width != 64 && head_width != 128) {
    return fmt::format("computes heads 32, 64 or 128 wide, not {}", head_width);
  }
  if (!has_own_matrix_units(facts)) {
    return fmt::format("is written for sm_80 and newer, gfx90a and gfx94x, not for {}", facts.arch);
  }
  return std::nullopt;
}

std::uint64_t own_attention_scratch_bytes(std::int64_t heads, std::int64_t sequence,
                                          std::int64_t head_width) {
  const std::int64_t rows = heads * whole_tiles(sequence, most_queries_of_tile);
  return static_cast<std::uint64_t>(rows * (bytes_of_row + head_width * bytes_of_sum) +
                                    heads * 2 * head_width * bytes_of_sum);
}

Result<std::unique_ptr<Attention>> own_attention(Device& device, DataType type,
                                                 std::int64_t head_width, OwnForwardKind kind) {
  OwnForward forward = TRY(choose_own_forward(device, type, head_width, kind));
  auto made = std::make_unique<OwnAttention>(device, type, head_width, std::move(forward));
  TRY(made->load());
  return std::unique_ptr<Attention>(std::move(made));
}

}  // namespace assay
