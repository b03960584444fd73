// Names of collective operations in nccl-tests and rccl-tests, and the cells and metrics shared by
// their tables, JSON and CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "results/import/record_builder.h"

namespace assay {

/// Returns "all_reduce" for "all_reduce_perf" or "AllReduce", "all_to_all" for "alltoall"; empty if
/// it is not a collective.
std::string_view collective_name(std::string_view text);
/// Returns "f32" for "float", "bf16" for "bfloat16", "e4m3" for "f8e4m3"; empty if it is not a
/// type.
std::string_view collective_type(std::string_view text);
/// Returns the bytes per element of the types that collective_type() returns; 1 for other texts.
std::uint64_t collective_type_bytes(std::string_view type);

/// One half of a row of a table: the program measures each size out of place, with two buffers, and
/// in place, with one. The texts must outlive it.
struct CollectiveRow {
  std::string op;           ///< empty: unknown
  std::string type;         ///< as the program writes it
  std::string redop;        ///< "sum", "none"
  std::string place;        ///< "out" of place, "in" place
  std::string root;         ///< "-1" or empty: none
  std::uint64_t ranks = 0;  ///< 0: unknown
  std::uint64_t size = 0;   ///< bytes
  std::string_view time;    ///< microseconds, as written
  std::string_view algbw;   ///< GB/s
  std::string_view busbw;   ///< GB/s
  std::string_view wrong;   ///< elements, or N/A; empty: no such column
  std::string_view error;   ///< the largest difference, in old tables; "*": above the threshold
  bool cpu_time = false;    ///< the time is the CPU time of enqueueing
};

/// Adds the row's record and returns it, valid until the next Draft::add(). Returns null if its
/// numbers are invalid, so that the caller can report the line. A row whose time and bus bandwidth
/// are N/A becomes `unsupported`, one with wrong elements `failed`. `fnuz` means that fp8 types
/// have AMD's FNUZ encodings.
Record* add_collective(Draft& draft, const CollectiveRow& row, std::size_t line, bool fnuz = false);

}  // namespace assay
