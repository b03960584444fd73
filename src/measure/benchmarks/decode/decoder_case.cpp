#include "measure/benchmarks/decode/decoder_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "compute/device/helpers.h"
#include "compute/device/peaks.h"
#include "core/hash.h"
#include "core/random.h"
#include "core/write_file.h"
#include "measure/benchmarks/tensor_parallel/tensor_exchange.h"
#include "measure/sampling/team_results.h"
#include "model/decoder/decoder_self_check.h"
#include "model/tensors/safetensors.h"
#include "ranks/team/agreement.h"

namespace assay {
namespace {

/// The most tokens in one of the passes that fill the cache for verification.
constexpr std::int64_t most_in_part = 512;

double number(std::int64_t x) {
  return static_cast<double>(x);
}

class DecoderCase final : public Case {
 public:
  /// `ranks`: the whole team; its communicator is that of the ranks that share the model, null if
  /// only one computes.
  DecoderCase(const DecoderCell& cell, PrepareContext context, ModelRanks ranks)
      : cell_(cell), device_(context.device), ranks_(ranks), settings_([&] {
          DecoderSettings settings = cell.settings(context.seed);
          settings.ranks = ranks;
          if (ranks.communicator == nullptr) settings.stop_requested = context.stop_requested;
          return settings;
        }()) {}

  /// Wherever a single rank can fail, all ranks agree on the outcome before they continue together.
  Status prepare(Stream& stream) {
    TRY(on_all_ranks("checking the decoder", stream, &DecoderCase::check));
    TRY(on_all_ranks("making the decoder", stream, &DecoderCase::make));
    TRY(on_all_ranks("computing the first pass", stream, &DecoderCase::begin));
    return on_all_ranks("capturing a pass", stream, &DecoderCase::capture);
  }

  Status check(Stream& stream) {
    if (!cell_.logits.empty()) TRY(check_writable(cell_.logits));
    gate_ = TRY(check_decoder(device_, stream, settings_));
    return {};
  }

  Status make(Stream& stream) {
    decoder_ = TRY(Decoder::create(device_, stream, settings_));
    const std::int64_t blocks = settings_.limits.blocks;
    std::vector<std::int32_t> tables;
    for (std::int64_t i = 0; i < blocks; ++i) tables.push_back(static_cast<std::int32_t>(i));
    TRY(decoder_->set_tables(stream, tables));
    if (cell_.phase == DecoderPhase::decode) TRY(decoder_->fill_cache(stream));
    return stream.synchronize();
  }

  Status begin(Stream& stream) {
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(decoder_->enqueue(stream, measured_pass()));  // selects GEMM implementations by measuring
    return decoder_->wait(stream);
  }

  Status capture(Stream& stream) {
    if (cell_.graph) {
      graph_ = TRY(captured(stream, [&] { return enqueue_pass(stream); }));
      TRY(stream.upload(*graph_));
    }
    TRY(decoder_->set_tokens(stream, tokens_at(cell_.tokens - cell_.generated)));
    return cell_.generated > 1 ? decoder_->keep_tokens(stream) : Status();
  }

