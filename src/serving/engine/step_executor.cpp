#include "serving/engine/step_executor.h"

#include <algorithm>
#include <bit>

#include "compute/device/helpers.h"
#include "core/random.h"
#include "ranks/team/agreement.h"
#include "serving/engine/pass_sizes.h"

namespace assay::engine {
namespace {

constexpr std::string_view step_of_team = "serving";

std::int32_t narrow(std::uint64_t number) {
  return static_cast<std::int32_t>(number);
}

/// How the next token of a text is drawn: it depends on the request, its seed and the number of
/// tokens before it alone.
DrawnRow drawn_row(const SequenceText& text, std::size_t row) {
  const server::Sampling& how = text.sampling;
  const std::uint64_t number = text.tokens.size() - text.prompt_tokens;
  return {.temperature = how.temperature,
          .top_p = how.top_p,
          .min_p = how.min_p,
          .uniform = Random(Random(*how.seed).next() ^ number).uniform(),
          .row = static_cast<std::int64_t>(row),
          .top_k = static_cast<std::int64_t>(how.top_k)};
}

void append_penalties(const SequenceText& text, std::size_t row,
                      std::vector<TokenPenalty>& penalties) {
  const server::Sampling& how = text.sampling;
  for (const auto& [token, count] : text.counts) {
    const double of_reply = how.presence_penalty + how.frequency_penalty * count;
    penalties.push_back({.row = narrow(row),
                         .token = narrow(token),
                         .divisor = static_cast<float>(how.repetition_penalty),
                         .amount = count > 0 ? static_cast<float>(of_reply) : 0});
  }
}

/// The parts of a step that compute a prompt from its beginning, of which no token sees another
/// part.
std::vector<PromptRows> prompts_of(const server::ScheduledStep& step) {
  std::vector<PromptRows> prompts;
  std::int32_t row = 0;
  for (const server::StepPart& part : step.parts) {
    const std::int32_t length = narrow(part.tokens);
    const bool begins = part.begin == 0 && length > 1;
    const bool goes_on = begins && !prompts.empty() && prompts.back().end() == row &&
                         prompts.back().length == length;
    if (goes_on) {
      ++prompts.back().count;
    } else if (begins) {
      prompts.push_back({row, length, 1});
    }
    row += length;
  }
  return prompts;
}

}  // namespace

SequenceText SequenceText::of_prompt(std::vector<std::uint32_t> prompt, const server::Sampling& how,
                                     std::optional<std::uint32_t> logprobs) {
  SequenceText text = {std::move(prompt), 0, how, logprobs};
  text.prompt_tokens = text.tokens.size();
  if (how.repetition_penalty != 1) {  // the others are for tokens of the reply
    for (const std::uint32_t token : text.tokens) text.counts.emplace(token, 0);
  }
  return text;
}

std::int64_t ExecutorSettings::padding_sequences() const {
  const std::int64_t rows = std::min(page_tokens, max_length);
  return (pass_size(max_batched_tokens) + rows - 1) / rows;
}

DecoderSettings ExecutorSettings::decoder() const {
  return {.shape = shape,
          .limits = {.tokens = pass_size(max_batched_tokens),
                     .results = pass_size(deterministic ? max_batched_tokens : max_sequences),
                     .sequences = max_sequences + padding_sequences(),
                     .positions = max_length,
                     .blocks = blocks + padding_sequences()},
          .precision = precision,
          .seed = seed,
          .quantization = quantization,
          .cache_codes = cache_codes,
          .folder = folder,
          .adapter = adapter,
          .part = part,
          .ranks = ranks,
          .prompts = {.way = deterministic ? PromptWay::own : attention, .any_lengths = true},
          .cache_attention = deterministic ? std::optional(PagedUnits::vector) : std::nullopt};
}

StepExecutor::StepExecutor(Device& device, const ExecutorSettings& settings)
    : device_(device), settings_(settings) {}

Result<std::unique_ptr<StepExecutor>> StepExecutor::create(Device& device,
                                                           const ExecutorSettings& settings) {
  std::unique_ptr<StepExecutor> made(new StepExecutor(device, settings));
  made->stream_ = TRY(device.create_stream());
  auto decoder = Decoder::create(device, *made->stream_, settings.decoder());
  if (settings.ranks.team != nullptr) {
    // Passes prepare it, in which the others would wait for a rank that has none.
    TRY(agree(*settings.ranks.team, "making the model",
              decoder.ok() ? Status() : Status(decoder.error())));
  }
  made->decoder_ = TRY(std::move(decoder));
  TRY(made->prepare());
  return made;
}

Status StepExecutor::prepare() {
  TRY(decoder_->reserve_drawing());
  const DecoderLimits& limits = decoder_->settings().limits;
  const auto rows = static_cast<std::size_t>(limits.tokens);
  const auto width = static_cast<std::size_t>(limits.blocks_of_sequence());
  tables_.assign(static_cast<std::size_t>(limits.sequences) * width, 0);
  const std::size_t sequences = width * static_cast<std::size_t>(settings_.max_sequences);
  for (std::size_t i = sequences; i < tables_.size(); ++i) {
    tables_[i] = static_cast<std::int32_t>(settings_.blocks) +
                 static_cast<std::int32_t>((i - sequences) / width);
  }
  TRY(decoder_->set_tables(*stream_, tables_));
  tables_.resize(sequences);  // those of padding never change
  for (auto* of_rows : {&order_.rows.tokens, &order_.rows.positions, &order_.rows.sequences,
                        &order_.rows.results}) {
    of_rows->reserve(rows);
  }
  next_.reserve(static_cast<std::size_t>(limits.results));
  tokens_.reserve(static_cast<std::size_t>(settings_.max_sequences));
  result_rows_.reserve(static_cast<std::size_t>(settings_.max_sequences));
  drawn_.reserve(static_cast<std::size_t>(settings_.max_sequences));
  // An emulated device chooses no plans by measuring, and takes long for each pass.
  if (device_.facts().emulated || settings_.deterministic) return {};
  for (const std::int64_t size : pass_sizes(settings_.max_batched_tokens)) {
    clear_rows();
    order_.rows.results.push_back(0);
    const DecoderPass pass = {size, size <= limits.results ? size : 1, last_of_padding()};
    fill_rows(size);
    TRY(wait_for(enqueue(pass)));
  }
  return {};
}

Status StepExecutor::wait_for(const Status& queued) {
  const Status waited = decoder_->wait(*stream_);
  return queued.ok() ? waited : queued;
}

void StepExecutor::clear_rows() {
  for (auto* of_rows : {&order_.rows.tokens, &order_.rows.positions, &order_.rows.sequences,
                        &order_.rows.results}) {
    of_rows->clear();
  }
  order_.places.clear();
  order_.blocks.clear();
}

/// Adds rows of sequences that nobody asked for. Each has a place in the cache of its own: what is
/// computed at the same time must not write to the same place.
void StepExecutor::fill_rows(std::int64_t size) {
  const std::int64_t places = last_of_padding() + 1;
  order_.rows.tokens.resize(static_cast<std::size_t>(size), 0);
  for (std::int64_t i = std::ssize(order_.rows.positions); i < size; ++i) {
    order_.rows.positions.push_back(static_cast<std::int32_t>(i % places));
    order_.rows.sequences.push_back(
        static_cast<std::int32_t>(settings_.max_sequences + i / places));
  }
}

/// The last position of a sequence of padding, which has one block.
std::int64_t StepExecutor::last_of_padding() const {
  return std::min(page_tokens, settings_.max_length) - 1;
}

std::string StepExecutor::cache_type() const {
  return decoder_->cache_type(settings_.deterministic);
}

// ---- A step, from its parts to its tokens ----

Result<std::span<const std::uint32_t>> StepExecutor::run(const server::ScheduledStep& step,
                                                         const SequenceTexts& texts) {
  list_rows(step, texts);
  const bool decodes = std::all_of(step.parts.begin(), step.parts.end(),
                                   [](const auto& part) { return part.decodes; });
  order_.pass = pad();
  if (!settings_.deterministic) order_.pass.prompts = prompts_of(step);
  order_.graph = decodes || settings_.deterministic;
  // What a row of padding computes is nobody's, so it does not matter that rows of one sequence
  // see each other half written; only a CPU's checks for races would mind.
  order_.pass.apart = decodes && !settings_.deterministic && !device_.facts().runs_on_host;
  TRY(tell(StepOrder::Kind::pass));
  TRY(carry_out());
  return take_tokens(step, texts, order_.pass);
}

void StepExecutor::list_rows(const server::ScheduledStep& step, const SequenceTexts& texts) {
  clear_rows();
  longest_ = 0;
  for (const server::StepPart& part : step.parts) {
    const std::vector<std::uint32_t>& text = texts.at(part.id).tokens;
    for (std::uint64_t i = part.begin; i < part.begin + part.tokens; ++i) {
      order_.rows.tokens.push_back(narrow(text[i]));
      order_.rows.positions.push_back(narrow(i));
      order_.rows.sequences.push_back(narrow(part.slot));
    }
    if (part.yields) order_.rows.results.push_back(narrow(order_.rows.tokens.size() - 1));
    longest_ = std::max(longest_, static_cast<std::int64_t>(part.begin + part.tokens - 1));
    list_blocks(part);
  }
}

void StepExecutor::list_blocks(const server::StepPart& part) {
  const auto width = static_cast<std::size_t>(decoder_->settings().limits.blocks_of_sequence());
  std::size_t place = part.slot * width;
  for (const server::BlockPool::Block block : part.blocks) {
    if (tables_[place] != narrow(block)) {
      order_.places.push_back(narrow(place));
      order_.blocks.push_back(narrow(block));
      tables_[place] = narrow(block);
      tables_changed_ = true;
    }
    ++place;
  }
}

/// Adds rows up to an allowed size. The results are those of all rows if not fewer suffice.
DecoderPass StepExecutor::pad() {
  const std::int64_t count = std::ssize(order_.rows.tokens),
                     results = std::ssize(order_.rows.results);
  DecoderPass pass;
  pass.tokens = pass_size(settings_.deterministic ? settings_.max_batched_tokens
                                                  : std::max<std::int64_t>(count, 1));
  pass.longest =
      settings_.deterministic ? settings_.max_length - 1 : std::max(longest_, last_of_padding());
  fill_rows(pass.tokens);
  pass.results = settings_.deterministic || results == count
                     ? pass.tokens
                     : std::min(pass_size(std::max<std::int64_t>(results, 1)), pass.tokens);
  // If all rows have results, the device ignores which were asked for.
  if (pass.results < pass.tokens)
    order_.rows.results.resize(static_cast<std::size_t>(pass.results), 0);
  return pass;
}

Status StepExecutor::carry_out() {
  return order_.graph ? launch_graph(order_.pass) : enqueue(order_.pass);
}

Status StepExecutor::enqueue(const DecoderPass& pass) {
  if (std::exchange(tables_changed_, false)) TRY(decoder_->set_tables(*stream_, tables_));
  TRY(decoder_->set_tokens(*stream_, order_.rows));
  return decoder_->enqueue(*stream_, pass);
}

/// A captured pass serves all steps of its size whose sequences are not longer.
Status StepExecutor::launch_graph(const DecoderPass& pass) {
  constexpr std::uint64_t least_length = 64;
  DecoderPass replayed = pass;
  replayed.longest = std::min(settings_.max_length - 1,
                              static_cast<std::int64_t>(std::bit_ceil(std::max(
                                  static_cast<std::uint64_t>(pass.longest) + 1, least_length))) -
                                  1);
  std::unique_ptr<Graph>& graph = graphs_[{replayed.tokens, replayed.longest}];
  if (graph == nullptr) {
    TRY(enqueue(replayed));  // chooses how products are computed
    TRY(decoder_->wait(*stream_));
    graph = TRY(captured(*stream_, [&] { return decoder_->enqueue(*stream_, replayed); }));
    return {};
  }
  if (std::exchange(tables_changed_, false)) TRY(decoder_->set_tables(*stream_, tables_));
  TRY(decoder_->set_tokens(*stream_, order_.rows));
  return stream_->launch(*graph);
}

// ---- Ranks that share the model ----

Status StepExecutor::tell(StepOrder::Kind kind) {
  if (!is_shared()) return {};
  order_.kind = kind;
  const auto answers = TRY(settings_.ranks.team->exchange(step_of_team, to_text(order_)));
  for (std::size_t rank = 1; rank < answers.size(); ++rank) {
    if (!answers[rank].empty()) stop_was_asked_ = true;
  }
  return {};
}

Status StepExecutor::follow(const std::function<bool()>& stop) {
  for (;;) {
    const auto told = TRY(settings_.ranks.team->exchange(step_of_team, stop() ? "stop" : ""));
    order_ = TRY(order_from_text(told.front()));
    if (order_.kind == StepOrder::Kind::end) return {};
    if (order_.kind == StepOrder::Kind::idle) continue;
    TRY(change_tables());
    TRY(wait_for(carry_out()));
  }
}

/// Repeats on this rank what rank 0 did to its tables when it listed the blocks.
Status StepExecutor::change_tables() {
  for (std::size_t i = 0; i < order_.places.size(); ++i) {
    const std::int32_t place = order_.places[i];
    if (place < 0 || place >= std::ssize(tables_)) {
      return Error{ErrorKind::failed, "rank 0 told of a block of no sequence"};
    }
    tables_[static_cast<std::size_t>(place)] = order_.blocks[i];
    tables_changed_ = true;
  }
  return {};
}

// ---- Tokens ----

Result<std::span<const std::uint32_t>> StepExecutor::take_tokens(const server::ScheduledStep& step,
                                                                 const SequenceTexts& texts,
                                                                 const DecoderPass& pass) {
  const bool all_rows = pass.results == pass.tokens;
  result_rows_.clear();
  drawn_.clear();
  penalties_.clear();
  logprob_rows_.clear();
  std::size_t end_of_part = 0;
  for (const server::StepPart& part : step.parts) {
    end_of_part += part.tokens;
    if (!part.yields) continue;
    const std::size_t row = all_rows ? end_of_part - 1 : result_rows_.size();
    result_rows_.push_back(row);
    const SequenceText& text = texts.at(part.id);
    if (!text.sampling.is_greedy()) drawn_.push_back(drawn_row(text, row));
    const std::size_t before = penalties_.size();
    append_penalties(text, row, penalties_);
    if (!text.logprobs) continue;
    logprob_rows_.push_back({.row = narrow(row),
                             .count = narrow(*text.logprobs),
                             .first_penalty = narrow(before),
                             .penalties = narrow(penalties_.size() - before)});
  }
  TRY(decoder_->draw(*stream_, pass.results, drawn_, penalties_, logprob_rows_));
  next_.resize(static_cast<std::size_t>(pass.results));
  TRY(decoder_->next_tokens(*stream_, next_));
  tokens_.clear();
  for (const std::size_t row : result_rows_) {
    tokens_.push_back(static_cast<std::uint32_t>(next_[row]));
  }
  logprobs_.resize(logprob_rows_.size());
  if (!logprobs_.empty()) TRY(decoder_->logprobs(*stream_, logprobs_));
  return std::span<const std::uint32_t>(tokens_);
}

}  // namespace assay::engine
