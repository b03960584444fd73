// Parses what nccl-tests and its libraries print around the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// The line "Rank  0 Group  0 Pid 1006102 on pool0-01806 device  0 [0000:19:00] NVIDIA H100 ...".
struct RankLine {
  std::uint64_t rank = 0;
  std::uint64_t group = 0;   ///< ranks are split into groups that measure at once; 0: the only one
  std::string host, device;  ///< "pool0-01806", "NVIDIA H100"
};

/// Returns nullopt if the line has another form.
std::optional<RankLine> rank_line(std::string_view line);

/// Returns the operation in a file name, as collective_name() spells it; empty if there is none.
std::string_view operation_in(std::string_view name);
/// Returns the operation of a program like "all_reduce_perf" anywhere in the line; empty if there
/// is none.
std::string_view program_in(std::string_view line);

}  // namespace assay
