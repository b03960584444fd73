#include "model/decoder/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "compute/device/helpers.h"
#include "model/operations/quantized_rows.h"
#include "model/tensors/weights.h"
#include "model/transformer/decoder_config.h"

namespace assay {
namespace {

std::size_t cache_tokens(const DecoderSettings& settings) {
  return static_cast<std::size_t>(settings.limits.blocks * page_tokens);
}

/// The factors of coded inputs lie before the codes.
std::size_t factors_bytes(const DecoderSettings& settings) {
  constexpr std::size_t alignment = 256;
  const auto bytes = static_cast<std::size_t>(settings.limits.tokens) * sizeof(float);
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t coded_inputs_bytes(const DecoderSettings& settings) {
  if (!settings.may_quantize_inputs()) return 0;
  const TransformerShape own = own_shape(settings.shape, settings.part);
  const std::int64_t widest = std::max({own.width, own.query_width(), own.hidden});
  return factors_bytes(settings) + static_cast<std::size_t>(settings.limits.tokens * widest);
}

}  // namespace

DecoderMemory memory_of(const DecoderSettings& settings) {
  const DecoderLimits& limits = settings.limits;
  const std::size_t element = size_of(settings.precision);
  const auto activations =
      DecoderActivations::of(settings.shape, limits.tokens, limits.results, settings.part).elements;
  return {.weights = DecoderParameters::bytes(settings.shape, settings.weights()),
          .cache = cache_tokens(settings) * settings.cache_bytes_of_token(),
          .activations = activations * element + coded_inputs_bytes(settings)};
}

// ---- A pass, from top to bottom ----

Status Decoder::enqueue(Stream& stream, const DecoderPass& pass) {
  const auto run = [this](Stream& on, const DecoderPass& measured, const auto& multipliers) {
    multipliers_ = multipliers;
    return enqueue_all(on, measured);
  };
  multipliers_ = TRY(variants_->multipliers_for(stream, pass, plans_, run));
  if (leave_out_codes_) {
    for (DecoderVariants::Multiplier& multiplier : multipliers_) multiplier.of_codes = false;
  }
  return enqueue_all(stream, pass);
}

Status Decoder::enqueue_all(Stream& stream, const DecoderPass& pass) {
  const bool one = variants_->is_of_one(pass);
  if (exchange_) exchange_->begin();
  if (prompt_attention_) TRY(prompt_attention_->begin(stream, pass.prompts));
  TRY(rows_->gather(stream, active(activations_.stream), weights_->at(weights_->layout().embedding),
                    input(places_.tokens), pass.tokens, settings_.shape.width));
  for (std::size_t i = 0; i < weights_->layout().layers.size(); ++i) {
    TRY(one ? enqueue_layer_of_one(stream, i, pass) : enqueue_layer(stream, i, pass));
  }
  TRY(one ? enqueue_head_of_one(stream) : enqueue_head(stream, pass));
  if (exchange_) TRY(gather_logits(stream, pass.results));
  return rows_->most_likely(stream, input(places_.next), active(activations_.logits), pass.results,
                            own_.vocabulary, activations_.logits.columns);
}

/// A layer leaves what it adds to the residual stream in `branch`; the next norm adds it.
Status Decoder::enqueue_layer(Stream& stream, std::size_t layer, const DecoderPass& pass) {
  const LayerParameters& w = weights_->layout().layers[layer];
  const std::int64_t n = pass.tokens, c = own_.width, f = own_.hidden;
  void* const normed = active(activations_.normed);
  void* const branch = active(activations_.branch);
  void* const gates = active(activations_.gate_up);
  void* const hidden = active(activations_.hidden);
  TRY(add_and_norm(stream, multipliers_[qkv].of_codes, layer > 0 ? branch : nullptr, w.norm1_weight,
                   n));
  TRY(multiply(stream, qkv, active(activations_.qkv), normed, w.qkv, w.qkv_bias, n));
  TRY(attend(stream, layer, pass));
  TRY(quantize_for(stream, proj, active(activations_.attended), n, own_.query_width()));
  TRY(multiply(stream, proj, branch, active(activations_.attended), w.proj, {}, n));
  TRY(add_up(stream, branch, n * c));
  TRY(add_and_norm(stream, multipliers_[gate_up].of_codes, branch, w.norm2_weight, n));
  if (SkinnyProduct* const skinny = multipliers_[gate_up].skinny.get()) {
    TRY(skinny->forward_swiglu(stream, hidden, normed, matrix(w.up), {n, f, c}));
    TRY(quantize_for(stream, down, hidden, n, f));
  } else {
    TRY(multiply(stream, gate_up, gates, normed, w.up, {}, n));
    TRY(multipliers_[down].of_codes ? functions_->swiglu_codes(stream, coded_inputs(), gates, n, f)
                                    : functions_->swiglu(stream, hidden, gates, n, f));
  }
  TRY(multiply(stream, down, branch, hidden, w.down, {}, n));
  return add_up(stream, branch, n * c);
}

Status Decoder::add_and_norm(Stream& stream, bool to_codes, const void* branch,
                             const Tensor& weight, std::int64_t rows) {
  void* const residual = active(activations_.stream);
  if (to_codes) {
    return norm_->forward_codes(stream, coded_inputs(), residual, residual, branch,
                                weights_->at(weight), {rows, own_.width});
  }
  return norm_->forward(stream, active(activations_.normed), nullptr, residual, residual, branch,
                        weights_->at(weight), nullptr, {rows, own_.width});
}

Status Decoder::quantize_for(Stream& stream, DecoderVariants::Product product, const void* x,
                             std::int64_t rows, std::int64_t width) {
  if (!multipliers_[product].of_codes) return {};
  return quantized_linear_->quantize(stream, coded_inputs(), x, rows, width);
}

CodedRows Decoder::coded_inputs() const {
  return {coded_inputs_.as<std::byte>() + factors_bytes(settings_), coded_inputs_.as<float>()};
}

Status Decoder::add_up(Stream& stream, void* branch, std::int64_t elements) {
  return exchange_ ? exchange_->add_up(stream, branch, elements) : Status();
}

Status Decoder::multiply(Stream& stream, DecoderVariants::Product product, void* y, const void* x,
                         const Tensor& weight, const Tensor& bias, std::int64_t rows) {
  const LinearShape shape = {rows, weight.rows, weight.columns};
  if (SkinnyProduct* const skinny = multipliers_[product].skinny.get()) {
    return skinny->forward(stream, y, x, matrix(weight), weights_->at_or_null(bias), shape);
  }
  if (multipliers_[product].of_codes) {
    return quantized_linear_->forward(stream, y, coded_inputs().stored(), matrix(weight),
                                      weights_->at_or_null(bias), shape);
  }
  const void* const numbers = TRY(weights_->numbers_of(stream, weight));
  return linear_->forward(stream, y, x, numbers, weights_->at_or_null(bias), shape);
}

Status Decoder::enqueue_head(Stream& stream, const DecoderPass& pass) {
  const std::int64_t c = own_.width;
  void* last = active(activations_.normed);
  const bool of_all = pass.results == pass.tokens;
  TRY(add_and_norm(stream, of_all && multipliers_[head].of_codes, active(activations_.branch),
                   weights_->layout().norm_weight, pass.tokens));
  if (!of_all) {
    TRY(rows_->gather(stream, active(activations_.last), last, input(places_.results), pass.results,
                      c));
    last = active(activations_.last);
    TRY(quantize_for(stream, head, last, pass.results, c));
  }
  return multiply(stream, head, own_logits(), last, weights_->layout().head, {}, pass.results);
}

Status Decoder::gather_logits(Stream& stream, std::int64_t rows) {
  const std::int64_t columns = activations_.own_logits.columns;
  void* const logits = active(activations_.logits);
  void* const gathered = rows == 1 ? logits : active(activations_.gathered_logits);
  TRY(exchange_->gather(stream, gathered, own_logits(), rows * columns));
  if (rows == 1) return {};
  return joined_->forward(stream, logits, gathered, exchange_->size(), rows, columns);
}

Status Decoder::enqueue_layer_of_one(Stream& stream, std::size_t layer, const DecoderPass& pass) {
  const LayerParameters& w = weights_->layout().layers[layer];
  const std::int64_t c = own_.width, f = own_.hidden;
  void* const residual = active(activations_.stream);
  void* const hidden = active(activations_.hidden);
  TRY(multipliers_[qkv].vector->forward(
      stream, active(activations_.qkv), residual, matrix(w.qkv), {own_.qkv_width(), c},
      {.norm = weights_->at(w.norm1_weight), .bias = weights_->at_or_null(w.qkv_bias)}));
  TRY(attend(stream, layer, pass));
  TRY(project_one(stream, proj, active(activations_.attended), w.proj));
  TRY(multipliers_[gate_up].vector->forward_swiglu(stream, hidden, residual, matrix(w.up), {f, c},
                                                   weights_->at(w.norm2_weight)));
  return project_one(stream, down, hidden, w.down);
}

Status Decoder::project_one(Stream& stream, DecoderVariants::Product product, const void* y,
                            const Tensor& weight) {
  VectorProduct& vector = *multipliers_[product].vector;
  void* const residual = active(activations_.stream);
  const VectorProduct::Shape shape = {weight.rows, weight.columns};
  if (!exchange_) {
    return vector.forward(stream, residual, y, matrix(weight), shape, {.add = true});
  }
  void* const branch = active(activations_.branch);
  TRY(vector.forward(stream, branch, y, matrix(weight), shape, {}));
  TRY(add_up(stream, branch, weight.rows));
  return elementwise_->add(stream, residual, branch, static_cast<std::size_t>(weight.rows));
}

Status Decoder::enqueue_head_of_one(Stream& stream) {
  const Tensor& weight = weights_->layout().head;
  return multipliers_[head].vector->forward(stream, own_logits(), active(activations_.stream),
                                            matrix(weight), {weight.rows, weight.columns},
                                            {.norm = weights_->at(weights_->layout().norm_weight)});
}

StoredMatrix Decoder::matrix(const Tensor& m) const {
  if (!m.quantized) return {weights_->at(m)};
  return {weights_->codes_of(m), weights_->factors_of(m)};
}

Status Decoder::attend(Stream& stream, std::size_t layer, const DecoderPass& pass) {
  const LayerParameters& w = weights_->layout().layers[layer];
  const PagedCache cache = cache_of(layer);
  const PagedRotation rotation = {weights_->at_or_null(w.query_norm),
                                  weights_->at_or_null(w.key_norm), angles_.data()};
  const PagedTokens all = paged_tokens(pass, 0, pass.tokens);
  void* const all_qkv = active(activations_.qkv);
  PagedAttention& attention = variants_->cache_attention(pass);
  if (pass.apart && attention.prefers_one_launch(all)) {
    return attention.store_and_forward(stream, active(activations_.attended), all_qkv, cache,
                                       rotation, scratch_.data(), all);
  }
  TRY(attention.store(stream, all_qkv, cache, rotation, all));
  const auto qkv_of = [&](std::int64_t row) {
    return row_of(activations_.qkv, row, own_.qkv_width());
  };
  const auto attended = [&](std::int64_t row) {
    return row_of(activations_.attended, row, own_.query_width());
  };
  std::int64_t row = 0;
  const auto attend_to_cache = [&](std::int64_t end) -> Status {
    if (row == end) return {};
    return attention.forward(stream, attended(row), qkv_of(row), cache, scratch_.data(),
                             paged_tokens(pass, row, end));
  };
  if (prompt_attention_) {
    TRY(prompt_attention_->forward(stream, attended(0), qkv_of(0)));
    for (const PromptRows& prompts : pass.prompts) {
      if (!prompt_attention_->computes(prompts)) continue;
      TRY(attend_to_cache(prompts.begin));
      row = prompts.end();
    }
  }
  return attend_to_cache(pass.tokens);
}

PagedTokens Decoder::paged_tokens(const DecoderPass& pass, std::int64_t begin,
                                  std::int64_t end) const {
  const auto from_begin = [&](const Tensor& t) {
    return static_cast<const std::int32_t*>(input(t)) + begin;
  };
  return {.count = end - begin,
          .longest = pass.longest,
          .positions = from_begin(places_.positions),
          .sequences = from_begin(places_.sequences),
          .tables = input(places_.tables),
          .table_width = settings_.limits.blocks_of_sequence()};
}

Status Decoder::advance(Stream& stream, const DecoderPass& pass) {
  return rows_->advance(stream, input(places_.tokens), input(places_.positions),
                        input(places_.next), pass.tokens);
}

// ---- How it begins ----

Decoder::Inputs Decoder::inputs_of(const DecoderLimits& limits) {
  TensorPlaces place;
  Inputs inputs;
  inputs.tokens = place.next(1, limits.tokens);
  inputs.positions = place.next(1, limits.tokens);
  inputs.sequences = place.next(1, limits.tokens);
  inputs.results = place.next(1, limits.results);
  inputs.next = place.next(1, limits.results);
  inputs.tables = place.next(limits.sequences, limits.blocks_of_sequence());
  inputs.elements = place.used();
  return inputs;
}

Decoder::Decoder(Device& device, Stream& stream, const DecoderSettings& settings)
    : device_(device),
      settings_(settings),
      own_(own_shape(settings.shape, settings.part)),
      element_(size_of(settings.precision)),
      activations_(DecoderActivations::of(settings.shape, settings.limits.tokens,
                                          settings.limits.results, settings.part)),
      places_(inputs_of(settings.limits)),
      plans_(device, stream, {.own_if_none = true, .stop_requested = settings.stop_requested},
             ChoiceCache::of_user(device.facts())) {}

Result<std::unique_ptr<Decoder>> Decoder::create(Device& device, Stream& stream,
                                                 const DecoderSettings& settings) {
  TRY(validate(settings.shape, settings.part, settings.quantization.codes.has_value()));
  std::unique_ptr<Decoder> made(new Decoder(device, stream, settings));
  const Status ready = made->prepare(stream);
  const Status done = stream.synchronize();  // also after an error: memory is still written to
  TRY(ready);
  TRY(done);
  return made;
}

Status Decoder::prepare(Stream& stream) {
  TRY(load_operations());
  TRY(allocate(stream));
  TRY(upload_angles(stream));
  return choose_cache_attention(stream);
}

Status Decoder::load_operations() {
  const TransformerShape& shape = own_;
  const DataType type = settings_.precision;
  const std::optional<DataType> codes =
      settings_.may_quantize_inputs() ? settings_.quantization.codes : std::nullopt;
  functions_ = TRY(Activations::create(device_, type, codes));
  linear_.emplace(plans_, *functions_, type);
  norm_ = TRY(Norm::rms(device_, type, shape.norm_epsilon, codes));
  TRY(load_quantized_linear());
  variants_ = TRY(DecoderVariants::create(device_, settings_, quantized_linear_.has_value()));
  const DecoderLimits& limits = settings_.limits;
  prompt_attention_ = TRY(open_prompt_attention(
      device_, {type, shape.heads, shape.kv_heads, shape.head_width}, settings_.prompts,
      {limits.tokens, limits.sequences, limits.positions}));
  rows_ = TRY(TokenRows::create(device_, type));
  sampling_ = TRY(TokenSampling::create(device_, type, limits.results));
  logprobs_ = TRY(TokenLogprobs::create(device_, type, limits.results));
  if (settings_.part.is_whole()) return {};
  exchange_ = TRY(TensorParallel::create(device_, settings_.ranks, type));
  elementwise_ = TRY(Elementwise::create(device_, type));
  joined_ = TRY(JoinedColumns::create(device_, type));
  return {};
}

Status Decoder::load_quantized_linear() {
  if (!settings_.may_quantize_inputs()) {
    const bool asked = settings_.quantization.input_codes != InputCodes::never;
    no_input_codes_ = asked ? "only bf16 becomes fp8" : "not asked for";
    return {};
  }
  if (device_.facts().runs_on_host &&
      settings_.quantization.input_codes == InputCodes::where_faster) {
    no_input_codes_ = "no faster on a CPU";
    return {};
  }
  auto made = QuantizedLinear::create(device_, plans_, *functions_, *settings_.quantization.codes);
  if (made.ok()) {
    quantized_linear_ = std::move(*made);
    return {};
  }
  no_input_codes_ = made.error().message;
  const ErrorKind kind = made.error().kind;
  const bool falls_back = kind == ErrorKind::unsupported || kind == ErrorKind::unavailable;
  return falls_back ? Status() : Status(made.error());
}

std::string Decoder::inputs_of_products() const {
  if (!settings_.quantization.codes) return "";
  const std::string precision(name_of(settings_.precision));
  if (!quantized_linear_) return fmt::format("{} ({})", precision, no_input_codes_);
  return fmt::format("{}, a factor per token{}", name_of(*settings_.quantization.codes),
                     quantized_linear_->scales_in_steps() ? ", scaled in steps" : "");
}

std::string Decoder::cache_type(bool without_prompts) const {
  if (!settings_.cache_codes) return std::string(name_of(settings_.precision));
  return fmt::format("{}, a factor per token and head{}", name_of(*settings_.cache_codes),
                     prompt_attention_ && !without_prompts
                         ? "; whole prompts read their keys and values unrounded"
                         : "");
}

Status Decoder::allocate(Stream& stream) {
  const DecoderMemory memory = memory_of(settings_);
  const auto allocate = [&](Buffer& buffer, std::size_t bytes) -> Status {
    // A kernel may get the address of scratch that it does not use.
    buffer = TRY(device_.allocate(std::max<std::size_t>(bytes, 256), MemoryKind::device));
    // Gaps, the rows that pad the vocabulary, and the blocks of tables that nobody has set.
    return stream.fill(buffer.data(), 0, buffer.bytes());
  };
  weights_ = TRY(DecoderParameters::create(device_, stream, settings_.shape, settings_.weights()));
  TRY(allocate(cache_, memory.cache));
  TRY(allocate(active_, activations_.elements * element_));
  TRY(allocate(coded_inputs_, coded_inputs_bytes(settings_)));
  TRY(allocate(inputs_, places_.elements * sizeof(std::int32_t)));
  TRY(allocate(drawn_, static_cast<std::size_t>(settings_.limits.results) * sizeof(DrawnRow)));
  const PagedAttention& attention = variants_->cache_attention({});
  return allocate(scratch_,
                  attention.scratch_bytes(settings_.limits.tokens, settings_.limits.positions));
}

Status Decoder::upload_angles(Stream& stream) {
  const std::vector<float> angles =
      rotary_angles(rotary_frequencies(settings_.shape), settings_.limits.positions);
  const std::size_t bytes = angles.size() * sizeof(float);
  angles_ = TRY(device_.allocate(bytes, MemoryKind::device));
  TRY(stream.copy(angles_.data(), angles.data(), bytes));
  return stream.synchronize();
}

Status Decoder::choose_cache_attention(Stream& stream) {
  return variants_->choose_cache_attention(
      stream, {.begin = [this](Stream& on, const DecoderPass& pass,
                               std::int64_t blocks) { return set_random_tokens(on, pass, blocks); },
               .end = [this](Stream& on) -> Status {
                 for (const Buffer* buffer : {&cache_, &active_, &inputs_}) {
                   TRY(on.fill(buffer->data(), 0, buffer->bytes()));
                 }
                 return {};
               },
               .attend = [this](Stream& on, std::size_t layer,
                                const DecoderPass& pass) { return attend(on, layer, pass); }});
}

/// Tokens at pass.longest of as many sequences as there may be, whose keys are in `blocks` blocks
/// of the cache. All of it is random: of zeros, every score is the largest, and no sum is ever
/// scaled anew.
Status Decoder::set_random_tokens(Stream& stream, const DecoderPass& pass, std::int64_t blocks) {
  TRY(fill_cache(stream));
  InitialWeights random =
      TRY(InitialWeights::create(device_, stream, settings_.precision, settings_.seed));
  TRY(random.normal(active(activations_.qkv), activations_.qkv, pass.tokens, 1));
  const DecoderLimits& limits = settings_.limits;
  const std::int64_t sequences = std::min(pass.tokens, limits.sequences),
                     of_sequence = pass.longest / page_tokens + 1;
  std::vector<std::int32_t> tables(
      static_cast<std::size_t>(limits.sequences * limits.blocks_of_sequence()));
  for (std::int64_t i = 0; i < sequences * of_sequence; ++i) {
    const std::int64_t row = i / of_sequence, column = i % of_sequence;
    tables[static_cast<std::size_t>(row * limits.blocks_of_sequence() + column)] =
        static_cast<std::int32_t>(i % blocks);
  }
  TRY(set_tables(stream, tables));
  DecoderTokens tokens;
  for (std::int64_t i = 0; i < pass.tokens; ++i) {
    tokens.tokens.push_back(0);
    tokens.positions.push_back(static_cast<std::int32_t>(pass.longest));
    tokens.sequences.push_back(static_cast<std::int32_t>(i % sequences));
  }
  TRY(set_tokens(stream, tokens));  // waits, too, until the kernels of `random` have ended
  return prompt_attention_ ? prompt_attention_->begin(stream, {}) : Status();
}

Status Decoder::fill_cache(Stream& stream) {
  InitialWeights random =
      TRY(InitialWeights::create(device_, stream, settings_.precision, settings_.seed));
  if (settings_.cache_codes) return fill_cache_of_codes(stream, random);
  const Tensor all = {static_cast<std::int64_t>(cache_.bytes() / element_) / 16, 16, 0};
  TRY(random.normal(cache_.data(), all, 1));
  return stream.synchronize();  // its kernels are unloaded now
}

/// The vectors of keys, and those of values, of each layer are the same random ones again and
/// again, because numbers of a whole layer may not fit beside the cache.
Status Decoder::fill_cache_of_codes(Stream& stream, InitialWeights& random) {
  constexpr std::int64_t most_at_once = 1 << 16;
  const std::int64_t vectors = static_cast<std::int64_t>(cache_tokens(settings_)) * own_.kv_heads,
                     at_once = std::min(vectors, most_at_once), width = own_.head_width;
  const Tensor part = {at_once, width, 0};
  const Buffer numbers = TRY(
      device_.allocate(static_cast<std::size_t>(part.elements()) * element_, MemoryKind::device));
  auto quantized = TRY(QuantizedRows::create(device_, settings_.precision, *settings_.cache_codes));
  TRY(stream.fill(numbers.data(), 0, numbers.bytes()));
  TRY(random.normal(numbers.data(), part, 1));
  for (std::size_t layer = 0; layer < weights_->layout().layers.size(); ++layer) {
    const PagedCache cache = cache_of(layer);
    for (std::int64_t first = 0; first < vectors; first += at_once) {
      const std::int64_t count = std::min(at_once, vectors - first);
      const auto quantize = [&](void* codes, float* factors) {
        return quantized.quantize(stream, static_cast<std::byte*>(codes) + first * width,
                                  factors + first, numbers.data(), count, width);
      };
      TRY(quantize(cache.keys, cache.key_factors));
      TRY(quantize(cache.values, cache.value_factors));
    }
  }
  return stream.synchronize();  // what is local here is still in use
}

PagedCache Decoder::cache_of(std::size_t layer) const {
  const std::size_t tokens = cache_tokens(settings_),
                    bytes = tokens * settings_.cache_bytes_of_token() /
                            static_cast<std::size_t>(settings_.shape.layers);
  auto* const keys = cache_.as<std::byte>() + layer * bytes;
  if (!settings_.cache_codes) return {keys, keys + bytes / 2};
  // The factors lie behind the codes.
  std::byte* const values = keys + tokens * static_cast<std::size_t>(own_.kv_width());
  auto* const factors =
      reinterpret_cast<float*>(values + tokens * static_cast<std::size_t>(own_.kv_width()));
  return {keys, values, factors, factors + tokens * static_cast<std::size_t>(own_.kv_heads)};
}

}  // namespace assay
