#include "model/decoder/decoder_settings.h"

#include "compute/device/matrix_unit_types.h"

namespace assay {

std::vector<std::string> quantization_names() {
  return {"none", "fp8", "fp8-weights", "int8"};
}

Quantization quantization_named(std::string_view name, const DeviceFacts& facts) {
  const DataType fp8 = has_fnuz_fp8(facts) ? DataType::e4m3_fnuz : DataType::e4m3;
  if (name == "fp8") return {fp8, InputCodes::where_faster};
  if (name == "fp8-weights") return {fp8, InputCodes::never};
  if (name == "int8") return {DataType::i8, InputCodes::never};
  return {};
}

std::vector<std::string> cache_type_names() {
  return {"auto", "fp8"};
}

std::optional<DataType> cache_codes_named(std::string_view name, const DeviceFacts& facts) {
  if (name != "fp8") return std::nullopt;
  return has_fnuz_fp8(facts) ? DataType::e4m3_fnuz : DataType::e4m3;
}

std::uint64_t DecoderSettings::cache_bytes_of_token() const {
  const TransformerShape own = own_shape(shape, part);
  const auto numbers = static_cast<std::uint64_t>(own.cache_elements());
  if (!cache_codes) return numbers * size_of(precision);
  const auto vectors = static_cast<std::uint64_t>(2 * own.layers * own.kv_heads);
  return numbers + vectors * sizeof(float);
}

}  // namespace assay
