// Reads those tables of TransferBench's presets that formats/transferbench.cpp does not: they are
// neither results of tests nor matrices of the devices of one rank. These are sweeps over the
// number of sub-executors (compute units of a transfer), transfers between one GPU and all others,
// averages, rings of NICs, health checks, memory bandwidth, and devices of several ranks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/import/record_builder.h"
#include "results/import/transferbench_groups.h"

namespace assay {

class TransferBenchPresets {
 public:
  explicit TransferBenchPresets(Draft& draft) : draft_(draft) {}

  /// Reads `text`, a trimmed line with the number `line`. Returns false if other readers must see
  /// the line: it belongs to no such table, or also contains a size. `columns` are its parts
  /// between bars or, if there are none, between commas: trimmed, without empty ones.
  bool read(std::string_view text, const std::vector<std::string>& columns,
            const TransferSetup& setup, std::size_t line);
  /// Forgets the current table. Must be called when the output of another run of the program
  /// begins.
  void reset();

 private:
  /// The table whose rows follow; most have the name of TransferBench's preset.
  enum class Table {
    none,
    scaling,
    schmoo,
    a2a_sweep,
    gfx_sweep,
    one_to_all,
    averages,  ///< mean rates between kinds of devices: "CPU->CPU", "CPU->GPU"
    rings,     ///< rings of NICs
    pairs,     ///< a row for each pair of devices of several ranks
    hbm,       ///< memory bandwidth
    health,
    ranks  ///< a matrix of the devices of several ranks
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
  bool ranks_head(std::string_view text, const Words& words);
  bool ranks_row(const Words& words, std::size_t line);
  void add(Axes axes, std::string_view rate, std::size_t line);

  Draft& draft_;
  Table table_ = Table::none;
  std::vector<std::string> columns_;
  std::vector<std::string> column_ranks_, nics_;
  std::vector<std::string> title_cells_;  // parts of the title of a matrix of ranks: "Rank 00"
  TransferSetup setup_;
  // What earlier lines said that rows do not repeat: the GPU that copies, the block size, the name
  // of the health check, the rank of the rows, and the group of the matrix.
  std::string source_, block_, test_, row_rank_, group_;
  std::string sweep_ = "gfx_sweep";  // `scope` of tables that begin with "#CUs\\Unroll"
};

}  // namespace assay
