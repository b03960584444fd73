// Runs a cell on a device as `assay run` does: expand, prepare, enqueue, verify; without the clock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"

namespace assay {

struct CellOutcome {
  Verification verification;
  std::map<std::string, std::string> notes;
  Work work;
  int launches_of_1_ms = 0;  ///< number of launches in a sample of 1 ms
};

/// `settings` replace the defaults of some axes and must leave one cell.
inline Result<CellOutcome> run_cell(Device& device, Stream& stream, std::string_view name,
                                    const std::vector<AxisSetting>& settings) {
  const Benchmark* benchmark = find_benchmark(name);
  const std::vector<Cell> cells = TRY(expand_cells(name, benchmark->axes(), settings));
  const std::vector<Cell> decided = benchmark->expand(cells.at(0), device, solo_team());
  if (const auto reason = benchmark->unsupported(decided.at(0), device)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  Communicators alone(device, solo_team());
  const std::unique_ptr<Case> prepared =
      TRY(benchmark->prepare(decided.at(0), {device, stream, 3, solo_team(), alone}));
  for (int i = 0; i < 3; ++i) TRY(prepared->enqueue(stream));
  TRY(stream.synchronize());
  CellOutcome outcome;
  outcome.work = prepared->work();
  outcome.launches_of_1_ms = prepared->launches_per_sample(1e-3);
  outcome.verification = TRY(prepared->verify(stream));
  for (const auto& [key, value] : prepared->notes()) outcome.notes[key] = value;
  return outcome;
}

inline std::string text_of(const std::vector<AxisSetting>& settings) {
  std::string text;
  for (const AxisSetting& setting : settings) text += setting.axis + "=" + setting.values + " ";
  return text;
}

}  // namespace assay
