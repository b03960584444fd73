#include "results/import/transferbench_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/matrix.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

using Axes = std::vector<std::pair<std::string, std::string>>;

std::string number_text(std::string_view word) {
  const auto number = parse_count(word);
  return number ? fmt::format("{}", *number) : std::string(word);
}

/// "r0.gpu3" of "R00:3", "gpu3" of "3" where there is one rank.
std::string gpu_of(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string gpu = "gpu" + number_text(word.substr(colon + 1));  // npos + 1 is 0
  if (!word.starts_with('R') || colon == word.npos) return gpu;
  return fmt::format("r{}.{}", number_text(word.substr(1, colon - 1)), gpu);
}

}  // namespace

void add_transfer_rate(Draft& draft, Axes axes, const std::string& size, std::string_view rate,
                       std::size_t line) {
  const auto value = parse_number(rate);
  if (!value) return;
  if (!size.empty()) axes.emplace_back("size", size);
  Record& record = draft.add(Cell("peer", std::move(axes)), line);
  record.metrics = {metric("bandwidth", *value * 1e9, "bytes/s", Better::higher, rate)};
}

bool TransferBenchGroups::read(std::string_view text, const std::vector<std::string>& columns,
                               const std::string& size, std::size_t line) {
  std::string plain;
  for (const std::string& column : columns) plain += column + " ";
  const auto words = split_words(plain);
  if (words.empty()) return false;
  if (title(text, words)) return true;
  if (table_ == Table::rings) return ring_row(words, size, line);
  return table_ == Table::nics && nic_row(words, size, line);
}

bool TransferBenchGroups::title(std::string_view text, const Words& words) {
  // "Ring00  Ring00 | Ring01  Ring01": a column for the devices and at least one for rates.
  const bool rings = std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return word.starts_with("Ring") && parse_count(word.substr(4)).has_value();
  });
  if (rings) {
    table_ = Table::rings;
    rings_.clear();
    ways_.clear();
    for (const std::string_view word : words) {
      const std::string number = number_text(word.substr(4));
      if (rings_.empty() || rings_.back() != number) rings_.push_back(number);
    }
    return true;
  }
  // "--- NIC AllToAll Plane 00 Group 01 (2 NICs) ---"
  if (!contains(text, "NIC AllToAll Plane ")) return false;
  const auto parts = split_words(text.substr(text.find("Plane ")), 4);
  if (parts.size() < 4) return false;
  table_ = Table::nics;
  plane_ = number_text(parts[1]);
  group_ = number_text(parts[3]);
  nics_.clear();
  ranks_.clear();
  return true;
}

/// "Device  GFX BW  NIC BW" names the columns of each ring; "R00:0  177.37  45.50" are the rates
/// from a device to the next one, "SUM 1447.04  360.00" their sum.
bool TransferBenchGroups::ring_row(const Words& words, const std::string& size, std::size_t line) {
  if (words[0] == "Device") {
    ways_.clear();
    for (std::size_t i = 1; i < words.size() && words[i] != "Device"; ++i) {
      if (words[i] == "BW") ways_.push_back(lower_case(words[i - 1]));
    }
    return true;
  }
  const std::size_t wide = 1 + ways_.size();
  if (ways_.empty() || words.size() != rings_.size() * wide) return false;
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
    const std::string_view device = words[ring * wide];
    if (device == "MIN" || device == "AVG" || device == "MAX") continue;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      add_transfer_rate(draft_,
                        {{"scope", "rings"},
                         {"ring", rings_[ring]},
                         {"src", device == "SUM" ? "all" : gpu_of(device)},
                         {"exe", ways_[i]}},
                        size, words[ring * wide + 1 + i], line);
    }
  }
  return true;
}

/// "Mem Device | Rank 00 | Rank 01", "SRC+EXE\DST | mlx5_2 | mlx5_2 | STotal | Actual" and rows
/// "Rank 00 GPU 01 | mlx5_2 | N/A | 48.95 | 48.95 | 48.95"; "RTotal | 48.94 ..." ends the matrix.
bool TransferBenchGroups::nic_row(const Words& words, const std::string& size, std::size_t line) {
  if (words[0] == "Mem") {
    ranks_.clear();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Rank") ranks_.push_back(number_text(words[i + 1]));
    }
    return true;
  }
  if (words[0] == "GPU" || words[0] == "CPU") return true;  // the memory beside each column's NIC
  if (contains(words[0], "\\DST")) {
    nics_.assign(words.begin() + 1, words.end());
    return true;
  }
  const bool total = words[0] == "RTotal";
  if (nics_.empty() || words.size() <= nics_.size() || (!total && words[0] != "Rank")) return false;
  const std::size_t first = words.size() - nics_.size();
  if (!std::all_of(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(),
                   is_matrix_value)) {
    return false;
  }
  const std::string source =
      total ? "all" : fmt::format("r{}.{}", number_text(words[1]), words[first - 1]);
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const std::string to =
        i < ranks_.size() ? fmt::format("r{}.{}", ranks_[i], nics_[i]) : lower_case(nics_[i]);
    add_transfer_rate(
        draft_,
        {{"scope", "nic_a2a"}, {"plane", plane_}, {"group", group_}, {"src", source}, {"dst", to}},
        size, words[first + i], line);
  }
  if (total) table_ = Table::none;
  return true;
}

}  // namespace assay
