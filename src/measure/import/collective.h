// Collective operations as nccl-tests and rccl-tests name them, and the cells and metrics that
// their tables, JSON and CSV share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "measure/import/draft.h"

namespace assay {

/// "all_reduce_perf", "AllReduce", "alltoall" to "all_reduce", "all_to_all"; empty if it is none.
std::string_view collective_name(std::string_view text);
/// "float" to "f32", "bfloat16" to "bf16", "f8e4m3" to "e4m3"; empty if it is none.
std::string_view collective_type(std::string_view text);
/// Bytes of one element of collective_type()'s names.
std::uint64_t collective_type_bytes(std::string_view type);

/// One half of a row: out-of-place or in-place.
struct CollectiveRow {
  std::string op;           ///< empty: unknown
  std::string type;         ///< as the program names it
  std::string redop;        ///< "sum", "none"
  std::string place;        ///< "out", "in"
  std::string root;         ///< "-1" or empty: it has none
  std::uint64_t ranks = 0;  ///< 0: unknown
  std::uint64_t size = 0;   ///< bytes
  std::string_view time;    ///< microseconds, as written
  std::string_view algbw;   ///< GB/s
  std::string_view busbw;   ///< GB/s
  std::string_view wrong;   ///< elements, or N/A; empty: no such column
  std::string_view error;   ///< the largest difference, as old tables have it; "*": beyond limits
  bool cpu_time = false;    ///< the time is what enqueueing takes on the CPU
};

/// Adds the row's record; empty if its numbers are none, so that the caller can say which line.
/// A row whose numbers all are N/A becomes `unsupported`. `fnuz`: fp8 types are FNUZ's.
Record* add_collective(Draft& draft, const CollectiveRow& row, std::size_t line, bool fnuz = false);

}  // namespace assay
