// Loads kernels of AITER, AMD's library of operators, from the code objects that it installs. Each
// kernel takes one buffer of 16-byte slots. Their order may change between releases, so a kernel is
// used only if its own metadata name the arguments that are put into the slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay::aiter {

/// Columns and values that a kernel's row in AITER's tables must have; "a|b" allows two values. A
/// table has a line of column names and a line for each kernel, separated by commas.
using Wanted = std::vector<std::pair<std::string_view, std::string_view>>;

/// A kernel's row.
struct Entry {
  std::string symbol, file;  ///< columns knl_name and co_name
  std::int64_t tile = 0;     ///< rows that a block computes, at least 1
};

/// Returns the first row of `table` with these values, a number of rows in `tile_column` and a file
/// name without folder. Error: unsupported, naming the missing column, or that no row matches.
Result<Entry> find_entry(std::string_view table, const Wanted& wanted,
                         std::string_view tile_column);

/// Returns the folder with AITER's code for an architecture, "gfx942": AITER_ASM_DIR if that is
/// set, or the folder of this name in it, else where pip and containers put it. Error: unavailable,
/// naming what was looked for and where.
Result<std::string> code_folder(const std::string& arch);

/// A kernel with the names of its slots.
class SlotKernel {
 public:
  /// Loads the kernel in `file` on `device`. `slots` has the name of the argument in each slot, in
  /// order; "a|b" are two names for the same argument in different releases. It must outlive this
  /// object. `threads` is the number of threads of its blocks. Error: unavailable if the file is
  /// missing; else as kind_of_file_error() (core/file_error.h) if it cannot be read; unsupported,
  /// naming the file and its different metadata; as Device::load().
  static Result<SlotKernel> load(Device& device, const std::string& file, const Entry& entry,
                                 std::span<const std::string_view> slots, unsigned threads);

  std::int64_t tile() const { return tile_; }
  /// Returns the hash of the kernel's code.
  const std::string& hash() const { return hash_; }

  /// The arguments of one launch; all slots are 0 at first. set() ignores names that the kernel
  /// does not have.
  class Arguments {
   public:
    explicit Arguments(const SlotKernel& kernel)
        : kernel_(kernel), bytes_(kernel.slots_.size() * slot_bytes) {}
    Arguments& set(std::string_view name, const void* address);
    Arguments& set(std::string_view name, float number);
    /// `number` must be below 2^32.
    Arguments& set(std::string_view name, std::int64_t number);
    std::span<const std::byte> bytes() const { return bytes_; }

   private:
    void put(std::string_view name, const void* value, std::size_t bytes);

    const SlotKernel& kernel_;
    std::vector<std::byte> bytes_;
  };

  Status launch(Stream& stream, Dim3 grid, const Arguments& arguments) const {
    return stream.launch_packed(*kernel_, {grid, {threads_}}, arguments.bytes());
  }

 private:
  static constexpr std::size_t slot_bytes = 16;
  SlotKernel() = default;

  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
  std::span<const std::string_view> slots_;
  unsigned threads_ = 0;
  std::int64_t tile_ = 0;
  std::string hash_;
};

}  // namespace assay::aiter
