#include "model/tensors/fp8_scales.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "compute/stored_elements.h"

namespace assay {
namespace {

constexpr std::int64_t fp8_block = 128;
// Products of codes and factors are numbers of f32.
constexpr float least_factor = std::numeric_limits<float>::min(),
                most_factor = std::numeric_limits<float>::max() / 448;

std::int64_t fp8_blocks(std::int64_t extent) {
  return (extent + fp8_block - 1) / fp8_block;
}

}  // namespace

Fp8Part fp8_part(std::string_view name) {
  if (name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv")) {
    return Fp8Part::factors;
  }
  for (const char* end : {".input_scale", ".output_scale", ".q_scale", ".k_scale", ".v_scale"}) {
    if (name.ends_with(end)) return Fp8Part::unused;
  }
  return Fp8Part::none;
}

std::string matrix_of_factors(std::string_view name) {
  return std::string(name.substr(0, name.rfind("_scale")));
}

Result<Fp8Scales> Fp8Scales::read(const InputFile& file, const StoredTensor& stored,
                                  std::int64_t rows, std::int64_t columns) {
  using Shape = std::vector<std::int64_t>;
  Fp8Scales made;
  made.columns_ = columns;
  std::int64_t count = 1;
  for (const std::int64_t extent : stored.shape) count *= extent;
  const Shape of_blocks = {fp8_blocks(rows), fp8_blocks(columns)};
  if (count == 1) {
    std::tie(made.block_rows_, made.block_columns_, made.across_) = std::tuple(rows, columns, 1);
  } else if (stored.shape == Shape{rows} || stored.shape == Shape{rows, 1}) {
    std::tie(made.block_rows_, made.block_columns_, made.across_) = std::tuple(1, columns, 1);
  } else if (stored.shape == of_blocks) {
    std::tie(made.block_rows_, made.block_columns_, made.across_) =
        std::tuple(fp8_block, fp8_block, of_blocks[1]);
  } else {
    return Error{
        ErrorKind::usage,
        fmt::format("has the shape [{}], allowed for factors of a matrix [{}, {}]: 1, [{}], "
                    "[{}, 1] and [{}]",
                    fmt::join(stored.shape, ", "), rows, columns, rows, rows,
                    fmt::join(of_blocks, ", "))};
  }
  if (stored.type == DataType::i64 || is_fp8(stored.type)) {
    return Error{ErrorKind::usage, "is not of F32, BF16 or F16"};
  }
  std::vector<std::byte> bytes(stored.bytes);
  TRY(file.read_all_at(bytes, stored.offset));
  for (std::size_t at = 0; at < bytes.size(); at += size_of(stored.type)) {
    const auto factor = static_cast<float>(load_element(stored.type, &bytes[at]));
    if (!(factor == 0 || (least_factor <= factor && factor <= most_factor))) {
      return Error{ErrorKind::usage,
                   fmt::format("has a factor {}, allowed: 0, and {:.3g} to {:.3g}", factor,
                               least_factor, most_factor)};
    }
    made.factors_.push_back(factor);
  }
  return made;
}

void Fp8Scales::apply(std::int64_t first, std::span<const std::byte> codes, float* numbers) const {
  static const auto table = [] {
    std::array<float, 256> values = {};
    for (std::size_t code = 0; code < values.size(); ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      values[code] = static_cast<float>(load_element(DataType::e4m3, &byte));
    }
    return values;
  }();
  const auto width = static_cast<std::size_t>(columns_);
  for (std::size_t at = 0; at < codes.size(); at += width) {
    const std::int64_t row = first + static_cast<std::int64_t>(at / width);
    const float* const of_row = &factors_[static_cast<std::size_t>(row / block_rows_ * across_)];
    for (std::size_t begin = 0; begin < width; begin += static_cast<std::size_t>(block_columns_)) {
      const std::size_t end = std::min(begin + static_cast<std::size_t>(block_columns_), width);
      const float factor = of_row[begin / static_cast<std::size_t>(block_columns_)];
      for (std::size_t i = at + begin; i < at + end; ++i) {
        numbers[i] = factor * table[static_cast<std::size_t>(codes[i])];
      }
    }
  }
}

}  // namespace assay
