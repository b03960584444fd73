#include "measure/benchmarks/decoder_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compute/device/peaks.h"
#include "core/random.h"
#include "core/write_file.h"
#include "model/decoder_gate.h"
#include "model/safetensors.h"

namespace assay {
namespace {

/// Tokens of a pass that fills the cache for decode's verification.
constexpr std::int64_t most_in_part = 512;

double number(std::int64_t x) {
  return static_cast<double>(x);
}

class DecoderCase final : public Case {
 public:
  DecoderCase(const DecoderCell& cell, PrepareContext context)
      : cell_(cell), device_(context.device), settings_(cell.settings(context.seed)) {}

  Status prepare(Stream& stream) {
    gate_ = TRY(check_decoder(device_, stream, settings_));
    decoder_ = TRY(Decoder::create(device_, stream, settings_));
    const std::int64_t blocks = settings_.limits.blocks;
    std::vector<std::int32_t> tables;
    for (std::int64_t i = 0; i < blocks; ++i) tables.push_back(static_cast<std::int32_t>(i));
    TRY(decoder_->set_tables(stream, tables));
    if (cell_.phase == DecoderPhase::decode) TRY(decoder_->fill_cache(stream));
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(decoder_->enqueue(stream, measured_pass()));  // chooses how products are computed
    TRY(stream.synchronize());
    TRY(stream.begin_capture());
    Status queued = decoder_->enqueue(stream, measured_pass());
    if (queued.ok() && cell_.generated > 1) queued = decoder_->advance(stream, measured_pass());
    auto captured = stream.end_capture();  // also after an error: the stream goes on
    TRY(queued);
    graph_ = TRY(std::move(captured));
    TRY(stream.upload(*graph_));
    TRY(decoder_->set_tokens(stream, tokens_at(cell_.tokens - cell_.generated)));
    return cell_.generated > 1 ? decoder_->keep_tokens(stream) : Status();
  }

  Work work() const override { return cell_.work(); }
  Quantity quantity() const override { return Quantity::latency; }
  /// A small model's weights stay in the caches, which may be faster than memory.
  Limit limit() const override {
    if (cell_.phase == DecoderPhase::prefill) return Limit::compute;
    const double cached = 2 * static_cast<double>(device_.facts().last_level_cache_bytes);
    return work().bytes > cached ? Limit::memory : Limit::none;
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"gemm", decoder_->libraries()}};
    if (cell_.codes) all.emplace_back("codes", name_of(*cell_.codes));
    return all;
  }
  bool fits_behind_gate() const override { return cell_.generated == 1; }
  Status enqueue(Stream& stream) override {
    if (cell_.generated > 1) TRY(decoder_->restart(stream));
    for (std::int64_t i = 0; i < cell_.generated; ++i) TRY(stream.launch(*graph_));
    return {};
  }

  Result<Verification> verify(Stream& stream) override {
    Verification v = {false,
                      "a small version against the definition in double; logits of one sequence "
                      "against those of its tokens in other passes",
                      gate_.error, gate_.tolerance, ""};
    if (!gate_.passed()) {
      v.detail = fmt::format("logits of a small version are {:.2g} from the reference", v.error);
      return v;
    }
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(decoder_->poison_results(stream));
    if (cell_.phase == DecoderPhase::decode) TRY(fill_in_parts(stream, cell_.tokens - 1));
    TRY(decoder_->set_tokens(stream, measured_tokens()));
    TRY(stream.launch(*graph_));
    const std::vector<float> measured = TRY(decoder_->logits(stream, 1));
    TRY(decoder_->poison_results(stream));
    TRY(fill_in_parts(stream, cell_.tokens));
    const std::vector<float> again = TRY(decoder_->logits(stream, 1));
    v.error = relative_distance(measured, std::vector<double>(again.begin(), again.end()));
    v.tolerance = logits_tolerance(settings_.precision, settings_.shape.layers);
    v.passed = v.error <= v.tolerance;
    if (!v.passed) {
      v.detail = fmt::format("logits of one sequence are {:.2g} from those in parts", v.error);
    }
    return v;
  }

  Status keep(Stream& stream) override {
    if (cell_.logits.empty()) return {};
    DecoderTokens tokens;
    append(tokens, 0, 0, cell_.tokens);
    const std::int64_t rows = cell_.tokens;
    TRY(decoder_->set_tokens(stream, tokens));
    TRY(decoder_->poison_results(stream));
    TRY(decoder_->enqueue(stream, {rows, rows, rows - 1, rows}));
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
    const DecoderMemory memory = memory_of(settings_);
    const Work done = work();
    std::vector<Metric> all;
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
    return all;
  }

 private:
  /// The tokens of a sequence, given or random, from `begin` to `end`, appended.
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
  /// The first pass that is timed: whole prompts, or decode's tokens at `position`.
  DecoderTokens tokens_at(std::int64_t position) const {
    if (cell_.phase == DecoderPhase::prefill) return measured_tokens();
    DecoderTokens tokens;
    for (std::int64_t s = 0; s < cell_.batch; ++s) append(tokens, s, position, position + 1);
    return tokens;
  }
  DecoderPass measured_pass() const {
    return {cell_.batch * (cell_.tokens - first_measured()), cell_.batch, cell_.tokens - 1,
            cell_.phase == DecoderPhase::prefill ? cell_.tokens : 0};
  }

  /// The first `end` tokens of sequence 0 in passes other than those measured.
  Status fill_in_parts(Stream& stream, std::int64_t end) {
    const std::int64_t part = std::clamp<std::int64_t>(end / 2, 1, most_in_part);
    for (std::int64_t begin = 0; begin < end; begin += part) {
      const std::int64_t part_end = std::min(begin + part, end);
      DecoderTokens tokens;
      append(tokens, 0, begin, part_end);
      TRY(decoder_->set_tokens(stream, tokens));
      TRY(decoder_->enqueue(stream, {part_end - begin, 1, part_end - 1}));
      TRY(stream.synchronize());
    }
    return {};
  }

  const DecoderCell cell_;
  Device& device_;
  const DecoderSettings settings_;
  DecoderGate gate_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace

DecoderSettings DecoderCell::settings(std::uint64_t seed) const {
  const bool is_prefill = phase == DecoderPhase::prefill;
  DecoderSettings made = {.shape = shape,
                          .limits = {},
                          .precision = precision,
                          .seed = seed,
                          .codes = codes,
                          .folder = folder};
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
  const double weights =
      codes ? shape.products() + factor * shape.outputs() : element * shape.products();
  const bool is_prefill = phase == DecoderPhase::prefill;
  const double passes = is_prefill ? 1 : number(generated);
  const double new_tokens = is_prefill ? number(tokens) : 1;
  // Of the passes that generate tokens, the mean context.
  const double context = number(tokens) - (passes - 1) / 2;
  const double cached = context * shape.cache_elements();
  return {.bytes = passes * (weights + element * number(batch) * cached),
          .flops = passes * number(batch) * shape.flops(new_tokens, context - new_tokens),
          .repetitions = passes,
          .math = precision,
          .tokens = passes * number(batch) * new_tokens};
}

Result<std::unique_ptr<Case>> prepare_decoder_case(const DecoderCell& cell,
                                                   PrepareContext context) {
  auto prepared = std::make_unique<DecoderCase>(cell, context);
  TRY(prepared->prepare(context.stream));
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
