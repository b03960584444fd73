#include "cli/advise/tuning_device.h"

#include <fmt/format.h>

#include "advise/tune/gemm/pytorch.h"
#include "advise/tune/gemm/tuning_file_facts.h"
#include "cli/interrupt.h"
#include "core/read_file.h"

namespace assay::cli {

std::string TuningDevice::runtime() const {
  for (const auto& backend : backends) {
    if (backend->name() != device->facts().backend) continue;
    for (const LibraryFact& library : backend->libraries()) {
      if (library.role == "runtime") return library.version;
    }
  }
  return {};
}

Result<TuningDevice> open_tuning_device(const TuneGemmRequest& request, std::string_view choice) {
  TuningDevice seat;
  seat.backends = make_backends();
  seat.device = TRY(open_device(seat.backends, choice));
  seat.stream = TRY(seat.device->create_stream());
  seat.tuner = std::make_unique<ProductTuner>(*seat.device, *seat.stream, request.settings);
  return seat;
}

Result<Validators> find_validators(const TuneGemmRequest& request, TuningDevice& seat) {
  if (!request.validators_file.empty()) {
    constexpr std::size_t most = std::size_t{64} << 20;
    const std::string text = TRY(read_operand(request.validators_file, most));
    Validators validators = parse_tunable_results(text).validators;
    if (validators.empty()) {
      return Error{ErrorKind::usage, fmt::format("{} has no line that begins with \"Validator,\"",
                                                 request.validators_file)};
    }
    return validators;
  }
  if (!request.pytorch.empty()) {
    TunableOpFacts machine = tunable_op_facts(*seat.device, *seat.tuner, seat.runtime());
    machine.pytorch = request.pytorch;
    return validators_of(machine);
  }
  const DeviceFacts& facts = seat.device->facts();
  if (!facts.is_nvidia() && !facts.is_amd()) {
    return Error{ErrorKind::unavailable, "PyTorch's TunableOp is for GPUs"};
  }
  PyTorchSeat where = {request.python, facts.ordinal, &interrupt_requested};
  return TRY(ask_pytorch(where)).validators;
}

}  // namespace assay::cli
