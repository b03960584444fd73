// One line of a campaign's units.jsonl: what is known about a unit that ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/store/campaign_reader.h"

namespace assay {

struct UnitLine {
  CampaignUnit unit;
  /// Place in the campaign's order, from 0. Units that run at the same time share it, and so does
  /// the retry of a unit.
  std::size_t position = 0;
  int attempt = 1;         ///< 2: the retry of a failed unit
  std::string begin, end;  ///< ISO 8601 UTC
  double seconds = 0;      ///< wall-clock time between them
  /// Exit status of its process, or 128 + the signal that killed it; 0 also if no process started.
  /// In a complete unit whose retry failed in some cells it is 1 or 3 (cli/exit_code.h).
  int exit_status = 0;
  /// Why it is incomplete; in a complete unit whose retry failed in some cells, the first of them;
  /// otherwise empty.
  std::string reason;
  /// The largest taken_from_cpus() (results/record/record.h) of its records. Empty if unknown, or
  /// if other units were measured at the same time.
  std::optional<double> taken_share = {};
  /// The last lines of its standard error, at most 4 KiB, without secrets; empty if it is complete.
  std::string stderr_tail;
};

/// Returns the line without a newline.
std::string to_line(const UnitLine& line);
/// Returns an empty optional if `text` is not such a line.
std::optional<UnitLine> parse_unit_line(std::string_view text);

/// Returns the whole lines of a campaign's units.jsonl that are units, without lines over 1 MiB.
/// read_units() (campaign_reader.h) checks more, and returns the units alone. Error: as
/// read_operand() (core/read_file.h).
Result<std::vector<UnitLine>> read_unit_lines(const std::filesystem::path& folder);

/// Returns the seconds that the units took in all. Among units with the same position and attempt,
/// which ran at the same time, only the longest counts.
double seconds_of(const std::vector<UnitLine>& lines);

}  // namespace assay
