// Attention by AITER's code objects on virtual MI300Xs. Stand-ins with the symbols, slots and grids
// of AITER's own kernels, compiled from a simple text, compute it; objects that take other
// arguments are refused. With ASSAY_AITER_CODE, AITER's folder hsa, its own objects are executed as
// well.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "abi/aiter_stand_ins.h"
#include "abi/virtual_machine.h"
#include "compute/device/helpers.h"
#include "compute/kernels/element_types.h"
#include "compute/vendor/attention/aiter_kernels.h"
#include "compute/vendor/attention/fused_attention.h"
#include "core/random.h"
#include "core/write_file.h"
#include "measure/benchmarks/train/train_cell.h"
#include "support/code_samples.h"
#include "support/temporary_folder.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

using testing::HasSubstr;

/// Attention of one head of 128 after the other in double precision.
struct Attention {
  explicit Attention(const FusedAttentionProblem& p)
      : heads(std::size_t(p.heads)), tokens(std::size_t(p.sequence)) {
    const auto rows = std::size_t(p.batch) * tokens;
    Random random(7);
    for (std::size_t i = 0; i < 3 * rows * heads * d; ++i) qkv.push_back(some(random));
    for (std::size_t i = 0; i < rows * heads * d; ++i) dy.push_back(some(random));
    y.resize(dy.size());
    d_qkv.resize(qkv.size());
    for (std::size_t b = 0; b < std::size_t(p.batch); ++b) {
      for (std::size_t h = 0; h < heads; ++h) head(b * tokens, h);
    }
  }

  static std::uint16_t some(Random& random) {
    return Bf16::encode(static_cast<float>(random.normal())).bits;
  }
  static double number(std::uint16_t code) { return Bf16{code}.decode(); }

