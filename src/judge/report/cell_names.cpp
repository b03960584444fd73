#include "judge/report/cell_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay::report {
namespace {

constexpr std::size_t longest_single_name = 48;  // characters

/// Whether the word, up to the next space, sets an axis. A value of another program's axis may
/// contain spaces.
bool sets_axis(std::string_view word) {
  const std::size_t end = word.find_first_of("= ");
  return end != std::string_view::npos && end > 0 && word[end] == '=';
}

/// {"memory", "op=copy", "size=4KiB"}
std::vector<std::string> parts_of(std::string_view cell) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != ' ' || !sets_axis(cell.substr(i + 1))) continue;
    parts.emplace_back(cell.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.emplace_back(cell.substr(begin));
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " "));
}

/// The words that all cells of a benchmark, `own`, share, its name first. Empty if they share only
/// the name and there are other benchmarks among `all` cells, or if the benchmark has a single cell
/// with a short name.
std::vector<std::string> common_parts(const std::vector<const std::vector<std::string>*>& own,
                                      std::size_t all) {
  if (own.size() == 1 && joined(*own.front()).size() <= longest_single_name) return {};
  std::vector<std::string> common = *own.front();
  std::erase_if(common, [&](const std::string& part) {
    return std::any_of(own.begin(), own.end(), [&](const auto* parts) {
      return std::find(parts->begin(), parts->end(), part) == parts->end();
    });
  });
  return own.size() < all && common.size() == 1 ? std::vector<std::string>() : common;
}

}  // namespace

std::vector<std::string> CellNames::heading() const {
  std::vector<std::string> lines;
  for (const std::string& of_benchmark : common) {
    const std::size_t name = of_benchmark.find(' ');
    lines.push_back(common.size() > 1
                        ? fmt::format("all of {}:{}", of_benchmark.substr(0, name),
                                      of_benchmark.substr(std::min(name, of_benchmark.size())))
                    : names.size() == 1 ? "cell: " + of_benchmark
                                        : "all cells: " + of_benchmark);
  }
  return lines;
}

CellNames cell_names(const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> benchmarks;  // in the order in which they appear
  std::map<std::string, std::vector<const std::vector<std::string>*>> of_benchmark;
  for (const std::string& cell : cells) all.push_back(parts_of(cell));
  for (const std::vector<std::string>& parts : all) {
    auto& own = of_benchmark[parts.front()];
    if (own.empty()) benchmarks.push_back(parts.front());
    own.push_back(&parts);
  }
  CellNames result;
  std::map<std::string, std::vector<std::string>> common;
  for (const std::string& benchmark : benchmarks) {
    common[benchmark] = common_parts(of_benchmark[benchmark], all.size());
    if (!common[benchmark].empty()) result.common.push_back(joined(common[benchmark]));
  }
  for (std::vector<std::string>& parts : all) {
    const std::string benchmark = parts.front();
    const auto& left_out = common[benchmark];
    std::erase_if(parts, [&](const std::string& part) {
      return std::find(left_out.begin(), left_out.end(), part) != left_out.end();
    });
    const bool needs_name = parts.empty() || benchmarks.size() > 1;
    if (needs_name && !left_out.empty()) parts.insert(parts.begin(), benchmark);
    result.names.push_back(joined(parts));
  }
  return result;
}

std::vector<std::string> varying_names(const std::vector<const Cell*>& cells,
                                       const std::vector<std::string>& given) {
  std::map<std::string_view, const Cell*> first;                  // of each benchmark
  std::map<std::string_view, std::set<std::string_view>> varies;  // axes of each benchmark
  const auto compare_axes = [&](const Cell& cell, const Cell& other) {
    for (const auto& [axis, value] : cell.values()) {
      if (other.text(axis) != value) varies[cell.benchmark()].insert(axis);
    }
  };
  for (const Cell* cell : cells) {
    const Cell& other = *first.emplace(cell->benchmark(), cell).first->second;
    compare_axes(*cell, other);
    compare_axes(other, *cell);  // which may have axes that the cell lacks
  }
  std::vector<std::string> names;
  for (const Cell* cell : cells) {
    std::string name = cell->benchmark();
    for (const auto& [axis, value] : cell->values()) {
      if (varies[cell->benchmark()].contains(axis) || std::ranges::count(given, axis) > 0) {
        name += fmt::format(" {}={}", axis, value);
      }
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace assay::report
