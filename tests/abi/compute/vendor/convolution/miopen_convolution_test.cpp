// MIOpen on the virtual MI300X, through the conv benchmark and call by call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "abi/conv_machine.h"
#include "abi/host_gpu.h"
#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/convolution/miopen_library.h"
#include "core/read_file.h"
#include "core/shared_library.h"
#include "libraries/mock_miopen.h"
#include "support/temporary_folder.h"

#ifdef VIRTUAL_HIP
#include "abi/virtual_machine.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class MiopenConvolution : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ASSAY_MIOPEN_LIBRARY", MOCK_MIOPEN, 1);
    const auto library = SharedLibrary::open({"mock", {MOCK_MIOPEN "/libMIOpen.so.1"}, {""}, ""});
    ASSERT_TRUE(library) << library.error().message;
    library->bind(forget, {"mock_miopen_reset"});
    library->bind(fail, {"mock_miopen_fail"});
    library->bind(sequence, {"mock_miopen_sequence"});
    library->bind(calls, {"mock_miopen_calls"});
    library->bind(find_mode, {"mock_miopen_find_mode"});
    library->bind(refuse, {"mock_miopen_refuse"});
    library->bind(live, {"mock_miopen_live"});
    reset();
    backend_ = machine_.backend();
    auto opened = backend_->open(0);
    ASSERT_TRUE(opened) << opened.error().message;
    device = std::move(*opened);
    stream = std::move(device->create_stream()).value();
  }
  void TearDown() override {
    unsetenv("ASSAY_MIOPEN_LIBRARY");
    unsetenv("MIOPEN_USER_DB_PATH");
    unsetenv("MIOPEN_FIND_ENFORCE");
  }

  /// Loads MIOpen as a new process would find it, with these databases or without any.
  void reset(const std::filesystem::path& databases) {
    setenv("MIOPEN_USER_DB_PATH", databases.c_str(), 1);
    forget();
  }
  void reset() {
    databases_.emplace();
    reset(databases_->path());
  }

  /// 3 x 3 with stride 1, for which there is Winograd, of 8 channels.
  static ConvolutionProblem problem(ConvolutionDirection direction) {
    ConvolutionProblem p;
    p.direction = direction;
    p.type = DataType::bf16;
    p.c = p.k = 8;
    p.in = {6, 6, 0};
    p.filter = {3, 3, 0};
    p.channels_last = true;
    return p;
  }

  Buffer memory(std::int64_t elements) {
    Buffer buffer =
        std::move(device->allocate(static_cast<std::size_t>(2 * elements), MemoryKind::device))
            .value();
    EXPECT_TRUE(stream->fill(buffer.data(), 0, buffer.bytes()));
    EXPECT_TRUE(stream->synchronize());
    return buffer;
  }

  /// Opens, plans and runs the first plan; what MIOpen was called with meanwhile.
  Status run_first(ConvolutionDirection direction, ConvolutionSearch search) {
    const ConvolutionProblem p = problem(direction);
    const Buffer x = memory(p.x_elements()), w = memory(p.w_elements()), y = memory(p.y_elements());
    const ConvolutionOperands operands = {x.data(), w.data(), y.data()};
    const auto opened = TRY(open_convolution(*device, "auto", p));
    const auto plans = TRY(opened->plans(*stream, operands, search));
    Buffer workspace;
    if (plans.front()->workspace_bytes() > 0) {
      workspace = TRY(device->allocate(plans.front()->workspace_bytes(), MemoryKind::device));
    }
    TRY(plans.front()->enqueue(*stream, operands, workspace.data()));
    return stream->synchronize();
  }
  std::string sequence_of(ConvolutionDirection direction, ConvolutionSearch search) {
    reset();
    const Status ran = run_first(direction, search);
    return ran.ok() ? sequence() : ran.error().message;
  }

  VirtualMachine machine_{VIRTUAL_HIP + std::string("6")};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::optional<TemporaryFolder> databases_;
  decltype(&mock_miopen_reset) forget = nullptr;
  decltype(&mock_miopen_fail) fail = nullptr;
  decltype(&mock_miopen_sequence) sequence = nullptr;
  decltype(&mock_miopen_calls) calls = nullptr;
  decltype(&mock_miopen_find_mode) find_mode = nullptr;
  decltype(&mock_miopen_refuse) refuse = nullptr;
  decltype(&mock_miopen_live) live = nullptr;
};

