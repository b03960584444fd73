// The device on which products are tuned, with its stream and its tuner.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/gemm/tunable_fit.h"
#include "cli/advise/tune_gemm_request.h"
#include "compute/device/backend.h"

namespace assay::cli {

struct TuningDevice {
  std::vector<std::unique_ptr<Backend>> backends;  // must outlive what follows, in this order
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<ProductTuner> tuner;

  /// The version of the backend's runtime; empty if unknown.
  std::string runtime() const;
};

/// `choice` is the value of --device. Error: as open_device() and Device::create_stream().
Result<TuningDevice> open_tuning_device(const TuneGemmRequest& request, std::string_view choice);

/// The Validator lines that PyTorch checks a TunableOp file against. They come from --validators,
/// from the version given with --pytorch and this machine, or from PyTorch itself. Error: as
/// read_operand() (core/read_file.h) and usage for the file of --validators; as validators_of()
/// (advise/tune/gemm/tunable_fit.h) with --pytorch; else unavailable, if the device is no GPU, and
/// as ask_pytorch() (advise/tune/gemm/pytorch.h).
Result<Validators> find_validators(const TuneGemmRequest& request, TuningDevice& seat);

}  // namespace assay::cli
