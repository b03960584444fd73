// What is enumerated beyond cuBLASLt's heuristic, on a library of function pointers that has three
// kinds of algorithms: 3 takes two tiles, two numbers of stages and splits of k; 5 has no choices;
// 7 does not exist for these types.
#include "compute/vendor/blas/cublaslt_variations.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "compute/vendor/blas/lt_descriptors.h"
#include "compute/vendor/blas/lt_dialects.h"

namespace assay::lt {
namespace {

struct FakeAlgorithm {
  std::uint32_t values[16];  // by cublasLtMatmulAlgoConfigAttributes_t
};
static_assert(sizeof(FakeAlgorithm) == 64);

int get_ids_status = 0;
std::size_t checks = 0;

int set_config(void* algorithm, int attribute, const void* value, std::size_t bytes) {
  auto& fake = *static_cast<FakeAlgorithm*>(algorithm);
  if (attribute == 8 && fake.values[0] == 5) return 7;  // it takes no clusters
  fake.values[attribute] = 0;
  std::memcpy(&fake.values[attribute], value, bytes);
  return 0;
}

int get_config(const void* algorithm, int attribute, void* value, std::size_t bytes,
               std::size_t* written) {
  std::memcpy(value, &static_cast<const FakeAlgorithm*>(algorithm)->values[attribute], bytes);
  *written = bytes;
  return 0;
}

int get_capability(const void* algorithm, int capability, void* value, std::size_t bytes,
                   std::size_t* written) {
  const bool rich = static_cast<const FakeAlgorithm*>(algorithm)->values[0] == 3;
  const std::uint32_t list[2] = {10, 11};
  const std::int32_t number = capability == 0 && rich ? 1 : 0;  // splits of k; no custom options
  const bool is_list = capability == 6 || capability == 13;
  const std::size_t size = is_list ? (rich ? sizeof(list) : 0) : sizeof(number);
  *written = size;
  if (value != nullptr) {
    if (bytes < size) return 7;
    std::memcpy(value, is_list ? static_cast<const void*>(list) : &number, size);
  }
  return 0;
}

/// 8 splits need more workspace than there is; tile 11 with 11 stages does not run.
int check(Handle, MatmulDesc, MatrixLayout, MatrixLayout, MatrixLayout, MatrixLayout,
          const void* algorithm, void* result) {
  ++checks;
  const auto& v = static_cast<const FakeAlgorithm*>(algorithm)->values;
  if (v[1] == 11 && v[6] == 11) return 15;
  if (v[8] > 2 || v[4] > 0) return 15;  // clusters and swizzles
  const ResultTail tail = {v[2] == 8 ? std::size_t{1} << 30 : 0, 0, 1, {}};
  std::memcpy(static_cast<char*>(result) + 64, &tail, sizeof(tail));
  return 0;
}

int get_ids(Handle, int compute, int scale, int a, int, int, int, int requested, int* ids,
            int* found) {
  EXPECT_EQ(compute, 68);
  EXPECT_EQ(scale, 0);
  EXPECT_EQ(a, 14);
  EXPECT_GE(requested, 3);
  ids[0] = 3, ids[1] = 7, ids[2] = 5;
  *found = 3;
  return get_ids_status;
}

int init(Handle, int, int, int, int, int, int, int id, void* algorithm) {
  if (id == 7) return 15;
  *static_cast<FakeAlgorithm*>(algorithm) = {{static_cast<std::uint32_t>(id)}};
  return 0;
}

AlgorithmFunctions functions() {
  return {&get_config, &set_config, &get_capability, &check, &get_ids, &init};
}

class CublasLtVariations : public testing::Test {
 protected:
  void SetUp() override {
    get_ids_status = 0;
    checks = 0;
    static int object;
    Functions& f = library_.functions;
    f.desc_create = [](MatmulDesc* made, int, int) { return *made = &object, 0; };
    f.desc_set = [](MatmulDesc, int, const void*, std::size_t) { return 0; };
    f.desc_destroy = f.layout_destroy = [](void*) { return 0; };
    f.layout_create = [](MatrixLayout* made, int, std::uint64_t, std::uint64_t, std::int64_t) {
      return *made = &object, 0;
    };
    descriptors_.emplace(Descriptors::create(library_, problem_).value());
  }

