// The backward pass of own attention: the same gradients by one of several kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/operations/attention.h"

namespace assay {

/// How blocks share the backward pass; the names are those of flash_backward.cu's macros.
struct OwnBackwardGeometry {
  std::int64_t waves = 1, rows = 64, keys = 64, queries = 64, stages = 1;
  static OwnBackwardGeometry of(const DeviceFacts& facts, std::int64_t head_width);
};

class FlashBackward {
 public:
  /// The kernel file, of waves or of groups, and the macros that select `type` and the geometry.
  static ProgramSource source(const DeviceFacts& facts, DataType type, std::int64_t head_width,
                              bool groups, bool documents = false);
  /// `groups`: whether warpgroups compute together. Error: from Device::build().
  static Result<FlashBackward> build(Device& device, DataType type, std::int64_t head_width,
                                     bool groups, bool documents = false);
  /// Returns whether there are kernels of groups.
  static bool has_groups(const DeviceFacts& facts, std::int64_t head_width);

  /// Computes Attention::backward(); `scratch` has flash_attention_scratch_bytes().
  Status enqueue(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                 const AttentionMemory& memory, const AttentionShape& shape) const;
  /// Empty for kernels of waves.
  std::string describe() const;
  /// Has the meaning of FlashForward::left_out.
  std::string left_out;

 private:
  FlashBackward(const DeviceFacts& facts, std::int64_t head_width, bool groups)
      : facts_(&facts),
        head_width_(head_width),
        groups_(groups),
        geometry_(OwnBackwardGeometry::of(facts, head_width)) {}
  LaunchShape grid(std::int64_t heads, std::int64_t sequence, std::int64_t rows, std::int64_t waves,
                   unsigned shared_bytes) const;
  unsigned shared_bytes() const;
  unsigned query_tile_bytes() const;

  const DeviceFacts* facts_;
  std::int64_t head_width_;
  bool groups_;
  OwnBackwardGeometry geometry_;
  std::unique_ptr<Program> program_, program_of_groups_;
  Kernel *tops_ = nullptr, *rows_ = nullptr, *gradients_ = nullptr, *query_gradients_ = nullptr;
};

/// Chooses as choose_flash_forward() does.
Result<FlashBackward> choose_flash_backward(Device& device, DataType type, std::int64_t head_width,
                                            FlashKind kind, bool documents = false);

}  // namespace assay
