// The tables of TransferBench's presets that are neither tests nor plain matrices: sweeps over
// sub-executors, one GPU with all others, checks of health, memory bandwidth, and devices of
// several ranks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/import/record_builder.h"

namespace assay {

class TransferBenchPresets {
 public:
  explicit TransferBenchPresets(Draft& draft) : draft_(draft) {}

  /// Reads a line if it belongs to such a table, and returns whether it does. `columns`: its parts
  /// between | or commas, trimmed, none of them empty; `size`: bytes of each transfer, as known so
  /// far.
  bool read(std::string_view text, const std::vector<std::string>& columns, const std::string& size,
            std::size_t line);
  /// Another run of the program begins.
  void reset();

 private:
  enum class Table {
    none,
    scaling,
    schmoo,
    a2a_sweep,
    gfx_sweep,
    one_to_all,
    averages,
    rings,
    pairs,
    hbm,
    health,
    ranks
  };
  using Axes = std::vector<std::pair<std::string, std::string>>;
  using Words = std::vector<std::string_view>;

  bool title(std::string_view text, const Words& words);
  bool row(std::string_view text, const Words& words, std::size_t line);
  bool scaling_row(const Words& words, std::size_t line);
  bool swept_row(const Words& words, std::size_t line);
  bool one_to_all_row(std::string_view text, const Words& words, std::size_t line);
  bool averages_row(std::string_view text, const Words& words, std::size_t line);
  bool rings_row(const Words& words, std::size_t line);
  bool pairs_row(const Words& words, std::size_t line);
  bool hbm_row(const Words& words, std::size_t line);
  bool health_line(std::string_view text, const Words& words, std::size_t line);
  bool ranks_row(const Words& words, std::size_t line);
  void add(Axes axes, std::string_view rate, std::size_t line);

  Draft& draft_;
  Table table_ = Table::none;
  std::vector<std::string> columns_;
  std::vector<std::string> column_ranks_, nics_;
  std::string source_, size_, block_, test_, row_rank_;
  std::string sweep_ = "gfx_sweep";  // what "#CUs\\Unroll" sweeps
};

}  // namespace assay
