// The matrices of a gemm case on the device: allocated, filled, poisoned and read back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "compute/vendor/blas/blas.h"
#include "measure/benchmarks/gemm/gemm_cell.h"

namespace assay {

/// One set of operands. Buffers a problem does not use are empty. `d` is also the C of BLAS, which
/// is not added.
struct OperandSet {
  Buffer a, b, d, aux, bias;
  GemmOperands pointers() const;
};

/// All operand sets of a case, and the kernels of src/compute/kernels/matrix.cu.
class GemmMatrices {
 public:
  /// Allocates matrices large enough for each of `problems` (one GEMM in several layouts) and fills
  /// them with the cell's pattern as if each matrix were one long row, which suits all layouts
  /// without padding. `device` must outlive the object. Error: as from the device's calls.
  static Result<GemmMatrices> create(Device& device, Stream& stream, const GemmCell& cell,
                                     const std::vector<GemmProblem>& problems, std::uint64_t seed);

  /// Refills the inputs of all sets row by row for `problem`, with NaN (i8: -1) between the rows.
  /// It is needed before a problem with padding.
  Status fill_rows(Stream& stream, const GemmProblem& problem);
  /// Fills every output with bytes that no result can have: see poison_of().
  Status poison(Stream& stream, const GemmProblem& problem, const OperandSet& set);

  const std::vector<OperandSet>& sets() const { return sets_; }
  Program& program() { return *program_; }
  Device& device() { return device_; }

 private:
  explicit GemmMatrices(Device& device) : device_(device) {}
  Status fill(Stream& stream, const Buffer& buffer, DataType type, const MatrixExtent& extent,
              std::uint64_t which);

  Device& device_;
  std::unique_ptr<Program> program_;
  std::vector<OperandSet> sets_;
  std::uint64_t seed_ = 0;
  Inputs inputs_ = Inputs::normal;
};

/// The byte with which an output of `type` is filled before it is checked. 0xFF bytes are a NaN in
/// every floating type. The i32 of 0x80 bytes, -2139062144, is beyond the sum of 2^17 products of
/// i8.
constexpr std::uint8_t poison_of(DataType type) {
  return type == DataType::i32 ? 0x80 : 0xFF;
}

}  // namespace assay
