// The class of the benchmarks prefill and decode. It has their axes, decides the values "auto", and
// refuses cells that a device cannot measure.
#pragma once

#include <string>
#include <vector>

#include "measure/benchmarks/decode/decoder_case.h"
#include "measure/grid/benchmark.h"

namespace assay {

class DecoderBenchmark final : public Benchmark {
 public:
  /// `tokens_axis` gives the name and the description of the axis that sets DecoderCell::tokens;
  /// its other members are ignored.
  DecoderBenchmark(DecoderPhase phase, std::string name, std::string summary, Axis tokens_axis);

  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }
  const std::vector<Axis>& axes() const override { return axes_; }
  /// Replaces "auto", except in `attention`, and where a file that decides the value cannot be
  /// used. Leaves out adapter=none and cache=auto, so that the cell equals those of older records.
  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team&) const override;
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override;
  Status check_files(const Cell& cell, const Device& device, const Team&) const override;
  bool depends_on_device() const override { return true; }
  std::string requirements(const Cell& cell, const Device& device) const override;
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override;

 private:
  /// Parses a cell that expand() returned. Error: if another axis than `attention` and `cache` is
  /// still "auto", that of read_decoder_config() (model/transformer/decoder_config.h) or
  /// read_token_ids() (token_ids.h) for the file that should have decided it, else usage; as
  /// parse().
  Result<DecoderCell> decided(const Cell& cell, const Device& device) const;
  /// Returns whether the cell names a folder of weights or of an adapter, or a file of tokens.
  bool names_files(const Cell& cell) const;
  /// Parses a cell, and reads config.json and the tokens if it names such files. Error: usage if a
  /// value or a file is invalid, or if they do not fit together; file or exhausted, as
  /// read_operand() (core/read_file.h).
  Result<DecoderCell> parse(const Cell& cell, const Device& device) const;

  DecoderPhase phase_;
  std::string name_, summary_, tokens_axis_;
  std::vector<Axis> axes_;
};

}  // namespace assay
