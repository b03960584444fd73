// Reads TransferBench's tables of groups that transfer at the same time: rings of GPUs (rings), and
// NICs that each send to all others (nica2a), since version 1.68.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/import/record_builder.h"

namespace assay {

/// What all transfers of a preset share, as known so far.
struct TransferSetup {
  std::string size;  ///< bytes of each transfer; empty: unknown
  /// Names and values of further axes of its cells, where the executor or the memory is not the
  /// default.
  std::vector<std::pair<std::string, std::string>> unusual;
};

/// Adds a record of the benchmark "peer" with these axes (names and values), those of `setup` that
/// they lack, and the bandwidth `rate`, in GB/s as written in line `line`; does nothing if it is
/// not a number.
void add_transfer_rate(Draft& draft, std::vector<std::pair<std::string, std::string>> axes,
                       const TransferSetup& setup, std::string_view rate, std::size_t line);

class TransferBenchGroups {
 public:
  explicit TransferBenchGroups(Draft& draft) : draft_(draft) {}

  /// Reads a line of such a table; returns false if it is none. The arguments are as in
  /// TransferBenchPresets::read() (transferbench_presets.h).
  bool read(std::string_view text, const std::vector<std::string>& columns,
            const TransferSetup& setup, std::size_t line);
  /// Forgets the current table. Must be called when the output of another run of the program
  /// begins.
  void reset() { table_ = Table::none; }

 private:
  enum class Table { none, rings, nics };
  using Words = std::vector<std::string_view>;

  bool title(std::string_view text, const Words& words);
  bool ring_row(const Words& words, const TransferSetup& setup, std::size_t line);
  bool nic_row(const Words& words, const TransferSetup& setup, std::size_t line);

  Draft& draft_;
  Table table_ = Table::none;
  std::vector<std::string> rings_;  ///< numbers of the table's rings
  std::vector<std::string> ways_;   ///< columns of each ring: "gfx", "nic"
  std::string plane_, group_;
  std::vector<std::string> nics_, ranks_;  ///< NIC and rank of each column of the matrix
};

}  // namespace assay
