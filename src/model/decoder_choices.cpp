// How a decoder chooses between ways to multiply few rows: by measuring whole passes, once for each
// kind of model on each device.
#include <fmt/format.h>

#include "compute/choice/choice_cache.h"
#include "compute/choice/fastest_way.h"
#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "compute/device/matrix_types.h"
#include "core/hash.h"
#include "model/decoder.h"

namespace assay {
namespace {

constexpr ContestLimits pass_contest = {
    .most_finalists = 3, .final_rounds = 3, .final_seconds = 0.05, .time_box_seconds = 5};

}  // namespace

bool Decoder::is_of_one(const DecoderPass& pass) const {
  return pass.tokens == 1 && pass.results == 1 && !runs_on_host(device_.facts());
}

bool Decoder::is_of_few(const DecoderPass& pass) const {
  const DeviceFacts& facts = device_.facts();
  constexpr std::int64_t together = 16;  // elements of a matrix's row
  return !is_of_one(pass) && pass.tokens <= SkinnyProduct::most_rows &&
         settings_.precision == DataType::bf16 && !runs_on_host(facts) &&
         has_own_matrix_units(facts) && own_.width % together == 0 &&
         own_.query_width() % together == 0 && own_.hidden % together == 0;
}

std::string Decoder::variant_of(const DecoderPass& pass) const {
  if (is_of_one(pass)) return vector_product_ ? vector_product_->variant().name() : "";
  const auto found = skinny_products_.find(SkinnyProduct::room_for(pass.tokens));
  const bool skinny = is_of_few(pass) && found != skinny_products_.end() && found->second;
  return skinny ? found->second->variant().name() : "";
}

bool Decoder::measures_choices() const {
  // Ranks would have to repeat a pass equally often; an emulated device's times say nothing.
  return settings_.measure_variants && !exchange_ && !device_.facts().emulated;
}

Result<ChoiceKey> Decoder::choice_key(std::string what, const std::string& kernels) const {
  const std::string codes = settings_.codes ? std::string(name_of(*settings_.codes)) : "none";
  return ChoiceKey{
      std::move(what), sha256_hex(TRY(complete_source(kernels))),
      fmt::format("{} {} {}", decoder_shape_text(own_), name_of(settings_.precision), codes)};
}

Result<Decoder::Products> Decoder::products_for(Stream& stream, const DecoderPass& pass) {
  if (is_of_one(pass)) {
    if (!vector_product_) vector_product_ = TRY(fastest_vector_product(stream, pass));
    return Products{.vector = &*vector_product_};
  }
  if (!is_of_few(pass)) return Products{};
  const std::int64_t room = SkinnyProduct::room_for(pass.tokens);
  auto found = skinny_products_.find(room);
  if (found == skinny_products_.end()) {
    found = skinny_products_.emplace(room, TRY(fastest_skinny_product(stream, pass))).first;
  }
  return Products{.skinny = found->second ? &*found->second : nullptr};
}

Result<VectorProduct> Decoder::fastest_vector_product(Stream& stream, const DecoderPass& pass) {
  const auto create = [&](const VectorVariant& variant) {
    return VectorProduct::create(device_, settings_.precision, own_.norm_epsilon, settings_.codes,
                                 variant);
  };
  const std::span<const VectorVariant> variants = VectorProduct::variants();
  if (!measures_choices()) return create(variants.front());
  std::vector<std::optional<VectorProduct>> products(variants.size());
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      products[i] = TRY(create(variants[i]));
      return {};
    };
    ways.push_back({variants[i].name(), prepare, [&, i](Stream& on) {
                      products_ = {.vector = &*products[i]};
                      return enqueue_all(on, pass);  // what the pass that follows does again
                    }});
  }
  const ChoiceKey key =
      TRY(choice_key("vector product", settings_.codes ? "quantized_product" : "vector_product"));
  const std::size_t fastest = TRY(
      fastest_way(device_, stream, ChoiceCache::of_user(device_.facts()), key, ways, pass_contest));
  return std::move(*products[fastest]);
}

Result<std::optional<SkinnyProduct>> Decoder::fastest_skinny_product(Stream& stream,
                                                                     const DecoderPass& pass) {
  using Chosen = std::optional<SkinnyProduct>;
  const auto create = [&](const SkinnyVariant& variant) {
    return SkinnyProduct::create(device_, pass.tokens, settings_.codes, variant);
  };
  const std::span<const SkinnyVariant> variants = SkinnyProduct::variants();
  if (!measures_choices()) {
    if (exchange_ && !settings_.codes) return Chosen();
    return Chosen(TRY(create(variants.front())));
  }
  std::vector<Chosen> products(variants.size());
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      products[i] = TRY(create(variants[i]));
      return {};
    };
    ways.push_back({variants[i].name(), prepare, [&, i](Stream& on) {
                      products_ = {.skinny = &*products[i]};
                      return enqueue_all(on, pass);
                    }});
  }
  const std::int64_t room = SkinnyProduct::room_for(pass.tokens);
  ChoiceKey key = TRY(choice_key(fmt::format("product of {} rows", room), "skinny_product"));
  if (!settings_.codes) {  // the library would have to multiply numbers that are not there
    products_ = {};
    TRY(enqueue_all(stream, pass));  // opens the library
    key.implementation += " " + plans_.libraries();
    products.emplace_back();
    ways.push_back({"library", [] { return Status(); },
                    [&](Stream& on) {
                      products_ = {};
                      return enqueue_all(on, pass);
                    }});
  }
  const std::size_t fastest = TRY(
      fastest_way(device_, stream, ChoiceCache::of_user(device_.facts()), key, ways, pass_contest));
  return std::move(products[fastest]);
}

}  // namespace assay
