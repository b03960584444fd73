#include "core/data_type.h"

#include <array>

namespace assay {
namespace {

struct Entry {
  DataType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Entry, 15> known_types = {{
    {DataType::f64, "f64", 8},
    {DataType::f32, "f32", 4},
    {DataType::tf32, "tf32", 4},
    {DataType::f16, "f16", 2},
    {DataType::bf16, "bf16", 2},
    {DataType::e4m3, "e4m3", 1},
    {DataType::e5m2, "e5m2", 1},
    {DataType::e4m3_fnuz, "e4m3_fnuz", 1},
    {DataType::e5m2_fnuz, "e5m2_fnuz", 1},
    {DataType::i8, "i8", 1},
    {DataType::i32, "i32", 4},
    {DataType::u8, "u8", 1},
    {DataType::u32, "u32", 4},
    {DataType::i64, "i64", 8},
    {DataType::u64, "u64", 8},
}};

const Entry& entry_of(DataType type) {
  return known_types[static_cast<std::size_t>(type)];
}

}  // namespace

std::size_t size_of(DataType type) {
  return entry_of(type).bytes;
}

std::string_view name_of(DataType type) {
  return entry_of(type).name;
}

bool is_fp8(DataType type) {
  return type == DataType::e4m3 || type == DataType::e5m2 || is_fnuz(type);
}

bool is_fnuz(DataType type) {
  return type == DataType::e4m3_fnuz || type == DataType::e5m2_fnuz;
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (const Entry& entry : known_types) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

}  // namespace assay
