// Runs the PyTorch of this machine to ask for its version and for how it reads TunableOp's files.
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
  std::string version;    ///< "2.9.1+rocm6.4"
  std::string hip;        ///< HIP version that it was built for; empty: built for CUDA
  Validators validators;  ///< those that it writes into results files
};

/// What PyTorch did with one row of a results file.
struct PyTorchRow {
  TunableKey key;
  std::string solution;
  /// Whether PyTorch looked the GEMM up under this key and ran the solution that the row names.
  bool taken = false;
  std::string reason;  ///< why it was not taken
};

/// What PyTorch did with a results file.
struct PyTorchCheck {
  PyTorchFacts pytorch;
  bool accepted = false;         ///< whether PyTorch accepted the file
  std::vector<PyTorchRow> rows;  ///< in the order of the rows given
};

/// Where PyTorch runs.
struct PyTorchSeat {
  std::string python;  ///< the interpreter, looked up in PATH
  int ordinal = 0;     ///< number of the device, as PyTorch counts them
  std::function<bool()> stop_requested = {};
};

/// Asks PyTorch for its version and validators. Error: unavailable, with the reason, if there is no
/// PyTorch that can use a GPU, or it does not answer within 5 minutes; interrupted.
Result<PyTorchFacts> ask_pytorch(const PyTorchSeat& seat);

/// Lets PyTorch read the results file `file` and compute the GEMMs of `rows` with tuning on. It
/// then adds a row for each GEMM that it did not find in the file, and fails on a solution that the
/// libraries lack. Error: as ask_pytorch().
Result<PyTorchCheck> check_in_pytorch(const PyTorchSeat& seat, const std::string& file,
                                      std::span<const TunableRow> rows);

/// Parses what the script of ask_pytorch() and check_in_pytorch() prints. Error: unavailable, with
/// the script's reason, or if the text is damaged.
Result<PyTorchCheck> parse_pytorch_answer(std::string_view text);

}  // namespace assay
