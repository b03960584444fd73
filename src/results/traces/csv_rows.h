// Rows of CSV files that are larger than memory.
#pragma once

#include <string>

#include "results/import/csv.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// Calls `use(row)` for each row until it returns false. Returns false if a line longer than 64 MiB
/// ended reading.
template <typename Use>
[[nodiscard]] bool for_each_csv_row(TraceStream& stream, const Use& use) {
  constexpr std::size_t longest_row = std::size_t{64} << 20;
  std::string part;
  for (;;) {
    const std::string_view more = stream.read();
    part.append(more);
    // The last line may go on in the next part.
    const std::size_t end = more.empty() ? part.size() : part.rfind('\n') + 1;
    CsvReader reader(std::string_view(part).substr(0, end), ',');
    CsvRow row;
    while (reader.next(row)) {
      if (!use(row)) return true;
    }
    part.erase(0, end);
    if (more.empty()) return true;
    if (part.size() > longest_row) return false;
  }
}

}  // namespace assay
