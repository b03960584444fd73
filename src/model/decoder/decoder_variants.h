// The implementations that a decoder computes its passes with: GEMVs for one row, skinny GEMMs for
// few rows, and attention to the cache. Where several may be the fastest, they are measured, once
// for each kind of model on each device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/choose_variant.h"
#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/decoder/decoder_settings.h"
#include "model/operations/paged_attention.h"
#include "model/operations/skinny_product.h"
#include "model/operations/vector_product.h"

namespace assay {

/// The units that can compute attention to the cache, the default first.
std::vector<PagedUnits> cache_attention_units(const DeviceFacts& facts,
                                              const DecoderSettings& settings);

class DecoderVariants {
 public:
  /// The GEMMs of a pass: four of each layer, and the logits.
  enum Product { qkv, proj, gate_up, down, head, product_count };
  /// The implementation of one of them: the member that is not null, or the library.
  struct Multiplier {
    std::shared_ptr<VectorProduct> vector = {};
    std::shared_ptr<SkinnyProduct> skinny = {};
    bool of_codes = false;  ///< the library multiplies codes by codes, else numbers

    std::string name() const;
  };
  using Multipliers = std::array<Multiplier, product_count>;

  /// Queues a pass with these multipliers.
  using RunPass = std::function<Status(Stream&, const DecoderPass&, const Multipliers&)>;
  /// Attention to the cache on its own, for its choice.
  struct CacheTrial {
    /// Fills queries and `blocks` blocks of the cache with random numbers, for tokens at
    /// pass.longest, and clears all that again.
    std::function<Status(Stream&, const DecoderPass&, std::int64_t blocks)> begin;
    std::function<Status(Stream&)> end;
    /// Queues attention of one layer, by cache_attention().
    std::function<Status(Stream&, std::size_t layer, const DecoderPass&)> attend;
  };

  /// Creates the default variants. `of_codes`: the library multiplies codes by codes. `device` must
  /// outlive it.
  static Result<DecoderVariants> create(Device& device, const DecoderSettings& settings,
                                        bool of_codes);

  /// Returns whether GEMVs compute the pass: one of one token, on a GPU.
  bool is_of_one(const DecoderPass& pass) const;
  /// Returns whether skinny GEMMs may compute it: in bf16, on a GPU with matrix units.
  bool is_of_few(const DecoderPass& pass) const;
  /// The fastest multipliers for passes of this kind. They are measured the first time, which must
  /// not be while a stream is captured.
  Result<Multipliers> multipliers_for(Stream& stream, const DecoderPass& pass, GemmPlans& plans,
                                      const RunPass& run);
  /// Returns "4 ahead, 3 of 3 blocks", or "library", or, if products differ, "qkv ...; proj ...";
  /// empty before the first such pass.
  std::string multipliers_of(const DecoderPass& pass) const;

  /// How products are computed in passes of up to a number of rows: "1", "16" (9 to 16), "more".
  struct ProductChoice {
    std::string rows, ways;
  };
  /// What was chosen so far.
  std::vector<ProductChoice> product_choices() const;

  PagedAttention& cache_attention(const DecoderPass& pass) const {
    return pass.tokens == 1 ? *cache_attention_of_one_ : *cache_attention_;
  }
  /// Chooses the units of attention to the cache. One token and many are different contests,
  /// because the keys of one are cut into parts. It happens before there are passes: the first ones
  /// of a server see few keys.
  Status choose_cache_attention(Stream& stream, const CacheTrial& trial);

 private:
  /// A multiplier that may be the fastest.
  struct Candidate {
    std::string name;
    std::function<Result<Multiplier>()> create;
    std::optional<Multiplier> made = {};
    std::optional<Error> why_not = {};  ///< it cannot be made

    /// Creates it, unless that was tried before.
    Status prepare();
  };

  DecoderVariants(Device& device, const DecoderSettings& settings, bool of_codes);
  bool measures() const;
  bool always_of_codes() const {
    return of_codes_ && settings_.quantization.input_codes == InputCodes::always;
  }
  Status take_default_multipliers();
  static std::string text_of(const Multipliers& all);
  bool has_skinny_products() const;
  Result<ChoiceKey> choice_key(std::string what, const std::string& kernels) const;
  /// The key of chosen_ for a pass: 0 for one token, else the next power of two.
  std::int64_t size_class(const DecoderPass& pass) const;
  Result<Multipliers> fastest_of(Stream& stream, const DecoderPass& pass, const ChoiceKey& key,
                                 std::vector<Candidate> candidates, const RunPass& run);
  Result<Multipliers> fastest_for_one(Stream& stream, const DecoderPass& pass, const RunPass& run);
  Result<Multipliers> fastest_for_few(Stream& stream, const DecoderPass& pass, GemmPlans& plans,
                                      const RunPass& run);
  Result<std::shared_ptr<PagedAttention>> open_cache_attention(PagedUnits units) const;
  Status choose_cache_attention_of(Stream& stream, std::int64_t count,
                                   std::shared_ptr<PagedAttention>& used, const CacheTrial& trial);

  Device* device_;
  DecoderSettings settings_;
  TransformerShape own_;  // this rank's of settings_.shape
  bool of_codes_;
  std::map<std::int64_t, Multipliers> chosen_;  // by size_class(), once there was a pass
  std::shared_ptr<PagedAttention> cache_attention_of_one_, cache_attention_;
};

}  // namespace assay
