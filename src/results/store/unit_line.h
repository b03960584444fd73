// One line of units.jsonl: what is known about a unit when its process has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/store/campaign_reader.h"

namespace assay {

struct UnitLine {
  CampaignUnit unit;
  /// Place in the campaign's order, from 0. Units that run at the same time share it.
  std::size_t position = 0;
  int attempt = 1;         ///< 2: the retry of a failed unit
  std::string begin, end;  ///< ISO 8601 UTC
  double seconds = 0;      ///< wall-clock time between them
  int exit_status = 0;     ///< as a shell reports it: 128 + the signal that killed it
  std::string reason;      ///< why it is incomplete; empty if it is complete
  /// The largest taken_from_cpus() (results/record/record.h) of its records. Empty if unknown, or
  /// if other units were measured at the same time.
  std::optional<double> taken_share = {};
  std::string stderr_tail;  ///< the last lines of its standard error; empty if it is complete
};

/// Returns the line without a newline.
std::string to_line(const UnitLine& line);
/// Returns an empty optional if `text` is not such a line.
std::optional<UnitLine> parse_unit_line(std::string_view text);

/// Returns the whole lines of a campaign's units.jsonl that are units; read_units() returns the
/// units alone. Error: as read_operand().
Result<std::vector<UnitLine>> read_unit_lines(const std::filesystem::path& folder);

/// Returns the seconds that the units took in all. The longest of those that ran at the same time
/// counts for all of them.
double seconds_of(const std::vector<UnitLine>& lines);

}  // namespace assay
