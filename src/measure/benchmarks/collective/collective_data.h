// Data for messages and collectives that are given by a closed formula, so that the device can
// write and check them (src/compute/kernels/collective_data.cu).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"

namespace assay {

enum class DataKind {
  bits,     ///< data a rank sends in operations without arithmetic
  part,     ///< a rank's input to a reduction
  reduced,  ///< the result of reducing all ranks' inputs
};

/// Elements [first, first + count) of `rank`'s data of a kind; `reduced` ignores the rank.
struct DataRange {
  DataKind kind = DataKind::bits;
  int rank = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Elements that are not as expected.
struct WrongElements {
  std::uint64_t count = 0;
  std::uint64_t index = 0;  ///< index of the first wrong element in the range
  std::string got,
      expected;  ///< values as text: numbers, or bits for types narrower than f32
};

/// The data of `ranks` ranks in one type, for one reduction, under one seed, which must be the same
/// on all ranks. Errors are those of the device's calls.
class CollectiveData {
 public:
  /// `device` must outlive the object.
  static Result<CollectiveData> create(Device& device, DataType type, Reduction reduction,
                                       int ranks, std::uint64_t seed);

  /// Queues kernels that write the range to `to`, which must be accessible to the device.
  Status fill(Stream& stream, const DataRange& range, void* to);
  /// Compares `data` with the range bit for bit and waits for the result. Empty if everything
  /// matches.
  Result<std::optional<WrongElements>> check(Stream& stream, const DataRange& range,
                                             const void* data);

 private:
  CollectiveData(Device& device, DataType type, Reduction reduction, int ranks, std::uint64_t seed,
                 std::unique_ptr<Program> program, Buffer found);
  Result<Kernel*> kernel(std::string_view what, DataKind kind);

  Device* device_;
  DataType type_;
  Reduction reduction_;
  int ranks_;
  std::uint64_t seed_;
  std::unique_ptr<Program> program_;
  Buffer found_;    // two numbers per block
  Buffer element_;  // one expected element
};

/// Returns why a result cannot be checked bit for bit, because libraries may round it differently;
/// empty if it can. `ranks`: the number of ranks in the reduction.
std::optional<std::string> inexact_reduction(DataType type, Reduction reduction, int ranks);

}  // namespace assay
