#include "results/record/cell.h"

#include "core/units.h"

namespace assay {

std::string_view Cell::text(std::string_view axis) const {
  for (const auto& [name, value] : values_) {
    if (name == axis) return value;
  }
  return {};
}

std::uint64_t Cell::integer(std::string_view axis) const {
  const auto value = parse_size(text(axis));
  return value.ok() ? *value : 0;
}

std::string Cell::id() const {
  std::string id = benchmark_;
  for (const auto& [name, value] : values_) id += " " + name + "=" + value;
  return id;
}

Cell with_value(const Cell& cell, std::string_view axis, std::string_view value) {
  auto values = cell.values();
  for (auto& [name, text] : values) {
    if (name == axis) text = value;
  }
  return Cell(cell.benchmark(), std::move(values));
}

Cell without_axis(const Cell& cell, std::string_view axis) {
  auto values = cell.values();
  std::erase_if(values, [&](const auto& value) { return value.first == axis; });
  return {cell.benchmark(), std::move(values)};
}

}  // namespace assay
