#include "results/import/transferbench_presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/units.h"
#include "results/import/matrix.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

/// Returns "gpu0" for "GPU00" and for "GPU" and "00" together.
std::string device(std::string_view kind, std::string_view number) {
  const auto parsed = parse_count(number);
  return parsed ? fmt::format("{}{}", lower_case(kind), *parsed) : lower_case(kind);
}

std::string device(std::string_view word) {
  const std::size_t digits = word.find_first_of("0123456789");
  return digits == word.npos ? lower_case(word)
                             : device(word.substr(0, digits), word.substr(digits));
}

std::string count_text(std::string_view word) {
  const auto count = parse_count(word);
  return count ? fmt::format("{}", *count) : std::string(word);
}

/// Returns "to", "from" or "both" for an arrow; empty if the word is not an arrow.
std::string direction_of(std::string_view word) {
  return word == "->" ? "to" : word == "<-" ? "from" : word == "<->" ? "both" : "";
}

/// The parts of a line between bars, or between commas, with the empty ones: a table's columns.
std::vector<std::string> cells_between_bars(std::string_view line) {
  constexpr std::string_view box = "\xe2\x94\x82";
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    const bool bar = line.substr(at).starts_with(box);
    plain += bar ? '|' : line[at];
    at += bar ? box.size() : 1;
  }
  std::vector<std::string> cells;
  for (const auto cell : split_at(plain, contains(plain, "|") ? '|' : ','))
    cells.emplace_back(cell);
  return cells;
}

bool all_numbers(const std::vector<std::string_view>& words, std::size_t from) {
  return from < words.size() &&
         std::all_of(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(),
                     [](std::string_view word) { return parse_number(word).has_value(); });
}

}  // namespace

void TransferBenchPresets::reset() {
  table_ = Table::none;
  columns_.clear();
  column_ranks_.clear();
  source_ = block_ = test_ = row_rank_ = group_ = {};
  sweep_ = "gfx_sweep";
}

bool TransferBenchPresets::read(std::string_view text, const std::vector<std::string>& columns,
                                const TransferSetup& setup, std::size_t line) {
  setup_ = setup;
  std::string plain;
  for (const std::string& column : columns) plain += column + " ";
  const auto words = split_words(plain);
  if (words.empty()) return false;
  return title(text, words) || row(text, words, line);
}