  void head(std::size_t first, std::size_t h) {
    const auto packed = [&](std::size_t t, std::size_t part) {
      return (((first + t) * 3 + part) * heads + h) * d;
    };
    const double scale = 1 / std::sqrt(double(d));
    for (std::size_t t = 0; t < tokens; ++t) {
      const std::size_t q = packed(t, 0), out = ((first + t) * heads + h) * d;
      std::vector<double> p(t + 1), dp(t + 1);
      double sum = 0, mean = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        const std::size_t k = packed(s, 1), v = packed(s, 2);
        for (std::size_t i = 0; i < d; ++i) {
          p[s] += scale * number(qkv[q + i]) * number(qkv[k + i]);
          dp[s] += number(dy[out + i]) * number(qkv[v + i]);
        }
        p[s] = std::exp(p[s]);
        sum += p[s];
      }
      for (std::size_t s = 0; s <= t; ++s) mean += (p[s] /= sum) * dp[s];
      for (std::size_t s = 0; s <= t; ++s) {
        const std::size_t k = packed(s, 1), v = packed(s, 2);
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

  static constexpr std::size_t d = 128;
  std::size_t heads, tokens;
  std::vector<std::uint16_t> qkv, dy;
  std::vector<double> y, d_qkv;
};

double distance(const std::vector<std::uint16_t>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(Attention::number(found[i]) - expected[i], 2);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

class AiterVirtual : public testing::Test {
 protected:
  void SetUp() override {
    machine_.set("MI300X_UNITS", "4");
    backend_ = machine_.backend();
    device_ = std::move(backend_->open(0)).value();
    stream_ = std::move(device_->create_stream()).value();
  }
  void TearDown() override {
    unsetenv("AITER_ASM_DIR");
    unsetenv("MI300X_UNITS");
    stream_.reset();
    device_.reset();
    EXPECT_EQ(machine_.live_objects(), 0) << "something was not released";
  }

  Buffer upload(const std::vector<std::uint16_t>& values) {
    Buffer buffer = std::move(device_->allocate(2 * values.size(), MemoryKind::device)).value();
    EXPECT_TRUE(stream_->copy(buffer.data(), values.data(), buffer.bytes()));
    EXPECT_TRUE(stream_->synchronize());
    return buffer;
  }

  /// Runs forward once, and then backward the given number of times.
  void expect_right(const FusedAttentionProblem& problem, int times_backward = 2) {
    auto attention = open_fused_attention(*device_, problem);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_THAT((*attention)->library(), HasSubstr("AITER, code "));
    EXPECT_FALSE((*attention)->deterministic());
    EXPECT_EQ((*attention)->allocated_bytes(), fused_attention_bytes(problem));
    const Attention right(problem);
    const Buffer qkv = upload(right.qkv), dy = upload(right.dy);
    const Buffer y = upload(std::vector<std::uint16_t>(right.dy.size(), 0x7FFF));
    const Buffer d_qkv = upload(std::vector<std::uint16_t>(right.qkv.size(), 0x7FFF));
    const Buffer sums = upload(std::vector<std::uint16_t>(right.dy.size() / 64, 0));
    const Status forward = (*attention)->forward(*stream_, y.data(), qkv.data(), sums.data());
    ASSERT_TRUE(forward) << forward.error().message;
    const auto found = read_back<std::uint16_t>(*stream_, y.data(), right.y.size());
    ASSERT_TRUE(found) << found.error().message << ": " << machine_.last_fault();
    EXPECT_LT(distance(*found, right.y), 0.01) << problem.sequence;
    for (int i = 0; i < times_backward; ++i) {
      const Status backward =
          (*attention)
              ->backward(*stream_, d_qkv.data(), dy.data(), y.data(), qkv.data(), sums.data());
      ASSERT_TRUE(backward) << backward.error().message;
      const auto gradients = read_back<std::uint16_t>(*stream_, d_qkv.data(), right.d_qkv.size());
      ASSERT_TRUE(gradients) << gradients.error().message << ": " << machine_.last_fault();
      EXPECT_LT(distance(*gradients, right.d_qkv), 0.015) << problem.sequence;
    }
  }

  VirtualMachine machine_{VIRTUAL_HIP "6"};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

FusedAttentionProblem problem_of(std::int64_t batch, std::int64_t sequence, std::int64_t heads) {
  return {
      .batch = batch, .sequence = sequence, .heads = heads, .head_width = 128, .same_bits = false};
}

/// A folder hsa with stand-ins; each is compiled once in a process.
class StandIns {
 public:
  StandIns() {
    for (const auto& [file, text] : stand_in_tables) write(file, text);
    write("fmha_v3_fwd/MI300/" + stand_in_forward.file, code_of(stand_in_forward));
    for (const StandIn* one : {&stand_in_delta, &stand_in_backward, &stand_in_convert}) {
      write("fmha_v3_bwd/" + one->file, code_of(*one));
    }
    setenv("AITER_ASM_DIR", folder_.path().c_str(), 1);
  }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / "gfx942" / file;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, text));
  }
  static bool can_compile() { return !code_of(stand_in_delta).empty(); }
  static std::string compiled(const std::string& text) {
    return compile_hip(stand_in_types + text, "gfx942", {"-fhip-kernel-arg-name"}).value_or("");
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static const std::string& code_of(const StandIn& one) {
    static std::map<std::string, std::string> known;
    std::string& code = known[one.symbol];
    if (code.empty()) code = compiled(one.text);
    return code;
  }

  const TemporaryFolder folder_;
};

TEST_F(AiterVirtual, ForwardAndBackwardAreRight) {
  if (!StandIns::can_compile()) GTEST_SKIP() << no_clang;
  const StandIns code;
  // One tile forward, and two of which the last is not full.
  expect_right(problem_of(2, 256, 1));
  expect_right(problem_of(1, 320, 1));
  expect_right(problem_of(1, 256, 8), 0);
}

/// Inference needs the forward kernel alone, with heads of keys that queries share.
TEST_F(AiterVirtual, ForwardAloneSharesHeadsOfKeys) {
  if (!StandIns::can_compile()) GTEST_SKIP() << no_clang;
  const StandIns code;
  std::filesystem::remove_all(code.path() / "gfx942/fmha_v3_bwd");
  FusedAttentionProblem problem = problem_of(1, 256, 2);
  problem.kv_heads = 1;
  problem.forward_only = problem.same_bits = true;
  auto attention = open_fused_attention(*device_, problem);
  ASSERT_TRUE(attention) << attention.error().message;
  EXPECT_TRUE((*attention)->deterministic());
  EXPECT_EQ((*attention)->allocated_bytes(), 0u);
  // Two heads of keys that are the same are one.
  Attention right(problem_of(1, 256, 2));
  constexpr std::size_t d = Attention::d, rows = 256;
  std::vector<std::uint16_t> shared;
  for (std::size_t row = 0; row < rows; ++row) {
    std::uint16_t* const from = right.qkv.data() + row * 6 * d;
    for (const std::size_t part : {2, 4}) std::copy_n(from + part * d, d, from + (part + 1) * d);
    for (const std::size_t part : {0, 1, 2, 4}) {
      shared.insert(shared.end(), from + part * d, from + (part + 1) * d);
    }
  }
  std::ranges::fill(right.y, 0);
  right.head(0, 0);
  right.head(0, 1);
  const Buffer qkv = upload(shared);
  const Buffer y = upload(std::vector<std::uint16_t>(right.y.size(), 0x7FFF));
  const Status forward = (*attention)->forward(*stream_, y.data(), qkv.data(), nullptr);
  ASSERT_TRUE(forward) << forward.error().message;
  const auto found = read_back<std::uint16_t>(*stream_, y.data(), right.y.size());
  ASSERT_TRUE(found) << found.error().message << ": " << machine_.last_fault();
  EXPECT_LT(distance(*found, right.y), 0.01);
}

TEST_F(AiterVirtual, KernelsThatTakeSomethingElseAreRefused) {
  if (!StandIns::can_compile()) GTEST_SKIP() << no_clang;
  const StandIns code;
  ErrorKind kind = ErrorKind::failed;
  const auto reason = [&] {
    const auto attention = open_fused_attention(*device_, problem_of(1, 256, 2));
    if (attention.ok()) return std::string();
    kind = attention.error().kind;
    return attention.error().message;
  };
  ASSERT_EQ(reason(), "");
  const std::string file = "fmha_v3_bwd/" + stand_in_convert.file;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = stand_in_convert.text;
    text.replace(text.find(from), from.size(), to);
    code.write(file, StandIns::compiled(text));
    return reason();
  };
  const std::string where = stand_in_convert.file + ": kernel " + stand_in_convert.symbol +
                            " is not the one that is known: ";
  EXPECT_THAT(with("N head_dim,", "N head_dim, N scale,"),
              HasSubstr(where + "it takes \"scale\" at 160, where \"ptr_seqstart_q|ptr_qseq\" at "
                                "160 is expected"));
  EXPECT_THAT(with("P ptr_seqstart_q_padded)", "P ptr_seqstart_q_padded, N more)"),
              HasSubstr(where + "it also takes \"more\""));
  EXPECT_THAT(with(", P ptr_seqstart_q_padded)", ")"),
              HasSubstr(where + "it does not take \"ptr_seqstart_q_padded|ptr_qseq_padded\""));
  EXPECT_THAT(with("N Hs_dQ_acc, N BAs_dQ_acc,", "M Hs_dQ_acc, M BAs_dQ_acc,"),
              HasSubstr(where + "it takes \"BAs_dQ_acc\" at 36, where \"BAs_dQ_acc\" at 48 is"));
  EXPECT_THAT(with("N seqlen_q, N head_dim,", "N head_dim, N seqlen_q,"),
              HasSubstr(where + "it takes \"head_dim\" at 128, where \"seqlen_q\" at 128 is"));
  EXPECT_THAT(with("KERNEL(256)", "KERNEL(128)"),
              HasSubstr(where + "its blocks have at most 128 threads, 256 are expected"));
  EXPECT_THAT(with("dq_convert_bf16_rtneE(", "dq_convert_bf16_rtnoE("),
              HasSubstr("has no kernel " + stand_in_convert.symbol));
  code.write(file, "no code");
  EXPECT_THAT(reason(), HasSubstr(stand_in_convert.file + ": not an ELF file"));
  EXPECT_EQ(kind, ErrorKind::unsupported);
  std::filesystem::remove(code.path() / "gfx942" / file);
  EXPECT_THAT(reason(), HasSubstr(stand_in_convert.file + ": No such file"));
  EXPECT_EQ(kind, ErrorKind::unavailable);
  const std::string table = "fmha_v3_bwd/fmha_bwd_odo.csv";
  code.write(table, "dtype,hdim_v,mode,ts,knl_name,co_name\nbf16,128,0,128,a,b\n");
  EXPECT_THAT(reason(), HasSubstr("fmha_bwd_odo.csv has no column \"bf16_cvt\""));
  EXPECT_EQ(kind, ErrorKind::unsupported);
  code.write(table, "dtype,hdim_v,mode,bf16_cvt,ts,knl_name,co_name\nbf16,128,0,3,128,a,../b\n");
  kind = ErrorKind::failed;
  EXPECT_THAT(reason(), HasSubstr("fmha_bwd_odo.csv has no kernel with hdim_v=128 dtype=bf16"));
  EXPECT_EQ(kind, ErrorKind::unsupported);
  std::filesystem::remove(code.path() / "gfx942" / table);
  EXPECT_THAT(reason(), HasSubstr("fmha_bwd_odo.csv cannot be read"));
  EXPECT_EQ(kind, ErrorKind::unavailable);
}

TEST_F(AiterVirtual, WhatItCannotComputeIsSaid) {
  const TemporaryFolder empty;
  setenv("AITER_ASM_DIR", empty.path().c_str(), 1);
  const auto reason = [&](const FusedAttentionProblem& problem) {
    return fused_attention_unsupported(problem, device_->facts()).value_or("");
  };
  FusedAttentionProblem other = problem_of(1, 256, 2);
  EXPECT_THAT(reason(other), AllOf(HasSubstr("AITER's code for gfx942 was not found in "),
                                   HasSubstr(empty.path().string()), HasSubstr("AITER_ASM_DIR")));
  other.same_bits = true;
  EXPECT_THAT(reason(other), HasSubstr("in any order; allowed: attention=library-unordered"));
  other = problem_of(1, 256, 2);
  other.precision = DataType::f16;
  EXPECT_THAT(reason(other), HasSubstr("bf16 here, not in f16"));
  other = problem_of(1, 256, 2);
  other.head_width = 64;
  EXPECT_THAT(reason(other), HasSubstr("heads 128 wide here, not 64"));
  for (const std::int64_t sequence : {128, 288}) {
    EXPECT_THAT(reason(problem_of(1, sequence, 2)), HasSubstr("multiples of 64 from 256 on here"));
  }
  EXPECT_THAT(reason(problem_of(64, 16384, 32)), HasSubstr("a smaller batch fits"));
  other = problem_of(1, 256, 2);
  other.kv_heads = 1;
  EXPECT_THAT(reason(other), HasSubstr("2 heads share 1 of keys"));
  other.forward_only = other.own_lengths = true;
  EXPECT_THAT(reason(other), HasSubstr("no sequences with lengths of their own"));
}

/// Where it is installed and the shape fits, it is the first choice.
TEST_F(AiterVirtual, AutoTakesItWhereItIs) {
  DeviceFacts facts = device_->facts();
  facts.emulated = false;
  facts.memory_bytes = std::uint64_t{192} << 30;
  const auto decided = [&](const std::string& model) {
    const auto cells = expand_cells("train", train_axes(), {{"model", model}});
    EXPECT_TRUE(cells) << cells.error().message;
    return std::string(decide_train_cell(cells->front(), facts).text("attention"));
  };
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "gfx942/fmha_v3_fwd");
  setenv("AITER_ASM_DIR", folder.path().c_str(), 1);
  EXPECT_EQ(decided("7B"), "library-unordered");                   // 128 wide
  EXPECT_EQ(decided("124M"), "own");                               // 64 wide
  setenv("AITER_ASM_DIR", (folder.path() / "gfx942").c_str(), 1);  // as older releases have it
  EXPECT_EQ(decided("7B"), "library-unordered");
  setenv("AITER_ASM_DIR", "/nonexistent", 1);
  EXPECT_EQ(decided("7B"), "own");
}

TEST_F(AiterVirtual, ItsOwnObjectsAreRightToo) {
  const char* const code = std::getenv("ASSAY_AITER_CODE");
  if (code == nullptr) GTEST_SKIP() << "ASSAY_AITER_CODE does not name AITER's folder hsa";
  setenv("AITER_ASM_DIR", code, 1);
  for (const std::int64_t sequence : {256, 320}) expect_right(problem_of(2, sequence, 3));
  expect_right(problem_of(1, 256, 8));
}

}  // namespace
}  // namespace assay

#endif
