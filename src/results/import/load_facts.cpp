#include "results/import/load_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "results/import/text_lines.h"

namespace assay {
namespace {

std::optional<double> load_metric(const Record& record, std::string_view name) {
  for (const Metric& one : record.metrics) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

/// Tokens a request, from a total or from a mean, whichever the program reports.
std::optional<double> tokens_each(const Record& record, std::string_view total, double requests,
                                  std::initializer_list<std::string_view> means) {
  const auto sum = load_metric(record, total);
  if (sum && requests > 0) return *sum / requests;
  for (const std::string_view mean : means) {
    if (const auto value = load_metric(record, mean)) return value;
  }
  return std::nullopt;
}

std::optional<double> input_tokens(const Record& record) {
  return tokens_each(record, "total_input_tokens", load_metric(record, "completed").value_or(0),
                     {"prompt_tokens", "mean_input_sequence_length", "input_sequence_length"});
}

/// The mean number of output tokens of the replies that have any.
std::optional<double> output_tokens(const Record& record) {
  const double replies = load_metric(record, "completed").value_or(0) -
                         load_metric(record, "empty_replies").value_or(0);
  return tokens_each(record, "total_output_tokens", replies,
                     {"output_tokens", "mean_output_sequence_length", "output_sequence_length"});
}

/// The nearest of ten steps a decade: 1000 of 1024, 8000 of 7389. Powers of two are far from where
/// one step ends and the next begins.
std::string about(double tokens) {
  constexpr std::array<double, 10> steps = {100, 125, 160, 200, 250, 315, 400, 500, 630, 800};
  const auto step = static_cast<int>(std::lround(10 * std::log10(std::clamp(tokens, 1.0, 1e12))));
  const double size = steps[static_cast<std::size_t>(step % 10)];
  return fmt::format("{:.15g}", size * std::pow(10, step / 10) / 100);
}

void add_length(Record& record, std::string_view name, std::optional<double> tokens) {
  if (!tokens || !(*tokens > 0)) return;
  auto axes = record.cell.values();
  const bool told = std::any_of(axes.begin(), axes.end(),
                                [&](const auto& axis) { return contains(axis.first, name); });
  if (told) return;
  axes.emplace_back(fmt::format("{}_about", name), about(*tokens));
  record.cell = Cell(record.cell.benchmark(), std::move(axes));
}

bool is_of(const Metric& metric, std::string_view kind) {
  return metric.name.size() > kind.size() && metric.name.ends_with(kind) &&
         metric.name[metric.name.size() - kind.size() - 1] == '_';
}

/// The first token takes time, and so does every other one: where all of these times are 0, the
/// client did not see the replies as streams, and no time within a reply is one of the server.
std::string void_zeros(Record& record) {
  constexpr double fewest_tokens = 2;  // a reply of one has no time between two
  const auto tokens = output_tokens(record);
  if (!tokens || *tokens < fewest_tokens) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kinds = {
      {{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"itl", "ITL"}}};
  std::string zeros;
  for (const auto& kind : kinds) {
    bool any = false, all_zero = true;
    for (const Metric& one : record.metrics) {
      if (!is_of(one, kind.first)) continue;
      any = true;
      all_zero = all_zero && one.value == 0;
    }
    if (any && all_zero) zeros += fmt::format("{}{}", zeros.empty() ? "" : " and ", kind.second);
  }
  if (zeros.empty()) return {};
  for (Metric& one : record.metrics) {
    one.is_void = one.is_void || std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
                    return is_of(one, kind.first);
                  });
  }
  return fmt::format(
      "{} of 0 for replies of {:.0f} tokens: the client saw no stream, so that no time within a "
      "reply counts",
      zeros, *tokens);
}

}  // namespace

std::string complete_load(Record& record) {
  if (record.cell.benchmark() != "serving") return {};
  if (record.status == RecordStatus::passed) {  // the few replies of a failed one tell nothing
    add_length(record, "input", input_tokens(record));
    add_length(record, "output", output_tokens(record));
  }
  return void_zeros(record);
}

}  // namespace assay
