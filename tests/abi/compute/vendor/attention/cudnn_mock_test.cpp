// Attention by cuDNN on a mock that computes the graphs it is given on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "abi/host_gpu.h"
#include "abi/mock_cudnn/mock_cudnn.h"
#include "compute/kernels/element_types.h"
#include "compute/vendor/attention/fused_attention.h"
#include "compute/vendor/libraries/cudnn_api.h"
#include "core/random.h"
#include "core/shared_library.h"
#include "measure/benchmarks/train/train_cell.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr const char* variable = "ASSAY_CUDNN_LIBRARY";

float number_of(DataType type, std::uint16_t code) {
  return type == DataType::f16 ? F16{code}.decode() : Bf16{code}.decode();
}
std::uint16_t code_of(DataType type, double value) {
  const auto number = static_cast<float>(value);
  return type == DataType::f16 ? F16::encode(number).bits : Bf16::encode(number).bits;
}

/// Attention with its gradients in double precision, from and to the layout of training.
struct Reference {
  explicit Reference(const FusedAttentionProblem& p)
      : problem(p), d(static_cast<std::size_t>(p.head_width)) {
    const auto tokens = static_cast<std::size_t>(p.batch * p.sequence);
    const auto width = static_cast<std::size_t>(p.heads) * d;
    const auto packed_heads = static_cast<std::size_t>(p.heads + 2 * p.heads_of_keys());
    Random random(7);
    for (std::size_t i = 0; i < tokens * packed_heads * d; ++i) {
      qkv.push_back(code_of(random.normal()));
    }
    for (std::size_t i = 0; i < tokens * width; ++i) dy.push_back(code_of(random.normal()));
    y.resize(tokens * width);
    d_qkv.resize(tokens * packed_heads * d);
    log_sum.resize(tokens * static_cast<std::size_t>(p.heads));
    for (std::int64_t b = 0; b < p.batch; ++b) {
      for (std::int64_t h = 0; h < p.heads; ++h) head(b, h);
    }
  }

  float number(std::uint16_t code) const { return number_of(problem.precision, code); }
  std::uint16_t code_of(double value) const { return assay::code_of(problem.precision, value); }

  /// Where the query (part 0), the key (1) or the value (2) of a query head begins.
  std::size_t packed(std::int64_t b, std::int64_t t, std::int64_t part, std::int64_t h) const {
    const std::int64_t of_keys = problem.heads_of_keys(), all = problem.heads + 2 * of_keys;
    const std::int64_t at =
        part == 0 ? h : problem.heads + (part - 1) * of_keys + h / (problem.heads / of_keys);
    return static_cast<std::size_t>((b * problem.sequence + t) * all + at) * d;
  }
  std::size_t plain(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>((b * problem.sequence + t) * problem.heads + h) * d;
  }

  void head(std::int64_t b, std::int64_t h) {
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    const auto dot = [&](const std::vector<std::uint16_t>& left, std::size_t i,
                         const std::vector<std::uint16_t>& right, std::size_t j) {
      double sum = 0;
      for (std::size_t k = 0; k < d; ++k) sum += number(left[i + k]) * number(right[j + k]);
      return sum;
    };
    for (std::int64_t t = 0; t < problem.sequence; ++t) {
      const std::size_t q = packed(b, t, 0, h), out = plain(b, t, h);
      std::vector<double> p, dp;
      double sum = 0, mean = 0;
      for (std::int64_t s = 0; s <= t; ++s) {
        p.push_back(std::exp(scale * dot(qkv, q, qkv, packed(b, s, 1, h))));
        dp.push_back(dot(dy, out, qkv, packed(b, s, 2, h)));
        sum += p.back();
      }
      log_sum[static_cast<std::size_t>((b * problem.heads + h) * problem.sequence + t)] =
          std::log(sum);
      for (std::size_t s = 0; s < p.size(); ++s) mean += (p[s] /= sum) * dp[s];
      for (std::size_t s = 0; s < p.size(); ++s) {
        const std::size_t k = packed(b, std::int64_t(s), 1, h),
                          v = packed(b, std::int64_t(s), 2, h);
        const double ds = scale * p[s] * (dp[s] - mean);
        for (std::size_t i = 0; i < d; ++i) {
          y[out + i] += p[s] * number(qkv[v + i]);
          d_qkv[q + i] += ds * number(qkv[k + i]);
          d_qkv[k + i] += ds * number(qkv[q + i]);
          d_qkv[v + i] += p[s] * number(dy[out + i]);
        }
      }
    }
  }

