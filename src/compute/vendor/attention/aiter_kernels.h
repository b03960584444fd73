// Kernels of AITER, AMD's library of operators, as the code objects that it is installed with. Each
// takes one buffer of 16-byte slots. Nothing promises that a release keeps their order, so a kernel
// is only used if its own metadata name the arguments that are put into the slots.
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

/// What a kernel's row in AITER's tables must say: columns and values. A table has a line of
/// columns and a line for each kernel, divided by commas.
using Wanted = std::vector<std::pair<std::string_view, std::string_view>>;

/// A kernel's row.
struct Entry {
  std::string symbol, file;
  std::int64_t tile = 0;  ///< rows of a block, from the column that was asked for
};

/// The first row of `table` that says what is wanted. Error: failed, naming the missing column, or
/// that no row is like this.
Result<Entry> find_entry(std::string_view table, const Wanted& wanted,
                         std::string_view tile_column);

/// The folder with AITER's code for an architecture, "gfx942": in AITER_ASM_DIR if that is set,
/// else where pip and containers put it. Error: unavailable, naming what was looked for and where.
Result<std::string> code_folder(const std::string& arch);

/// A kernel with the names of its slots.
class SlotKernel {
 public:
  /// The kernel of `file` on `device`. `slots`: the name of the argument in each slot, in their
  /// order; "a|b" are two names that releases use for one. `threads`: of its blocks. Error:
  /// unsupported, naming the file and what its metadata say instead; of reading and loading it.
  static Result<SlotKernel> load(Device& device, const std::string& file, const Entry& entry,
                                 std::span<const std::string_view> slots, unsigned threads);

  std::int64_t tile() const { return tile_; }
  /// Of the code.
  const std::string& hash() const { return hash_; }

  /// What one launch is given: all slots are 0 before.
  class Arguments {
   public:
    explicit Arguments(const SlotKernel& kernel)
        : kernel_(kernel), bytes_(kernel.slots_.size() * slot_bytes) {}
    Arguments& set(std::string_view name, const void* address);
    Arguments& set(std::string_view name, float number);
    /// Below 2^32.
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
