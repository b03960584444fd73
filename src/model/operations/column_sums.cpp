#include "model/operations/column_sums.h"

#include <algorithm>

namespace assay {

std::uint64_t column_stripes(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t most_sums = 1 << 16, least_rows = 32;
  const std::int64_t most = std::max<std::int64_t>(1, most_sums / width);
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / least_rows, 1, most));
}

Result<ColumnSums> ColumnSums::create(Device& device, DataType type) {
  ColumnSums made(TRY(Kernels::build(device, "column_sums", type)));
  made.column_stripes_ = TRY(made.kernels_.of_type("column_stripes"));
  made.add_stripes_ = TRY(made.kernels_.of_type("add_stripes"));
  return made;
}

Status ColumnSums::of(Stream& on, void* result, const void* x, void* scratch, Rows rows, bool add) {
  const std::uint64_t stripes = column_stripes(rows.rows, rows.width);
  TRY(launch(on, *column_stripes_, shape_of_sums(rows.width, std::int64_t(stripes)), scratch, x,
             std::uint64_t(rows.rows), std::uint64_t(rows.width), stripes));
  return of_stripes(on, {result, nullptr, nullptr}, scratch, 1, rows.width, stripes, add);
}

Status ColumnSums::of_stripes(Stream& on, std::array<void*, 3> results, const void* partial,
                              int sums, std::int64_t width, std::uint64_t stripes, bool add) {
  constexpr std::int64_t stripe_columns = 16;  // as in kernels/rows.h
  const std::int64_t blocks = (sums * width + stripe_columns - 1) / stripe_columns;
  return launch(on, *add_stripes_, {{static_cast<unsigned>(blocks)}, {block_threads}}, results[0],
                results[1], results[2], partial, std::uint64_t(width), std::uint64_t(sums), stripes,
                add ? 1 : 0);
}

}  // namespace assay