  Work work() const override { return cell_.work(); }
  Quantity quantity() const override { return Quantity::latency; }
  bool takes_part() const override { return ranks_.team == nullptr || in_model(); }
  bool waits_for_all() const override { return several(); }
  /// The weights of a small model stay in the caches, so memory bandwidth is no limit for it.
  Limit limit() const override {
    if (cell_.phase == DecoderPhase::prefill) return Limit::compute;
    const double cached = 2 * static_cast<double>(device_.facts().last_level_cache_bytes);
    return work().bytes > cached ? Limit::memory : Limit::none;
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    if (!takes_part()) return {};
    std::vector<std::pair<std::string, std::string>> all = {{"gemm", decoder_->libraries()}};
    if (several()) all.emplace_back("exchange", ranks_.communicator->library());
    if (cell_.phase == DecoderPhase::prefill) {
      all.emplace_back("attention", decoder_->prompt_attention());
    } else {
      all.emplace_back("attention",
                       name_of(decoder_->variants().cache_attention(measured_pass()).units()));
    }
    if (decoder_->variants().is_of_one(measured_pass())) {
      all.emplace_back("vector_products", decoder_->variants().multipliers_of(measured_pass()));
    } else if (decoder_->variants().is_of_few(measured_pass())) {
      all.emplace_back("products_of_few_rows",
                       decoder_->variants().multipliers_of(measured_pass()));
    }
    if (cell_.quantization.codes) {
      all.emplace_back("codes", name_of(*cell_.quantization.codes));
      all.emplace_back("inputs", decoder_->inputs_of_products());
    }
    if (cell_.cache_codes) all.emplace_back("cache", decoder_->cache_type());
    exchange_.times.add_doubt(all);
    return all;
  }
  bool fits_behind_gate() const override { return cell_.graph && cell_.generated == 1; }
  Status enqueue(Stream& stream) override {
    if (!takes_part()) return {};
    if (cell_.generated > 1) TRY(decoder_->restart(stream));
    for (std::int64_t i = 0; i < cell_.generated; ++i) TRY(run_pass(stream));
    return {};
  }
  Status after_sample() override {
    return several() && takes_part() ? ranks_.communicator->status() : Status();
  }

  Result<Verification> verify(Stream& stream) override {
    Result<Verification> v = Verification{true, "takes no part", 0, 0, ""};
    if (takes_part()) v = compare(stream);
    if (several() && TRY(passed_on_all(*ranks_.team, v))) TRY(compare_ranks(stream, *v));
    return v;
  }

  Status measure_costs(Stream& stream) override {
    if (!several()) return {};
    exchange_ =
        TRY(measure_tensor_exchange(exchanging_work(stream), device_, stream, ranks_, cell_.graph));
    return {};
  }

  Result<Verification> compare(Stream& stream) {
    Verification v = {false,
                      "a small version against the definition in double; logits of one sequence "
                      "against those of its tokens in other passes",
                      gate_.error, gate_.tolerance, ""};
    if (!gate_.passed()) {
      v.detail = fmt::format("logits of a small version are {:.2g} from the reference", v.error);
      return v;
    }
    // Which products read codes differs between passes, so first none does.
    const bool of_codes = decoder_->may_read_codes();
    decoder_->leave_out_codes(of_codes);
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(decoder_->poison_results(stream));
    if (cell_.phase == DecoderPhase::decode) TRY(fill_in_parts(stream, cell_.tokens - 1));
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(of_codes ? enqueue_pass(stream) : run_pass(stream));
    const std::vector<float> measured = TRY(last_logits(stream, cell_.batch));
    TRY(decoder_->poison_results(stream));
    TRY(fill_in_parts(stream, cell_.tokens));
    const std::vector<float> again = TRY(last_logits(stream, 1));
    decoder_->leave_out_codes(false);
    const std::vector<double> expected(again.begin(), again.end());
    v.error = relative_distance(measured, expected);
    // A difference in the last digit of a key changes some of its codes.
    v.tolerance =
        std::max(logits_tolerance(settings_.precision, settings_.shape.layers),
                 noise_tolerance({.cache = settings_.cache_codes.has_value()}, settings_.shape));
    v.passed = v.error <= v.tolerance;
    if (!v.passed) {
      v.detail = fmt::format("logits of one sequence are {:.2g} from those in parts", v.error);
    }
    if (v.passed && of_codes) TRY(compare_with_codes(stream, expected, v));
    // The parts were of one sequence: rows that stayed so would write the same place of the cache.
    TRY(decoder_->set_tokens(stream, tokens_at(cell_.tokens - cell_.generated)));
    return v;
  }

