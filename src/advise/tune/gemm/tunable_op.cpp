#include "advise/tune/gemm/tunable_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/shown_text.h"
#include "core/text.h"

namespace assay {
namespace {

struct Line {
  std::size_t number = 0;
  std::string_view text;
  bool carriage_return = false;
};

template <typename Use>
void each_line(std::string_view text, const Use& use) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    Line line{number, text.substr(0, end)};
    line.carriage_return = line.text.ends_with('\r');
    if (line.carriage_return) line.text.remove_suffix(1);
    use(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// Moves the text before the next comma from `rest` into `field`. False if nothing is left.
bool next_field(std::optional<std::string_view>& rest, std::string_view& field) {
  if (!rest) return false;
  const std::size_t comma = rest->find(',');
  field = rest->substr(0, comma);
  rest = comma == std::string_view::npos ? std::nullopt : std::optional(rest->substr(comma + 1));
  return true;
}

std::optional<std::string> kept(const std::optional<std::string_view>& rest) {
  return rest ? std::optional<std::string>(*rest) : std::nullopt;
}

}  // namespace

std::optional<double> TunableRow::milliseconds() const {
  if (!rest) return std::nullopt;
  const auto value = parse_number(std::string_view(*rest).substr(0, rest->find(',')));
  return value && *value >= 0 ? value : std::nullopt;
}

TunableResults parse_tunable_results(std::string_view text) {
  TunableResults results;
  each_line(text, [&](const Line& line) {
    results.carriage_returns |= line.carriage_return;
    const auto ignore = [&](std::string why) {
      results.ignored.push_back({line.number, std::move(why)});
    };
    if (line.text.empty()) return ignore("an empty line, at which PyTorch fails");
    std::optional<std::string_view> rest = line.text;
    std::string_view first, second, third;
    next_field(rest, first);
    if (!next_field(rest, second) || !next_field(rest, third)) {
      return ignore("fewer than three fields, which PyTorch passes over");
    }
    if (first == "Validator") {
      results.validators.emplace_back(second, third);
    } else {
      results.rows.push_back(
          {{std::string(first), std::string(second)}, std::string(third), kept(rest)});
    }
  });
  return results;
}

std::string text_of(const TunableResults& results) {
  std::string text;
  for (const auto& [key, value] : results.validators) {
    text += fmt::format("Validator,{},{}\n", key, value);
  }
  for (const TunableRow& row : results.rows) {
    text += fmt::format("{},{},{}", row.key.op, row.key.parameters, row.solution);
    if (row.rest) text += "," + *row.rest;
    text += '\n';
  }
  return text;
}

UntunedFile parse_untuned(std::string_view text) {
  UntunedFile file;
  each_line(text, [&](const Line& line) {
    std::optional<std::string_view> rest = line.text;
    std::string_view op, parameters;
    next_field(rest, op);
    const bool product = op.starts_with("Gemm") || op.starts_with("ScaledGemm");
    if (product && next_field(rest, parameters)) {
      file.rows.push_back({{std::string(op), std::string(parameters)}, kept(rest)});
    } else if (op != "Validator") {
      file.ignored.push_back({line.number, "not a matrix product, which PyTorch passes over"});
    }
  });
  return file;
}

std::string text_of(const UntunedFile& file) {
  std::string text;
  for (const UntunedRow& row : file.rows) {
    text += fmt::format("{},{}", row.key.op, row.key.parameters);
    if (row.rest) text += "," + *row.rest;
    text += '\n';
  }
  return text;
}

std::string name_for_ordinal(std::string_view filename, int ordinal) {
  std::string name(filename);
  const std::string number = std::to_string(ordinal);
  const std::size_t place = name.find("%d");
  if (place != std::string::npos) return name.replace(place, 2, number);
  const std::size_t dot = name.rfind('.');
  return name.insert(dot == std::string::npos ? name.size() : dot, number);
}

}  // namespace assay
