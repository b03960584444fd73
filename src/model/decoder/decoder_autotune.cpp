// By what a decoder multiplies few rows, chosen for each of its products by measuring whole passes,
// and by what it attends to the cache: once for each kind of model on each device.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/choose_variant.h"
#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "compute/device/matrix_unit_types.h"
#include "core/hash.h"
#include "model/decoder/decoder.h"
#include "model/operations/linear_products.h"
#include "model/tensors/weights.h"
#include "model/transformer/decoder_config.h"

namespace assay {
namespace {

const ContestLimits pass_contest = {
    .most_finalists = 3, .final_rounds = 3, .final_seconds = 0.05, .time_box_seconds = 5};
/// Of one product: less than the least gain cannot be told from chance in passes that take turns.
const ContestLimits product_contest = {.most_finalists = 2,
                                       .final_rounds = 5,
                                       .final_seconds = 0.02,
                                       .time_box_seconds = 3,
                                       .least_gain = 0.005};

const ContestLimits attention_contest = {
    .most_finalists = 2, .final_rounds = 5, .final_seconds = 0.02, .time_box_seconds = 3};

constexpr const char* product_names[] = {"qkv", "proj", "gate_up", "down", "head"};

}  // namespace

bool Decoder::is_of_one(const DecoderPass& pass) const {
  return pass.tokens == 1 && pass.results == 1 && !device_.facts().runs_on_host;
}

bool Decoder::is_of_few(const DecoderPass& pass) const {
  return pass.tokens <= SkinnyProduct::most_rows && !is_of_one(pass) && has_skinny_products();
}

bool Decoder::has_skinny_products() const {
  const DeviceFacts& facts = device_.facts();
  constexpr std::int64_t together = SkinnyProduct::together;
  return settings_.precision == DataType::bf16 && !facts.runs_on_host &&
         has_own_matrix_units(facts) && own_.width % together == 0 &&
         own_.query_width() % together == 0 && own_.hidden % together == 0;
}

std::string Decoder::Multiplier::name() const {
  if (vector) return vector->variant().name();
  return skinny ? skinny->variant().name() : "library";
}

std::int64_t Decoder::size_class(const DecoderPass& pass) const {
  // What wins depends on how many tokens there are.
  if (is_of_one(pass)) return 0;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(pass.tokens)));
}

std::string Decoder::multipliers_of(const DecoderPass& pass) const {
  const auto found = chosen_.find(size_class(pass));
  if (found == chosen_.end()) return "";
  const Multipliers& all = found->second;
  std::string of_each;
  for (std::size_t p = 0; p < all.size(); ++p) {
    of_each += fmt::format("{}{} {}", p == 0 ? "" : "; ", product_names[p], all[p].name());
  }
  const auto is_as_first = [&](const Multiplier& m) { return m.name() == all[0].name(); };
  return std::ranges::all_of(all, is_as_first) ? all[0].name() : of_each;
}

bool Decoder::measures_choices() const {
  // Ranks would have to repeat a pass equally often.
  return settings_.part.is_whole() &&
         settings_.measure_variants.value_or(!device_.facts().emulated);
}

Status Decoder::take_usual_multipliers() {
  if (device_.facts().runs_on_host) return {};
  const auto take = [&](std::int64_t size, const Multiplier& multiplier) {
    chosen_[size].fill(multiplier);
  };
  take(0, {.vector = std::make_shared<VectorProduct>(TRY(VectorProduct::create(
               device_, settings_.precision, own_.norm_epsilon, settings_.codes)))});
  if (!has_skinny_products()) return {};
  Multiplier multiplier;
  std::int64_t room = 0;
  for (std::int64_t size = 1; size <= SkinnyProduct::most_rows; size *= 2) {
    const bool of_library = !settings_.codes && !settings_.part.is_whole();
    if (!of_library && SkinnyProduct::room_for(size) != room) {
      room = SkinnyProduct::room_for(size);
      multiplier.skinny = std::make_shared<SkinnyProduct>(
          TRY(SkinnyProduct::create(device_, room, settings_.codes)));
    }
    take(size, multiplier);
  }
  return {};
}

