// hipBLASLt and rocBLAS on the virtual MI300X, through the gemm benchmark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/blas/blas.h"
#include "compute/device/helpers.h"
#include "gemm_machine.h"

#ifdef VIRTUAL_HIP
#include "virtual_machine.h"

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
