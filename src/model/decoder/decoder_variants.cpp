#include "model/decoder/decoder_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "compute/device/matrix_unit_types.h"
#include "core/hash.h"
#include "model/operations/fp8_linear.h"
#include "model/operations/linear_products.h"
#include "model/transformer/decoder_config.h"

namespace assay {
namespace {

const ContestLimits pass_contest = {
    .most_finalists = 3, .final_rounds = 3, .final_seconds = 0.05, .time_box_seconds = 5};
/// Limits of the contest for one product. Among passes that take turns, a gain below the least one
/// cannot be told from chance.
const ContestLimits product_contest = {.most_finalists = 2,
                                       .final_rounds = 5,
                                       .final_seconds = 0.02,
                                       .time_box_seconds = 3,
                                       .least_gain = 0.005};

const ContestLimits attention_contest = {
    .most_finalists = 2, .final_rounds = 5, .final_seconds = 0.02, .time_box_seconds = 3};

constexpr const char* product_names[] = {"qkv", "proj", "gate_up", "down", "head"};

}  // namespace

DecoderVariants::DecoderVariants(Device& device, const DecoderSettings& settings, bool of_codes)
    : device_(&device),
      settings_(settings),
      own_(own_shape(settings.shape, settings.part)),
      of_codes_(of_codes) {}

Result<DecoderVariants> DecoderVariants::create(Device& device, const DecoderSettings& settings,
                                                bool of_codes) {
  DecoderVariants made(device, settings, of_codes);
  made.cache_attention_ =
      TRY(made.open_cache_attention(cache_attention_units(device.facts(), settings).front()));
  made.cache_attention_of_one_ = made.cache_attention_;
  if (!made.measures()) TRY(made.take_default_multipliers());
  return made;
}

bool DecoderVariants::measures() const {
  // Ranks would have to repeat a pass equally often.
  return settings_.part.is_whole() &&
         settings_.measure_variants.value_or(!device_->facts().emulated);
}

// ---- GEMMs ----

bool DecoderVariants::is_of_one(const DecoderPass& pass) const {
  return pass.tokens == 1 && pass.results == 1 && !device_->facts().runs_on_host &&
         !always_of_codes();
}

bool DecoderVariants::is_of_few(const DecoderPass& pass) const {
  return pass.tokens <= SkinnyProduct::most_rows && !is_of_one(pass) && has_skinny_products() &&
         !always_of_codes();
}

bool DecoderVariants::has_skinny_products() const {
  const DeviceFacts& facts = device_->facts();
  constexpr std::int64_t together = SkinnyProduct::together;
  return settings_.precision == DataType::bf16 && !facts.runs_on_host &&
         has_own_matrix_units(facts) && own_.width % together == 0 &&
         own_.query_width() % together == 0 && own_.hidden % together == 0;
}

std::string DecoderVariants::Multiplier::name() const {
  if (vector) return vector->variant().name();
  if (skinny) return skinny->variant().name();
  return of_codes ? "library, fp8 inputs" : "library";
}

std::int64_t DecoderVariants::size_class(const DecoderPass& pass) const {
  // What wins depends on how many tokens there are.
  if (is_of_one(pass)) return 0;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(pass.tokens)));
}

std::string DecoderVariants::multipliers_of(const DecoderPass& pass) const {
  const auto found = chosen_.find(size_class(pass));
  return found == chosen_.end() ? "" : text_of(found->second);
}

std::vector<DecoderVariants::ProductChoice> DecoderVariants::product_choices() const {
  std::vector<ProductChoice> all;
  for (const auto& [size, multipliers] : chosen_) {
    if (size == 1) continue;  // one token without a result, which no step of a server has
    all.push_back({size == 0 ? "1" : std::to_string(size), text_of(multipliers)});
  }
  const bool unpacks = settings_.quantization.codes && !of_codes_;
  all.push_back(
      {"more", unpacks ? "library, matrices unpacked" : Multiplier{.of_codes = of_codes_}.name()});
  return all;
}

std::string DecoderVariants::text_of(const Multipliers& all) {
  std::string of_each;
  for (std::size_t p = 0; p < all.size(); ++p) {
    of_each += fmt::format("{}{} {}", p == 0 ? "" : "; ", product_names[p], all[p].name());
  }
  const auto is_as_first = [&](const Multiplier& m) { return m.name() == all[0].name(); };
  return std::ranges::all_of(all, is_as_first) ? all[0].name() : of_each;
}

