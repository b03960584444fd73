#include "compute/vendor/blas/cublaslt_variations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "compute/vendor/blas/lt_descriptors.h"

namespace assay::lt {
namespace {

// cublasLtMatmulAlgoConfigAttributes_t and cublasLtMatmulAlgoCapAttributes_t.
constexpr int config_tile = 1, config_splits = 2, config_reduction = 3, config_swizzle = 4,
              config_custom = 5, config_stages = 6, config_cluster = 8;
constexpr int capability_splits = 0, capability_tiles = 6, capability_custom_most = 7,
              capability_stages = 13;
constexpr std::uint32_t reduction_none = 0, reduction_compute_type = 2;
constexpr std::size_t usual_starting_points = 3, all_starting_points = 16;
constexpr int most_ids = 256;
/// AlgoCheck takes up to a tenth of a millisecond, so this is seconds: what is beyond it is cut.
constexpr std::size_t most_checks = 30'000;
constexpr std::uint16_t cluster_shapes = 52;  // cublasLtClusterShape_t up to CUDA 13

template <typename Value>
Value read(const AlgorithmFunctions& f, const void* algorithm, int capability, Value otherwise) {
  Value value{};
  std::size_t written = 0;
  const int status = f.get_capability(algorithm, capability, &value, sizeof(value), &written);
  return status == 0 && written == sizeof(value) ? value : otherwise;
}

/// A capability that is a list.
std::vector<std::uint32_t> choices(const AlgorithmFunctions& f, const void* algorithm,
                                   int capability) {
  std::size_t bytes = 0;
  if (f.get_capability(algorithm, capability, nullptr, 0, &bytes) != 0) return {};
  std::vector<std::uint32_t> values(std::min<std::size_t>(bytes / sizeof(std::uint32_t), 2048));
  std::size_t written = 0;
  if (f.get_capability(algorithm, capability, values.data(), values.size() * 4, &written) != 0) {
    return {};
  }
  return values;
}

/// Collects algorithms that can run and are not known yet.
class Collector {
 public:
  Collector(const AlgorithmFunctions& functions, Handle handle, const Descriptors& descriptors,
            const std::vector<GemmAlgorithm>& listed, std::size_t workspace_bytes, std::size_t most)
      : functions_(functions),
        handle_(handle),
        descriptors_(descriptors),
        workspace_bytes_(workspace_bytes),
        most_(most) {
    for (const GemmAlgorithm& algorithm : listed) known_.insert(algorithm.data);
  }

  bool full() const { return found_.size() >= most_ || checks_ >= most_checks; }

  template <typename Value>
  void try_setting(GemmAlgorithm algorithm, int attribute, Value value) {
    if (functions_.set_config(algorithm.data.data(), attribute, &value, sizeof(value)) == 0) {
      take(std::move(algorithm));
    }
  }

