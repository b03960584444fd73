// The real oneDNN, executed through the gemm benchmark on the CPU backend.
#include "compute/vendor/libraries/onednn_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "abi/gemm_machine.h"
#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "machine/system/affinity.h"
#include "model/operations/linear_products.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    const auto library = onednn::Library::load();
    if (!library) GTEST_SKIP() << library.error().message;
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
  }

  /// Skips types that this CPU has no instructions for.
  void expect(std::vector<AxisSetting> settings) {
    const auto outcome = run_gemm(*device_, *stream_, settings);
    if (outcome) {
      EXPECT_TRUE(outcome->verification.passed)
          << text_of(settings) << outcome->verification.detail;
    } else if (outcome.error().kind != ErrorKind::unsupported ||
               outcome.error().message.find("unimplemented") == std::string::npos) {
      ADD_FAILURE() << text_of(settings) << outcome.error().message;
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OneDnn, ShapesTypesAndLayouts) {
  for (const char* shape : {"1x1x1", "1x64x33", "65x96x257"}) {
    for (const char* dtype : {"f32", "bf16", "f16", "i8"}) {
      for (const char* layout : {"NN", "TN", "NT", "TT"}) {
        // Without VNNI, oneDNN adds products of i8 in 16 bits, which larger numbers overflow.
        const bool small = dtype == std::string_view("i8");
        expect({{"shape", shape},
                {"dtype", dtype},
                {"inputs", small ? "integers" : "normal"},
                {"layout", layout},
                {"pad", layout[0] == 'N' ? "5" : "0"}});
      }
    }
  }
}

TEST_F(OneDnn, Epilogues) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* epilogue : {"bias", "relu", "relu_bias", "gelu", "gelu_bias"}) {
      expect({{"shape", "17x33x65"}, {"dtype", dtype}, {"epilogue", epilogue}});
    }
  }
}

TEST_F(OneDnn, IntegersAreExactAndBatchesWork) {
  for (const char* dtype : {"f32", "bf16", "i8"}) {
    for (const char* inputs : {"zeros", "ones", "integers"}) {
      expect({{"shape", "65x70x130"}, {"dtype", dtype}, {"inputs", inputs}});
      expect({{"shape", "6x7x130"}, {"dtype", dtype}, {"inputs", inputs}, {"batch", "5"}});
    }
  }
}

/// Threads of this process.
std::size_t threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Handing the cores to the library's threads and back takes longer than a small product.
TEST_F(OneDnn, ASmallProductAmongKernelsIsOneThreads) {
  if (onednn::Library::load().value()->threads().value_or(1) < 2) {
    GTEST_SKIP() << "the library has one thread";
  }
  GemmPlans plans(*device_, *stream_, {.library = "onednn", .measure = false}, ChoiceCache({}));
  const auto threads_after = [&](std::int64_t size) {
    const GemmProblem problem = forward_product({size, size, size}, DataType::f32);
    const Buffer values =
        device_->allocate(static_cast<std::size_t>(size * size) * 4, MemoryKind::device).value();
    GemmOperands operands;
    operands.a = operands.b = values.data();
    operands.c = operands.d = values.data();
    EXPECT_TRUE(stream_->fill(values.data(), 0, values.bytes()).ok());
    EXPECT_TRUE(plans.enqueue(*stream_, problem, operands).ok());
    EXPECT_TRUE(stream_->synchronize().ok());
    return threads();
  };
  std::array<std::byte, 64> bytes;
  ASSERT_TRUE(stream_->fill(bytes.data(), 0, bytes.size()).ok());  // the pool's own threads begin
  ASSERT_TRUE(stream_->synchronize().ok());
  const std::size_t before = threads();
  EXPECT_EQ(threads_after(128), before);
  EXPECT_GT(threads_after(512), before);
}

TEST_F(OneDnn, AChoiceEndsWhenItIsAskedTo) {
  bool stops = true;
  GemmPlans plans(*device_, *stream_,
                  {.library = "onednn", .stop_requested = [&] { return stops; }}, ChoiceCache({}));
  const GemmProblem problem = forward_product({64, 64, 64}, DataType::f32);
  const Contender nothing = [](Stream&) { return Status(); };
  const auto stopped = plans.better_fused(problem, nothing, nothing);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
  stops = false;  // and nothing is remembered
  EXPECT_TRUE(plans.better_fused(problem, nothing, nothing).ok());
}

TEST_F(OneDnn, BestPacksWeightsOrNot) {
  const auto notes = expect_gemm(*device_, *stream_,
                                 {{"shape", "128"},
                                  {"dtype", "f32"},
                                  {"algorithm", "best"},
                                  {"layout", "any"},
                                  {"rotate", "512KiB"}});
  EXPECT_EQ(notes.at("algorithms_measured"), "8");
  EXPECT_THAT(notes.at("library"), HasSubstr("onednn"));
  EXPECT_EQ(notes.at("operand_sets"), "3");
}