  /// Checks that the measured pass, whose products read codes, is no further from the logits
  /// without codes than the rounding to codes explains.
  Status compare_with_codes(Stream& stream, std::span<const double> without, Verification& v) {
    TRY(decoder_->poison_results(stream));
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(run_pass(stream));
    v.method += fmt::format(
        " ({:.2g} apart, allowed {:.2g}), both without codes as inputs; those "
        "with codes against them, within the noise of rounding to codes",
        v.error, v.tolerance);
    v.error = relative_distance(TRY(last_logits(stream, cell_.batch)), without);
    v.tolerance = noise_tolerance({.inputs = true, .cache = settings_.cache_codes.has_value()},
                                  settings_.shape);
    v.passed = v.error <= v.tolerance;
    if (!v.passed) {
      v.detail = fmt::format("logits with codes as inputs are {:.2g} from those without", v.error);
    }
    return {};
  }

  /// Checks that all ranks have bitwise equal logits of all sequences in the measured pass.
  Status compare_ranks(Stream& stream, Verification& v) {
    std::string mine;
    if (takes_part()) {
      TRY(decoder_->set_tokens(stream, measured_tokens()));
      TRY(run_pass(stream));
      const std::vector<float> logits = TRY(decoder_->logits(stream, cell_.batch));
      mine = sha256_hex({reinterpret_cast<const char*>(logits.data()), logits.size() * 4});
    }
    const auto all = TRY(ranks_.team->exchange("comparing logits", std::move(mine)));
    v.method += "; all ranks bit for bit";
    for (std::size_t i = 1; i < static_cast<std::size_t>(cell_.part.ranks); ++i) {
      if (all[i] == all.front()) continue;
      v.passed = false;
      v.detail =
          fmt::format("the logits of {} are not those of {}", name_of(ranks_.team->members()[i]),
                      name_of(ranks_.team->members().front()));
    }
    return {};
  }

  Status keep(Stream& stream) override {
    if (cell_.logits.empty()) return {};
    DecoderTokens tokens;
    append(tokens, 0, 0, cell_.tokens);
    const std::int64_t rows = cell_.tokens;
    TRY(decoder_->set_tokens(stream, tokens));
    TRY(decoder_->poison_results(stream));
    TRY(decoder_->enqueue(stream,
                          {rows, rows, rows - 1, {{0, static_cast<std::int32_t>(rows), 1}}}));
    const std::vector<float> logits = TRY(decoder_->logits(stream, rows));
    TensorFile file =
        lay_out_tensors({{"tokens", DataType::i64, {rows}},
                         {"logits", DataType::f32, {rows, settings_.shape.vocabulary}}},
                        {});
    const std::vector<std::int64_t> ids(tokens.tokens.begin(), tokens.tokens.end());
    std::memcpy(file.data(file.tensors[0]), ids.data(), file.tensors[0].bytes);
    std::memcpy(file.data(file.tensors[1]), logits.data(), file.tensors[1].bytes);
    return write_file(cell_.logits, file.bytes);
  }

  std::vector<Metric> metrics(const Summary& seconds) const override {
    std::vector<Metric> all;
    if (!takes_part()) return all;
    const DecoderMemory memory = memory_of(settings_);
    const Work done = work();
    const auto add = [&](std::string name, double value, const char* unit,
                         Better better = Better::neither) {
      all.push_back(
          {.name = std::move(name), .value = value, .unit = unit, .better = better, .text = ""});
    };
    const auto add_share = [&](const char* name, double rate, std::optional<PeakRate> peak) {
      if (peak && !device_.facts().emulated) add(name, rate / peak->rate, "1", Better::higher);
    };
    const double pass = seconds.median * done.repetitions;
    const double bandwidth = done.bytes / pass, flops = done.flops / pass;
    add("token_rate", done.tokens / pass, "tokens/s", Better::higher);
    add("model_bandwidth", bandwidth, "bytes/s", Better::higher);
    add_share("model_bandwidth_utilisation", bandwidth, peak_memory_bandwidth(device_.facts()));
    add("flop_rate", flops, "FLOP/s", Better::higher);
    add_share("flop_utilisation", flops, peak_compute_rate(device_.facts(), settings_.precision));
    add("weight_memory", static_cast<double>(memory.weights), "bytes");
    if (!settings_.folder.empty()) {
      add("load_rate", decoder_->parameters().read_rate(), "bytes/s");
    }
    add("cache_memory", static_cast<double>(memory.cache), "bytes");
    if (several()) add_metrics(all, exchange_);
    return all;
  }

