// Checksums of a device that computes right, as a file for others of its kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "advise/health/sdc.h"
#include "results/record/device_facts.h"

namespace assay::health {

struct SdcReference {
  std::string kind;  ///< as kind_of()
  std::vector<SdcUnit> units;
};

/// Devices of a kind give the same bits: "NVIDIA H200, sm_90, 132 multiprocessors".
std::string kind_of(const DeviceFacts& facts);

/// Error: usage, saying what is wrong.
Result<SdcReference> read_reference(std::string_view text);
/// Error: usage if the reference is of another kind of device.
Status check_kind(const SdcReference& reference, const DeviceFacts& facts);

}  // namespace assay::health