  FusedAttentionProblem problem;
  std::size_t d;
  std::vector<std::uint16_t> qkv, dy;
  std::vector<double> y, d_qkv, log_sum;
};

double distance(DataType type, const std::vector<std::uint16_t>& ours,
                const std::vector<double>& theirs) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    difference += std::pow(number_of(type, ours[i]) - theirs[i], 2);
    size += theirs[i] * theirs[i];
  }
  return std::sqrt(difference / size);
}

class CudnnMock : public testing::Test {
 protected:
  void SetUp() override {
    setenv(variable, MOCK_CUDNN, 1);
    const auto library = SharedLibrary::open({"mock", {MOCK_CUDNN "/libcudnn.so.9"}, {""}, ""});
    ASSERT_TRUE(library) << library.error().message;
    library->bind(reset, {"mock_cudnn_reset"});
    library->bind(set_version, {"mock_cudnn_set_version"});
    library->bind(fail, {"mock_cudnn_fail"});
    library->bind(refuse_plans, {"mock_cudnn_refuse_plans"});
    library->bind(refuse_graphs, {"mock_cudnn_refuse_graphs"});
    library->bind(note, {"mock_cudnn_note"});
    library->bind(before, {"mock_cudnn_before"});
    library->bind(live, {"mock_cudnn_live"});
    library->bind(calls, {"mock_cudnn_calls"});
    library->bind(graph, {"mock_cudnn_graph"});
    library->bind(ran, {"mock_cudnn_ran"});
    reset();
    stream = std::move(device.create_stream(StreamPriority::normal)).value();
  }
  void TearDown() override { unsetenv(variable); }

  /// The mock works at once, not in a stream of the host; so it waits for what was queued before.
  void work_in_order() {
    before([](void* context) { EXPECT_TRUE(static_cast<Stream*>(context)->synchronize()); },
           stream.get());
  }

  /// Forward and twice backward, against the reference.
  void expect_right(FusedAttention& attention, const FusedAttentionProblem& of) {
    work_in_order();
    const Reference right(of);
    std::vector<std::uint16_t> y(right.y.size()), d_qkv(right.d_qkv.size());
    std::vector<float> log_sum(right.log_sum.size());
    const Status forward = attention.forward(*stream, y.data(), right.qkv.data(), log_sum.data());
    ASSERT_TRUE(forward) << forward.error().message;
    const bool finer = of.precision == DataType::f16;
    EXPECT_LT(distance(of.precision, y, right.y), finer ? 0.001 : 0.01);
    for (std::size_t i = 0; i < log_sum.size(); ++i) {
      EXPECT_NEAR(log_sum[i], right.log_sum[i], 1e-4);
    }
    for (int i = 0; i < 2; ++i) {
      const Status backward = attention.backward(*stream, d_qkv.data(), right.dy.data(), y.data(),
                                                 right.qkv.data(), log_sum.data());
      ASSERT_TRUE(backward) << backward.error().message;
      EXPECT_LT(distance(of.precision, d_qkv, right.d_qkv), finer ? 0.002 : 0.015);
    }
  }

