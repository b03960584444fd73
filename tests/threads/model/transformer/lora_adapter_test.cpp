// Matrices so large that several threads add an adapter to them.
#include "model/transformer/lora_adapter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace assay {
namespace {

TEST(LoraAdapterOfALargeMatrix, IsAddedToEveryRow) {
  constexpr std::int64_t rows = 301, columns = 2000, rank = 8;
  LoraAdapter adapter = {.rank = rank, .alpha = 8, .matrices = {{"m", rows, columns, {}, {}}}};
  LoraMatrix& matrix = adapter.matrices.front();
  matrix.a.assign(rank * columns, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    matrix.b.insert(matrix.b.end(), rank, static_cast<float>(row));
  }
  const std::vector<float> weights(rows * columns, 1);
  std::vector<float> sums(rows * columns);
  add_adapter(adapter, matrix, 0, rows, weights.data(), DataType::f32, sums.data());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(sums[i], 1 + 8 * static_cast<float>(i / columns)) << i;
  }
}

}  // namespace
}  // namespace assay
