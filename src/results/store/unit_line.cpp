#include "results/store/unit_line.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "results/store/json_reader.h"

namespace assay {
namespace {

Result<UnitLine> from_json(const Json& json) {
  const JsonReader reader = TRY(JsonReader::of(json));
  UnitLine line;
  line.unit.environment = TRY(reader.text("environment"));
  line.unit.run = TRY(reader.text("run"));
  line.unit.pair = TRY(reader.count("pair"));
  line.unit.complete = TRY(reader.flag("complete"));
  line.position = TRY(reader.count("position"));
  TRY(reader.optional("attempt", line.attempt));
  TRY(reader.optional("begin", line.begin));
  TRY(reader.optional("end", line.end));
  TRY(reader.optional("seconds", line.seconds));
  TRY(reader.optional("exit_status", line.exit_status));
  TRY(reader.optional("taken_share", line.taken_share));
  TRY(reader.optional("reason", line.reason));
  TRY(reader.optional("stderr", line.stderr_tail));
  return line;
}

}  // namespace

std::string to_line(const UnitLine& line) {
  Json json;
  json["environment"] = line.unit.environment;
  json["pair"] = line.unit.pair;
  json["position"] = line.position;
  json["attempt"] = line.attempt;
  json["run"] = line.unit.run;
  json["begin"] = line.begin;
  json["end"] = line.end;
  json["seconds"] = line.seconds;
  json["exit_status"] = line.exit_status;
  json["complete"] = line.unit.complete;
  if (line.taken_share) json["taken_share"] = *line.taken_share;
  if (!line.reason.empty()) json["reason"] = line.reason;
  if (!line.stderr_tail.empty()) json["stderr"] = line.stderr_tail;
  return json_line(json);
}

std::optional<UnitLine> parse_unit_line(std::string_view text) {
  const auto json = parse_json(text);
  if (!json.ok()) return std::nullopt;
  auto line = from_json(*json);
  if (!line.ok()) return std::nullopt;
  return std::move(line).value();
}

Result<std::vector<UnitLine>> read_unit_lines(const std::filesystem::path& folder) {
  // assay's own lines hold at most 4 KiB of standard error; a longer one would only cost time.
  constexpr std::size_t most_bytes = std::size_t{256} << 20,
                        longest_unit_line = std::size_t{1} << 20;
  const std::string text = TRY(read_operand(folder / campaign_units_name, most_bytes));
  std::vector<UnitLine> lines;
  std::size_t begin = 0;
  // Text after the last newline is a torn line, whose writer died while writing.
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.size() > longest_unit_line) continue;
    if (auto unit = parse_unit_line(line)) lines.push_back(std::move(*unit));
  }
  return lines;
}

double seconds_of(const std::vector<UnitLine>& lines) {
  std::map<std::pair<std::size_t, int>, double> spent;  // keyed by position and attempt
  for (const UnitLine& line : lines) {
    double& seconds = spent[{line.position, line.attempt}];
    seconds = std::max(seconds, line.seconds);
  }
  double all = 0;
  for (const auto& [turn, seconds] : spent) all += seconds;
  return all;
}

}  // namespace assay
