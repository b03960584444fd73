// What nccl-tests and their libraries say around their table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// "Rank  0 Group  0 Pid 1006102 on pool0-01806 device  0 [0000:19:00] NVIDIA H100 80GB HBM3"
struct RankLine {
  std::uint64_t rank = 0, group = 0;
  std::string host, device;
};

/// Empty if the line is none.
std::optional<RankLine> rank_line(std::string_view line);

/// The operation that a file's name names, as collective_name() spells it; empty if none.
std::string_view operation_in(std::string_view name);
/// The operation of "all_reduce_perf" anywhere in the line; empty if there is none.
std::string_view program_in(std::string_view line);

}  // namespace assay
