// Numbers as tensors of cuDNN's types hold them in memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compute/kernels/element_types.h"
#include "compute/vendor/libraries/cudnn_api.h"

namespace mock_cudnn {

inline std::size_t bytes_of(int type) {
  return type == assay::cudnn::data::bf16 || type == assay::cudnn::data::f16 ? 2 : 4;
}

inline std::uint32_t encode(int type, double value) {
  const auto number = static_cast<float>(value);
  if (type == assay::cudnn::data::bf16) return Bf16::encode(number).bits;
  if (type == assay::cudnn::data::f16) return F16::encode(number).bits;
  return std::bit_cast<std::uint32_t>(number);
}

inline float decode(int type, std::uint32_t code) {
  const auto half = static_cast<std::uint16_t>(code);
  if (type == assay::cudnn::data::bf16) return Bf16{half}.decode();
  if (type == assay::cudnn::data::f16) return F16{half}.decode();
  if (type == assay::cudnn::data::i32) return static_cast<float>(static_cast<std::int32_t>(code));
  return std::bit_cast<float>(code);
}

/// The element `offset` elements behind `memory`.
inline float read_number(int type, const std::byte* memory, std::int64_t offset) {
  std::uint32_t code = 0;
  const std::size_t bytes = bytes_of(type);
  std::memcpy(&code, memory + offset * static_cast<std::int64_t>(bytes), bytes);
  return decode(type, code);
}
inline void write_number(int type, std::byte* memory, std::int64_t offset, double value) {
  const std::uint32_t code = encode(type, value);
  const std::size_t bytes = bytes_of(type);
  std::memcpy(memory + offset * static_cast<std::int64_t>(bytes), &code, bytes);
}

}  // namespace mock_cudnn