Status DecoderVariants::take_default_multipliers() {
  if (device_->facts().runs_on_host) return {};
  const auto take = [&](std::int64_t size, const Multiplier& multiplier) {
    chosen_[size].fill(multiplier);
  };
  take(0, {.vector = std::make_shared<VectorProduct>(TRY(VectorProduct::create(
               *device_, settings_.precision, own_.norm_epsilon, settings_.quantization.codes)))});
  if (!has_skinny_products()) return {};
  Multiplier multiplier;
  std::int64_t room = 0;
  for (std::int64_t size = 1; size <= SkinnyProduct::most_rows; size *= 2) {
    const bool of_library = !settings_.quantization.codes && !settings_.part.is_whole();
    if (!of_library && SkinnyProduct::room_for(size) != room) {
      room = SkinnyProduct::room_for(size);
      multiplier.skinny = std::make_shared<SkinnyProduct>(
          TRY(SkinnyProduct::create(*device_, room, settings_.quantization.codes)));
    }
    take(size, multiplier);
  }
  return {};
}

Result<DecoderVariants::Multipliers> DecoderVariants::multipliers_for(Stream& stream,
                                                                      const DecoderPass& pass,
                                                                      GemmPlans& plans,
                                                                      const RunPass& run) {
  if (!is_of_one(pass) && !is_of_few(pass)) {
    Multipliers of_library;
    of_library.fill({.of_codes = of_codes_});
    return of_library;
  }
  const std::int64_t size = size_class(pass);
  auto found = chosen_.find(size);
  if (found == chosen_.end()) {
    const Multipliers fastest = is_of_one(pass) ? TRY(fastest_for_one(stream, pass, run))
                                                : TRY(fastest_for_few(stream, pass, plans, run));
    found = chosen_.emplace(size, fastest).first;
  }
  return found->second;
}

