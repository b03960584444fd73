// The element types that benchmarks and libraries compute with.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

/// fp8 comes in two encodings, both of which the field calls e4m3 and e5m2: OCP (NVIDIA, gfx950;
/// here without a suffix) and FNUZ (gfx942; here with the suffix _fnuz). The exponent bias of FNUZ
/// is one higher, so the same byte means half the value.
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
/// Returns the enumerator's own name, such as "bf16".
std::string_view name_of(DataType type);
bool is_fp8(DataType type);   ///< in either encoding
bool is_fnuz(DataType type);  ///< fp8 as on gfx942
/// Returns the type of which name_of() gives `name`; nullopt if there is none.
std::optional<DataType> parse_data_type(std::string_view name);

}  // namespace assay
