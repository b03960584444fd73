// Reads the rows of CSV files, which may be larger than memory.
#pragma once

#include <string>

#include "results/import/csv.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// Calls `use(row)` for each row until it returns false. Returns false if a line longer than 64 MiB
/// ended reading. A failure to read also returns true; the caller asks stream.problem().
/// CsvRow::line counts from the part of the file that was last read.
template <typename Use>
[[nodiscard]] bool for_each_csv_row(TraceStream& stream, const Use& use) {
  constexpr std::size_t longest_row = std::size_t{64} << 20;
  std::string part;
  for (;;) {
    const std::string_view more = stream.read();
    const std::size_t before = part.size(), newline = more.rfind('\n');
    part.append(more);
    // The last line may continue in the next part. A line break within a quoted field is taken for
    // the end of a row if it is the last one of a part.
    const std::size_t end = more.empty()           ? part.size()
                            : newline == more.npos ? 0
                                                   : before + newline + 1;
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
