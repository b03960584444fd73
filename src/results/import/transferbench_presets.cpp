#include "results/import/transferbench_presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/units.h"
#include "results/import/matrix.h"
#include "results/import/text_lines.h"
#include "results/import/transferbench_groups.h"

namespace assay {
namespace {

/// "gpu0" of "GPU00" and of "GPU" and "00" together.
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

/// "to", "from" or "both" of an arrow; empty if the word is none.
std::string direction_of(std::string_view word) {
  return word == "->" ? "to" : word == "<-" ? "from" : word == "<->" ? "both" : "";
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
  source_ = block_ = test_ = row_rank_ = {};
  sweep_ = "gfx_sweep";
}

bool TransferBenchPresets::read(std::string_view text, const std::vector<std::string>& columns,
                                const std::string& size, std::size_t line) {
  size_ = size;
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
    return false;  // it also tells the size
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
  if (words[0] == "Rank" && words.size() > 1 && words[1] == "Name") return begin(Table::rings);
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
  if (contains(words[0], "\\DST") && contains(text, "Rank ")) {
    begin(Table::ranks);
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == "Rank") column_ranks_.push_back(count_text(words[i + 1]));
    }
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
      return ranks_row(words, line);
  }
  return false;
}

void TransferBenchPresets::add(Axes axes, std::string_view rate, std::size_t line) {
  add_transfer_rate(draft_, std::move(axes), size_, rate, line);
}

/// "  16    43.25    41.02"; the line " Best " repeats the best of them.
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

/// Rows that begin with one or two swept settings.
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

/// "  45.123    44.987   2 4 (G0 G0 G1) (G0 G0 G2)": rates, then how many at once, sub-executors,
/// and the transfers in the order of their rates.
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

/// "Averages (During UniDir):    100.21     44.83     54.70     48.76"
bool TransferBenchPresets::averages_row(std::string_view text, const Words& words,
                                        std::size_t line) {
  if (words[0] != "Averages" || words.size() < columns_.size() + 1) return false;
  const std::size_t first = words.size() - columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t arrow = columns_[i].find("->");
    if (arrow == std::string::npos) continue;
    add({{"scope", contains(text, "BiDir") ? "p2p_both_ways" : "p2p"},
         {"src", "any_" + columns_[i].substr(0, arrow)},
         {"dst", "any_" + columns_[i].substr(arrow + 2)}},
        words[first + i], line);
  }
  return true;
}

/// "| 0 | node1 | 45.12 44.87 | 89.99 |": rank, host, the rate of each ring, and their sum.
bool TransferBenchPresets::rings_row(const Words& words, std::size_t line) {
  if (words.size() < 4 || !parse_count(words[0]) || !all_numbers(words, 2)) return false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    add({{"scope", "nic_rings"},
         {"rank", count_text(words[0])},
         {"ring", i + 1 == words.size() ? "total" : fmt::format("{}", i - 2)}},
        words[i], line);
  }
  return true;
}

/// "Rank 00 | mlx5_0 | GPU 00 | Rank 01 | mlx5_1 | GPU 01 | 45.12": the matrices of ranks, a line
/// for each pair.
bool TransferBenchPresets::pairs_row(const Words& words, std::size_t line) {
  if (words[0] != "Rank") return false;
  std::vector<std::string> ends;
  std::string rank, direction;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "Rank") rank = count_text(words[i + 1]);
    if (words[i] == "GPU" || words[i] == "CPU") {
      ends.push_back(fmt::format("r{}.{}", rank, device(words[i], words[i + 1])));
    }
    if (!direction_of(words[i]).empty()) direction = direction_of(words[i]);
  }
  if (ends.size() != 2) return false;
  Axes axes = {{"scope", "ranks"}, {"src", ends[0]}, {"dst", ends[1]}};
  if (!direction.empty()) axes.emplace_back("direction", direction);
  add(std::move(axes), words.back(), line);
  return true;
}

/// "| 0 | 3 | 4012.11 4001.02 3990.55 |": rank, GPU, and the most, mean and least bandwidth.
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

/// "Testing HBM performance [READ]   ........PASS", "FAIL (8 test(s))" and the devices that failed:
/// " GPU 00: Measured:  86.17 GB/s   Criteria:  87.30 GB/s" or " GPU 00 to GPU 01:  40.30 GB/s ..."
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
  const std::string limit = size_;
  size_.clear();  // the checks choose their sizes
  add(std::move(axes), words[at], line);
  size_ = limit;
  if (below && draft_.run_has_records()) {
    Record& record = draft_.run_records()[draft_.run_size() - 1];
    record.status = RecordStatus::failed;
    record.reason = "below the criteria of the health check";
  }
  return true;
}

/// Matrices of several ranks: "Rank 00 | mlx5_0 GPU 00 | 47.12 ...", below a line of ranks, one of
/// "NIC Device | mlx5_0 mlx5_1 ..." if NICs transfer, and one of "Mem Device | GPU 00 GPU 01 ...".
bool TransferBenchPresets::ranks_row(const Words& words, std::size_t line) {
  const auto memory = std::find(words.begin(), words.end(), "Mem");
  if (memory != words.end()) {
    columns_.clear();
    for (auto at = memory; at + 1 < words.end(); ++at) {
      if (*at == "GPU" || *at == "CPU") columns_.push_back(device(*at, *(at + 1)));
    }
    // Several NICs may be nearest to one GPU.
    if (nics_.size() == columns_.size()) columns_ = nics_;
    return true;
  }
  if (words[0] == "NIC" && words.size() > 2 && words[1] == "Device") {
    nics_.assign(words.begin() + 2, words.end());
    return true;
  }
  if (columns_.empty() || column_ranks_.empty()) return false;
  if (words.size() <= columns_.size() || columns_.size() % column_ranks_.size() != 0) return false;
  const std::size_t first = words.size() - columns_.size();
  for (std::size_t i = first; i < words.size(); ++i) {
    if (!is_matrix_value(words[i])) return false;
  }
  if (words[0] == "Rank" && first > 2) row_rank_ = count_text(words[1]);
  std::string source, direction;
  for (std::size_t i = 0; i < first; ++i) {
    const bool device_word = words[i] == "GPU" || words[i] == "CPU";
    if (device_word && i + 1 < first) source = device(words[i], words[i + 1]);
    if (device_word && !nics_.empty() && i > 0) source = words[i - 1];
    if (!direction_of(words[i]).empty()) direction = direction_of(words[i]);
  }
  if (source.empty()) return false;
  const std::size_t wide = columns_.size() / column_ranks_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Axes axes = {{"scope", "ranks"},
                 {"src", fmt::format("r{}.{}", row_rank_, source)},
                 {"dst", fmt::format("r{}.{}", column_ranks_[i / wide], columns_[i])}};
    if (!direction.empty()) axes.emplace_back("direction", direction);
    add(std::move(axes), words[first + i], line);
  }
  return true;
}

}  // namespace assay
