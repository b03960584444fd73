// One matrix product through oneDNN's own C++ interface, plain row-major matrices with random
// normal values, for comparison with `assay run gemm layout=NN` in the same run. Built by
// scripts/compare-cpu. Usage: onednn_direct M N K f32|bf16|i8 [SECONDS]; prints the median FLOP/s.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using dnnl::memory;

void fill_normal(memory& matrix, memory::data_type type, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  void* data = matrix.get_data_handle();
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    if (type == memory::data_type::f32) {
      static_cast<float*>(data)[i] = value;
    } else if (type == memory::data_type::bf16) {
      unsigned bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      static_cast<unsigned short*>(data)[i] = static_cast<unsigned short>((bits + 0x8000) >> 16);
    } else {
      static_cast<signed char*>(data)[i] =
          static_cast<signed char>(std::clamp(value * 32, -127.0f, 127.0f));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: onednn_direct M N K f32|bf16|i8 [SECONDS]\n");
    return 2;
  }
  const long m = std::atol(argv[1]), n = std::atol(argv[2]), k = std::atol(argv[3]);
  const std::string name = argv[4];
  const double limit = argc > 5 ? std::atof(argv[5]) : 2;
  const auto type = name == "bf16" ? memory::data_type::bf16
                    : name == "i8" ? memory::data_type::s8
                                   : memory::data_type::f32;
  const auto result = name == "i8" ? memory::data_type::s32 : type;

  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc a_desc({m, k}, type, memory::format_tag::ab);
  const memory::desc b_desc({k, n}, type, memory::format_tag::ab);
  const memory::desc d_desc({m, n}, result, memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc desc(engine, a_desc, b_desc, d_desc);
#else
  const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a_desc, b_desc, d_desc), engine);
#endif
  dnnl::matmul matmul(desc);
  memory a(a_desc, engine), b(b_desc, engine), d(d_desc, engine);
  fill_normal(a, type, static_cast<std::size_t>(m) * static_cast<std::size_t>(k), 1);
  fill_normal(b, type, static_cast<std::size_t>(k) * static_cast<std::size_t>(n), 2);

  using Clock = std::chrono::steady_clock;
  const auto run = [&] {
    const auto start = Clock::now();
    matmul.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, d}});
    stream.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int i = 0; i < 3; ++i) run();
  std::vector<double> seconds;
  for (double total = 0; total < limit || seconds.size() < 5; total += seconds.back()) {
    seconds.push_back(run());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%.6g\n", 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                            static_cast<double>(k) / seconds[seconds.size() / 2]);
}
