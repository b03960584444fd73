// One convolution through oneDNN's own C++ interface, channels last, weights in the layout that
// oneDNN chooses, for comparison with `assay run conv` in the same run. Forward, weights are copied
// into it beforehand; in the backward passes, where they change with every step, the copy is timed.
// Built by scripts/compare-cpu.
// Usage: onednn_conv_direct forward|data|weights N C H K FILTER STRIDE f32|bf16 [SECONDS]; prints
// the median FLOP/s.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

void fill_normal(memory& tensor, memory::data_type type, long count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  void* data = tensor.get_data_handle();
  for (long i = 0; i < count; ++i) {
    const float value = normal(random);
    if (type == memory::data_type::f32) {
      static_cast<float*>(data)[i] = value;
    } else {
      unsigned bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      static_cast<unsigned short*>(data)[i] = static_cast<unsigned short>((bits + 0x8000) >> 16);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) {
    std::fprintf(stderr,
                 "usage: onednn_conv_direct forward|data|weights N C H K FILTER STRIDE f32|bf16 "
                 "[SECONDS]\n");
    return 2;
  }
  const std::string direction = argv[1];
  const auto number = [&](int i) { return std::atol(argv[i]); };
  const long n = number(2), c = number(3), h = number(4), k = number(5), filter = number(6),
             stride = number(7), pad = (filter - 1) / 2, out = (h + 2 * pad - filter) / stride + 1;
  const auto type =
      std::string(argv[8]) == "bf16" ? memory::data_type::bf16 : memory::data_type::f32;
  const double limit = argc > 9 ? std::atof(argv[9]) : 2;

  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc x_desc({n, c, h, h}, type, memory::format_tag::nhwc);
  const memory::desc y_desc({n, k, out, out}, type, memory::format_tag::nhwc);
  const memory::desc w_plain({k, c, filter, filter}, type, memory::format_tag::acdb);
  const memory::desc w_any({k, c, filter, filter}, type, memory::format_tag::any);
  const memory::dims strides = {stride, stride}, pads = {pad, pad};
  constexpr auto way = dnnl::algorithm::convolution_direct;

#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_forward::primitive_desc forward(
      engine, dnnl::prop_kind::forward_training, way, x_desc, w_any, y_desc, strides, pads, pads);
#else
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, way, x_desc, w_any, y_desc, strides, pads, pads}, engine);
#endif
  dnnl::primitive convolution;
  memory::desc w_desc = forward.weights_desc();
  if (direction == "forward") {
    convolution = dnnl::convolution_forward(forward);
  } else if (direction == "data") {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_data::primitive_desc desc(engine, way, x_desc, w_any, y_desc,
                                                               strides, pads, pads, forward);
#else
    const dnnl::convolution_backward_data::primitive_desc desc(
        {way, x_desc, w_any, y_desc, strides, pads, pads}, engine, forward);
#endif
    w_desc = desc.weights_desc();
    convolution = dnnl::convolution_backward_data(desc);
  } else {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_weights::primitive_desc desc(
        engine, way, x_desc, w_any, y_desc, strides, pads, pads, forward);
#else
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {way, x_desc, w_any, y_desc, strides, pads, pads}, engine, forward);
#endif
    w_desc = desc.diff_weights_desc();
    convolution = dnnl::convolution_backward_weights(desc);
  }
  memory x(x_desc, engine), y(y_desc, engine), w(w_plain, engine), w_own(w_desc, engine);
  fill_normal(x, type, n * c * h * h, 1);
  fill_normal(w, type, k * c * filter * filter, 2);
  fill_normal(y, type, n * k * out * out, 3);
  dnnl::reorder to_own(w, w_own), from_own(w_own, w);
  to_own.execute(stream, w, w_own);
  Arguments arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w_own}, {DNNL_ARG_DST, y}};
  if (direction == "data") {
    arguments = {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WEIGHTS, w_own}, {DNNL_ARG_DIFF_DST, y}};
  } else if (direction == "weights") {
    arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, w_own}, {DNNL_ARG_DIFF_DST, y}};
  }
  const bool copies = w_desc != w_plain;

  using Clock = std::chrono::steady_clock;
  const auto run = [&] {
    const auto start = Clock::now();
    if (copies && direction == "data") to_own.execute(stream, w, w_own);
    convolution.execute(stream, arguments);
    if (copies && direction == "weights") from_own.execute(stream, w_own, w);
    stream.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int i = 0; i < 3; ++i) run();
  std::vector<double> seconds;
  for (double total = 0; total < limit || seconds.size() < 5; total += seconds.back()) {
    seconds.push_back(run());
  }
  std::sort(seconds.begin(), seconds.end());
  const double flops =
      2.0 * static_cast<double>(n * k * out * out) * static_cast<double>(c * filter * filter);
  std::printf("%.6g\n", flops / seconds[seconds.size() / 2]);
}
