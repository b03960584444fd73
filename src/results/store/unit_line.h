// One line of units.jsonl: what is known about a unit when its process has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/store/campaign_reader.h"

namespace assay {

struct UnitLine {
  CampaignUnit unit;
  std::size_t position = 0;  ///< in the campaign's order, from 0
  int attempt = 1;           ///< 2: the retry of one that failed
  std::string begin, end;    ///< UTC
  double seconds = 0;        ///< wall-clock time between them
  int exit_status = 0;       ///< as a shell reports it: 128 + the signal that killed it
  std::string reason;        ///< why it is not complete; empty if it is
  /// Of all CPUs' time, the most that other programs and the hypervisor used while one of its cells
  /// was measured; empty: unknown, or others were measured at the same time.
  std::optional<double> taken_share = {};
  std::string stderr_tail;  ///< the last lines of its standard error; empty if it is complete
};

/// Without a newline.
std::string to_line(const UnitLine& line);
/// Empty if `text` is not such a line.
std::optional<UnitLine> parse_unit_line(std::string_view text);

/// Every whole line of a campaign's units.jsonl; read_units() gives their units. Error: usage.
Result<std::vector<UnitLine>> read_unit_lines(const std::filesystem::path& folder);

/// What the units took; those that ran together count once.
double seconds_of(const std::vector<UnitLine>& lines);

}  // namespace assay
