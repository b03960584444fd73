// Computes the one operation of a convolution's graph on the host, on the tensors' own memory.
#include <vector>

#include "compute/vendor/libraries/cudnn_api.h"
#include "descriptor.h"
#include "numbers.h"

namespace mock_cudnn {
namespace {

using namespace assay::cudnn;
using Numbers = std::vector<std::int64_t>;

attribute::ConvolutionOperation names_of(const Descriptor& operation) {
  if (operation.type == descriptor::convolution_data) return attribute::convolution_data;
  if (operation.type == descriptor::convolution_weights) return attribute::convolution_weights;
  return attribute::convolution_forward;
}

/// A tensor in memory, and the sums that will be stored there.
struct Tensor {
  Tensor(const Descriptor& made, std::byte* address)
      : type(made.get<int>(attribute::tensor_type)),
        extents(made.all<std::int64_t>(attribute::tensor_dimensions)),
        strides(made.all<std::int64_t>(attribute::tensor_strides)),
        memory(address) {}

  std::int64_t offset(const Numbers& at) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i];
    return sum;
  }
  double read(const Numbers& at) const { return read_number(type, memory, offset(at)); }

  int type;
  Numbers extents, strides;
  std::byte* memory;
};

/// Calls `body(position)` for all positions within the extents from `first` on.
template <typename Body>
void for_each(const Numbers& extents, const Body& body) {
  Numbers at(extents.size(), 0);
  while (true) {
    body(at);
    std::size_t i = at.size();
    while (i > 0 && ++at[i - 1] == extents[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace

bool is_convolution(const Descriptor& operation) {
  return operation.type == descriptor::convolution_forward ||
         operation.type == descriptor::convolution_data ||
         operation.type == descriptor::convolution_weights;
}

bool is_complete_convolution(const Descriptor& operation) {
  const auto names = names_of(operation);
  for (const int name : {names.alpha, names.beta, names.descriptor, names.x, names.w, names.y}) {
    if (!operation.has(name)) return false;
  }
  const Descriptor& how = *operation.part(names.descriptor);
  for (int name = attribute::convolution_precision; name <= attribute::convolution_dimensions;
       ++name) {
    if (!how.has(name)) return false;
  }
  return true;
}

bool convolve(const Descriptor& operation, const std::map<std::int64_t, std::byte*>& addresses) {
  const auto names = names_of(operation);
  const auto tensor = [&](int name) {
    const Descriptor& made = *operation.part(name);
    const auto found = addresses.find(made.get<std::int64_t>(attribute::tensor_id));
    return Tensor(made, found == addresses.end() ? nullptr : found->second);
  };
  const Tensor x = tensor(names.x), w = tensor(names.w), y = tensor(names.y);
  if (x.memory == nullptr || w.memory == nullptr || y.memory == nullptr) return false;
  if (operation.get<float>(names.alpha) != 1 || operation.get<float>(names.beta) != 0) return false;
  const Descriptor& how = *operation.part(names.descriptor);
  if (how.get<int>(attribute::convolution_mode) != cross_correlation) return false;
  const auto stride = how.all<std::int64_t>(attribute::convolution_strides);
  const auto dilation = how.all<std::int64_t>(attribute::convolution_dilations);
  const auto pad = how.all<std::int64_t>(attribute::convolution_pre_paddings);

  const Tensor& result = operation.type == descriptor::convolution_data      ? x
                         : operation.type == descriptor::convolution_weights ? w
                                                                             : y;
  std::map<std::int64_t, double> sums;
  for_each(result.extents, [&](const Numbers& at) { sums[result.offset(at)] = 0; });
  const std::int64_t groups = x.extents[1] / w.extents[1], filters = y.extents[1] / groups;
  for_each(y.extents, [&](const Numbers& out) {
    Numbers window = w.extents;
    window[0] = 1;
    for_each(window, [&](Numbers in_window) {
      in_window[0] = out[1];
      Numbers in = {out[0], out[1] / filters * w.extents[1] + in_window[1]};
      for (std::size_t i = 0; i + 2 < out.size(); ++i) {
        in.push_back(out[i + 2] * stride[i] + in_window[i + 2] * dilation[i] - pad[i]);
        if (in.back() < 0 || in.back() >= x.extents[i + 2]) return;
      }
      if (&result == &x) {
        sums[x.offset(in)] += w.read(in_window) * y.read(out);
      } else if (&result == &w) {
        sums[w.offset(in_window)] += x.read(in) * y.read(out);
      } else {
        sums[y.offset(out)] += x.read(in) * w.read(in_window);
      }
    });
  });
  for (const auto& [offset, sum] : sums) write_number(result.type, result.memory, offset, sum);
  return true;
}

}  // namespace mock_cudnn