 private:
  bool several() const { return cell_.part.ranks > 1; }
  bool in_model() const { return ranks_.team->rank() < cell_.part.ranks; }

  /// Runs `what` on the ranks that share the model and agrees with the whole team on its outcome.
  Status on_all_ranks(std::string_view step, Stream& stream, Status (DecoderCase::*what)(Stream&)) {
    const Status mine = takes_part() ? (this->*what)(stream) : Status();
    // Queued parts of a failed pass may wait for a lost rank. They must end before their memory is
    // freed.
    if (!mine.ok() && decoder_) (void)decoder_->wait(stream);
    return ranks_.team == nullptr ? mine : agree(*ranks_.team, step, mine);
  }

  Status enqueue_pass(Stream& stream) {
    TRY(decoder_->enqueue(stream, measured_pass()));
    return cell_.generated > 1 ? decoder_->advance(stream, measured_pass()) : Status();
  }
  Status run_pass(Stream& stream) { return graph_ ? stream.launch(*graph_) : enqueue_pass(stream); }

  std::optional<ExchangingWork> exchanging_work(Stream& stream) {
    if (!takes_part()) return std::nullopt;
    TensorParallel* const exchange = decoder_->exchange();
    return ExchangingWork{.step = [&] { return enqueue_pass(stream); },
                          .passes =
                              [this, exchange, &stream] {
                                exchange->leave_out_exchange(true);
                                const Status queued = enqueue_pass(stream);
                                exchange->leave_out_exchange(false);
                                return queued;
                              },
                          .alone = [exchange, &stream] { return exchange->repeat(stream); },
                          .exchanged = [exchange] { return exchange->exchanged(); }};
  }

  /// Appends the tokens `begin` to `end` of a sequence, from the given text or random.
  void append(DecoderTokens& to, std::int64_t sequence, std::int64_t begin,
              std::int64_t end) const {
    Random random(settings_.seed + static_cast<std::uint64_t>(sequence));
    for (std::int64_t i = 0; i < end; ++i) {
      const std::uint64_t token =
          random.next() % static_cast<std::uint64_t>(settings_.shape.vocabulary);
      if (i < begin) continue;
      to.tokens.push_back(cell_.text.empty() ? static_cast<std::int32_t>(token)
                                             : cell_.text[static_cast<std::size_t>(i)]);
      to.positions.push_back(static_cast<std::int32_t>(i));
      to.sequences.push_back(static_cast<std::int32_t>(sequence));
    }
    to.results.push_back(static_cast<std::int32_t>(to.tokens.size() - 1));
  }

  std::int64_t first_measured() const {
    return cell_.phase == DecoderPhase::decode ? cell_.tokens - 1 : 0;
  }
  DecoderTokens measured_tokens() const {
    DecoderTokens tokens;
    for (std::int64_t s = 0; s < cell_.batch; ++s) {
      append(tokens, s, first_measured(), cell_.tokens);
    }
    return tokens;
  }
  /// The tokens of the first timed pass: whole prompts, or for decode one token per sequence at
  /// `position`.
  DecoderTokens tokens_at(std::int64_t position) const {
    if (cell_.phase == DecoderPhase::prefill) return measured_tokens();
    DecoderTokens tokens;
    for (std::int64_t s = 0; s < cell_.batch; ++s) append(tokens, s, position, position + 1);
    return tokens;
  }
  DecoderPass measured_pass() const {
    DecoderPass pass = {cell_.batch * (cell_.tokens - first_measured()), cell_.batch,
                        cell_.tokens - 1};
    if (cell_.phase == DecoderPhase::prefill) {
      pass.prompts = {
          {0, static_cast<std::int32_t>(cell_.tokens), static_cast<std::int32_t>(cell_.batch)}};
    } else {
      pass.apart = true;
    }
    return pass;
  }