Result<Decoder::Multipliers> Decoder::multipliers_for(Stream& stream, const DecoderPass& pass) {
  if (!is_of_one(pass) && !is_of_few(pass)) return Multipliers{};
  const std::int64_t size = size_class(pass);
  auto found = chosen_.find(size);
  if (found == chosen_.end()) {
    const Multipliers fastest =
        is_of_one(pass) ? TRY(fastest_for_one(stream, pass)) : TRY(fastest_for_few(stream, pass));
    found = chosen_.emplace(size, fastest).first;
  }
  return found->second;
}

Result<ChoiceKey> Decoder::choice_key(std::string what, const std::string& kernels) const {
  const std::string codes = settings_.codes ? std::string(name_of(*settings_.codes)) : "none";
  return ChoiceKey{
      std::move(what), sha256_hex(TRY(complete_source(kernels))),
      fmt::format("{} {} {}", decoder_shape_text(own_), name_of(settings_.precision), codes)};
}

/// First all products alike, then one after another, with the others as they were chosen: what is
/// fastest depends on the kernels around it, so whole passes are measured.
Result<Decoder::Multipliers> Decoder::fastest_of(Stream& stream, const DecoderPass& pass,
                                                 const ChoiceKey& key,
                                                 std::vector<Candidate> candidates) {
  // What the pass that follows does again. Prompts are attended to through the cache: their own
  // attention wants everything before a pass to have ended.
  DecoderPass measured = pass;
  measured.prompts.clear();
  Multipliers chosen;
  /// The candidate that is fastest where `place` puts it into the chosen ones.
  const auto contest = [&](const ChoiceKey& of, ContestLimits limits,
                           const auto& place) -> Result<std::size_t> {
    std::vector<NamedWay> ways;
    for (Candidate& candidate : candidates) {
      const auto work = [&, place](Stream& on) {
        multipliers_ = chosen;
        place(multipliers_, *candidate.made);
        return enqueue_all(on, measured);
      };
      ways.push_back({candidate.name, [&candidate] { return candidate.prepare(); }, work});
    }
    limits.stop_requested = settings_.stop_requested;
    const auto fastest =
        choose_variant(device_, stream, ChoiceCache::of_user(device_.facts()), of, ways, limits);
    multipliers_ = {};
    return fastest;
  };
  const std::size_t alike =
      TRY(contest(key, pass_contest, [](Multipliers& all, const Multiplier& m) { all.fill(m); }));
  std::swap(candidates[0], candidates[alike]);
  chosen.fill(*candidates[0].made);
  for (std::size_t p = 0; p < chosen.size(); ++p) {
    if (p == head && pass.results != pass.tokens) continue;  // of another number of rows
    ChoiceKey of_product = key;
    of_product.what += fmt::format(", {}", product_names[p]);
    const std::size_t fastest = TRY(contest(
        of_product, product_contest, [p](Multipliers& all, const Multiplier& m) { all[p] = m; }));
    chosen[p] = *candidates[fastest].made;
  }
  return chosen;
}

// ---- Attention to the cache ----

std::vector<PagedUnits> cache_attention_units(const DeviceFacts& facts,
                                              const DecoderSettings& settings) {
  if (settings.cache_attention) return {*settings.cache_attention};
  const DecoderShape& shape = settings.shape;
  std::vector<PagedUnits> all = {PagedUnits::vector};
  const bool have_matrix = PagedAttention::has_matrix_kernels(
      facts, settings.precision, {shape.heads, shape.kv_heads, shape.head_width});
  // Ranks would have to measure equally often.
  if (have_matrix && settings.part.is_whole() && !facts.runs_on_host) {
    all.push_back(PagedUnits::matrix);
  }
  return all;
}

Result<std::shared_ptr<PagedAttention>> Decoder::open_cache_attention(PagedUnits units) {
  return std::make_shared<PagedAttention>(TRY(PagedAttention::create(
      device_, settings_.precision, {own_.heads, own_.kv_heads, own_.head_width}, own_.norm_epsilon,
      units)));
}

std::string Decoder::cache_attention_of(const DecoderPass& pass) const {
  return name_of(cache_attention(pass).units());
}

/// Chosen before there are passes, because the first ones of a server see few keys. One token and
/// many are different contests: the keys of one are cut into parts.
Status Decoder::choose_cache_attention(Stream& stream) {
  if (cache_attention_units(device_.facts(), settings_).size() == 1 || !measures_choices()) {
    return {};
  }
  const std::int64_t many = std::min<std::int64_t>(64, settings_.limits.tokens);
  TRY(choose_cache_attention_of(stream, 1, cache_attention_of_one_));
  cache_attention_ = cache_attention_of_one_;
  return many > 1 ? choose_cache_attention_of(stream, many, cache_attention_) : Status();
}

