#include "machine/code_object/msgpack.h"

#include <array>

#include "core/json.h"

namespace assay::occupancy {
namespace {

constexpr std::size_t deepest = 32;

/// What follows a value's first byte: a length field, then that many bytes or values.
struct Shape {
  unsigned length_bytes = 0;       ///< size of the big-endian length after the first byte
  std::uint64_t bytes = 0;         ///< fixed payload size
  std::uint64_t values = 0;        ///< fixed number of values inside
  unsigned bytes_per_length = 0;   ///< payload bytes per unit of length
  unsigned values_per_length = 0;  ///< values per unit of length
};

Shape shape_of(unsigned first) {
  if (first < 0x80 || first >= 0xe0) return {};              // small integers
  if (first < 0x90) return {0, 0, 2 * (first & 15u), 0, 0};  // map
  if (first < 0xa0) return {0, 0, first & 15u, 0, 0};        // array
  if (first < 0xc0) return {0, first & 31u, 0, 0, 0};        // text
  static constexpr std::array<Shape, 32> rest = {{
      {},
      {},
      {},
      {},  // nil, unused, false, true
      {1, 0, 0, 1, 0},
      {2, 0, 0, 1, 0},
      {4, 0, 0, 1, 0},  // binary
      {1, 1, 0, 1, 0},
      {2, 1, 0, 1, 0},
      {4, 1, 0, 1, 0},  // extensions: type byte, bytes
      {0, 4, 0, 0, 0},
      {0, 8, 0, 0, 0},  // floating point
      {0, 1, 0, 0, 0},
      {0, 2, 0, 0, 0},
      {0, 4, 0, 0, 0},
      {0, 8, 0, 0, 0},  // unsigned
      {0, 1, 0, 0, 0},
      {0, 2, 0, 0, 0},
      {0, 4, 0, 0, 0},
      {0, 8, 0, 0, 0},  // signed
      {0, 2, 0, 0, 0},
      {0, 3, 0, 0, 0},
      {0, 5, 0, 0, 0},
      {0, 9, 0, 0, 0},
      {0, 17, 0, 0, 0},
      {1, 0, 0, 1, 0},
      {2, 0, 0, 1, 0},
      {4, 0, 0, 1, 0},  // text
      {2, 0, 0, 0, 1},
      {4, 0, 0, 0, 1},  // array
      {2, 0, 0, 0, 2},
      {4, 0, 0, 0, 2},  // map
  }};
  return rest[first - 0xc0];
}

/// Walks through one value without recursion and checks how deeply it is nested.
Status check_depth(Bytes bytes) {
  std::vector<std::uint64_t> open = {1};  // values still to read, innermost last
  std::uint64_t at = 0;
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    --open.back();
    const Shape shape = shape_of(TRY(bytes.read<std::uint8_t>(at++, "metadata")));
    std::uint64_t length = 0;
    for (unsigned i = 0; i < shape.length_bytes; ++i) {
      length = length << 8 | TRY(bytes.read<std::uint8_t>(at++, "metadata"));
    }
    const std::uint64_t skip = shape.bytes + length * shape.bytes_per_length;
    TRY(bytes.part(at, skip, "metadata"));
    at += skip;
    const std::uint64_t values = shape.values + length * shape.values_per_length;
    if (values == 0) continue;
    if (open.size() >= deepest) return malformed("metadata nested too deep");
    open.push_back(values);
  }
  return {};
}

}  // namespace

Result<SortedJson> read_msgpack(Bytes bytes) {
  TRY(check_depth(bytes));
  auto json = SortedJson::from_msgpack(bytes.text(), false, false);
  if (json.is_discarded()) return malformed("the metadata is not MessagePack");
  return json;
}

}  // namespace assay::occupancy
