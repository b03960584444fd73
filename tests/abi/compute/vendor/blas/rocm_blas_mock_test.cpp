// hipBLASLt and rocBLAS on the virtual MI300X, through the gemm benchmark.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "abi/gemm_machine.h"
#include "compute/device/helpers.h"
#include "compute/vendor/blas/blas.h"

#ifdef VIRTUAL_HIP
#include "abi/virtual_machine.h"

namespace assay {
namespace {

using testing::HasSubstr;

class RocmBlas : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ASSAY_HIPBLASLT_LIBRARY", MOCK_BLAS, 1);
    setenv("ASSAY_ROCBLAS_LIBRARY", MOCK_BLAS, 1);
    backend_ = machine_.backend();
    auto device = backend_->open(0);
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    stream_ = std::move(device_->create_stream()).value();
  }

  std::map<std::string, std::string> expect(std::vector<AxisSetting> settings) {
    return expect_gemm(*device_, *stream_, settings);
  }

  /// The algorithms' names, with the library opened for `problem`.
  static std::vector<std::string> names_of(const std::vector<GemmAlgorithm>& algorithms) {
    std::vector<std::string> names;
    for (const GemmAlgorithm& algorithm : algorithms) names.push_back(algorithm.name);
    return names;
  }
  /// A function of a mock of its own, with which its next call of one fails.
  static auto failing(const std::string& library) {
    const auto file = SharedLibrary::open(
        {library,
         {MOCK_BLAS + std::string("/lib") + library + ".so." + (library == "rocblas" ? "4" : "0")},
         {""},
         ""});
    void (*fail_next)(const char*, int) = nullptr;
    EXPECT_TRUE(file.ok() && file->bind(fail_next, {("mock_" + library + "_fail_next").c_str()}));
    return fail_next;
  }

  template <typename T>
  Buffer upload(const std::vector<T>& values) {
    Buffer buffer =
        std::move(device_->allocate(values.size() * sizeof(T), MemoryKind::device)).value();
    EXPECT_TRUE(stream_->copy(buffer.data(), values.data(), buffer.bytes()));
    return buffer;
  }

