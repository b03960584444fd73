// Computes the steps of a scheduler with a decoder: which rows a pass has, where their keys and
// values go, and which tokens come out. If several ranks share the model, rank 0 has the scheduler
// and tells the others of each pass.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/decoder/decoder.h"
#include "serving/engine/step_order.h"
#include "serving/server/generation_request.h"
#include "serving/server/scheduler.h"

namespace assay::engine {

/// A request's tokens so far: its prompt and what was generated.
struct SequenceText {
  std::vector<std::uint32_t> tokens;
  std::uint64_t prompt_tokens = 0;  ///< how many of them are the prompt's
  server::Sampling sampling;        ///< must have a seed unless it is greedy
  /// The number of likeliest tokens whose log probabilities are wanted beside the generated
  /// token's; empty: none are.
  std::optional<std::uint32_t> logprobs = {};
  /// How often a token was generated, kept if there are penalties; if one is for repetition, with
  /// those of the prompt, too, which count 0 at first.
  std::unordered_map<std::uint32_t, std::uint32_t> counts = {};

  static SequenceText of_prompt(std::vector<std::uint32_t> prompt, const server::Sampling& how,
                                std::optional<std::uint32_t> logprobs = {});
  void add(std::uint32_t token) {
    tokens.push_back(token);
    if (sampling.penalizes()) ++counts[token];
  }
};
using SequenceTexts = std::unordered_map<std::uint64_t, SequenceText>;  // by the request's id

struct ExecutorSettings {
  TransformerShape shape;
  DataType precision = DataType::bf16;
  std::uint64_t seed = 1;  ///< of random weights
  Quantization quantization = {};
  std::optional<DataType> cache_codes = {};  ///< see DecoderSettings
  std::filesystem::path folder = {};   ///< whose files hold the weights; empty: they are random
  std::filesystem::path adapter = {};  ///< folder of a LoRA adapter for these weights; empty: none
  std::int64_t max_sequences = 256, max_batched_tokens = 2048;
  std::int64_t max_length = 4096;  ///< tokens of a sequence
  std::int64_t blocks = 0;         ///< of the cache
  /// All passes have one size, so that the logits of a token do not depend on what else is computed
  /// beside it.
  bool deterministic = false;
  /// How whole prompts are computed; a deterministic executor computes them like all other tokens.
  PromptWay attention = PromptWay::best;
  TensorParallelShard part = {};  ///< of several ranks, this one's
  ModelRanks ranks = {};          ///< the whole team, if there are several

  /// Returns the number of sequences of one block each in which the rows that pad a pass have their
  /// places.
  std::int64_t padding_sequences() const;
  /// Returns the decoder's settings, with room for padding.
  DecoderSettings decoder() const;
};

/// It is for one thread, unless a function says otherwise.
class StepExecutor {
 public:
  /// Allocates everything, and computes a pass of each size, so that no request waits for a choice
  /// of plans; emulated devices and deterministic executors choose none. `device` must outlive it.
  /// Error: as Decoder::create(); of the device; failed, naming a rank that is lost.
  static Result<std::unique_ptr<StepExecutor>> create(Device& device,
                                                      const ExecutorSettings& settings);

  /// Computes `step`; `texts` has all of its requests. Returns the next token of each part that
  /// yields one, in their order; valid until the next call. Error: of the device; failed, naming a
  /// rank that is lost.
  Result<std::span<const std::uint32_t>> run(const server::ScheduledStep& step,
                                             const SequenceTexts& texts);
  /// The log probabilities of the tokens that run() returned last, of those whose text wants them,
  /// in their order.
  std::span<const RowLogprobs> logprobs() const { return logprobs_; }

  // Functions for rank 0 of several that share the model; otherwise they do nothing.
  bool is_shared() const { return !settings_.part.is_whole(); }
  /// Tells the others that there is no step for now. Within the team's patience one of run() and
  /// this must be called. Error: failed, naming a rank that is lost.
  Status tell_idle() { return tell(StepOrder::Kind::idle); }
  /// Tells the others to end.
  Status tell_end() { return tell(StepOrder::Kind::end); }
  /// Returns whether another rank was asked to stop. From any thread.
  bool stop_was_asked() const { return stop_was_asked_; }

  /// On the other ranks: computes what rank 0 tells until that is the end. `stop` is asked between
  /// steps, and rank 0 told. Error: of the device; failed, naming a rank that is lost, or if what
  /// rank 0 tells is no step.
  Status follow(const std::function<bool()>& stop);

  const Decoder& decoder() const { return *decoder_; }
  /// Names what computes the attention of whole prompts: Decoder::prompt_attention(), or "cache".
  std::string prompt_attention() const {
    return settings_.deterministic ? "cache" : decoder_->prompt_attention();
  }
  /// Says what the cache of keys and values holds, as the decoder does; a deterministic executor's
  /// prompts read the cache, too.
  std::string cache_type() const;
  /// Graphs captured so far.
  std::size_t graphs() const { return graphs_.size(); }

 private:
  StepExecutor(Device& device, const ExecutorSettings& settings);
  Status prepare();
  /// Until what is queued has ended, also after an error, which frees its memory next. The first
  /// error.
  Status wait_for(const Status& queued);
  void clear_rows();
  void fill_rows(std::int64_t size);
  std::int64_t last_of_padding() const;
  void list_rows(const server::ScheduledStep& step, const SequenceTexts& texts);
  void list_blocks(const server::StepPart& part);
  DecoderPass pad();
  Status tell(StepOrder::Kind kind);
  Status change_tables();
  Status carry_out();
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
  // The present step's data; they are kept so that steps allocate nothing.
  StepOrder order_;
  std::vector<std::int32_t> tables_, next_;
  std::vector<std::uint32_t> tokens_;
  std::vector<std::size_t> result_rows_;
  std::vector<DrawnRow> drawn_;
  std::vector<TokenPenalty> penalties_;
  std::vector<LogprobRow> logprob_rows_;
  std::vector<RowLogprobs> logprobs_;
  bool tables_changed_ = true;
  std::int64_t longest_ = 0;
  std::atomic<bool> stop_was_asked_ = false;
};

}  // namespace assay::engine
