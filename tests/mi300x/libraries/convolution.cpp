#include "libraries/convolution.h"

#include <algorithm>

#include "libraries/hooks.h"

namespace mi300x {
namespace {

using Index = std::vector<int>;

/// Calls `body(index)` for all indices within the extents.
template <typename Body>
void for_each(const Index& extents, const Body& body) {
  Index at(extents.size(), 0);
  while (true) {
    body(at);
    std::size_t i = at.size();
    while (i > 0 && ++at[i - 1] == extents[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

std::int64_t offset(const ConvolutionTensor& tensor, const Index& at) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i) sum += std::int64_t{at[i]} * tensor.strides[i];
  return sum;
}

}  // namespace

std::size_t ConvolutionTensor::bytes() const {
  std::size_t last = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    last += static_cast<std::size_t>(extents[i] - 1) * static_cast<std::size_t>(strides[i]);
  }
  return (last + 1) * bytes_of(type);
}

bool Convolution::fits() const {
  const std::size_t rank = x.extents.size();
  if (rank != pads.size() + 2 || w.extents.size() != rank || y.extents.size() != rank) return false;
  if (x.type != w.type || x.type != y.type || groups < 1) return false;
  if (x.extents[0] != y.extents[0] || w.extents[0] != y.extents[1]) return false;
  if (w.extents[1] * groups != x.extents[1] || y.extents[1] % groups != 0) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const int covered = (w.extents[i + 2] - 1) * dilations[i] + 1;
    if ((x.extents[i + 2] + 2 * pads[i] - covered) / strides[i] + 1 != y.extents[i + 2]) {
      return false;
    }
  }
  return true;
}

double Convolution::operations() const {
  double products = w.extents[1];
  for (const int extent : y.extents) products *= extent;
  for (std::size_t i = 2; i < w.extents.size(); ++i) products *= w.extents[i];
  return 2 * products;
}

void Convolution::run() const {
  const bool to_x = direction == Direction::data, to_w = direction == Direction::weights;
  if (!to_x) check_read(x_data, x.bytes());
  if (!to_w) check_read(w_data, w.bytes());
  if (to_x || to_w) check_read(y_data, y.bytes());
  const ConvolutionTensor& result = to_x ? x : to_w ? w : y;
  void* const result_data = to_x ? x_data : to_w ? w_data : y_data;
  std::vector<double> sums(result.bytes() / bytes_of(result.type));
  const auto sum_at = [&](const Index& at) -> double& {
    return sums[static_cast<std::size_t>(offset(result, at))];
  };
  const int filters = y.extents[1] / groups;
  Index window = w.extents;
  window[0] = 1;
  for_each(y.extents, [&](const Index& out) {
    for_each(window, [&](Index in_window) {
      in_window[0] = out[1];
      Index in = {out[0], out[1] / filters * w.extents[1] + in_window[1]};
      for (std::size_t i = 0; i < pads.size(); ++i) {
        in.push_back(out[i + 2] * strides[i] + in_window[i + 2] * dilations[i] - pads[i]);
        if (in.back() < 0 || in.back() >= x.extents[i + 2]) return;
      }
      const auto from_x = [&] { return load(x_data, x.type, offset(x, in)); };
      const auto from_w = [&] { return load(w_data, w.type, offset(w, in_window)); };
      const auto from_y = [&] { return load(y_data, y.type, offset(y, out)); };
      if (to_x) {
        sum_at(in) += from_w() * from_y();
      } else if (to_w) {
        sum_at(in_window) += from_x() * from_y();
      } else {
        sum_at(out) += from_x() * from_w();
      }
    });
  });
  check_write(result_data, result.bytes());
  for_each(result.extents, [&](const Index& at) {
    store(result_data, result.type, offset(result, at), sum_at(at));
  });
}

double Convolution::seconds() const {
  const double rate = x.type == Number::f32 ? 163.4e12 : 1307e12;  // MI300X's data sheet
  // Minimum time of any kernel. It is far longer than the delay that a busy host adds to queued
  // work, so that algorithms differ. Nothing waits for the model's time.
  constexpr double least = 5e-3;
  return least + std::max(operations() / rate,
                          static_cast<double>(x.bytes() + w.bytes() + y.bytes()) / 5.3e12);
}

}  // namespace mi300x