  FusedAttentionProblem problem{.batch = 2, .sequence = 24, .heads = 3, .head_width = 16};
  HostGpu device{"cuda", "sm_90"};
  std::unique_ptr<Stream> stream;
  decltype(&mock_cudnn_reset) reset = nullptr;
  decltype(&mock_cudnn_set_version) set_version = nullptr;
  decltype(&mock_cudnn_fail) fail = nullptr;
  decltype(&mock_cudnn_refuse_plans) refuse_plans = nullptr;
  decltype(&mock_cudnn_refuse_graphs) refuse_graphs = nullptr;
  decltype(&mock_cudnn_note) note = nullptr;
  decltype(&mock_cudnn_before) before = nullptr;
  decltype(&mock_cudnn_live) live = nullptr;
  decltype(&mock_cudnn_calls) calls = nullptr;
  decltype(&mock_cudnn_graph) graph = nullptr;
  decltype(&mock_cudnn_ran) ran = nullptr;
};

constexpr const char* backward_up_to_queries =
    "mul sum mul matmul mul sub index index ge select exp reshape matmul matmul sub mul mul "
    "reshape matmul reshape matmul";

TEST_F(CudnnMock, InOrderItIsRightAndDeterministic) {
  {
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_EQ((*attention)->library(), "cuDNN 9.19.0");
    EXPECT_TRUE((*attention)->deterministic());
    EXPECT_STREQ(graph(), backward_up_to_queries);
    // One sum for each row, and the plan's workspace.
    EXPECT_EQ((*attention)->allocated_bytes(), 2u * 3 * 24 * 4 + 256);
    expect_right(**attention, problem);
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(CudnnMock, InAnyOrderItIsRight) {
  problem.same_bits = false;
  {
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_FALSE((*attention)->deterministic());
    EXPECT_EQ(graph(), std::string(backward_up_to_queries) + " identity");
    EXPECT_EQ((*attention)->allocated_bytes(), fused_attention_bytes(problem) + 256);
    expect_right(**attention, problem);
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(CudnnMock, HeadsThatShareKeysAddTheirGradients) {
  problem.heads = 6;
  problem.kv_heads = 2;
  for (const bool same_bits : {true, false}) {
    problem.same_bits = same_bits;
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_EQ((*attention)->deterministic(), same_bits);
    EXPECT_EQ(graph(),
              "mul sum mul matmul mul sub index index ge select exp reshape matmul sum "
              "matmul sub mul mul reshape matmul sum reshape matmul" +
                  std::string(same_bits ? "" : " identity"));
    expect_right(**attention, problem);
  }
}

TEST_F(CudnnMock, F16IsRightToo) {
  problem.precision = DataType::f16;
  for (const bool same_bits : {true, false}) {
    problem.same_bits = same_bits;
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_EQ((*attention)->deterministic(), same_bits);
    expect_right(**attention, problem);
  }
}

TEST_F(CudnnMock, ForwardIsTheKnownPattern) {
  refuse_plans(9);  // so that backward does not follow
  EXPECT_FALSE(open_fused_attention(device, problem));
  EXPECT_STREQ(graph(), "matmul mul index index ge select max sub exp sum log add div matmul");
}

/// Kernels before 9.6 add to what lies there.
TEST_F(CudnnMock, OldVersionsGetAnAccumulatorOfZeros) {
  set_version(90501);
  problem.same_bits = false;
  problem.sequence = 128;
  auto attention = open_fused_attention(device, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  expect_right(**attention, problem);
}

TEST_F(CudnnMock, RefusedInOrderItIsDoneInAnyOrder) {
  refuse_graphs(21);
  auto attention = open_fused_attention(device, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  EXPECT_FALSE((*attention)->deterministic());
  expect_right(**attention, problem);
}

TEST_F(CudnnMock, BlackwellHasNoKnownOrder) {
  HostGpu blackwell("cuda", "sm_100");
  auto attention = open_fused_attention(blackwell, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  EXPECT_FALSE((*attention)->deterministic());
}

TEST_F(CudnnMock, TheFirstConfigurationThatLoadsIsTaken) {
  work_in_order();
  for (const int refused : {0, 2, 3}) {  // the last is that of the other heuristics
    reset();
    refuse_plans(refused);
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    expect_right(**attention, problem);
    EXPECT_EQ(ran(), refused);
  }
  refuse_plans(9);
  const auto none = open_fused_attention(device, problem);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(none.error().message,
            "no plan for attention forward: cuDNN 9.19.0: finalizing a plan: "
            "CUDNN_STATUS_NOT_SUPPORTED (3000): no kernel");
}

TEST_F(CudnnMock, EnginesNotedAsNondeterministicComeLast) {
  note(2, cudnn::note::nondeterministic);
  {
    auto attention = open_fused_attention(device, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_TRUE((*attention)->deterministic());
    expect_right(**attention, problem);
    EXPECT_EQ(ran(), 2);
  }
  note(9, cudnn::note::nondeterministic);
  auto attention = open_fused_attention(device, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  EXPECT_FALSE((*attention)->deterministic());
  expect_right(**attention, problem);
  EXPECT_EQ(ran(), 0);
}

/// Repeating a step makes nothing new, which a capture would not survive.
TEST_F(CudnnMock, OperandsAreBoundOnce) {
  auto attention = open_fused_attention(device, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  const Reference right(problem);
  std::vector<std::uint16_t> y(right.y.size());
  std::vector<float> log_sum(right.log_sum.size());
  const auto forward = [&] {
    EXPECT_TRUE((*attention)->forward(*stream, y.data(), right.qkv.data(), log_sum.data()));
  };
  forward();
  const int made = calls("cudnnBackendCreateDescriptor");
  forward();
  EXPECT_EQ(calls("cudnnBackendCreateDescriptor"), made);
  EXPECT_EQ(calls("cudnnSetStream"), 1);
  EXPECT_EQ(calls("cudnnBackendExecute"), 2);
  std::vector<std::uint16_t> elsewhere(y.size());
  std::swap(y, elsewhere);
  forward();
  EXPECT_EQ(y, elsewhere);
  EXPECT_GT(calls("cudnnBackendCreateDescriptor"), made);
}

/// Every single call of opening fails once. Where the way in order fails, there is the other.
TEST_F(CudnnMock, EveryFailureIsReportedAndNothingLeaks) {
  problem.same_bits = false;
  for (const char* const function :
       {"cudnnCreate", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendFinalize", "cudnnBackendGetAttribute"}) {
    reset();
    ASSERT_TRUE(open_fused_attention(device, problem));
    const int all = calls(function);
    ASSERT_GT(all, 0);
    int survived = 0;
    for (int after = 0; after < all; ++after) {
      reset();
      fail(function, after, 4000);
      const auto attention = open_fused_attention(device, problem);
      if (attention) {  // another configuration, or other heuristics, did it
        ++survived;
        continue;
      }
      EXPECT_THAT(attention.error().message, HasSubstr("cuDNN 9.19.0: "));
      EXPECT_THAT(attention.error().message, HasSubstr("(4000): as the test asked"));
      EXPECT_EQ(attention.error().message.find('\n'), std::string::npos);
    }
    EXPECT_EQ(live(), 0) << function;
    EXPECT_LT(survived, all);
  }
}

TEST_F(CudnnMock, FailuresOfWorkAreReported) {
  auto attention = open_fused_attention(device, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  const Reference right(problem);
  std::vector<std::uint16_t> y(right.y.size());
  std::vector<float> log_sum(right.log_sum.size());
  for (const char* const function :
       {"cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendFinalize", "cudnnBackendExecute"}) {
    fail(function, 0, 5000);
    const Status done = (*attention)->forward(*stream, y.data(), right.qkv.data(), log_sum.data());
    ASSERT_FALSE(done) << function;
    EXPECT_THAT(done.error().message, HasSubstr("(5000): as the test asked"));
  }
  EXPECT_TRUE((*attention)->forward(*stream, y.data(), right.qkv.data(), log_sum.data()));
}

/// On a GPU the first way that it can, and has the memory for.
TEST_F(CudnnMock, AutoTakesTheLibraryIfItCan) {
  DeviceFacts facts = device.facts();
  facts.emulated = false;
  facts.memory_bytes = std::uint64_t{80} << 30;
  const auto decided = [&](const std::vector<AxisSetting>& settings) {
    const auto cells = expand_cells("train", train_axes(), settings);
    EXPECT_TRUE(cells) << cells.error().message;
    return std::string(decide_train_cell(cells->front(), facts).text("attention"));
  };
  EXPECT_EQ(decided({}), "library");
  EXPECT_EQ(decided({{"attention", "library-unordered"}}), "library-unordered");
  EXPECT_EQ(decided({{"precision", "f32"}}), "plain");
  EXPECT_EQ(decided({{"precision", "f16"}}), "library");
  EXPECT_EQ(decided({{"batch", "8"}, {"sequence", "32768"}, {"recompute", "layer"}}),
            "own");  // 206 GB of scores
  setenv(variable, "/nonexistent", 1);
  EXPECT_EQ(decided({}), "own");
}

TEST_F(CudnnMock, WhatItCannotComputeIsSaid) {
  const auto reason = [&](const FusedAttentionProblem& of, const DeviceFacts& facts) {
    return fused_attention_unsupported(of, facts).value_or("");
  };
  EXPECT_EQ(reason(problem, device.facts()), "");
  FusedAttentionProblem other = problem;
  other.precision = DataType::f32;
  EXPECT_THAT(reason(other, device.facts()), HasSubstr("in bf16 and f16 here, not in f32"));
  other = problem;
  other.head_width = 136;
  EXPECT_THAT(reason(other, device.facts()), HasSubstr("not 136 wide"));
  other = problem;
  other.sequence = 1;
  EXPECT_THAT(reason(other, device.facts()), HasSubstr("two tokens"));
  EXPECT_THAT(reason(problem, HostGpu("cuda", "sm_75").facts()), HasSubstr("not sm_75"));
  EXPECT_EQ(reason(problem, HostGpu("fake", "fake").facts()),
            "no library for attention is known for fake devices");
  set_version(91001);
  EXPECT_EQ(reason(problem, device.facts()), "cuDNN 9.10.1 has bugs in attention: 9.10.2 has not");
  set_version(91500);
  EXPECT_THAT(reason(problem, device.facts()), HasSubstr("multiples of 128, not 24"));
  other = problem;
  other.sequence = 256;
  EXPECT_EQ(reason(other, device.facts()), "");
}

TEST_F(CudnnMock, WhatLacksMemoryIsNoFaultOfTheDevice) {
  for (const auto& [status, kind] : {std::pair(4000, ErrorKind::failed),
                                     {4003, ErrorKind::exhausted},
                                     {4004, ErrorKind::exhausted}}) {
    fail("cudnnCreate", 0, status);
    EXPECT_EQ(open_fused_attention(device, problem).error().kind, kind) << status;
  }
}

TEST_F(CudnnMock, AMissingLibraryOrFunctionSaysSo) {
  setenv(variable, "/nonexistent", 1);
  EXPECT_THAT(fused_attention_unsupported(problem, device.facts()).value_or(""),
              HasSubstr("ASSAY_CUDNN_LIBRARY is set"));
  setenv(variable, MOCK_CUDNN "/old", 1);
  EXPECT_THAT(fused_attention_unsupported(problem, device.facts()).value_or(""),
              HasSubstr("has no function cudnnSetStream: cuDNN 9 is needed"));
  const auto kind_of = [&](const FusedAttentionProblem& of) {
    const auto none = open_fused_attention(device, of);
    return none.ok() ? ErrorKind::usage : none.error().kind;
  };
  EXPECT_EQ(kind_of(problem), ErrorKind::unavailable);
  FusedAttentionProblem wide = problem;
  wide.head_width = 136;
  EXPECT_EQ(kind_of(wide), ErrorKind::unsupported);
  setenv(variable, MOCK_CUDNN, 1);
  set_version(91001);
  EXPECT_EQ(kind_of(problem), ErrorKind::unsupported) << "it is installed";
}

}  // namespace
}  // namespace assay
