#include "model/transformer/quantization_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/shown_text.h"

namespace assay {
namespace {

/// Expects `value` of member `name` to be one of `allowed`.
Status expect_one_of(std::string_view name, const Json& value, const std::vector<Json>& allowed) {
  if (std::ranges::find(allowed, value) != allowed.end()) return {};
  std::string texts;
  for (const Json& one : allowed) texts += (texts.empty() ? "" : ", ") + one.dump();
  return Error{
      ErrorKind::usage,
      fmt::format("has \"quantization_config\" with \"{}\": {}, allowed: {}", name,
                  shown_line(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80),
                  texts)};
}

/// The member, or null.
const Json& config_member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

/// Expects that members beside `known` say nothing: they are null, false or empty.
Status expect_no_others(const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return {};
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    if (value.is_structured() && value.empty()) continue;
    TRY(expect_one_of(name, value, {nullptr, false}));
  }
  return {};
}

const Json blocks_of_128 = {128, 128};

Status check_fp8(const Json& config) {
  TRY(expect_no_others(config, {"quant_method", "weight_block_size", "activation_scheme", "fmt",
                                "ignored_layers", "modules_to_not_convert"}));
  TRY(expect_one_of("weight_block_size", config_member(config, "weight_block_size"),
                    {nullptr, blocks_of_128}));
  TRY(expect_one_of("activation_scheme", config_member(config, "activation_scheme"),
                    {nullptr, "dynamic", "static"}));
  return expect_one_of("fmt", config_member(config, "fmt"), {nullptr, "e4m3"});
}

/// Numbers of 8 bits; how activations are quantized is not read, because assay finds their factors
/// itself.
Status check_numbers_of(const std::string& name, const Json& numbers) {
  TRY(expect_no_others(numbers, {"num_bits", "type", "symmetric", "strategy", "block_structure",
                                 "dynamic", "observer", "observer_kwargs"}));
  TRY(expect_one_of(name + ".num_bits", config_member(numbers, "num_bits"), {8}));
  TRY(expect_one_of(name + ".type", config_member(numbers, "type"), {"float"}));
  return expect_one_of(name + ".symmetric", config_member(numbers, "symmetric"), {nullptr, true});
}

Status check_compressed_tensors(const Json& config) {
  TRY(expect_no_others(config,
                       {"quant_method", "format", "config_groups", "kv_cache_scheme", "ignore",
                        "quantization_status", "global_compression_ratio", "version"}));
  TRY(expect_one_of("format", config_member(config, "format"), {nullptr, "float-quantized"}));
  const Json& groups = config_member(config, "config_groups");
  if (!groups.is_object() || groups.empty()) return expect_one_of("config_groups", groups, {});
  for (const auto& group : groups) {
    TRY(expect_no_others(
        group, {"targets", "format", "weights", "input_activations", "output_activations"}));
    TRY(expect_one_of("format", config_member(group, "format"), {nullptr, "float-quantized"}));
    const Json& weights = config_member(group, "weights");
    TRY(check_numbers_of("weights", weights));
    TRY(expect_one_of("weights.strategy", config_member(weights, "strategy"),
                      {"tensor", "channel", "block"}));
    TRY(expect_one_of("weights.block_structure", config_member(weights, "block_structure"),
                      {nullptr, blocks_of_128}));
    const Json& inputs = config_member(group, "input_activations");
    if (!inputs.is_null()) TRY(check_numbers_of("input_activations", inputs));
    TRY(expect_one_of("output_activations", config_member(group, "output_activations"), {nullptr}));
  }
  const Json& cache = config_member(config, "kv_cache_scheme");
  return cache.is_null() ? Status() : check_numbers_of("kv_cache_scheme", cache);
}

}  // namespace

Status check_quantization_config(const Json& config) {
  const Json& method = config_member(config, "quant_method");
  TRY(expect_one_of("quant_method", method, {"fp8", "compressed-tensors"}));
  return method == "fp8" ? check_fp8(config) : check_compressed_tensors(config);
}

}  // namespace assay
