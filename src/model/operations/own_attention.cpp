// Attention by assay's own kernels (kernels/flash_attention.cu).
#include <fmt/format.h>

#include <cmath>

#include "compute/device/helpers.h"
#include "compute/device/matrix_types.h"
#include "model/operations/attention.h"

namespace assay {
namespace {

/// How blocks share the work; the names are those of flash_attention.cu's macros.
struct FlashGeometry {
  std::int64_t waves, rows, step, back_rows, back_step;
  bool staged;  ///< whether scores pass through shared memory on their way to the next product

  std::int64_t block_rows() const { return waves * rows; }
  std::int64_t back_block_rows() const { return waves * back_rows; }
};

FlashGeometry geometry_of(const DeviceFacts& facts, std::int64_t head_width) {
  if (runs_on_host(facts)) return {1, 64, 64, 64, 64, true};  // what is compiled in
  // On an H200 the fastest of six, forward and backward, for heads 64 and 128 wide.
  if (facts.backend == "cuda") return {4, 32, 64, 16, 64, false};
  // As large as 64 KiB of shared memory allow; every thread copies a part of each tile.
  return {4, 16, 64, 16, head_width < 64 ? 64 : 32, true};
}

class OwnAttention final : public Attention {
 public:
  OwnAttention(Device& device, DataType type, std::int64_t head_width, FlashGeometry geometry,
               std::unique_ptr<Program> program)
      : facts_(device.facts()),
        type_(type),
        head_width_(head_width),
        geometry_(geometry),
        program_(std::move(program)) {}

  Status load() {
    const auto find = [&](const char* name) {
      return program_->kernel(fmt::format("flash_{}_{}_{}", name, head_width_, name_of(type_)));
    };
    forward_ = TRY(find("forward"));
    delta_ = TRY(find("delta"));
    backward_keys_ = TRY(find("backward_keys"));
    backward_queries_ = TRY(find("backward_queries"));
    TRY(forward_->allow_dynamic_shared(forward_bytes()));
    TRY(backward_keys_->allow_dynamic_shared(backward_bytes()));
    return backward_queries_->allow_dynamic_shared(backward_bytes());
  }

  Status forward(Stream& stream, void* y, const void* qkv, const AttentionMemory& memory,
                 const AttentionShape& shape) override {
    const std::int64_t kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
    return launch(stream, *forward_, grid(shape, geometry_.block_rows(), forward_bytes()), y,
                  memory.log_sum, qkv, std::uint64_t(shape.sequence), std::uint64_t(shape.heads),
                  std::uint64_t(kv_heads), scale());
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const AttentionMemory& memory, const AttentionShape& shape) override {
    const auto sequence = std::uint64_t(shape.sequence), heads = std::uint64_t(shape.heads);
    const std::int64_t rows = shape.batch * shape.heads * shape.sequence;
    void* const delta = memory.scratch;
    TRY(launch(stream, *delta_, shape_of_elements(facts_, rows * row_pack), delta, dy, y,
               std::uint64_t(rows), sequence, heads));
    TRY(launch(stream, *backward_keys_, grid(shape, geometry_.back_block_rows(), backward_bytes()),
               d_qkv, dy, qkv, memory.log_sum, delta, sequence, heads, scale()));
    return launch(stream, *backward_queries_,
                  grid(shape, geometry_.back_block_rows(), backward_bytes()), d_qkv, dy, qkv,
                  memory.log_sum, delta, sequence, heads, scale());
  }

 private:
  static constexpr std::int64_t element = 2;  // bytes

  float scale() const { return 1 / std::sqrt(static_cast<float>(head_width_)); }
  /// All tiles of `rows` queries or keys of all heads.
  LaunchShape grid(const AttentionShape& shape, std::int64_t rows, unsigned shared_bytes) const {
    const std::int64_t tiles = (shape.sequence + rows - 1) / rows;
    return {{static_cast<unsigned>(shape.batch * shape.heads * tiles)},
            {static_cast<unsigned>(geometry_.waves * facts_.wave_size)},
            shared_bytes};
  }
  unsigned forward_bytes() const { return bytes_of(geometry_.block_rows(), 1, geometry_.step); }
  unsigned backward_bytes() const {
    return bytes_of(geometry_.back_block_rows(), 2, geometry_.back_step);
  }
  /// `kept` tiles of the block's own rows, two of a step, and one of scores.
  unsigned bytes_of(std::int64_t rows, std::int64_t kept, std::int64_t step) const {
    return static_cast<unsigned>(element * (kept * rows * head_width_ + 2 * step * head_width_ +
                                            (geometry_.staged ? rows * step : 0)));
  }

  const DeviceFacts& facts_;
  DataType type_;
  std::int64_t head_width_;
  FlashGeometry geometry_;
  std::unique_ptr<Program> program_;
  Kernel *forward_ = nullptr, *delta_ = nullptr, *backward_keys_ = nullptr,
         *backward_queries_ = nullptr;
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

Result<std::unique_ptr<Attention>> own_attention(Device& device, DataType type,
                                                 std::int64_t head_width) {
  const FlashGeometry geometry = geometry_of(device.facts(), head_width);
  auto program = TRY(device.build({"flash_attention",
                                   {{"FLASH_WAVES", std::to_string(geometry.waves)},
                                    {"FLASH_ROWS", std::to_string(geometry.rows)},
                                    {"FLASH_STEP", std::to_string(geometry.step)},
                                    {"FLASH_BACK_ROWS", std::to_string(geometry.back_rows)},
                                    {"FLASH_BACK_STEP", std::to_string(geometry.back_step)},
                                    {"FLASH_WIDTH", std::to_string(head_width)},
                                    {"FLASH_ONLY", std::string(name_of(type))},
                                    {"FLASH_TYPE", type == DataType::bf16 ? "Bf16" : "F16"}}}));
  auto made =
      std::make_unique<OwnAttention>(device, type, head_width, geometry, std::move(program));
  TRY(made->load());
  return std::unique_ptr<Attention>(std::move(made));
}

}  // namespace assay
