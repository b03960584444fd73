// The kernels of an operation for one element type, and the launch geometry they share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/tensors/tensor_layout.h"

namespace assay {

/// Kernels of one source file. A kernel whose name has a suffix, "_f32", "_bf16" or "_f16", is
/// asked for without it.
class Kernels {
 public:
  /// `type`: f32, tf32 (stored as f32), bf16 or f16; `defines`: as of a ProgramSource.
  static Result<Kernels> build(Device& device, const std::string& source, DataType type,
                               std::vector<std::pair<std::string, std::string>> defines = {});

  /// The kernel `name` of the type. Error: failed if there is none.
  Result<Kernel*> of_type(std::string_view name);
  /// The kernel `name` itself.
  Result<Kernel*> plain(std::string_view name) { return program_->kernel(name); }

 private:
  Kernels(std::unique_ptr<Program> program, std::string suffix)
      : program_(std::move(program)), suffix_(std::move(suffix)) {}

  std::unique_ptr<Program> program_;
  std::string suffix_;
};

inline constexpr unsigned row_pack = 8;      // elements, as in kernels/rows.h
inline constexpr unsigned sum_columns = 64;  // likewise
inline constexpr unsigned block_threads = 256;

/// One block of at most `most_threads` per row of `width` elements; on a CPU one per core.
LaunchShape shape_of_rows(const DeviceFacts& facts, std::int64_t rows, std::int64_t width,
                          std::int64_t most_threads = block_threads);
/// Enough blocks for all packs of an array.
LaunchShape shape_of_elements(const DeviceFacts& facts, std::int64_t elements);
/// Tiles of columns x stripes of rows, for kernels that sum over rows.
LaunchShape shape_of_sums(std::int64_t width, std::int64_t stripes);

/// The address of a tensor in an arena whose elements have `bytes` each.
inline void* address_of(const Buffer& arena, const Tensor& tensor, std::size_t bytes) {
  return arena.as<std::byte>() + tensor.offset * bytes;
}

}  // namespace assay
