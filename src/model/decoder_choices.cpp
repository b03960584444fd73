// By what a decoder multiplies few rows: chosen by measuring whole passes, once for each kind of
// model on each device.
#include <fmt/format.h>

#include <bit>

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

/// Passes of up to as many tokens share a choice: what wins depends on how many there are.
std::int64_t size_class(std::int64_t tokens) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tokens)));
}

}  // namespace

bool Decoder::is_of_one(const DecoderPass& pass) const {
  return pass.tokens == 1 && pass.results == 1 && !runs_on_host(device_.facts());
}

bool Decoder::is_of_few(const DecoderPass& pass) const {
  return pass.tokens <= SkinnyProduct::most_rows && !is_of_one(pass) && has_skinny_products();
}

bool Decoder::has_skinny_products() const {
  const DeviceFacts& facts = device_.facts();
  constexpr std::int64_t together = SkinnyProduct::together;
  return settings_.precision == DataType::bf16 && !runs_on_host(facts) &&
         has_own_matrix_units(facts) && own_.width % together == 0 &&
         own_.query_width() % together == 0 && own_.hidden % together == 0;
}

std::string Decoder::variant_of(const DecoderPass& pass) const {
  if (is_of_one(pass)) return vector_product_ ? vector_product_->variant().name() : "";
  const auto found = skinny_products_.find(size_class(pass.tokens));
  const bool skinny = is_of_few(pass) && found != skinny_products_.end() && found->second;
  return skinny ? found->second->variant().name() : "";
}

bool Decoder::measures_choices() const {
  // Ranks would have to repeat a pass equally often; an emulated device's times say nothing.
  return settings_.measure_variants && settings_.part.is_whole() && !device_.facts().emulated;
}

Status Decoder::take_usual_products() {
  if (runs_on_host(device_.facts())) return {};
  vector_product_ =
      TRY(VectorProduct::create(device_, settings_.precision, own_.norm_epsilon, settings_.codes));
  if (!has_skinny_products()) return {};
  std::shared_ptr<SkinnyProduct> product;
  std::int64_t room = 0;
  for (std::int64_t size = 1; size <= SkinnyProduct::most_rows; size *= 2) {
    const bool of_library = !settings_.codes && !settings_.part.is_whole();
    if (!of_library && SkinnyProduct::room_for(size) != room) {
      room = SkinnyProduct::room_for(size);
      product = std::make_shared<SkinnyProduct>(
          TRY(SkinnyProduct::create(device_, room, settings_.codes)));
    }
    skinny_products_.emplace(size, product);
  }
  return {};
}

Result<Decoder::Products> Decoder::products_for(Stream& stream, const DecoderPass& pass) {
  if (is_of_one(pass)) {
    if (!vector_product_) vector_product_ = TRY(fastest_vector_product(stream, pass));
    return Products{.vector = &*vector_product_};
  }
  if (!is_of_few(pass)) return Products{};
  const std::int64_t size = size_class(pass.tokens);
  auto found = skinny_products_.find(size);
  if (found == skinny_products_.end()) {
    found = skinny_products_.emplace(size, TRY(fastest_skinny_product(stream, pass))).first;
  }
  return Products{.skinny = found->second.get()};
}

Result<ChoiceKey> Decoder::choice_key(std::string what, const std::string& kernels) const {
  const std::string codes = settings_.codes ? std::string(name_of(*settings_.codes)) : "none";
  return ChoiceKey{
      std::move(what), sha256_hex(TRY(complete_source(kernels))),
      fmt::format("{} {} {}", decoder_shape_text(own_), name_of(settings_.precision), codes)};
}

NamedWay Decoder::way(std::string name, std::function<Status()> prepare,
                      std::function<Products()> products, const DecoderPass& pass) {
  // What the pass that follows does again. Prompts are attended to through the cache: their own
  // attention wants everything before a pass to have ended.
  const auto work = [this, products = std::move(products), pass = pass](Stream& on) mutable {
    pass.prompts.clear();
    products_ = products();
    return enqueue_all(on, pass);
  };
  return {std::move(name), std::move(prepare), work};
}

Result<std::size_t> Decoder::fastest_of(Stream& stream, const ChoiceKey& key,
                                        const std::vector<NamedWay>& ways) {
  const auto fastest =
      fastest_way(device_, stream, ChoiceCache::of_user(device_.facts()), key, ways, pass_contest);
  products_ = {};
  // After an error, kernels of the ways may still run.
  if (!fastest.ok()) (void)stream.synchronize();
  return fastest;
}

Result<VectorProduct> Decoder::fastest_vector_product(Stream& stream, const DecoderPass& pass) {
  const std::span<const VectorVariant> variants = VectorProduct::variants();
  std::vector<std::optional<VectorProduct>> made(variants.size());
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      made[i] = TRY(VectorProduct::create(device_, settings_.precision, own_.norm_epsilon,
                                          settings_.codes, variants[i]));
      return {};
    };
    ways.push_back(way(
        variants[i].name(), prepare, [&, i] { return Products{.vector = &*made[i]}; }, pass));
  }
  const ChoiceKey key =
      TRY(choice_key("vector product", settings_.codes ? "quantized_product" : "vector_product"));
  return std::move(*made[TRY(fastest_of(stream, key, ways))]);
}

Result<std::shared_ptr<SkinnyProduct>> Decoder::fastest_skinny_product(Stream& stream,
                                                                       const DecoderPass& pass) {
  const std::int64_t size = size_class(pass.tokens);
  ChoiceKey key = TRY(choice_key(fmt::format("product of {} rows", size), "skinny_product"));
  const std::span<const SkinnyVariant> variants = SkinnyProduct::variants();
  std::vector<std::shared_ptr<SkinnyProduct>> made(variants.size());
  std::vector<NamedWay> ways;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto prepare = [&, i]() -> Status {
      made[i] = std::make_shared<SkinnyProduct>(
          TRY(SkinnyProduct::create(device_, size, settings_.codes, variants[i])));
      return {};
    };
    ways.push_back(way(
        variants[i].name(), prepare, [&, i] { return Products{.skinny = made[i].get()}; }, pass));
  }
  // Unpacking a quantized matrix for the library moves five times its bytes.
  const auto library = plans_.library_of(
      forward_product({pass.tokens, own_.qkv_width(), own_.width}, settings_.precision));
  if (!settings_.codes && library.ok()) {
    key.implementation += " " + *library;
    made.emplace_back();  // null: the library's
    ways.push_back(way(
        "library", [] { return Status(); }, [] { return Products{}; }, pass));
  }
  return made[TRY(fastest_of(stream, key, ways))];
}

}  // namespace assay
