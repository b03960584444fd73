// Convolutions by cuDNN on a mock that computes the graphs it is given on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "abi/conv_machine.h"
#include "abi/host_gpu.h"
#include "abi/mock_cudnn/mock_cudnn.h"
#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/libraries/cudnn_api.h"
#include "core/shared_library.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CudnnConvolution : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ASSAY_CUDNN_LIBRARY", MOCK_CUDNN, 1);
    setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
    const auto library = SharedLibrary::open({"mock", {MOCK_CUDNN "/libcudnn.so.9"}, {""}, ""});
    ASSERT_TRUE(library) << library.error().message;
    library->bind(reset, {"mock_cudnn_reset"});
    library->bind(fail, {"mock_cudnn_fail"});
    library->bind(refuse_plans, {"mock_cudnn_refuse_plans"});
    library->bind(note, {"mock_cudnn_note"});
    library->bind(fast, {"mock_cudnn_fast"});
    library->bind(wrong, {"mock_cudnn_wrong"});
    library->bind(before, {"mock_cudnn_before"});
    library->bind(live, {"mock_cudnn_live"});
    library->bind(calls, {"mock_cudnn_calls"});
    library->bind(graph, {"mock_cudnn_graph"});
    library->bind(ran, {"mock_cudnn_ran"});
    restart();
  }
  void TearDown() override {
    unsetenv("ASSAY_CUDNN_LIBRARY");
    unsetenv("XDG_CACHE_HOME");
  }

  void restart() {
    reset();
    stream = std::move(device.create_stream(StreamPriority::normal)).value();
    // The mock works at once, not in a stream of the host; so it waits for what was queued before.
    before([](void* context) { EXPECT_TRUE(static_cast<Stream*>(context)->synchronize()); },
           stream.get());
  }

  Result<std::vector<std::string>> algorithms(const ConvolutionProblem& of,
                                              ConvolutionSearch search) {
    const auto opened = TRY(open_convolution(device, "cudnn", of));
    std::vector<std::string> names;
    for (const auto& plan : TRY(opened->plans(*stream, {}, search))) {
      names.push_back(plan->algorithm());
    }
    return names;
  }

  static ConvolutionProblem problem() {
    ConvolutionProblem p;
    p.type = DataType::bf16;
    p.c = p.k = 8;
    p.in = {6, 6, 0};
    p.filter = {3, 3, 0};
    return p;
  }

  TemporaryFolder folder;
  HostGpu device{"cuda", "sm_90"};
  std::unique_ptr<Stream> stream;
  decltype(&mock_cudnn_reset) reset = nullptr;
  decltype(&mock_cudnn_fail) fail = nullptr;
  decltype(&mock_cudnn_refuse_plans) refuse_plans = nullptr;
  decltype(&mock_cudnn_note) note = nullptr;
  decltype(&mock_cudnn_fast) fast = nullptr;
  decltype(&mock_cudnn_wrong) wrong = nullptr;
  decltype(&mock_cudnn_before) before = nullptr;
  decltype(&mock_cudnn_live) live = nullptr;
  decltype(&mock_cudnn_calls) calls = nullptr;
  decltype(&mock_cudnn_graph) graph = nullptr;
  decltype(&mock_cudnn_ran) ran = nullptr;
};

TEST_F(CudnnConvolution, EveryDirectionLayoutAndType) {
  const std::map<std::string, std::string> operations = {
      {"forward", "convolution"}, {"data", "convolution-data"}, {"weights", "convolution-weights"}};
  for (const auto& shape : small_convolutions()) {
    for (const auto& [direction, operation] : operations) {
      for (const char* layout : {"nchw", "nhwc"}) {
        for (const char* precision : {"f32", "tf32", "bf16", "f16"}) {
          auto settings = shape;
          settings.insert(settings.end(), {{"n", "2"},
                                           {"direction", direction},
                                           {"layout", layout},
                                           {"precision", precision},
                                           {"find", "first"}});
          const auto notes = expect_conv(device, *stream, settings);
          EXPECT_EQ(notes.at("library"), "cuDNN 9.19.0");
          EXPECT_EQ(notes.at("choice"), "the library's first");
          EXPECT_EQ(graph(), operation);
        }
      }
    }
  }
  EXPECT_EQ(live(), 0);
}

