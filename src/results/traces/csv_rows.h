// Reads the rows of CSV files, which may be larger than memory.
#pragma once

#include <string>

#include "results/import/csv.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// Calls `use(row)` for each row until it returns false. Returns false if a row longer than 64 MiB
/// ended reading. A failure to read also returns true; the caller asks stream.problem().
/// CsvRow::line counts from the part of the file that was last read.
template <typename Use>
[[nodiscard]] bool for_each_csv_row(TraceStream& stream, const Use& use) {
  constexpr std::size_t longest_row = std::size_t{64} << 20;
  std::string part;
  std::size_t enough = 0;  // bytes; with fewer, the row that `part` begins with cannot be whole
  for (;;) {
    const std::string_view more = stream.read();
    part.append(more);
    if (!more.empty() && part.size() < enough) continue;
    CsvReader reader(part, ',', !more.empty());
    CsvRow row;
    while (reader.next(row)) {
      if (!use(row)) return true;
    }
    if (more.empty()) return true;
    part.erase(0, part.size() - reader.rest().size());
    if (part.size() > longest_row) return false;
    // A row that is longer than one part is not looked at again for each of its parts.
    enough = 2 * part.size();
  }
}

}  // namespace assay