bool TransferBenchPresets::title(std::string_view text, const Words& words) {
  const auto begin = [&](Table table) {
    table_ = table;
    columns_.clear();
    column_ranks_.clear();
    nics_.clear();
    row_rank_.clear();
    return true;
  };
  if (words[0] == "NumCUs") {  // "NumCUs  CPU00  GPU00"
    begin(Table::scaling);
    for (std::size_t i = 1; i < words.size(); ++i) columns_.push_back(device(words[i]));
    return true;
  }
  const std::size_t from = text.find("bytes from GPU ");
  if (text.starts_with("- Copying ") && from != text.npos) {
    const auto gpu = split_words(text.substr(from + 15), 1);
    if (!gpu.empty()) source_ = device("gpu", gpu.front());
    return false;  // the line also contains the size
  }
  if (contains(text, "Local Read") && contains(text, "Remote Copy")) {
    begin(Table::schmoo);
    columns_ = {"local_read",  "local_write",  "local_copy",
                "remote_read", "remote_write", "remote_copy"};
    return true;
  }
  if (words.size() > 3 && words[0] == "BlkS" && words[1] == "UnR") {  // "BlkS UnR SE 004 SE 008"
    begin(Table::a2a_sweep);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i] == "SE" && i + 1 < words.size()) {
        columns_.push_back(count_text(words[++i]));
      } else if (words[i].starts_with("SE") && words[i].ends_with("Mx")) {
        columns_.push_back(count_text(words[i].substr(2, words[i].size() - 4)) + "_max");
      }
    }
    return true;
  }
  if (text.starts_with("Blocksize:") && words.size() > 1 && !contains(text, "SubExecs:")) {
    block_.clear();
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      block_ += fmt::format("{}{}", block_.empty() ? "" : "-", count_text(words[i + 1]));
    }
    return true;
  }
  if (words[0].ends_with("->CPU") && words.back().ends_with("->GPU")) {
    begin(Table::averages);  // "CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU"
    for (const std::string_view word : words) columns_.push_back(lower_case(word));
    return true;
  }
  if (words[0] == "Rank" && words.size() > 1 && words[1] == "Name") {
    begin(Table::rings);
    columns_.assign(words.begin(), words.end());
    return true;
  }
  if (contains(text, "SRC Rank") && contains(text, "bw (GB/s)")) return begin(Table::pairs);
  if (text.starts_with("GPU-GFX All-To-All Sweep")) sweep_ = "a2a_sweep";
  if (text.starts_with("GFX sweep (single transfer)")) sweep_ = "gfx_sweep";
  if (words[0].starts_with("#CUs\\Unroll")) {  // "#CUs\Unroll  1(Min)  2(Min)"
    begin(Table::gfx_sweep);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t open = words[i].find('(');
      const bool most = contains(words[i], "Max");
      columns_.push_back(std::string(words[i].substr(0, open)) + (most ? "_max" : ""));
    }
    return true;
  }
  if (text.starts_with("Executing (") && contains(text, "->")) return begin(Table::one_to_all);
  if (contains(text, "MaxBw (GB/s)") && contains(text, "MinBw (GB/s)")) return begin(Table::hbm);
  if (text.starts_with("Testing ")) {
    begin(Table::health);
    return false;  // the result may be on the same line
  }
  if (contains(text, "AllToAll Group ")) {  // "--- Pod AllToAll Group 0 ---"
    const auto number = split_words(text.substr(text.find("Group ") + 6), 1);
    if (!number.empty()) group_ = count_text(number.front());
    return true;
  }
  if (contains(words[0], "\\DST") && contains(text, "Rank ")) {
    begin(Table::ranks);
    title_cells_ = cells_between_bars(text);
    return true;
  }
  return false;
}

bool TransferBenchPresets::row(std::string_view text, const Words& words, std::size_t line) {
  switch (table_) {
    case Table::none:
      return false;
    case Table::scaling:
      return scaling_row(words, line);
    case Table::schmoo:
    case Table::a2a_sweep:
    case Table::gfx_sweep:
      return swept_row(words, line);
    case Table::one_to_all:
      return one_to_all_row(text, words, line);
    case Table::averages:
      return averages_row(text, words, line);
    case Table::rings:
      return rings_row(words, line);
    case Table::pairs:
      return pairs_row(words, line);
    case Table::hbm:
      return hbm_row(words, line);
    case Table::health:
      return health_line(text, words, line);
    case Table::ranks:
      return ranks_head(text, words) || ranks_row(words, line);
  }
  return false;
}

void TransferBenchPresets::add(Axes axes, std::string_view rate, std::size_t line) {
  add_transfer_rate(draft_, std::move(axes), setup_, rate, line);
}

/// Reads "  16    43.25    41.02"; the line " Best " repeats the best of them.
bool TransferBenchPresets::scaling_row(const Words& words, std::size_t line) {
  if (words[0] == "Best") return true;
  if (!parse_count(words[0]) || !all_numbers(words, 1)) return false;
  if (words.size() != columns_.size() + 1) {
    draft_.warn(line, "the row is truncated, skipped");
    return true;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    add({{"scope", "scaling"},
         {"src", source_.empty() ? "gpu0" : source_},
         {"dst", columns_[i - 1]},
         {"units", count_text(words[0])}},
        words[i], line);
  }
  return true;
}