/// `used`: by what attend() computes a pass of so many tokens.
Status Decoder::choose_cache_attention_of(Stream& stream, std::int64_t count,
                                          std::shared_ptr<PagedAttention>& used) {
  const DecoderLimits& limits = settings_.limits;
  const std::int64_t keys = std::min<std::int64_t>(limits.positions, 1024),
                     blocks = std::min(std::min(count, limits.sequences) *
                                           ((keys + page_tokens - 1) / page_tokens),
                                       limits.blocks);
  const DecoderPass pass = {.tokens = count, .longest = keys - 1, .apart = true};
  const std::vector<PagedUnits> units = cache_attention_units(device_.facts(), settings_);
  const std::size_t layers = weights_->layout().layers.size();
  std::vector<std::shared_ptr<PagedAttention>> made(units.size());
  bool measures = false;
  std::size_t layer = 0;  // another one every time, or the device's caches would hold the keys
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      if (!made[i]) made[i] = TRY(open_cache_attention(units[i]));
      return {};
    };
    const auto work = [&, i](Stream& on) -> Status {
      if (!std::exchange(measures, true)) TRY(set_random_tokens(on, pass, blocks));
      used = made[i];
      layer = (layer + 1) % layers;
      return attend(on, layer, pass);
    };
    ways.push_back({name_of(units[i]), prepare, work});
  }
  const ChoiceKey key = {
      "attention to the cache",
      sha256_hex(TRY(complete_source("paged_attention")) + TRY(complete_source("paged_tiles"))),
      fmt::format("{} tokens, {} keys in {} blocks of {} layers, {} {} {} {}", count, keys, blocks,
                  layers, own_.heads, own_.kv_heads, own_.head_width,
                  name_of(settings_.precision))};
  ContestLimits limits_of_contest = attention_contest;
  limits_of_contest.stop_requested = settings_.stop_requested;
  used = made[TRY(choose_variant(device_, stream, ChoiceCache::of_user(device_.facts()), key, ways,
                                 limits_of_contest))];
  if (!measures) return {};
  for (const Buffer* buffer : {&cache_, &active_, &inputs_}) {
    TRY(stream.fill(buffer->data(), 0, buffer->bytes()));
  }
  return {};
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

// ---- Products ----

Status Decoder::Candidate::prepare() {
  if (!made && !why_not) {
    auto created = create();
    if (created.ok()) {
      made = std::move(*created);
    } else {
      why_not = created.error();
    }
  }
  return made ? Status() : Status(*why_not);
}

Result<Decoder::Multipliers> Decoder::fastest_for_one(Stream& stream, const DecoderPass& pass) {
  std::vector<Candidate> candidates;
  for (const VectorVariant& variant : VectorProduct::variants()) {
    const auto create = [this, variant]() -> Result<Multiplier> {
      return Multiplier{
          .vector = std::make_shared<VectorProduct>(TRY(VectorProduct::create(
              device_, settings_.precision, own_.norm_epsilon, settings_.codes, variant)))};
    };
    candidates.push_back({variant.name(), create});
  }
  return fastest_of(stream, pass, TRY(choice_key("vector product", "vector_product")),
                    std::move(candidates));
}

Result<Decoder::Multipliers> Decoder::fastest_for_few(Stream& stream, const DecoderPass& pass) {
  const std::int64_t size = size_class(pass);
  ChoiceKey key = TRY(choice_key(fmt::format("product of {} rows", size), "skinny_product"));
  std::vector<Candidate> candidates;
  for (const SkinnyVariant& variant : SkinnyProduct::variants()) {
    const auto create = [this, variant, size]() -> Result<Multiplier> {
      return Multiplier{.skinny = std::make_shared<SkinnyProduct>(
                            TRY(SkinnyProduct::create(device_, size, settings_.codes, variant)))};
    };
    candidates.push_back({variant.name(), create});
  }
  const auto library = plans_.library_of(
      forward_product({pass.tokens, own_.qkv_width(), own_.width}, settings_.precision));
  if (library.ok()) {
    key.implementation += " " + *library;
    candidates.push_back({Multiplier().name(), [] { return Result<Multiplier>(Multiplier()); }});
  }
  return fastest_of(stream, pass, key, std::move(candidates));
}

}  // namespace assay
