// Runs gemm cells on a device as `assay run` does: prepare, enqueue, verify.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "measure/benchmarks/benchmark.h"
#include "ranks/collective/communicators.h"

namespace assay {

struct GemmOutcome {
  Verification verification;
  std::map<std::string, std::string> notes;
  Work work;
};

/// `settings` replaces the defaults of some axes and must leave one cell.
inline Result<GemmOutcome> run_gemm(Device& device, Stream& stream,
                                    const std::vector<AxisSetting>& settings) {
  const Benchmark* gemm = find_benchmark("gemm");
  const std::vector<Cell> cells = TRY(expand_cells("gemm", gemm->axes(), settings));
  if (const auto reason = gemm->unsupported(cells.at(0), device)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  Communicators alone(device, solo_team());
  const std::unique_ptr<Case> prepared =
      TRY(gemm->prepare(cells.at(0), {device, stream, 3, solo_team(), alone}));
  for (int i = 0; i < 3; ++i) TRY(prepared->enqueue(stream));
  TRY(stream.synchronize());
  GemmOutcome outcome;
  outcome.work = prepared->work();
  outcome.verification = TRY(prepared->verify(stream));
  for (const auto& [key, value] : prepared->notes()) outcome.notes[key] = value;
  return outcome;
}

inline std::string text_of(const std::vector<AxisSetting>& settings) {
  std::string text;
  for (const AxisSetting& setting : settings) text += setting.axis + "=" + setting.values + " ";
  return text;
}

/// Expects that the cell runs and passes its verification; returns its notes.
inline std::map<std::string, std::string> expect_gemm(Device& device, Stream& stream,
                                                      const std::vector<AxisSetting>& settings) {
  const auto outcome = run_gemm(device, stream, settings);
  if (!outcome) {
    ADD_FAILURE() << text_of(settings) << outcome.error().message;
    return {};
  }
  EXPECT_TRUE(outcome->verification.passed) << text_of(settings) << outcome->verification.detail;
  return outcome->notes;
}

}  // namespace assay