/// Reads rows that begin with one or two swept settings.
bool TransferBenchPresets::swept_row(const Words& words, std::size_t line) {
  const std::size_t settings = table_ == Table::a2a_sweep ? 2 : 1;
  if (words.size() <= settings || !parse_count(words[0]) || !all_numbers(words, 1)) return false;
  if (words.size() != columns_.size() + settings) {
    draft_.warn(line, "the row is truncated, skipped");
    return true;
  }
  for (std::size_t i = settings; i < words.size(); ++i) {
    const std::string& column = columns_[i - settings];
    Axes axes;
    if (table_ == Table::schmoo) {
      axes = {{"scope", "schmoo"}, {"op", column}, {"units", count_text(words[0])}};
    } else if (table_ == Table::a2a_sweep) {
      axes = {{"scope", "a2a_sweep"},
              {"block", count_text(words[0])},
              {"unroll", count_text(words[1])},
              {"units", column}};
    } else {
      axes = {{"scope", sweep_},
              {"block", block_.empty() ? "unknown" : block_},
              {"unroll", column},
              {"units", count_text(words[0])}};
    }
    add(std::move(axes), words[i], line);
  }
  return true;
}

/// Reads "  45.123    44.987   2 4 (G0 G0 G1) (G0 G0 G2)": rates, then the number of simultaneous
/// transfers, sub-executors, and the transfers in the order of their rates.
bool TransferBenchPresets::one_to_all_row(std::string_view text, const Words& words,
                                          std::size_t line) {
  const std::size_t open = text.find('(');
  if (open == text.npos || !parse_number(words[0])) return false;
  constexpr std::size_t most_transfers = 64;  // each repeats the names of all
  std::vector<Words> transfers;
  std::string together;
  for (std::size_t at = open; at != text.npos; at = text.find('(', at + 1)) {
    const std::size_t close = text.find(')', at);
    if (close == text.npos) break;
    transfers.push_back(split_words(text.substr(at + 1, close - at - 1), 4));
    if (transfers.back().size() != 3 || transfers.size() > most_transfers) return false;
    together += fmt::format("{}{}", together.empty() ? "" : "+", transfers.back()[2]);
  }
  std::string numbers(text.substr(0, open));
  std::replace(numbers.begin(), numbers.end(), ',', ' ');
  const auto rates = split_words(numbers);
  if (rates.size() != transfers.size() + 2) {
    draft_.warn(line, "the row is truncated, skipped");
    return true;
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    add({{"scope", "one_to_all"},
         {"together", together},
         {"src", std::string(transfers[i][0])},
         {"exe", std::string(transfers[i][1])},
         {"dst", std::string(transfers[i][2])},
         {"units", std::string(rates.back())}},
        rates[i], line);
  }
  return true;
}

/// Reads "Averages (During UniDir):    100.21     44.83     54.70     48.76".
bool TransferBenchPresets::averages_row(std::string_view text, const Words& words,
                                        std::size_t line) {
  const std::size_t colon = text.find(':');
  if (words[0] != "Averages" || colon == text.npos) return false;
  const auto rates = split_words(text.substr(colon + 1));
  if (rates.size() != columns_.size()) {
    draft_.warn(line, "the row is truncated, skipped");
    return true;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t arrow = columns_[i].find("->");
    if (arrow == std::string::npos) continue;
    add({{"scope", contains(text, "BiDir") ? "p2p_both_ways" : "p2p"},
         {"src", "any_" + columns_[i].substr(0, arrow)},
         {"dst", "any_" + columns_[i].substr(arrow + 2)}},
        rates[i], line);
  }
  return true;
}

/// Reads "| 0 | node1 | 45.12 44.87 | 89.99 |": rank, host, the rate of each ring, and their sum.
bool TransferBenchPresets::rings_row(const Words& words, std::size_t line) {
  if (words.size() < 4 || !parse_count(words[0]) || !all_numbers(words, 2)) return false;
  if (words.size() != columns_.size()) {
    draft_.warn(line, "the row does not have the columns of its table, skipped");
    return true;
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    add({{"scope", "nic_rings"},
         {"rank", count_text(words[0])},
         {"ring", i + 1 == words.size() ? "total" : fmt::format("{}", i - 2)}},
        words[i], line);
  }
  return true;
}