/// Everything that the modes of the heuristics propose comes once.
TEST_F(CudnnConvolution, EveryEngineIsFoundOnce) {
  const auto all = algorithms(problem(), ConvolutionSearch::every);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(*all, ElementsAre("engine=30 k12=0", "engine=30 k12=1", "engine=31 k12=2",
                                "engine=31 k12=3"));
  refuse_plans(2);
  const auto left = algorithms(problem(), ConvolutionSearch::every);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_THAT(*left, ElementsAre("engine=31 k12=2", "engine=31 k12=3"));
  const auto first = algorithms(problem(), ConvolutionSearch::first);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(*first, ElementsAre("engine=31 k12=2"));
  EXPECT_EQ(live(), 0);
}

TEST_F(CudnnConvolution, TheFastestIsTakenAndRemembered) {
  const std::vector<AxisSetting> settings = {
      {"direction", "forward"}, {"n", "2"}, {"c", "8"}, {"k", "8"}, {"h", "4"},
      {"precision", "bf16"}};
  fast(2);
  const auto measured = expect_conv(device, *stream, settings);
  EXPECT_EQ(measured.at("algorithm"), "engine=31 k12=2");
  EXPECT_EQ(measured.at("algorithm_rank"), "2");
  EXPECT_EQ(measured.at("algorithms_measured"), "4");
  EXPECT_EQ(measured.at("choice"), "measured");
  EXPECT_EQ(measured.at("workspace_bytes"), "256");
  EXPECT_EQ(ran(), 2);
  fast(0);
  const auto remembered = expect_conv(device, *stream, settings);
  EXPECT_EQ(remembered.at("algorithm"), "engine=31 k12=2");
  EXPECT_EQ(remembered.at("choice"), "measured in an earlier run");
  refuse_plans(3);  // what was chosen once is not there any more
  const auto alone = expect_conv(device, *stream, settings);
  EXPECT_EQ(alone.at("algorithm"), "engine=31 k12=3");
}

/// An engine of cuDNN 9.14 for the gradient of weights is off like this, by far more than its sums
/// in f32 would.
TEST_F(CudnnConvolution, AWrongOneIsNotTaken) {
  constexpr int always = 1 << 30;
  const std::vector<AxisSetting> settings = {
      {"direction", "weights"}, {"n", "2"}, {"c", "8"}, {"k", "8"}, {"h", "4"},
      {"precision", "bf16"}};
  fast(1);
  wrong(1, always);
  const auto measured = expect_conv(device, *stream, settings);
  const std::string taken = measured.at("algorithm");
  EXPECT_NE(taken, "engine=30 k12=1");
  EXPECT_EQ(measured.at("wrong_algorithms"),
            "engine=30 k12=1: element 0 in memory was left unwritten or is no number");
  EXPECT_EQ(measured.at("algorithms_measured"), "4");
  const auto remembered = expect_conv(device, *stream, settings);
  EXPECT_EQ(remembered.at("algorithm"), taken);
  EXPECT_EQ(remembered.at("choice"), "measured in an earlier run");
  EXPECT_FALSE(remembered.contains("wrong_algorithms"));
  // What is remembered may be wrong now; it takes no part then.
  wrong(ran(), always);
  const auto another = expect_conv(device, *stream, settings);
  EXPECT_EQ(another.at("choice"), "measured");
  EXPECT_EQ(another.at("algorithms_measured"), "3");
  EXPECT_THAT(another.at("wrong_algorithms"),
              AllOf(StartsWith(taken), HasSubstr("engine=30 k12=1")));
  // Once wrong is not the algorithm's fault.
  wrong(ran(), 1);
  const auto once = run_conv(device, *stream, settings);
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error().kind, ErrorKind::verification);
  EXPECT_EQ(once.error().message,
            another.at("algorithm") +
                " was wrong once, and right after it: element 0 in memory was left unwritten or is "
                "no number");
  for (int i = 0; i < 4; ++i) wrong(i, always);
  const auto none = run_conv(device, *stream, settings);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->verification.passed);
}

