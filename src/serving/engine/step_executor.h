// Computes the steps of a scheduler with a decoder: which rows a pass has, where their keys and
// values go, and which tokens come out.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/decoder.h"
#include "serving/server/generation_request.h"
#include "serving/server/scheduler.h"

namespace assay::engine {

/// A request's tokens so far: its prompt and what was generated.
struct SequenceText {
  std::vector<std::uint32_t> tokens;
  std::uint64_t prompt_tokens = 0;
  server::Sampling sampling;
};
using SequenceTexts = std::unordered_map<std::uint64_t, SequenceText>;  // by the request's id

struct ExecutorSettings {
  DecoderShape shape;
  DataType precision = DataType::bf16;
  std::uint64_t seed = 1;              ///< of random weights
  std::optional<DataType> codes = {};  ///< of quantized matrices, as in DecoderSettings
  std::filesystem::path folder = {};   ///< whose files hold the weights; empty: they are random
  std::int64_t max_sequences = 256, max_batched_tokens = 2048;
  std::int64_t max_length = 4096;  ///< tokens of a sequence
  std::int64_t blocks = 0;         ///< of the cache
  /// All passes have one size, so that the logits of a token do not depend on what else is computed
  /// beside it.
  bool deterministic = false;

  /// Sequences of one block each, which have a place for each row that pads a pass.
  std::int64_t padding_sequences() const;
  /// With room for padding.
  DecoderSettings decoder() const;
};

class StepExecutor {
 public:
  /// Allocates everything, and computes a pass of each size, so that no request waits for a choice
  /// of plans. `device` must outlive it. Error: of the device; exhausted.
  static Result<std::unique_ptr<StepExecutor>> create(Device& device,
                                                      const ExecutorSettings& settings);

  /// Computes `step`; `texts` has all of its requests. Returns the next token of each part that
  /// yields one, in their order; valid until the next call. Error: of the device.
  Result<std::span<const std::uint32_t>> run(const server::ScheduledStep& step,
                                             const SequenceTexts& texts);

  const Decoder& decoder() const { return *decoder_; }
  /// Graphs captured so far.
  std::size_t graphs() const { return graphs_.size(); }

 private:
  StepExecutor(Device& device, const ExecutorSettings& settings);
  Status prepare();
  void clear_rows();
  void fill_rows(std::int64_t size);
  std::int64_t last_of_padding() const;
  void list_rows(const server::ScheduledStep& step, const SequenceTexts& texts);
  void list_blocks(const server::StepPart& part);
  DecoderPass pad();
  bool is_of_whole_prompts(const server::ScheduledStep& step) const;
  Status enqueue(const DecoderPass& pass);
  Status launch_graph(const DecoderPass& pass);
  Result<std::span<const std::uint32_t>> take_tokens(const server::ScheduledStep& step,
                                                     const SequenceTexts& texts,
                                                     const DecoderPass& pass);

  Device& device_;
  const ExecutorSettings settings_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Decoder> decoder_;
  /// By tokens and by the longest sequence.
  std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<Graph>> graphs_;
  // Of the present step; kept, so that steps allocate nothing.
  DecoderTokens rows_;
  std::vector<std::int32_t> tables_, next_;
  std::vector<std::uint32_t> tokens_;
  bool tables_changed_ = true;
  std::int64_t longest_ = 0;
};

}  // namespace assay::engine
