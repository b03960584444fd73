// Checksums of a device that computes right, as a file for others of its kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/health/sdc.h"
#include "results/record/device_facts.h"

namespace assay::health {

struct SdcReference {
  std::string kind;  ///< as kind_of()
  /// What else decides about bits: "seed", "assay", "driver" and other libraries. Older files have
  /// no seed.
  std::map<std::string, std::string> made_with;
  std::vector<SdcUnit> units;
};
/// Returns what decides about the bits that this program gives on a device, as
/// SdcReference::made_with.
std::map<std::string, std::string> makings(const DeviceFacts& facts, std::uint64_t seed);
/// Returns the first of `own` with which the reference was not made: "seed 2 instead of 1"; empty
/// if there is none. What the reference does not tell is not compared.
std::string other_making(const SdcReference& reference,
                         const std::map<std::string, std::string>& own);

/// Returns the kind of a device; devices of a kind give the same bits: "NVIDIA H200, sm_90, 132
/// multiprocessors".
std::string kind_of(const DeviceFacts& facts);

/// Reads the text of a reference file. Error: usage, saying what is wrong.
Result<SdcReference> read_reference(std::string_view text);
/// Returns what a unit chose by measuring when the reference was made; nothing for an unknown unit.
std::vector<KeptChoice> choices_of(const SdcReference& reference, std::string_view unit);
/// Returns why other bits are no fault: a choice by measuring that is another one than in the
/// reference, such as 'gemm for 8x8x8: "2" here, "1" in the reference'; empty if all are the same.
std::string other_choice(const SdcUnit& own, const SdcUnit& known);

/// Error: usage if the reference is of another kind of device.
Status check_kind(const SdcReference& reference, const DeviceFacts& facts);

}  // namespace assay::health
