// The element types that benchmarks and libraries compute with.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

/// fp8 comes in two encodings with the same names in the field: OCP (NVIDIA, gfx950) and FNUZ
/// (gfx942), whose exponent bias is one higher, so the same byte means half the value.
enum class DataType {
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e4m3_fnuz,
  e5m2_fnuz,
  i8,
  i32,
  u8,
  u32,
  i64,
  u64,
};

/// Returns the bytes of one element in memory; tf32 is stored as f32.
std::size_t size_of(DataType type);
std::string_view name_of(DataType type);
bool is_fp8(DataType type);   ///< in either encoding
bool is_fnuz(DataType type);  ///< fp8 as on gfx942
std::optional<DataType> parse_data_type(std::string_view name);

}  // namespace assay
