// The forward pass of own attention: the same result by one of several kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/operations/attention.h"

namespace assay {

/// How blocks share the forward pass.
struct OwnForwardGeometry {
  FlashKind kind = FlashKind::waves;
  std::int64_t units = 1;   ///< waves or warpgroups of a block
  std::int64_t rows = 16;   ///< queries of a unit
  std::int64_t step = 64;   ///< keys of a step
  std::int64_t blocks = 1;  ///< blocks that share a multiprocessor, by their registers
  bool operator==(const OwnForwardGeometry&) const = default;

  /// All that there are for the device: that of waves, and then those of groups, if any.
  static std::vector<OwnForwardGeometry> all_of(const DeviceFacts& facts, std::int64_t head_width);
};

class FlashForward {
 public:
  /// The kernel file, and the macros that select `type` and the geometry.
  static ProgramSource source(DataType type, std::int64_t head_width,
                              const OwnForwardGeometry& geometry, bool documents = false);
  static Result<FlashForward> build(Device& device, DataType type, std::int64_t head_width,
                                    const OwnForwardGeometry& geometry, bool documents = false);

  /// Computes Attention::forward(); log_sum may be null.
  Status enqueue(Stream& stream, void* y, const void* qkv, void* log_sum,
                 const AttentionShape& shape) const;
  /// Empty for kernels of waves; "groups of 4 waves, 2 x 64 queries, 128 keys a step".
  std::string describe() const;
  /// Which others were not compared with it, and why (flash_choice.h); may be empty.
  std::string left_out;

 private:
  FlashForward(const DeviceFacts& facts, std::int64_t head_width, OwnForwardGeometry geometry,
               std::unique_ptr<Program> program)
      : facts_(&facts),
        head_width_(head_width),
        geometry_(geometry),
        program_(std::move(program)) {}
  unsigned shared_bytes() const;
  std::int64_t unit_waves() const;

  const DeviceFacts* facts_;
  std::int64_t head_width_;
  OwnForwardGeometry geometry_;
  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
};

/// The fastest on this device of those whose result is that of the kernel of waves, found by
/// measuring and kept in the user's cache, or the kernel of waves, where nothing can be measured;
/// `kind`, if it is not best, is taken as it is. `documents`: FlashAttentionSettings::documents.
/// Error: unsupported, if there is no such kernel for heads of this width.
Result<FlashForward> choose_flash_forward(Device& device, DataType type, std::int64_t head_width,
                                          FlashKind kind, bool documents = false);

}  // namespace assay