  VirtualMachine machine_{VIRTUAL_HIP + std::string("6")};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(RocmBlas, EveryTypeAndLayout) {
  for (const char* library : {"hipblaslt", "rocblas"}) {
    for (const char* dtype :
         {"f64", "f32", "tf32", "f16", "bf16", "e4m3_fnuz", "e5m2_fnuz", "i8"}) {
      const std::string name = dtype;
      if (library == std::string("rocblas") && (name == "tf32" || name.find("fnuz") != name.npos)) {
        EXPECT_FALSE(run_gemm(*device_, *stream_, {{"dtype", dtype}, {"library", library}}));
        continue;
      }
      for (const char* layout : {"NN", "TN", "NT", "TT"}) {
        for (const char* inputs : {"integers", "normal"}) {
          const auto notes = expect({{"shape", "17x33x40"},
                                     {"dtype", dtype},
                                     {"layout", layout},
                                     {"inputs", inputs},
                                     {"library", library},
                                     {"pad", "3"}});
          EXPECT_EQ(notes.at("layout"), layout);
        }
      }
    }
    expect({{"shape", "5x6x7"}, {"batch", "3"}, {"dtype", "f32"}, {"library", library}});
  }
}

TEST_F(RocmBlas, EveryEpilogueOfHipBlasLt) {
  for (const char* epilogue : {"bias", "relu", "relu_bias", "gelu", "gelu_bias", "gelu_aux",
                               "gelu_aux_bias", "dgelu", "dgelu_bgrad", "bgrad"}) {
    for (const char* layout : {"TN", "NT"}) {
      expect({{"shape", "17x33x40"}, {"epilogue", epilogue}, {"layout", layout}});
    }
  }
}

TEST_F(RocmBlas, DefaultIsTheFirstSolutionOfTheFirstLibrary) {
  const auto notes = expect({{"shape", "8x8x8"}});
  EXPECT_EQ(notes.at("library"), "hipblaslt 0.12.3");
  EXPECT_EQ(notes.at("algorithm"), "solution=101");
  EXPECT_EQ(notes.at("algorithm_rank"), "0");
  EXPECT_THAT(notes.at("library_path"), HasSubstr("libhipblaslt.so"));
}

TEST_F(RocmBlas, BestIsTheFastestSolution) {
  machine_.set("MI300X_PRODUCT_SECONDS", "5e-3");
  const auto lt = expect({{"shape", "8x8x8"}, {"algorithm", "best"}, {"library", "hipblaslt"}});
  EXPECT_EQ(lt.at("algorithm"), "solution=102");
  EXPECT_EQ(lt.at("algorithm_rank"), "1");
  EXPECT_EQ(lt.at("algorithms_measured"), "2");
  EXPECT_EQ(lt.at("workspace_bytes"), "4096");
  const auto roc = expect({{"shape", "8x8x8"}, {"algorithm", "best"}, {"library", "rocblas"}});
  EXPECT_EQ(roc.at("library"), "rocblas 4.2.1");
  EXPECT_THAT(roc.at("algorithm"), testing::AnyOf("solution=7", "solution=-12"));
  EXPECT_EQ(roc.at("algorithms_measured"), "3");
  const auto both = expect({{"shape", "8x8x8"}, {"algorithm", "best"}, {"layout", "any"}});
  EXPECT_EQ(both.at("algorithms_measured"), "20");  // (2 + 3) solutions in 4 layouts
}

TEST_F(RocmBlas, RotatesThroughSets) {
  const auto notes = expect({{"shape", "32"}, {"dtype", "f32"}, {"rotate", "64KiB"}});
  EXPECT_EQ(notes.at("operand_sets"), "6");
}

/// What training needs beyond the benchmark: beta = 1 into C = D of f32, and fp8 with factors.
TEST_F(RocmBlas, AccumulatesAndScales) {
  GemmProblem p = make_gemm(2, 3, 4, DataType::bf16, DataType::f32);
  p.beta = 1;
  for (const char* library : {"hipblaslt", "rocblas"}) {
    const auto blas = std::move(open_blas(*device_, library, p)).value();
    const auto plan = std::move(blas->plan(p, blas->algorithms(p, 0, 1).value().at(0))).value();
    const Buffer a = upload(std::vector<std::uint16_t>(8, 0x3F80));   // 1
    const Buffer b = upload(std::vector<std::uint16_t>(12, 0x4000));  // 2
    const Buffer d = upload(std::vector<float>{0, 1, 2, 3, 4, 5});
    GemmOperands operands;
    operands.a = a.data();
    operands.b = b.data();
    operands.c = operands.d = d.data();
    ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
    EXPECT_THAT(read_back<float>(*stream_, d.data(), 6).value(),
                testing::ElementsAre(8, 9, 10, 11, 12, 13))
        << library;
  }
  GemmProblem fp8 = make_gemm(1, 1, 2, DataType::e4m3_fnuz, DataType::bf16, false, true);
  fp8.scales_a = fp8.scales_b = true;
  const auto blas = std::move(open_blas(*device_, "hipblaslt", fp8)).value();
  const auto plan = std::move(blas->plan(fp8, blas->algorithms(fp8, 0, 1).value().at(0))).value();
  const Buffer a = upload(std::vector<std::uint8_t>(2, 0x40));  // 1 in FNUZ
  const Buffer b = upload(std::vector<std::uint8_t>(2, 0x40));
  const Buffer d = std::move(device_->allocate(2, MemoryKind::device)).value();
  const Buffer factors = upload(std::vector<float>{3, 5});
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.d = d.data();
  EXPECT_THAT(plan->enqueue(*stream_, operands, {}).error().message, HasSubstr("operand"));
  operands.scale_a = factors.as<float>();
  operands.scale_b = factors.as<float>() + 1;
  ASSERT_TRUE(plan->enqueue(*stream_, operands, {}));
  EXPECT_EQ(read_back<std::uint16_t>(*stream_, d.data(), 1).value()[0], 0x41F0);  // 30
}

TEST_F(RocmBlas, AllSolutionsOfHipBlasLtWithTheirNumbersAndNames) {
  const GemmProblem p = make_gemm(2, 3, 4, DataType::bf16, DataType::bf16, false, true);
  const auto blas = std::move(open_blas(*device_, "hipblaslt", p)).value();
  EXPECT_EQ(blas->facts().number, 1203);
  EXPECT_EQ(blas->facts().revision, "dabb6df2b9");
  const auto all = blas->all_algorithms(p, 1 << 20, 100).value();
  // The heuristic's first, then the others by their numbers; 107 needs too much, 103 and 108 do not
  // apply.
  EXPECT_THAT(names_of(all), testing::ElementsAre("solution=101", "solution=102", "solution=104",
                                                  "solution=105", "solution=106"));
  EXPECT_EQ(all[2].index, 104);
  EXPECT_EQ(all[2].solution, "Cijk_Alik_Bljk_solution_longer_than_a_short_string_104");
  EXPECT_EQ(all[2].kernel, "Cijk_Alik_Bljk_kernel_104");
  EXPECT_EQ(all[0].kernel, "Cijk_Alik_Bljk_kernel_101");  // also of those the heuristic has
  EXPECT_EQ(all[1].workspace_bytes, 4096u);
  EXPECT_THAT(names_of(blas->all_algorithms(p, 0, 100).value()),
              testing::Not(testing::Contains("solution=102")));
  EXPECT_EQ(blas->all_algorithms(p, 1 << 20, 3).value().size(), 3u);
  for (const GemmAlgorithm& algorithm : all) {
    const auto plan = std::move(blas->plan(p, algorithm)).value();
    const Buffer a = upload(std::vector<std::uint16_t>(8, 0x3F80));   // 1
    const Buffer b = upload(std::vector<std::uint16_t>(12, 0x4000));  // 2
    const Buffer d = upload(std::vector<std::uint16_t>(6));
    const Buffer workspace = std::move(device_->allocate(4096, MemoryKind::device)).value();
    GemmOperands operands;
    operands.a = a.data();
    operands.b = b.data();
    operands.c = operands.d = d.data();
    const Status queued = plan->enqueue(*stream_, operands, {workspace.data(), 4096});
    if (algorithm.index == 106) {
      EXPECT_THAT(queued.error().message, HasSubstr("EXECUTION_FAILED"));
      continue;
    }
    ASSERT_TRUE(queued.ok()) << queued.error().message;
    EXPECT_EQ(read_back<std::uint16_t>(*stream_, d.data(), 1).value()[0],
              algorithm.index == 105 ? 0x4180 : 0x4100);  // 16, 8
  }
  const GemmProblem i8 = make_gemm(4, 4, 4, DataType::i8, DataType::i32, true, false);
  EXPECT_EQ(blas->all_algorithms(i8, 1 << 20, 100).value().size(), 5u);
}

TEST_F(RocmBlas, EveryErrorOfListingHipBlasLtsSolutions) {
  const GemmProblem p = make_gemm(2, 3, 4, DataType::bf16, DataType::bf16);
  const auto blas = std::move(open_blas(*device_, "hipblaslt", p)).value();
  const auto fail_next = failing("hipblaslt");
  ASSERT_NE(fail_next, nullptr);
  for (int status = 1; status <= 8; ++status) {
    fail_next("getAllAlgos", status);
    const auto listed = blas->all_algorithms(p, 1 << 20, 100);
    ASSERT_FALSE(listed.ok()) << status;
    EXPECT_THAT(listed.error().message, testing::AllOf(HasSubstr("hipblaslt: getAllAlgos"),
                                                       HasSubstr(fmt::format("({})", status))));
    EXPECT_EQ(listed.error().kind, status == 7   ? ErrorKind::unsupported
                                   : status == 2 ? ErrorKind::exhausted
                                                 : ErrorKind::failed)
        << status;
    fail_next("hipblasLtMatmulAlgoGetHeuristic", status);
    EXPECT_THAT(blas->all_algorithms(p, 1 << 20, 100).error().message,
                HasSubstr("MatmulAlgoGetHeuristic"));
    // A solution that cannot be asked is left out: 101 is asked first, and is the heuristic's too.
    fail_next("matmulIsAlgoSupported", status);
    const auto others = blas->all_algorithms(p, 1 << 20, 100);
    ASSERT_TRUE(others.ok());
    EXPECT_EQ(others->size(), 5u);
    EXPECT_EQ(others->front().kernel, "");
    fail_next("hipblasLtMatmul", status);
    const auto plan = std::move(blas->plan(p, others->front())).value();
    const Buffer d = upload(std::vector<std::uint16_t>(12));
    EXPECT_THAT(
        plan->enqueue(*stream_, {.a = d.data(), .b = d.data(), .d = d.data()}, {}).error().message,
        HasSubstr(fmt::format("({})", status)));
  }
  fail_next("hipblasLtGetGitRevision", 3);
  EXPECT_EQ(std::move(open_blas(*device_, "hipblaslt", p)).value()->facts().revision, "");
}

TEST_F(RocmBlas, AllSolutionsOfRocBlasAndEveryErrorOfListingThem) {
  for (const int batch : {1, 3}) {
    const GemmProblem p = make_gemm(2, 3, 4, DataType::f32, DataType::f32, false, false, batch);
    const auto blas = std::move(open_blas(*device_, "rocblas", p)).value();
    const auto all = blas->all_algorithms(p, 1 << 20, 100).value();
    EXPECT_THAT(names_of(all), testing::ElementsAre("default", "solution=7", "solution=-12"));
    EXPECT_EQ(all[0].index, std::nullopt);
    EXPECT_EQ(all[2].index, -12);
    EXPECT_EQ(blas->all_algorithms(p, 1 << 20, 2).value().size(), 2u);
    const auto fail_next = failing("rocblas");
    ASSERT_NE(fail_next, nullptr);
    for (const char* step : {"count solutions", "list solutions"}) {
      for (int status = 1; status <= 15; ++status) {
        fail_next(step, status);
        const auto listed = blas->all_algorithms(p, 1 << 20, 100);
        ASSERT_FALSE(listed.ok()) << step << status;
        EXPECT_THAT(listed.error().message,
                    testing::AllOf(HasSubstr("rocblas: gemm_ex_get_solutions"),
                                   HasSubstr(fmt::format("({})", status))));
        // The choice among few does without.
        fail_next(step, status);
        EXPECT_THAT(names_of(blas->algorithms(p, 1 << 20, 8).value()),
                    testing::ElementsAre("default"));
      }
    }
    fail_next("rocblas_gemm_ex", 6);
    const Buffer d = upload(std::vector<float>(36));
    const auto plan = std::move(blas->plan(p, all[1])).value();
    EXPECT_THAT(
        plan->enqueue(*stream_, {.a = d.data(), .b = d.data(), .d = d.data()}, {}).error().message,
        HasSubstr("internal error (6)"));
  }
  GemmProblem fused = make_gemm(2, 3, 4, DataType::f32, DataType::f32);
  const auto blas = std::move(open_blas(*device_, "rocblas", fused)).value();
  fused.epilogue = Epilogue::relu;
  EXPECT_EQ(blas->all_algorithms(fused, 0, 9).error().kind, ErrorKind::unsupported);
}

TEST_F(RocmBlas, TooSmallAWorkspaceIsAnError) {
  const GemmProblem p = make_gemm(2, 3, 4, DataType::bf16, DataType::bf16);
  const auto blas = std::move(open_blas(*device_, "hipblaslt", p)).value();
  const auto all = blas->algorithms(p, 1 << 20, 8).value();
  ASSERT_EQ(all.size(), 2u);
  const auto plan = std::move(blas->plan(p, all[1])).value();
  EXPECT_THAT(plan->enqueue(*stream_, {}, {}).error().message, HasSubstr("needs 4096 bytes"));
  EXPECT_EQ(blas->algorithms(p, 0, 8).value().size(), 1u);
}

}  // namespace
}  // namespace assay

#else

TEST(RocmBlas, OnTheMockRuntime) {
  GTEST_SKIP() << "HIP's headers are not installed";
}

#endif
