// Tensor maps: the tensor memory accelerator loads boxes of a matrix.
#include <cstdint>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"

namespace assay::selftest::tensor_maps {
namespace {

constexpr int columns = 96, rows = 100, box_rows = 16;
constexpr std::size_t pitch = 104;  // elements: 208 bytes

struct Box {
  TensorSwizzle swizzle;
  int columns, column, row;

  std::string text() const {
    return fmt::format("the box at column {}, row {} with a swizzle of {} bytes", column, row,
                       span_bytes(swizzle));
  }
};

/// The number that the box has at (column, row): outside the matrix, it is 0.
std::uint16_t expected_at(const std::vector<std::uint16_t>& source, const Box& box, int c, int r) {
  const int x = box.column + c, y = box.row + r;
  if (x < 0 || x >= columns || y < 0 || y >= rows) return 0;
  return source[static_cast<std::size_t>(y) * pitch + static_cast<std::size_t>(x)];
}

Status compare(const std::vector<std::uint16_t>& found, const std::vector<std::uint16_t>& source,
               const Box& box) {
  const unsigned span = span_bytes(box.swizzle);
  for (int r = 0; r < box_rows; ++r) {
    for (int c = 0; c < box.columns; ++c) {
      // The chunk of 16 bytes (address bits from 4) is exchanged by the row of 128 (from 7).
      std::size_t at = static_cast<std::size_t>(r * box.columns + c) * 2;
      if (span != 0) at ^= (at >> 3) & ((span / 16 - 1) << 4);
      const std::uint16_t expected = expected_at(source, box, c, r);
      if (found[at / 2] == expected) continue;
      return wrong(fmt::format("{} has {} in its column {}, row {}, expected {}", box.text(),
                               found[at / 2], c, r, expected));
    }
  }
  return {};
}

Answer boxes_arrive(Stage& stage) {
  std::vector<std::uint16_t> source(pitch * rows);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i + 1);
  const std::size_t source_bytes = source.size() * sizeof(source[0]);
  const Buffer matrix = TRY(stage.device.allocate(source_bytes, MemoryKind::device));
  const Buffer loaded = TRY(stage.device.allocate(16384, MemoryKind::device));
  TRY(stage.stream.copy(matrix.data(), source.data(), source_bytes));
  const auto program = TRY(stage.device.build({"launch_attributes", {}}));
  Kernel& load = *TRY(program->kernel("load_box"));
  for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::bytes_32,
                                      TensorSwizzle::bytes_64, TensorSwizzle::bytes_128}) {
    const unsigned span = span_bytes(swizzle);
    const int box_columns = span == 0 ? 72 : static_cast<int>(span / 2);
    const TensorMap map = TRY(stage.device.tensor_map(
        {matrix.data(),
         DataType::bf16,
         {{columns, static_cast<std::uint32_t>(box_columns)}, {rows, box_rows, pitch * 2}},
         swizzle}));
    const std::size_t elements = static_cast<std::size_t>(box_columns) * box_rows;
    for (const auto& [column, row] :
         {std::pair{8, 24}, {0, 0}, {columns - 8, rows - 3}, {-8, -2}}) {
      TRY(stage.stream.fill(loaded.data(), 0xff, loaded.bytes()));
      TRY(launch(stage.stream, load, {{1}, {128}}, map, column, row,
                 static_cast<unsigned>(elements * 2), loaded.as<unsigned>()));
      const auto found = TRY(read_back<std::uint16_t>(stage.stream, loaded.data(), elements));
      TRY(compare(found, source, {swizzle, box_columns, column, row}));
    }
  }
  return passed();
}

Answer run(Stage& stage) {
  if (compute_capability(stage.device.facts()) >= 90) return boxes_arrive(stage);
  const Buffer number = TRY(stage.device.allocate(64, MemoryKind::device));
  TRY(expect_refused("a tensor map",
                     stage.device.tensor_map({number.data(), DataType::u32, {{4, 4}}}),
                     ErrorKind::unsupported, "no tensor memory accelerator"));
  return passed("this device has no tensor memory accelerator, and a map for it is refused");
}

const AddChecks registered{
    {.name = "tensor-maps",
     .topic = Topic::device,
     .about = "the tensor memory accelerator loads boxes, or is refused by devices without it",
     .accelerator = false,
     .run = &run}};

}  // namespace
}  // namespace assay::selftest::tensor_maps