TEST_F(MiopenConvolution, EveryDirectionLayoutAndType) {
  for (const auto& shape : small_convolutions()) {
    for (const char* direction : {"forward", "data", "weights"}) {
      for (const char* layout : {"nchw", "nhwc"}) {
        for (const char* precision : {"f32", "bf16", "f16"}) {
          auto settings = shape;
          settings.insert(settings.end(), {{"n", "2"},
                                           {"direction", direction},
                                           {"layout", layout},
                                           {"precision", precision},
                                           {"find", "first"}});
          const auto notes = expect_conv(*device, *stream, settings);
          EXPECT_EQ(notes.at("library"), "MIOpen 3.4.0");
          EXPECT_EQ(notes.at("algorithm"), "solver=91 GEMM");
          EXPECT_EQ(notes.at("workspace_bytes"), "4096");
        }
      }
    }
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(MiopenConvolution, EverySearchIsRight) {
  const std::vector<AxisSetting> shape = {{"c", "8"}, {"k", "8"}, {"h", "6"}, {"n", "2"}};
  const std::map<std::string, std::string> algorithms = {
      {"best", "solver=114 implicit GEMM"},  {"first", "solver=91 GEMM"},
      {"normal", "implicit GEMM"},           {"fast", "implicit GEMM"},
      {"hybrid", "implicit GEMM"},           {"dynamic", "implicit GEMM"},
      {"find2", "solver=114 implicit GEMM"}, {"exhaustive", "implicit GEMM"}};
  const std::map<std::string, int> modes = {
      {"normal", 1}, {"fast", 2}, {"hybrid", 3}, {"dynamic", 5}, {"exhaustive", 1}};
  for (const auto& [search, algorithm] : algorithms) {
    for (const char* direction : {"forward", "data", "weights"}) {
      auto settings = shape;
      settings.insert(settings.end(), {{"find", search}, {"direction", direction}});
      reset();
      const auto notes = expect_conv(*device, *stream, settings);
      // What is measured to be fastest may be another one on a busy machine.
      const bool is_measured = search == "best";
      EXPECT_TRUE(notes.at("algorithm") == algorithm ||
                  (is_measured && notes.at("algorithm").starts_with("solver=")))
          << search << " " << direction << ": " << notes.at("algorithm");
      EXPECT_EQ(find_mode(), modes.contains(search) ? modes.at(search) : 0) << search;
      EXPECT_EQ(notes.at("choice"), search == "best"    ? "measured"
                                    : search == "first" ? "the library's first"
                                                        : "found by the library");
      // Immediate mode's three and the fourth of Find 2.0; there is no Winograd for weights.
      const char* const all = direction == std::string("weights") ? "3" : "4";
      EXPECT_EQ(notes.at("algorithms_measured"), search == "best" ? all : "0");
    }
  }
  EXPECT_EQ(live(), 0);
}

/// The calls of each way, in order.
TEST_F(MiopenConvolution, Sequences) {
  using D = ConvolutionDirection;
  using S = ConvolutionSearch;
  EXPECT_EQ(sequence_of(D::forward, S::find_normal),
            "ConvolutionForwardGetWorkSpaceSize FindConvolutionForwardAlgorithm "
            "ConvolutionForward");
  EXPECT_EQ(sequence_of(D::data, S::find_fast),
            "ConvolutionBackwardDataGetWorkSpaceSize FindConvolutionBackwardDataAlgorithm "
            "ConvolutionBackwardData");
  EXPECT_EQ(sequence_of(D::weights, S::find_hybrid),
            "ConvolutionBackwardWeightsGetWorkSpaceSize FindConvolutionBackwardWeightsAlgorithm "
            "ConvolutionBackwardWeights");
  EXPECT_EQ(sequence_of(D::forward, S::first),
            "ConvolutionForwardGetSolutionCount ConvolutionForwardGetSolution "
            "ConvolutionForwardCompileSolution ConvolutionForwardImmediate");
  EXPECT_EQ(sequence_of(D::data, S::first),
            "ConvolutionBackwardDataGetSolutionCount ConvolutionBackwardDataGetSolution "
            "ConvolutionBackwardDataCompileSolution ConvolutionBackwardDataImmediate");
  EXPECT_EQ(sequence_of(D::weights, S::first),
            "ConvolutionBackwardWeightsGetSolutionCount ConvolutionBackwardWeightsGetSolution "
            "ConvolutionBackwardWeightsCompileSolution ConvolutionBackwardWeightsImmediate");
  EXPECT_EQ(sequence_of(D::data, S::find_2), "FindSolutions RunSolution");
  EXPECT_EQ(sequence_of(D::weights, S::every),
            "ConvolutionBackwardWeightsGetSolutionCount ConvolutionBackwardWeightsGetSolution "
            "ConvolutionBackwardWeightsCompileSolution ConvolutionBackwardWeightsCompileSolution "
            "FindSolutions ConvolutionBackwardWeightsImmediate");
  EXPECT_EQ(live(), 0);
}

/// The handle is made once, and follows the stream.
TEST_F(MiopenConvolution, OneHandleForAllStreams) {
  const ConvolutionProblem p = problem(ConvolutionDirection::forward);
  const Buffer x = memory(p.x_elements()), w = memory(p.w_elements()), y = memory(p.y_elements());
  const ConvolutionOperands operands = {x.data(), w.data(), y.data()};
  const auto opened = open_convolution(*device, "miopen", p);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto plans = (*opened)->plans(*stream, operands, ConvolutionSearch::find_2);
  ASSERT_TRUE(plans) << plans.error().message;
  const auto other = std::move(device->create_stream()).value();
  for (Stream* on : {stream.get(), stream.get(), other.get(), other.get(), stream.get()}) {
    ASSERT_TRUE((*plans)[0]->enqueue(*on, operands, nullptr));
    ASSERT_TRUE(on->synchronize());
  }
  EXPECT_EQ(calls("miopenCreateWithStream"), 1);
  EXPECT_EQ(calls("miopenSetStream"), 2);
}

/// What a search finds stays in the user databases, where every later process finds it first.
TEST_F(MiopenConvolution, ASearchFillsTheUserDatabases) {
  const std::vector<AxisSetting> shape = {{"c", "8"}, {"k", "8"}, {"h", "6"}, {"n", "2"}};
  const auto run = [&](const char* search, const char* direction) {
    auto settings = shape;
    settings.insert(settings.end(), {{"find", search}, {"direction", direction}});
    return expect_conv(*device, *stream, settings).at("algorithm");
  };
  const TemporaryFolder folder;
  const auto text = [&](const char* file) { return read_file(folder.path() / file).value_or(""); };
  const char* const find_file = "gfx942130.HIP.3_4_0_f3a7c1d.ufdb.txt";
  const char* const performance_file = "gfx942130.HIP.3_4_0_f3a7c1d.udb.txt";
  for (const char* direction : {"forward", "data", "weights"}) {
    reset(folder.path());
    EXPECT_EQ(run("first", direction), "solver=91 GEMM");
    EXPECT_EQ(run("exhaustive", direction), "implicit GEMM");
    reset(folder.path());
    EXPECT_EQ(run("first", direction), "solver=114 implicit GEMM");
    EXPECT_EQ(run("dynamic", direction), "implicit GEMM");
  }
  EXPECT_THAT(text(find_file), HasSubstr("8-6-6-3x3-8-6-6-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F="));
  EXPECT_THAT(text(find_file), HasSubstr("FP32-B="));
  EXPECT_THAT(text(find_file), HasSubstr("FP32-W="));
  EXPECT_THAT(text(find_file), HasSubstr(";GemmFwdRest:"));
  EXPECT_THAT(text(performance_file),
              HasSubstr("2x8x6x6x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNHWCxFP32xF="));

  // Without the exhaustive search, parameters stay as they are.
  reset();
  EXPECT_EQ(run("normal", "forward"), "implicit GEMM");
  EXPECT_TRUE(std::filesystem::exists(databases_->path() / find_file));
  EXPECT_FALSE(std::filesystem::exists(databases_->path() / performance_file));
}

TEST_F(MiopenConvolution, WinogradMayBeLessExact) {
  const ConvolutionProblem p = problem(ConvolutionDirection::forward);
  const Buffer x = memory(p.x_elements()), w = memory(p.w_elements()), y = memory(p.y_elements());
  const auto opened = open_convolution(*device, "auto", p);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto plans =
      (*opened)->plans(*stream, {x.data(), w.data(), y.data()}, ConvolutionSearch::every);
  ASSERT_TRUE(plans) << plans.error().message;
  std::vector<std::string> transforming;
  for (const auto& plan : *plans) {
    if (plan->transforms()) transforming.push_back(plan->algorithm());
  }
  EXPECT_THAT(transforming, ElementsAre("solver=37 Winograd"));
}

/// Every call of every way fails once, and says which it was and with what.
TEST_F(MiopenConvolution, EveryFailureIsReportedAndNothingLeaks) {
  using S = ConvolutionSearch;
  const std::vector<std::string> objects = {
      "miopenCreateTensorDescriptor",      "miopenSetTensorDescriptor",
      "miopenCreateConvolutionDescriptor", "miopenInitConvolutionNdDescriptor",
      "miopenSetConvolutionGroupCount",    "miopenCreateWithStream"};
  const std::map<S, std::vector<std::string>> of_search = {
      {S::find_normal,
       {"miopenSetConvolutionFindMode", "miopenConvolutionForwardGetWorkSpaceSize",
        "miopenFindConvolutionForwardAlgorithm", "miopenConvolutionForward"}},
      {S::find_exhaustive,
       {"miopenSetConvolutionFindMode", "miopenConvolutionForwardGetWorkSpaceSize",
        "miopenFindConvolutionForwardAlgorithm", "miopenConvolutionForward"}},
      {S::first,
       {"miopenConvolutionForwardGetSolutionCount", "miopenConvolutionForwardGetSolution",
        "miopenConvolutionForwardCompileSolution", "miopenConvolutionForwardImmediate"}},
      {S::find_2,
       {"miopenCreateConvProblem", "miopenSetProblemTensorDescriptor", "miopenCreateFindOptions",
        "miopenSetFindOptionPreallocatedTensor", "miopenFindSolutions",
        "miopenGetSolutionWorkspaceSize", "miopenGetSolutionSolverId",
        "miopenGetSolverIdConvAlgorithm", "miopenRunSolution"}}};
  for (const auto& [search, own] : of_search) {
    std::vector<std::string> functions = objects;
    functions.insert(functions.end(), own.begin(), own.end());
    for (const std::string& function : functions) {
      reset();
      ASSERT_TRUE(run_first(ConvolutionDirection::forward, search));
      const int all = calls(function.c_str());
      ASSERT_GT(all, 0) << function;
      for (int after = 0; after < all; ++after) {
        reset();
        fail(function.c_str(), after, 5);
        const Status ran = run_first(ConvolutionDirection::forward, search);
        ASSERT_FALSE(ran) << function;
        EXPECT_EQ(ran.error().message, "MIOpen 3.4.0: " + function +
                                           ": miopenStatusInternalError (5): as the test asked");
      }
      EXPECT_EQ(live(), 0) << function;
    }
  }
}

TEST_F(MiopenConvolution, EveryStatusHasItsNameAndKind) {
  const auto library = miopen::Library::load();
  ASSERT_TRUE(library) << library.error().message;
  const std::map<int, std::pair<std::string, ErrorKind>> statuses = {
      {1, {"miopenStatusNotInitialized", ErrorKind::failed}},
      {2, {"miopenStatusInvalidValue", ErrorKind::failed}},
      {3, {"miopenStatusBadParm", ErrorKind::failed}},
      {4, {"miopenStatusAllocFailed", ErrorKind::exhausted}},
      {5, {"miopenStatusInternalError", ErrorKind::failed}},
      {6, {"miopenStatusNotImplemented", ErrorKind::unsupported}},
      {7, {"miopenStatusUnknownError", ErrorKind::failed}},
      {8, {"miopenStatusUnsupportedOp", ErrorKind::unsupported}},
      {9, {"miopenStatusGpuOperationsSkipped", ErrorKind::failed}},
      {10, {"miopenStatusVersionMismatch", ErrorKind::failed}},
      {99, {"unknown status", ErrorKind::failed}}};
  for (const auto& [status, expected] : statuses) {
    const Status checked = (*library)->check("miopenX", status);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, expected.second) << status;
    EXPECT_THAT(checked.error().message, StartsWith("MIOpen 3.4.0: miopenX: " + expected.first +
                                                    " (" + std::to_string(status) + ")"));
  }
  EXPECT_THAT((*library)->check("miopenX", 3).error().message, EndsWith("(3)"));
  EXPECT_TRUE((*library)->check("miopenX", 0));
}

/// One solver that cannot be compiled is left out; so is Find 2.0 where it is not implemented.
TEST_F(MiopenConvolution, WhatFailsAmongManyIsLeftOut) {
  const std::vector<AxisSetting> settings = {
      {"c", "8"}, {"k", "8"}, {"h", "6"}, {"n", "2"}, {"direction", "forward"}};
  fail("miopenConvolutionForwardCompileSolution", 2, 7);
  const auto without = expect_conv(*device, *stream, settings);
  EXPECT_EQ(without.at("algorithms_measured"), "4");  // Find 2.0 knows it too
  reset();
  fail("miopenFindSolutions", 0, 6);
  EXPECT_EQ(expect_conv(*device, *stream, settings).at("algorithms_measured"), "3");
  fail("miopenFindSolutions", 0, 5);
  EXPECT_THAT(run_conv(*device, *stream, settings).error().message,
              HasSubstr("miopenFindSolutions: miopenStatusInternalError"));
}

TEST_F(MiopenConvolution, WhatItCannotDoIsSaid) {
  for (const char* search : {"best", "first", "find2"}) {
    reset();
    refuse();
    const auto none = run_conv(*device, *stream,
                               {{"find", search}, {"direction", "data"}, {"c", "8"}, {"h", "6"}});
    ASSERT_FALSE(none) << search;
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(none.error().message, HasSubstr("MIOpen 3.4.0 has no solution for data "));
  }
  reset();
  EXPECT_EQ(run_conv(*device, *stream, {{"precision", "tf32"}}).error().message,
            "MIOpen convolves f32, f16 and bf16 here, not tf32");
}

/// Libraries are loaded once per process, so these are processes of their own.
TEST_F(MiopenConvolution, AnOldLibraryHasNoFind2) {
  setenv("ASSAY_MIOPEN_LIBRARY", MOCK_MIOPEN "/old", 1);
  const auto opened = open_convolution(*device, "auto", problem(ConvolutionDirection::forward));
  if (!opened || (*opened)->path().find("/old/") == std::string::npos) {
    GTEST_SKIP() << "another MIOpen is already loaded in this process";
  }
  const auto without = (*opened)->plans(*stream, {}, ConvolutionSearch::every);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->size(), 3U);
  EXPECT_THAT((*opened)->plans(*stream, {}, ConvolutionSearch::find_2).error().message,
              EndsWith("of MIOpen 3.4.0 has no Find 2.0"));
}
TEST_F(MiopenConvolution, AMissingLibrarySaysSo) {
  setenv("ASSAY_MIOPEN_LIBRARY", "/nonexistent", 1);
  const auto none = open_convolution(*device, "auto", problem(ConvolutionDirection::forward));
  if (none.ok()) GTEST_SKIP() << "MIOpen is already loaded in this process";
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(none.error().message, HasSubstr("ASSAY_MIOPEN_LIBRARY is set"));
}

}  // namespace
}  // namespace assay
#endif