  Result<std::vector<GemmAlgorithm>> all(const std::vector<GemmAlgorithm>& listed,
                                         std::size_t most) {
    return all_variations(functions(), library_, nullptr, *descriptors_, problem_, listed, 1 << 20,
                          most);
  }
  static GemmAlgorithm algorithm(std::vector<std::pair<int, std::uint32_t>> values) {
    FakeAlgorithm fake = {};
    for (const auto& [attribute, value] : values) fake.values[attribute] = value;
    GemmAlgorithm made;
    std::memcpy(made.data.data(), &fake, sizeof(fake));
    return made;
  }

  const GemmProblem problem_ = make_gemm(64, 64, 64, DataType::bf16, DataType::bf16, false, true);
  Library library_{cublaslt_dialect, {}, "", nullptr, nullptr};
  std::optional<Descriptors> descriptors_;
};

TEST_F(CublasLtVariations, EveryKindWithItsTilesStagesAndSplits) {
  const auto found = all({}, 1000);
  ASSERT_TRUE(found.ok()) << found.error().message;
  std::set<std::string> names;
  for (const GemmAlgorithm& one : *found) names.insert(one.name);
  EXPECT_EQ(names.size(), found->size());  // no two have the same name
  // Kind 3: (2 tiles x 2 stages - 1) x splits 1, 2, 4; kind 5: one.
  EXPECT_EQ(found->size(), 3u * 3 + 1);
  EXPECT_TRUE(names.contains(
      "algo=3 tile=10 stages=11 cluster=0 splitk=4 swizzle=0 custom=0 inner=0 reduction=2"));
  EXPECT_TRUE(
      names.contains("algo=3 tile=11 stages=10 cluster=0 splitk=1 swizzle=0 custom=0 inner=0"));
  EXPECT_TRUE(
      names.contains("algo=5 tile=0 stages=0 cluster=0 splitk=1 swizzle=0 custom=0 inner=0"));
}

TEST_F(CublasLtVariations, WhatIsListedIsNotFoundAgain) {
  const GemmAlgorithm listed = algorithm({{0, 3}, {1, 10}, {2, 1}, {6, 10}});
  const auto found = all({listed}, 1000).value();
  for (const GemmAlgorithm& one : found) EXPECT_NE(one.data, listed.data);
  // Its clusters 1 and 2 come first; its other tile is also one that is enumerated.
  EXPECT_EQ(found.size(), 3u * 3 + 1 - 1 + 2);
  EXPECT_THAT(found.front().name, testing::HasSubstr("cluster=1"));
  EXPECT_EQ(all({listed}, 4).value().size(), 4u);
}

TEST_F(CublasLtVariations, ErrorsOfListing) {
  for (const int status : {1, 3, 7, 8, 11, 13, 14, 15}) {
    get_ids_status = status;
    const auto found = all({}, 10);
    ASSERT_FALSE(found.ok()) << status;
    EXPECT_THAT(found.error().message, testing::HasSubstr("MatmulAlgoGetIds"));
    EXPECT_EQ(found.error().kind, status == 15  ? ErrorKind::unsupported
                                  : status == 3 ? ErrorKind::exhausted
                                                : ErrorKind::failed)
        << status;
  }
  AlgorithmFunctions old = functions();
  old.get_ids = nullptr;
  const auto found = all_variations(old, library_, nullptr, *descriptors_, problem_, {}, 1, 10);
  EXPECT_TRUE(found.value().empty());
  EXPECT_EQ(checks, 0u);
}

}  // namespace
}  // namespace assay::lt