TEST_F(OneDnn, AChainIsCountedProductByProduct) {
  const auto outcome =
      run_gemm(*device_, *stream_, {{"shape", "16x32x64"}, {"dtype", "f32"}, {"chain", "7"}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->verification.passed);
  EXPECT_EQ(outcome->work.repetitions, 7);
  EXPECT_EQ(outcome->work.flops / outcome->work.repetitions, 2.0 * 16 * 32 * 64);
}

TEST_F(OneDnn, AlphaBetaAndAForeignC) {
  GemmProblem p = make_gemm(2, 3, 4, DataType::f32, DataType::f32);
  p.alpha = 0.5;
  p.beta = 2;
  p.epilogue = Epilogue::relu_bias;
  p.bias = DataType::f32;
  const auto blas = std::move(open_blas(*device_, "auto", p)).value();
  const auto plan = std::move(blas->plan(p, blas->algorithms(p, 0, 1).value().at(0))).value();
  std::vector<float> a(8, 1), b(12, 2), c(6, 3), d(6, -1), bias = {-100, 0.5, 1};
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.c = c.data();
  operands.d = d.data();
  operands.bias = bias.data();
  ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(d, testing::ElementsAre(0, 10.5, 11, 0, 10.5, 11));  // 0.5 * 8 + 2 * 3 + bias
}

TEST_F(OneDnn, APackedPlanWantsItsBPacked) {
  GemmProblem p = make_gemm(16, 16, 16, DataType::f32, DataType::f32);
  p.constant_b = true;
  const auto blas = std::move(open_blas(*device_, "onednn", p)).value();
  const auto algorithms = blas->algorithms(p, 0, 8).value();
  ASSERT_EQ(algorithms.size(), 2u);
  EXPECT_THAT(algorithms[0].name, HasSubstr("plain"));
  const auto plan = std::move(blas->plan(p, algorithms[1])).value();
  std::vector<float> a(256, 1), b(256, 2), d(256);
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.d = d.data();
  EXPECT_THAT(plan->enqueue(*stream_, operands, {}).error().message, HasSubstr("pack()"));
  ASSERT_TRUE(plan->pack(*stream_, b.data()));
  ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(d, testing::Each(32));
  b.assign(256, 3);
  ASSERT_TRUE(plan->pack(*stream_, b.data()));
  ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(d, testing::Each(48));
}

/// Two of them on one CPU would wait for each other in turns of the scheduler: a product of 0.5 ms
/// then takes 8 ms, in all samples of a cell.
TEST_F(OneDnn, ItsThreadsStayOnCpusOfTheirOwn) {
  for (const char* const name :
       {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    if (std::getenv(name) != nullptr) GTEST_SKIP() << name << " says where OpenMP's threads run";
  }
  const std::vector<int> cpus = affinity_cpus();
  const auto threads = (*onednn::Library::load())->threads();
  if (cpus.size() < 2 || threads != static_cast<int>(cpus.size())) {
    GTEST_SKIP() << "needs two CPUs and a library that uses OpenMP";
  }
  const auto numbers = [] {
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      found.insert(std::stoi(entry.path().filename()));
    }
    return found;
  };
  ASSERT_TRUE(stream_->synchronize());
  ASSERT_TRUE(device_->allocate(1 << 20, MemoryKind::device));  // starts the device's own threads
  const std::set<int> before = numbers();
  expect({{"shape", "256x256x256"}});
  std::set<int> used;
  std::size_t started = 0;
  for (const int thread : numbers()) {
    if (before.contains(thread)) continue;
    ++started;
    std::vector<cpu_set_t> set(8);  // for 8,192 CPUs
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    ASSERT_EQ(sched_getaffinity(thread, bytes, set.data()), 0);
    EXPECT_EQ(CPU_COUNT_S(bytes, set.data()), 1) << thread;
    for (const int cpu : cpus) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.data())) used.insert(cpu);
    }
  }
  EXPECT_EQ(started, cpus.size() - 1);
  EXPECT_EQ(used, std::set<int>(cpus.begin() + 1, cpus.end()));
}

TEST_F(OneDnn, WorksInACapturedGraph) {
  const GemmProblem p = make_gemm(2, 2, 2, DataType::f32, DataType::f32);
  const auto blas = std::move(open_blas(*device_, "onednn", p)).value();
  const auto plan = std::move(blas->plan(p, blas->algorithms(p, 0, 1).value().at(0))).value();
  std::vector<float> a(4, 1), b(4, 2), d(4);
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.d = d.data();
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
  const auto graph = std::move(stream_->end_capture()).value();
  EXPECT_THAT(d, testing::Each(0));
  ASSERT_TRUE(stream_->launch(*graph));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_THAT(d, testing::Each(4));
}

TEST(OneDnnSearch, AMissingLibrarySaysWhatToInstall) {
  setenv("ASSAY_ONEDNN_LIBRARY", "/nonexistent", 1);
  const auto library = open_onednn_library();
  unsetenv("ASSAY_ONEDNN_LIBRARY");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(library.error().message, HasSubstr("ASSAY_ONEDNN_LIBRARY"));
}

}  // namespace
}  // namespace assay
