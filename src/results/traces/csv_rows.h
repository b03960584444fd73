// Reads the rows of CSV files, which may be larger than memory.
#pragma once

#include <string>

#include "results/import/csv.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// Calls `use(row)` for each row until it returns false. Returns false if a row ended reading
/// because it is too long: rows of up to 64 MiB never are, those of more than about 128 MiB always
/// are. If the file cannot be read, it returns true, and stream.problem() is the reason.
///
/// CsvRow::line is not the row's line in the file: it starts again at 1 with each part that is
/// parsed.
template <typename Use>
[[nodiscard]] bool for_each_csv_row(TraceStream& stream, const Use& use) {
  constexpr std::size_t longest_row = std::size_t{64} << 20;
  std::string part;
  std::size_t enough = 0;  // bytes of `part` with which it is parsed
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
    // The rest is parsed again once it has doubled. Parsing it after every read would take time
    // that grows with the square of a long row's length.
    enough = 2 * part.size();
  }
}

}  // namespace assay