Status DecoderVariants::Candidate::prepare() {
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

Result<DecoderVariants::Multipliers> DecoderVariants::fastest_for_one(Stream& stream,
                                                                      const DecoderPass& pass,
                                                                      const RunPass& run) {
  std::vector<Candidate> candidates;
  for (const VectorVariant& variant : VectorProduct::variants()) {
    const auto create = [this, variant]() -> Result<Multiplier> {
      return Multiplier{.vector = std::make_shared<VectorProduct>(TRY(
                            VectorProduct::create(*device_, settings_.precision, own_.norm_epsilon,
                                                  settings_.quantization.codes, variant)))};
    };
    candidates.push_back({variant.name(), create});
  }
  return fastest_of(stream, pass, TRY(choice_key("vector product", "vector_product")),
                    std::move(candidates), run);
}

Result<DecoderVariants::Multipliers> DecoderVariants::fastest_for_few(Stream& stream,
                                                                      const DecoderPass& pass,
                                                                      GemmPlans& plans,
                                                                      const RunPass& run) {
  const std::int64_t size = size_class(pass);
  ChoiceKey key = TRY(choice_key(fmt::format("product of {} rows", size), "skinny_product"));
  std::vector<Candidate> candidates;
  for (const SkinnyVariant& variant : SkinnyProduct::variants()) {
    const auto create = [this, variant, size]() -> Result<Multiplier> {
      return Multiplier{.skinny = std::make_shared<SkinnyProduct>(TRY(SkinnyProduct::create(
                            *device_, size, settings_.quantization.codes, variant)))};
    };
    candidates.push_back({variant.name(), create});
  }
  const auto library = plans.library_of(
      forward_product({pass.tokens, own_.qkv_width(), own_.width}, settings_.precision));
  if (library.ok()) {
    key.implementation += " " + *library;
    if (of_codes_) {
      const auto of_codes =
          plans.library_of(fp8_product(device_->facts(), *settings_.quantization.codes, pass.tokens,
                                       own_.qkv_width(), own_.width));
      key.implementation += " " + (of_codes.ok() ? *of_codes : "none");
    }
    const Multiplier of_library = {.of_codes = of_codes_};
    candidates.push_back(
        {of_library.name(), [of_library] { return Result<Multiplier>(of_library); }});
  }
  return fastest_of(stream, pass, key, std::move(candidates), run);
}

Result<ChoiceKey> DecoderVariants::choice_key(std::string what, const std::string& kernels) const {
  const std::string codes =
      settings_.quantization.codes ? std::string(name_of(*settings_.quantization.codes)) : "none";
  return ChoiceKey{std::move(what), sha256_hex(TRY(complete_source(kernels))),
                   fmt::format("{} {} {}{}", decoder_shape_text(own_), name_of(settings_.precision),
                               codes, of_codes_ ? " fp8 inputs" : "")};
}

/// First all products alike, then one after another, with the others as they were chosen: what is
/// fastest depends on the kernels around it, so whole passes are measured.
Result<DecoderVariants::Multipliers> DecoderVariants::fastest_of(Stream& stream,
                                                                 const DecoderPass& pass,
                                                                 const ChoiceKey& key,
                                                                 std::vector<Candidate> candidates,
                                                                 const RunPass& run) {
  // The pass that follows computes the same again. Prompts are attended to through the cache,
  // because their own attention wants everything before a pass to have ended.
  DecoderPass measured = pass;
  measured.prompts.clear();
  Multipliers chosen;
  /// Returns the candidate that is fastest where `put` puts it among the chosen ones.
  const auto contest = [&](const ChoiceKey& of, ContestLimits limits,
                           const auto& put) -> Result<std::size_t> {
    std::vector<NamedWay> ways;
    for (Candidate& candidate : candidates) {
      const auto work = [&, put](Stream& on) {
        Multipliers all = chosen;
        put(all, *candidate.made);
        return run(on, measured, all);
      };
      ways.push_back({candidate.name, [&candidate] { return candidate.prepare(); }, work});
    }
    limits.stop_requested = settings_.stop_requested;
    return choose_variant(*device_, stream, ChoiceCache::of_user(device_->facts()), of, ways,
                          limits);
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
  const TransformerShape& shape = settings.shape;
  std::vector<PagedUnits> all = {PagedUnits::vector};
  const bool have_matrix = PagedAttention::has_matrix_kernels(
      facts, settings.precision, {shape.heads, shape.kv_heads, shape.head_width});
  // Ranks would have to measure equally often.
  if (have_matrix && settings.part.is_whole() && !facts.runs_on_host) {
    all.push_back(PagedUnits::matrix);
  }
  return all;
}

Result<std::shared_ptr<PagedAttention>> DecoderVariants::open_cache_attention(
    PagedUnits units) const {
  return std::make_shared<PagedAttention>(TRY(PagedAttention::create(
      *device_, settings_.attention_types(), {own_.heads, own_.kv_heads, own_.head_width},
      own_.norm_epsilon, units)));
}

Status DecoderVariants::choose_cache_attention(Stream& stream, const CacheTrial& trial) {
  if (cache_attention_units(device_->facts(), settings_).size() == 1 || !measures()) return {};
  const std::int64_t many = std::min<std::int64_t>(64, settings_.limits.tokens);
  TRY(choose_cache_attention_of(stream, 1, cache_attention_of_one_, trial));
  cache_attention_ = cache_attention_of_one_;
  return many > 1 ? choose_cache_attention_of(stream, many, cache_attention_, trial) : Status();
}

/// `used` is what cache_attention() returns for a pass of `count` tokens.
Status DecoderVariants::choose_cache_attention_of(Stream& stream, std::int64_t count,
                                                  std::shared_ptr<PagedAttention>& used,
                                                  const CacheTrial& trial) {
  const DecoderLimits& limits = settings_.limits;
  const std::int64_t keys = std::min<std::int64_t>(limits.positions, 1024),
                     blocks = std::min(std::min(count, limits.sequences) *
                                           ((keys + page_tokens - 1) / page_tokens),
                                       limits.blocks);
  const DecoderPass pass = {.tokens = count, .longest = keys - 1, .apart = true};
  const std::vector<PagedUnits> units = cache_attention_units(device_->facts(), settings_);
  const auto layers = static_cast<std::size_t>(own_.layers);
  std::vector<std::shared_ptr<PagedAttention>> made(units.size());
  bool begun = false;
  std::size_t layer = 0;  // another one every time, or the device's caches would hold the keys
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      if (!made[i]) made[i] = TRY(open_cache_attention(units[i]));
      return {};
    };
    const auto work = [&, i](Stream& on) -> Status {
      if (!std::exchange(begun, true)) TRY(trial.begin(on, pass, blocks));
      used = made[i];
      layer = (layer + 1) % layers;
      return trial.attend(on, layer, pass);
    };
    ways.push_back({name_of(units[i]), prepare, work});
  }
  const ChoiceKey key = {
      "attention to the cache",
      sha256_hex(TRY(complete_source("paged_attention")) + TRY(complete_source("paged_tiles"))),
      fmt::format(
          "{} tokens, {} keys in {} blocks of {} layers, {} {} {} {}{}", count, keys, blocks,
          layers, own_.heads, own_.kv_heads, own_.head_width, name_of(settings_.precision),
          settings_.cache_codes ? fmt::format(" {}", name_of(*settings_.cache_codes)) : "")};
  ContestLimits limits_of_contest = attention_contest;
  limits_of_contest.stop_requested = settings_.stop_requested;
  used = made[TRY(choose_variant(*device_, stream, ChoiceCache::of_user(device_->facts()), key,
                                 ways, limits_of_contest))];
  return begun ? trial.end(stream) : Status();
}

}  // namespace assay