  /// Keeps it if it is new and can run.
  void take(GemmAlgorithm algorithm) {
    if (full() || !known_.insert(algorithm.data).second) return;
    ++checks_;
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

  std::vector<GemmAlgorithm> found() && { return std::move(found_); }

 private:
  const AlgorithmFunctions& functions_;
  Handle handle_;
  const Descriptors& descriptors_;
  std::size_t workspace_bytes_;
  std::size_t most_;
  std::size_t checks_ = 0;
  std::set<std::array<std::uint64_t, 8>> known_;
  std::vector<GemmAlgorithm> found_;
};

/// Each of the first `starts` of the listed with one setting changed.
void vary(const AlgorithmFunctions& functions, const std::vector<GemmAlgorithm>& listed,
          std::size_t starts, Collector& collector) {
  for (std::size_t i = 0; i < std::min(listed.size(), starts); ++i) {
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
    for (const std::uint32_t tile : choices(functions, data, capability_tiles)) {
      collector.try_setting(start, config_tile, tile);
    }
  }
}

/// One kind of algorithm with each tile, number of stages and split.
void enumerate(const AlgorithmFunctions& functions, const GemmAlgorithm& kind,
               Collector& collector) {
  const auto set = [&](GemmAlgorithm& algorithm, int attribute, std::uint32_t value) {
    return functions.set_config(algorithm.data.data(), attribute, &value, sizeof(value)) == 0;
  };
  std::vector<std::uint32_t> tiles = choices(functions, kind.data.data(), capability_tiles);
  std::vector<std::uint32_t> stages = choices(functions, kind.data.data(), capability_stages);
  if (tiles.empty()) tiles.push_back(0);  // undefined: the algorithm has but one
  if (stages.empty()) stages.push_back(0);
  const bool splits = read<std::int32_t>(functions, kind.data.data(), capability_splits, 0) != 0;
  for (const std::uint32_t split : {1u, 2u, 4u, 8u}) {
    if (split > 1 && !splits) break;
    for (const std::uint32_t tile : tiles) {
      for (const std::uint32_t stage : stages) {
        if (collector.full()) return;
        GemmAlgorithm algorithm = kind;
        // Partial sums are added in the type of the sums: in D's they would be rounded.
        if (set(algorithm, config_tile, tile) && set(algorithm, config_stages, stage) &&
            set(algorithm, config_splits, split) &&
            set(algorithm, config_reduction, split > 1 ? reduction_compute_type : reduction_none)) {
          collector.take(std::move(algorithm));
        }
      }
    }
  }
}

}  // namespace

AlgorithmFunctions bind_algorithm_functions(const SharedLibrary& library) {
  AlgorithmFunctions functions;
  library.bind(functions.get_config, {"cublasLtMatmulAlgoConfigGetAttribute"});
  library.bind(functions.set_config, {"cublasLtMatmulAlgoConfigSetAttribute"});
  library.bind(functions.get_capability, {"cublasLtMatmulAlgoCapGetAttribute"});
  library.bind(functions.check, {"cublasLtMatmulAlgoCheck"});
  library.bind(functions.get_ids, {"cublasLtMatmulAlgoGetIds"});
  library.bind(functions.init, {"cublasLtMatmulAlgoInit"});
  return functions;
}

std::string describe_algorithm(const AlgorithmFunctions& functions, const void* algorithm) {
  constexpr struct {
    const char* name;
    int attribute;
    std::size_t bytes;
  } fields[] = {{"algo", 0, 4},    {"tile", 1, 4},   {"stages", 6, 4},
                {"cluster", 8, 2}, {"splitk", 2, 4}, {"swizzle", 4, 4},
                {"custom", 5, 4},  {"inner", 7, 2},  {"reduction", config_reduction, 4}};
  std::string text;
  for (const auto& field : fields) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    if (functions.get_config == nullptr ||
        functions.get_config(algorithm, field.attribute, &value, field.bytes, &written) != 0) {
      continue;
    }
    // Only algorithms that split k have one: the other names stay as they were kept.
    if (field.attribute == config_reduction && value == reduction_none) continue;
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
  vary(functions, listed, usual_starting_points, collector);
  return std::move(collector).found();
}

Result<std::vector<GemmAlgorithm>> all_variations(const AlgorithmFunctions& functions,
                                                  const Library& library, Handle handle,
                                                  const Descriptors& descriptors,
                                                  const GemmProblem& p,
                                                  const std::vector<GemmAlgorithm>& listed,
                                                  std::size_t workspace_bytes, std::size_t most) {
  if (functions.set_config == nullptr || functions.get_capability == nullptr ||
      functions.check == nullptr) {
    return std::vector<GemmAlgorithm>();
  }
  Collector collector(functions, handle, descriptors, listed, workspace_bytes, most);
  vary(functions, listed, all_starting_points, collector);
  if (functions.get_ids != nullptr && functions.init != nullptr) {
    const int compute = compute_number(library.dialect, p.compute), scale = data_type(p.compute);
    const int a = data_type(p.b), b = data_type(p.a), c = data_type(p.c), d = data_type(p.d);
    std::array<int, most_ids> ids = {};
    int count = 0;
    const int status =
        functions.get_ids(handle, compute, scale, a, b, c, d, most_ids, ids.data(), &count);
    if (status != 0) return status_error(library, "MatmulAlgoGetIds", status, p);
    for (int i = 0; i < std::min(count, most_ids); ++i) {
      GemmAlgorithm kind;
      const int id = ids[static_cast<std::size_t>(i)];
      if (functions.init(handle, compute, scale, a, b, c, d, id, kind.data.data()) == 0) {
        enumerate(functions, kind, collector);
      }
    }
  }
  return std::move(collector).found();
}

}  // namespace assay::lt