  Result<std::vector<float>> last_logits(Stream& stream, std::int64_t rows) {
    std::vector<float> logits = TRY(decoder_->logits(stream, rows));
    logits.erase(logits.begin(), logits.end() - settings_.shape.vocabulary);
    return logits;
  }

  /// Computes the first `end` tokens of the last sequence, cut into other passes than the measured
  /// one.
  Status fill_in_parts(Stream& stream, std::int64_t end) {
    const std::int64_t part = std::clamp<std::int64_t>(end / 2, 1, most_in_part);
    for (std::int64_t begin = 0; begin < end; begin += part) {
      const std::int64_t part_end = std::min(begin + part, end);
      DecoderTokens tokens;
      append(tokens, cell_.batch - 1, begin, part_end);
      TRY(decoder_->set_tokens(stream, tokens));
      TRY(decoder_->enqueue(stream, {part_end - begin, 1, part_end - 1}));
      TRY(decoder_->wait(stream));
    }
    return {};
  }

  const DecoderCell cell_;
  Device& device_;
  const ModelRanks ranks_;  // null team: this rank alone
  const DecoderSettings settings_;
  DecoderGate gate_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Graph> graph_;  // null: single launches
  TensorExchange exchange_;       // only with several ranks
};

}  // namespace

DecoderSettings DecoderCell::settings(std::uint64_t seed) const {
  const bool is_prefill = phase == DecoderPhase::prefill;
  DecoderSettings made = {.shape = shape,
                          .limits = {},
                          .precision = precision,
                          .seed = seed,
                          .quantization = quantization,
                          .cache_codes = cache_codes,
                          .folder = folder,
                          .adapter = adapter,
                          .part = part,
                          .prompts = {.way = attention, .any_lengths = false}};
  DecoderLimits& limits = made.limits;
  limits.tokens = is_prefill ? batch * tokens : std::max(batch, std::min(tokens, most_in_part));
  limits.results = logits.empty() ? batch : std::max(batch, tokens);
  limits.sequences = batch;
  limits.positions = tokens;
  limits.blocks = batch * limits.blocks_of_sequence();
  return made;
}

Work DecoderCell::work() const {
  const double element = static_cast<double>(size_of(precision)), factor = sizeof(float);
  const TransformerShape own = own_shape(shape, part);
  // Each rank computes only its part of the rows of the head.
  const double elsewhere = 1 - 1.0 / part.ranks;
  const double products = own.products() - elsewhere * own.head_products();
  const double outputs = own.outputs() - elsewhere * number(shape.vocabulary);
  const double weights = quantization.codes ? products + factor * outputs : element * products;
  const bool is_prefill = phase == DecoderPhase::prefill;
  const double passes = is_prefill ? 1 : number(generated);
  const double new_tokens = is_prefill ? number(tokens) : 1;
  // The mean context over the passes that generate tokens.
  const double context = number(tokens) - (passes - 1) / 2;
  const double cached = context * static_cast<double>(settings(0).cache_bytes_of_token());
  const double flops =
      own.flops(new_tokens, context - new_tokens) - elsewhere * 2 * own.head_products();
  return {.bytes = passes * (weights + number(batch) * cached),
          .flops = passes * number(batch) * flops,
          .repetitions = passes,
          .math = precision,
          .tokens = passes * number(batch) * new_tokens,
          .ranks = number(part.ranks)};
}

Result<std::unique_ptr<Case>> prepare_decoder_case(const DecoderCell& cell,
                                                   PrepareContext context) {
  return prepare_decoder_case(cell, context, {});
}

Result<std::unique_ptr<Case>> prepare_decoder_case(DecoderCell cell, PrepareContext context,
                                                   ModelRanks ranks) {
  if (ranks.team != nullptr) cell.part.rank = ranks.team->rank();
  auto prepared = std::make_unique<DecoderCase>(cell, context, ranks);
  TRY(prepared->prepare(context.stream));
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
