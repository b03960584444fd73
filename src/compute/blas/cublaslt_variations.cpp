#include "compute/blas/cublaslt_variations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compute/blas/lt_descriptors.h"

namespace assay::lt {
namespace {

// cublasLtMatmulAlgoConfigAttributes_t and cublasLtMatmulAlgoCapAttributes_t.
constexpr int config_tile = 1, config_swizzle = 4, config_custom = 5, config_cluster = 8;
constexpr int capability_tiles = 6, capability_custom_most = 7;
constexpr std::size_t most_starting_points = 3;
constexpr std::uint16_t cluster_shapes = 52;  // cublasLtClusterShape_t up to CUDA 13

template <typename Value>
Value read(const AlgorithmFunctions& f, const void* algorithm, int capability, Value otherwise) {
  Value value{};
  std::size_t written = 0;
  const int status = f.get_capability(algorithm, capability, &value, sizeof(value), &written);
  return status == 0 && written == sizeof(value) ? value : otherwise;
}

std::vector<std::uint32_t> tiles_of(const AlgorithmFunctions& f, const void* algorithm) {
  std::size_t bytes = 0;
  if (f.get_capability(algorithm, capability_tiles, nullptr, 0, &bytes) != 0) return {};
  std::vector<std::uint32_t> tiles(std::min<std::size_t>(bytes / sizeof(std::uint32_t), 2048));
  std::size_t written = 0;
  if (f.get_capability(algorithm, capability_tiles, tiles.data(), tiles.size() * 4, &written) !=
      0) {
    return {};
  }
  return tiles;
}

/// Collects algorithms that can run and are not known yet.
class Collector {
 public:
  Collector(const AlgorithmFunctions& functions, Handle handle, const Descriptors& descriptors,
            const std::vector<GemmAlgorithm>& listed, std::size_t workspace_bytes, std::size_t most)
      : functions_(functions),
        handle_(handle),
        descriptors_(descriptors),
        listed_(listed),
        workspace_bytes_(workspace_bytes),
        most_(most) {}

  template <typename Value>
  void try_setting(GemmAlgorithm algorithm, int attribute, Value value) {
    if (found_.size() >= most_) return;
    if (functions_.set_config(algorithm.data.data(), attribute, &value, sizeof(value)) != 0) return;
    const auto same = [&](const GemmAlgorithm& other) { return other.data == algorithm.data; };
    if (std::any_of(listed_.begin(), listed_.end(), same)) return;
    if (std::any_of(found_.begin(), found_.end(), same)) return;
    std::uint64_t result[16] = {};  // cublasLtMatmulHeuristicResult_t is 96 bytes
    ResultTail tail;
    if (functions_.check(handle_, descriptors_.operation(), descriptors_.left(),
                         descriptors_.right(), descriptors_.c(), descriptors_.d(),
                         algorithm.data.data(), result) != 0) {
      return;
    }
    std::memcpy(&tail, result + 8, sizeof(tail));  // after the algorithm's 64 bytes
    if (tail.status != 0 || tail.workspace_bytes > workspace_bytes_) return;
    algorithm.workspace_bytes = tail.workspace_bytes;
    algorithm.name = describe_algorithm(functions_, algorithm.data.data());
    found_.push_back(std::move(algorithm));
  }

  std::vector<GemmAlgorithm> take() { return std::move(found_); }

 private:
  const AlgorithmFunctions& functions_;
  Handle handle_;
  const Descriptors& descriptors_;
  const std::vector<GemmAlgorithm>& listed_;
  std::size_t workspace_bytes_;
  std::size_t most_;
  std::vector<GemmAlgorithm> found_;
};

}  // namespace

AlgorithmFunctions bind_algorithm_functions(const SharedLibrary& library) {
  AlgorithmFunctions functions;
  library.bind(functions.get_config, {"cublasLtMatmulAlgoConfigGetAttribute"});
  library.bind(functions.set_config, {"cublasLtMatmulAlgoConfigSetAttribute"});
  library.bind(functions.get_capability, {"cublasLtMatmulAlgoCapGetAttribute"});
  library.bind(functions.check, {"cublasLtMatmulAlgoCheck"});
  return functions;
}

std::string describe_algorithm(const AlgorithmFunctions& functions, const void* algorithm) {
  constexpr struct {
    const char* name;
    int attribute;
    std::size_t bytes;
  } fields[] = {{"algo", 0, 4},   {"tile", 1, 4},    {"stages", 6, 4}, {"cluster", 8, 2},
                {"splitk", 2, 4}, {"swizzle", 4, 4}, {"custom", 5, 4}, {"inner", 7, 2}};
  std::string text;
  for (const auto& field : fields) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    if (functions.get_config == nullptr ||
        functions.get_config(algorithm, field.attribute, &value, field.bytes, &written) != 0) {
      continue;
    }
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", field.name, value);
  }
  return text;
}

std::vector<GemmAlgorithm> neighbours(const AlgorithmFunctions& functions, Handle handle,
                                      const Descriptors& descriptors,
                                      const std::vector<GemmAlgorithm>& listed,
                                      std::size_t workspace_bytes, std::size_t most) {
  if (functions.set_config == nullptr || functions.get_capability == nullptr ||
      functions.check == nullptr) {
    return {};
  }
  Collector collector(functions, handle, descriptors, listed, workspace_bytes, most);
  for (std::size_t i = 0; i < std::min(listed.size(), most_starting_points); ++i) {
    const GemmAlgorithm& start = listed[i];
    const void* data = start.data.data();
    const auto customs = read<std::int32_t>(functions, data, capability_custom_most, 0);
    for (std::int32_t custom = 0; custom <= std::min(customs, 32); ++custom) {
      collector.try_setting(start, config_custom, custom);
    }
    for (const std::uint32_t swizzle : {0u, 1u}) {
      collector.try_setting(start, config_swizzle, swizzle);
    }
    for (std::uint16_t cluster = 0; cluster < cluster_shapes; ++cluster) {
      collector.try_setting(start, config_cluster, cluster);
    }
    for (const std::uint32_t tile : tiles_of(functions, data)) {
      collector.try_setting(start, config_tile, tile);
    }
  }
  return collector.take();
}

}  // namespace assay::lt
