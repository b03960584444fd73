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
  int attempt = 1;           ///< 2: the retry of a failed unit
  std::string begin, end;    ///< UTC
  double seconds = 0;        ///< wall-clock time between them
  int exit_status = 0;       ///< as a shell reports it: 128 + the signal that killed it
  std::string reason;        ///< why it is incomplete; empty if it is complete
  /// The largest share of all CPUs' time that other programs and the hypervisor used while one of
  /// its cells was measured on a CPU. Empty if unknown, or if other units were measured at the same
  /// time.
  std::optional<double> taken_share = {};
  std::string stderr_tail;  ///< the last lines of its standard error; empty if it is complete
};

/// Returns the line without a newline.
std::string to_line(const UnitLine& line);
/// Returns an empty optional if `text` is not such a line.
std::optional<UnitLine> parse_unit_line(std::string_view text);

/// Returns every whole line of a campaign's units.jsonl; read_units() returns their units. Error:
/// as read_operand().
Result<std::vector<UnitLine>> read_unit_lines(const std::filesystem::path& folder);

/// Returns the total time of the units; units that ran together count once.
double seconds_of(const std::vector<UnitLine>& lines);

}  // namespace assay
