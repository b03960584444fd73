// What the PyTorch of this machine says of itself and of TunableOp's files, by running it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "advise/tune/gemm/tunable_fit.h"
#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

struct PyTorchFacts {
  std::string version;  ///< "2.9.1+rocm6.4"
  std::string hip;      ///< of ROCm it is built for; empty: for CUDA
  Validators validators;
};

struct PyTorchRow {
  TunableKey key;
  std::string solution;
  /// PyTorch looked the product up under this key, and ran the solution that the row names.
  bool taken = false;
  std::string reason;  ///< why it is not
};

struct PyTorchCheck {
  PyTorchFacts pytorch;
  bool accepted = false;  ///< it read the file
  std::vector<PyTorchRow> rows;
};

struct PyTorchSeat {
  std::string python;  ///< a program, looked up in PATH
  int ordinal = 0;     ///< of the device
  std::function<bool()> stop_requested = {};
};

/// Error: unavailable, with the reason, if there is none that can use a GPU.
Result<PyTorchFacts> ask_pytorch(const PyTorchSeat& seat);

/// Lets PyTorch read the results file, then makes it compute the products of `rows` with tuning on:
/// a product that it does not find in the file adds one of its own, and a solution that the
/// libraries lack is an error. Error: as ask_pytorch().
Result<PyTorchCheck> check_in_pytorch(const PyTorchSeat& seat, const std::string& file,
                                      std::span<const TunableRow> rows);

/// What the script of both prints. Error: unavailable, with the script's reason, or if it is
/// damaged.
Result<PyTorchCheck> parse_pytorch_answer(std::string_view text);

}  // namespace assay