/// Reads "Rank 00 | mlx5_0 | GPU 00 | Rank 01 | mlx5_1 | GPU 01 | 45.12": matrices of ranks, with a
/// line for each pair.
bool TransferBenchPresets::pairs_row(const Words& words, std::size_t line) {
  if (words[0] != "Rank") return false;
  std::vector<std::string> ends;
  std::string rank, direction;
  std::size_t end = 0;  // end of the devices: the rate follows
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "Rank") rank = count_text(words[i + 1]);
    if (words[i] == "GPU" || words[i] == "CPU") {
      ends.push_back(fmt::format("r{}.{}", rank, device(words[i], words[i + 1])));
      end = i + 2;
    }
    if (!direction_of(words[i]).empty()) direction = direction_of(words[i]);
  }
  if (ends.size() != 2 || words.size() != end + 1) return false;
  Axes axes = {{"scope", "ranks"}, {"src", ends[0]}, {"dst", ends[1]}};
  if (!direction.empty()) axes.emplace_back("direction", direction);
  add(std::move(axes), words[end], line);
  return true;
}

/// Reads "| 0 | 3 | 4012.11 4001.02 3990.55 |": rank, GPU, and the largest, mean and least
/// bandwidth.
bool TransferBenchPresets::hbm_row(const Words& words, std::size_t line) {
  if (words.size() < 5 || !parse_count(words[0]) || !parse_count(words[1]) ||
      !all_numbers(words, 2)) {
    return false;
  }
  const auto rate = [&](std::string_view name, std::string_view text) {
    return metric(name, *parse_number(text) * 1e9, "bytes/s", Better::higher, text);
  };
  Record& record = draft_.add(Cell("peer", {{"scope", "hbm"},
                                            {"rank", count_text(words[0])},
                                            {"src", "gpu" + count_text(words[1])}}),
                              line);
  record.metrics = {rate("bandwidth", words[3]), rate("max_bandwidth", words[2]),
                    rate("min_bandwidth", words[4])};
  return true;
}

/// Reads "Testing HBM performance [READ]   ........PASS", or "FAIL (8 test(s))" and the devices
/// that failed: " GPU 00: Measured:  86.17 GB/s   Criteria:  87.30 GB/s" or " GPU 00 to GPU 01:
/// 40.30 GB/s ...".
bool TransferBenchPresets::health_line(std::string_view text, const Words& words,
                                       std::size_t line) {
  const bool pass = text.ends_with("PASS");
  const std::size_t fail = text.find("FAIL");
  if (text.starts_with("Testing ")) {
    const std::size_t end = std::min({text.find(" ."), fail, text.size()});
    test_ = identifier(text.substr(8, end - 8));
  }
  if (pass || fail != text.npos) {
    const std::string_view failed = pass ? "0" : text.substr(fail);
    const auto parts = split_words(failed.substr(std::min(failed.find('('), failed.size())), 1);
    const std::string_view count =
        parts.empty() ? "0" : parts.front().substr(std::min<std::size_t>(1, parts.front().size()));
    Record& record = draft_.add(Cell("peer", {{"scope", "health"}, {"test", test_}}), line);
    record.metrics = {metric("failed_tests", parse_number(count).value_or(pass ? 0 : 1), "1",
                             Better::lower, pass ? "0" : count)};
    if (!pass) {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("the health check says {}", text.substr(fail));
    }
    return true;
  }
  if (text.starts_with("Testing ")) return true;
  if (words.size() < 4 || words[0] != "GPU") return false;
  // The rate is the first number after the devices' names.
  Axes axes = {{"scope", "health"},
               {"test", test_},
               {"src", device("gpu", words[1].substr(0, words[1].find(':')))}};
  std::size_t at = 2;
  if (words[2] == "to" && words.size() > 5 && words[3] == "GPU") {
    axes.emplace_back("dst", device("gpu", words[4].substr(0, words[4].find(':'))));
    at = 5;
  }
  while (at < words.size() && !parse_number(words[at])) ++at;
  if (at == words.size()) return false;
  const bool below = contains(text, "Criteria:");
  setup_ = {};  // the checks choose their sizes and executors
  add(std::move(axes), words[at], line);
  if (below && draft_.run_has_records()) {
    Record& record = draft_.run_records()[draft_.run_size() - 1];
    record.status = RecordStatus::failed;
    record.reason = "below the criteria of the health check";
  }
  return true;
}

