#include "serving/results/slo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/units.h"

namespace assay {
namespace {

/// Parses a whole text, "99" of "p99" or "99.9" of "p99.9", as a number between 0 and 100.
std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(number > 0 && number < 100)) return std::nullopt;
  return number;
}

std::optional<double> percent_of(const std::string& statistic) {
  if (statistic == "mean") return 0;
  if (statistic == "median") return 50;
  return statistic.starts_with('p') ? number_of(statistic.substr(1)) : std::nullopt;
}

std::optional<Slo::Quantity> quantity_of(std::string_view name) {
  if (name == "ttft") return Slo::Quantity::ttft;
  if (name == "tpot") return Slo::Quantity::tpot;
  if (name == "itl") return Slo::Quantity::itl;
  if (name == "e2el") return Slo::Quantity::e2el;
  return std::nullopt;
}

std::optional<Slo> slo_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return std::nullopt;
  Slo slo;
  slo.name = text.substr(0, colon);
  const std::string limit = text.substr(colon + 1);
  if (slo.name == "attainment") {
    const auto percent =
        limit.ends_with('%') ? number_of(limit.substr(0, limit.size() - 1)) : std::nullopt;
    if (!percent) return std::nullopt;
    slo.quantity = Slo::Quantity::attainment;
    slo.limit = (100 - *percent) / 100;
    return slo;
  }
  const std::size_t line = slo.name.find('_');
  if (line == slo.name.npos) return std::nullopt;
  const auto percent = percent_of(slo.name.substr(0, line));
  const auto quantity = quantity_of(std::string_view(slo.name).substr(line + 1));
  const auto seconds = parse_duration(limit);
  if (!percent || !quantity || !seconds) return std::nullopt;
  slo.percent = *percent;
  slo.quantity = *quantity;
  slo.limit = *seconds;
  return slo;
}

const Latency& latency_of(Slo::Quantity quantity, const ServingResult& result) {
  switch (quantity) {
    case Slo::Quantity::tpot:
      return result.tpot;
    case Slo::Quantity::itl:
      return result.itl;
    case Slo::Quantity::e2el:
      return result.e2el_scheduled;
    default:
      return result.ttft_scheduled;
  }
}

}  // namespace

Result<std::vector<Slo>> parse_slos(const std::string& text) {
  std::vector<Slo> slos;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    auto slo = slo_of(part);
    if (!slo) {
      return Error{
          ErrorKind::usage,
          fmt::format("\"{}\" is not a target; allowed: mean, median or a percentile of ttft, "
                      "tpot, itl or e2el with a time, e.g. p99_ttft:200ms, or "
                      "attainment:95%",
                      part)};
    }
    slos.push_back(std::move(*slo));
    begin = end + 1;
  }
  return slos;
}

double value_of(const Slo& slo, const ServingResult& result) {
  if (slo.quantity == Slo::Quantity::attainment) {
    const auto requests = static_cast<double>(result.counts.requests);
    if (!result.goodput || requests <= 0) return 0;
    return std::clamp(1 - *result.goodput * result.duration / requests, 0.0, 1.0);
  }
  const Latency& latency = latency_of(slo.quantity, result);
  if (slo.percent == 0) return latency.mean;
  if (slo.percent == 50) return latency.median;
  const Percentile* percentile = latency.percentile(slo.percent);
  return percentile == nullptr ? 0 : percentile->value;
}

double reported_value(const Slo& slo, double value) {
  return slo.quantity == Slo::Quantity::attainment ? 1 - value : value;
}

std::string slo_text(const Slo& slo, double value) {
  if (slo.quantity != Slo::Quantity::attainment) return format_seconds(value);
  return fmt::format("{:.4g}%", reported_value(slo, value) * 100);
}

}  // namespace assay
