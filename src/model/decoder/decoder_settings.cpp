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

}  // namespace assay
