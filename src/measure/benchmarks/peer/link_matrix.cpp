#include "measure/benchmarks/peer/link_matrix.h"

#include <fmt/format.h>

#include <map>

#include "core/units.h"
#include "statistics/odd_links.h"

namespace assay {
namespace {

void add_conclusions(const std::string& matrix, const std::vector<LinkRate>& links,
                     std::vector<Conclusion>& conclusions) {
  const OddLinks odd = find_odd_links(links);
  const std::vector<std::string> texts = describe(odd);
  std::size_t next = 0;
  const auto add = [&](std::string key, double ratio) {
    conclusions.push_back(
        {std::move(key), ratio, "1",
         fmt::format("{}: {} of {}", matrix, texts[next], format_rate(odd.median, "B/s"))});
    ++next;
  };
  for (const OddEndpoint& end : odd.endpoints) {
    add(fmt::format("odd_endpoint {} at={}", matrix, end.name), end.ratio);
  }
  for (const OddLink& link : odd.links) {
    add(fmt::format("odd_link {} from={} to={}", matrix, link.from, link.to), link.ratio);
  }
}

}  // namespace

std::vector<Conclusion> odd_link_conclusions(std::span<const CellValue> values) {
  std::map<std::string, std::vector<LinkRate>> matrices;
  for (const CellValue& one : values) {
    const Cell& cell = one.cell;
    if (cell.text("metric") == "latency") continue;
    std::string matrix = cell.benchmark();
    for (const auto& [axis, text] : cell.values()) {
      if (axis != "from" && axis != "to") matrix += fmt::format(" {}={}", axis, text);
    }
    matrices[matrix].push_back(
        {std::string(cell.text("from")), std::string(cell.text("to")), one.value});
  }
  std::vector<Conclusion> conclusions;
  for (const auto& [matrix, links] : matrices) add_conclusions(matrix, links, conclusions);
  return conclusions;
}

}  // namespace assay
