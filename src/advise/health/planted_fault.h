// A fault that somebody plants to see that the test finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::health {

/// Bits that are inverted on purpose after an operation has written them, before their checksum is
/// taken: a test of the test.
struct PlantedFault {
  std::string text;        ///< as the user gave it
  std::string work;        ///< beginning of the name of the work, such as "gemm"
  std::uint64_t run = 1;   ///< repetition after calibration, from 1
  std::size_t launch = 1;  ///< number of the operation or, in free memory, of the pattern, from 1
  std::size_t buffer = 0;  ///< number of an allocation, from 1; 0: one that the operation writes
  /// Bytes to the word in the buffer or, without one, in the operation's blocks; modulo their size.
  std::uint64_t offset = 0;
  std::uint64_t mask = 1;  ///< bits of the word of 8 bytes to invert
  int rank = 0;
  bool stays = false;  ///< whether it also happens in all later repetitions and replays
};
/// Reads "WORK run=N launch=N buffer=N offset=N mask=N rank=N stays", where WORK may have several
/// words, such as "gemm shape=8192". Error: usage.
Result<PlantedFault> parse_planted_fault(std::string_view text);

/// Error: usage, naming what there is, if none of the tested `units` begins with the fault's name,
/// or its rank is not below `ranks`.
Status check_planted_fault(const PlantedFault& fault, std::span<const std::string> units,
                           int ranks);

}  // namespace assay::health