/// The heads of a matrix of several ranks. Its columns belong to the rank that is titled above
/// them; what follows the devices, "STotal" and "Actual", has a title alone.
bool TransferBenchPresets::ranks_head(std::string_view text, const Words& words) {
  if (words[0] == "NIC" && words.size() > 2 && words[1] == "Device") {
    nics_.assign(words.begin() + 2, words.end());
    return true;
  }
  if (std::find(words.begin(), words.end(), "Mem") == words.end()) return false;
  columns_.clear();
  column_ranks_.clear();
  const auto cells = cells_between_bars(text);
  std::vector<std::string> titled, more;  // ranks and other titles, in their order
  bool by_cell = cells.size() == title_cells_.size();
  std::string rank;
  for (std::size_t i = 0; i < std::max(cells.size(), title_cells_.size()); ++i) {
    const auto words_at = [i](const std::vector<std::string>& row) {
      return i < row.size() ? split_words(row[i]) : Words();
    };
    const Words title = words_at(title_cells_), devices = words_at(cells);
    for (std::size_t at = 0, ranks = 0; at < title.size(); ++at) {
      if (title[at] == "Rank" && at + 1 < title.size()) {
        by_cell = by_cell && ++ranks == 1;
        rank = count_text(title[++at]);
        titled.push_back(rank);
      } else if (!contains(title[at], "\\DST")) {
        more.push_back(lower_case(title[at]));
      }
    }
    for (std::size_t at = 0; at + 1 < devices.size(); ++at) {
      if (devices[at] != "GPU" && devices[at] != "CPU") continue;
      columns_.push_back(device(devices[at], devices[at + 1]));
      column_ranks_.push_back(rank);
    }
  }
  if (!by_cell) {
    const std::size_t each = titled.empty() ? 0 : columns_.size() / titled.size();
    if (each == 0 || each * titled.size() != columns_.size()) {
      columns_.clear();
      return true;
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) column_ranks_[i] = titled[i / each];
  }
  // Several NICs may be nearest to one GPU.
  if (nics_.size() == columns_.size()) columns_ = nics_;
  columns_.insert(columns_.end(), more.begin(), more.end());
  return true;
}

/// Matrices of several ranks: "Rank 00 | mlx5_0 GPU 00 | 47.12 ...", below a line of ranks, one of
/// "NIC Device | mlx5_0 mlx5_1 ..." if NICs transfer, and one of "Mem Device | GPU 00 GPU 01 ...".
bool TransferBenchPresets::ranks_row(const Words& words, std::size_t line) {
  if (columns_.empty()) return false;
  std::size_t at = 0;
  std::string source, nic, direction;
  for (; at < words.size(); ++at) {
    const bool numbered = at + 1 < words.size() && parse_count(words[at + 1]);
    if (words[at] == "Rank" && numbered) {
      row_rank_ = count_text(words[++at]);
    } else if ((words[at] == "GPU" || words[at] == "CPU") && numbered) {
      source = device(words[at], words[at + 1]);
      ++at;
    } else if (!direction_of(words[at]).empty()) {
      direction = direction_of(words[at]);
    } else if (is_matrix_value(words[at])) {
      break;
    } else {
      nic = words[at];
    }
  }
  const bool total = nic == "RTotal";
  if (total) source = "all";
  if (!total && !nics_.empty() && !nic.empty()) source = nic;
  if (source.empty() || at == words.size()) return false;
  if (words.size() - at != columns_.size() ||
      !std::all_of(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), is_matrix_value)) {
    draft_.warn(line, "the row does not have the columns of its table, skipped");
    return true;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool ranked = i < column_ranks_.size();
    Axes axes = {{"scope", "ranks"}};
    if (!group_.empty()) axes.emplace_back("group", group_);
    axes.emplace_back("src", total ? source : fmt::format("r{}.{}", row_rank_, source));
    axes.emplace_back("dst",
                      ranked ? fmt::format("r{}.{}", column_ranks_[i], columns_[i]) : columns_[i]);
    if (!direction.empty()) axes.emplace_back("direction", direction);
    add(std::move(axes), words[at + i], line);
  }
  return true;
}

}  // namespace assay