/// f32 is not rounded to tf32 unless it is asked for, and nothing is summed in less than f32.
TEST_F(CudnnConvolution, EnginesThatRoundMoreAreLeftOut) {
  ConvolutionProblem p = problem();
  const auto count = [&](DataType type, int which) {
    note(2, which);
    p.type = type;
    const auto found = algorithms(p, ConvolutionSearch::every);
    return found ? found->size() : 0;
  };
  EXPECT_EQ(count(DataType::f32, cudnn::note::tensor_core), 2U);
  EXPECT_EQ(count(DataType::tf32, cudnn::note::tensor_core), 4U);
  EXPECT_EQ(count(DataType::bf16, cudnn::note::tensor_core), 4U);
  EXPECT_EQ(count(DataType::bf16, cudnn::note::reduces_narrowly), 2U);
  EXPECT_EQ(count(DataType::tf32, cudnn::note::down_converts), 2U);
  EXPECT_EQ(count(DataType::f32, cudnn::note::nondeterministic), 4U);
}

TEST_F(CudnnConvolution, WinogradMayBeLessExact) {
  for (const int which : {cudnn::note::winograd, cudnn::note::fft}) {
    note(1, which);
    const auto opened = open_convolution(device, "auto", problem());
    ASSERT_TRUE(opened) << opened.error().message;
    const auto plans = (*opened)->plans(*stream, {}, ConvolutionSearch::every);
    ASSERT_TRUE(plans) << plans.error().message;
    EXPECT_TRUE(plans->at(0)->transforms());
    EXPECT_FALSE(plans->at(1)->transforms());
  }
}

TEST_F(CudnnConvolution, NoEngineSaysWhy) {
  refuse_plans(9);
  const auto none = algorithms(problem(), ConvolutionSearch::every);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(none.error().message,
            "no plan for a convolution forward: cuDNN 9.19.0: finalizing a plan: "
            "CUDNN_STATUS_NOT_SUPPORTED (3000): no kernel");
  reset();
  note(9, cudnn::note::down_converts);
  EXPECT_EQ(algorithms(problem(), ConvolutionSearch::every).error().message,
            "no plan for a convolution forward: cuDNN 9.19.0 proposes no engine");
}

/// Every single call of opening and planning fails once.
TEST_F(CudnnConvolution, EveryFailureIsReportedAndNothingLeaks) {
  for (const char* const function :
       {"cudnnCreate", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendFinalize", "cudnnBackendGetAttribute"}) {
    reset();
    ASSERT_TRUE(algorithms(problem(), ConvolutionSearch::every));
    const int all = calls(function);
    ASSERT_GT(all, 0);
    int survived = 0;
    for (int after = 0; after < all; ++after) {
      reset();
      fail(function, after, 4000);
      const auto found = algorithms(problem(), ConvolutionSearch::every);
      if (found) {  // another configuration, or other heuristics, did it
        ++survived;
        continue;
      }
      EXPECT_THAT(found.error().message, HasSubstr("cuDNN 9.19.0: "));
      EXPECT_THAT(found.error().message, HasSubstr("(4000): as the test asked"));
    }
    EXPECT_EQ(live(), 0) << function;
    EXPECT_LT(survived, all) << function;
  }
}

TEST_F(CudnnConvolution, FailuresOfWorkAreReported) {
  for (const char* const function :
       {"cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendExecute"}) {
    restart();
    const ConvolutionProblem p = problem();
    const auto opened = open_convolution(device, "auto", p);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto plans = (*opened)->plans(*stream, {}, ConvolutionSearch::first);
    ASSERT_TRUE(plans) << plans.error().message;
    std::vector<std::uint16_t> x(8 * 36), w(64 * 9), y(8 * 16);
    char workspace[256];
    fail(function, 0, 5000);
    const Status done = plans->front()->enqueue(*stream, {x.data(), w.data(), y.data()}, workspace);
    ASSERT_FALSE(done) << function;
    EXPECT_THAT(done.error().message, HasSubstr("(5000): as the test asked"));
    EXPECT_TRUE(plans->front()->enqueue(*stream, {x.data(), w.data(), y.data()}, workspace));
  }
}

TEST_F(CudnnConvolution, AMissingLibrarySaysSo) {
  setenv("ASSAY_CUDNN_LIBRARY", "/nonexistent", 1);
  const auto none = open_convolution(device, "auto", problem());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(none.error().message, HasSubstr("ASSAY_CUDNN_LIBRARY is set"));
  setenv("ASSAY_CUDNN_LIBRARY", MOCK_CUDNN "/old", 1);
  EXPECT_THAT(open_convolution(device, "auto", problem()).error().message,
              HasSubstr("has no function cudnnSetStream: cuDNN 9 is needed"));
}

}  // namespace
}  // namespace assay
