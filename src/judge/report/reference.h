// Figures that others reported, as YAML files. They are drawn beside results and never judged.
// The files in references/ are embedded in the binary.
//
//   name: surogate
//   who: invergent-ai
//   date: 2026-08-03            # or 2026-08, or undated
//   source: invergent-ai/surogate, docs/reference/benchmarks.md
//   device: NVIDIA H100         # of tables without a column "device"
//   tables:
//     - title: Qwen3-8B LoRA    # where in the source
//       program: surogate
//       benchmark: finetune
//       axes: {model: qwen3-8b, mode: lora}           # the same in all rows
//       columns: [products, token_rate (tokens/s)]    # axes, and metrics with their units
//       rows:
//         - [bf16, 10200]       # "-" where the source has nothing
//
// "aside" after the unit, as in "memory (GB) aside", marks a figure of which neither more nor less
// is better.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/record.h"

namespace assay::report {

struct Reference {
  std::string name, who, date, source;
  std::vector<Record> records;  ///< with the title of their table as Source::file

  /// "surogate, NVIDIA H100 (reported by invergent-ai, 2026-08-03)": what charts call a device.
  std::string label(const std::string& device) const;
  std::vector<Record> of_device(const std::string& device) const;  ///< those of this name
  std::set<std::string> devices() const;                           ///< names of all devices
  std::size_t figures() const;  ///< the number of metrics in all records
};

/// Error: usage, "FILE:LINE: what is wrong; what is allowed".
Result<Reference> parse_reference(std::string_view yaml, std::string_view file);

/// The embedded references, sorted by name. Error: usage, if one is malformed, which is a mistake
/// in assay.
Result<std::vector<Reference>> built_in_references();

}  // namespace assay::report
