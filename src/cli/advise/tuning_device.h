// The device on which products are tuned, with what belongs to it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/gemm/tunable_fit.h"
#include "cli/advise/tune_gemm_request.h"
#include "compute/device/backend.h"

namespace assay::cli {

struct TuneSeat {
  std::vector<std::unique_ptr<Backend>> backends;  // must outlive what follows, in this order
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<ProductTuner> tuner;

  /// The version of the backend's runtime; empty if unknown.
  std::string runtime() const;
};

/// Error: as open_device().
Result<TuneSeat> open_seat(const TuneGemmRequest& request, std::string_view choice);

/// The validators that PyTorch compares files with: those of --validators, those of the version
/// given with --pytorch on this machine, or what PyTorch itself says. Error: unavailable, with the
/// reason.
Result<Validators> find_validators(const TuneGemmRequest& request, TuneSeat& seat);

}  // namespace assay::cli
