// Whole prompts of a decoder by a vendor's library, for which a simple computation on the host
// stands: where it is called, and that what it gets and gives is right.
#include "model/operations/prompt_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compute/kernels/element_types.h"
#include "compute/vendor/attention/fused_attention.h"
#include "measure/grid/benchmark.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/transformer_oracle.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/team.h"
#include "serving/engine/step_executor.h"
#include "support/decoder_reference.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

struct HostLibrary {
  bool is_there = false, has_plans = true;
  int plans = 0, calls = 0;
};
HostLibrary host_library;

template <typename T>
float number_of(T element) {
  if constexpr (std::is_same_v<T, float>) {
    return element;
  } else {
    return element.decode();
  }
}
template <typename T>
T element_of(double number) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(number);
  } else {
    return T::encode(static_cast<float>(number));
  }
}

class HostAttention final : public FusedAttention {
 public:
  explicit HostAttention(const FusedAttentionProblem& problem) : p_(problem) {}

  Status forward(Stream& stream, void* y, const void* qkv, void*) override {
    ++host_library.calls;
    TRY(stream.synchronize());
    for (std::int64_t b = 0; b < p_.batch; ++b) {
      const std::int64_t row = b * p_.sequence;
      compute(y, qkv, row * y_width(), row * qkv_width(), p_.sequence);
    }
    return {};
  }
  Status forward_at(Stream& stream, void* y, const void* qkv,
                    const SequencePlaces& places) override {
    ++host_library.calls;
    TRY(stream.synchronize());
    for (std::int64_t b = 0; b < p_.batch; ++b) {
      EXPECT_LE(places.lengths[b], p_.sequence);
      EXPECT_LE(places.qkv_offsets[b] + places.lengths[b] * qkv_width(), places.qkv_offsets[b + 1]);
      compute(y, qkv, places.y_offsets[b], places.qkv_offsets[b], places.lengths[b]);
    }
    return {};
  }
  Status backward(Stream&, void*, const void*, const void*, const void*, const void*) override {
    return Error{ErrorKind::unsupported, "forward only"};
  }
  std::string library() const override { return "stand-in 1.0"; }
  bool deterministic() const override { return true; }
  std::uint64_t allocated_bytes() const override { return 0; }

 private:
  std::int64_t y_width() const { return p_.heads * p_.head_width; }
  std::int64_t qkv_width() const { return (p_.heads + 2 * p_.heads_of_keys()) * p_.head_width; }

  void compute(void* y, const void* qkv, std::int64_t to, std::int64_t from, std::int64_t length) {
    if (p_.precision == DataType::f32) return compute_of<float>(y, qkv, to, from, length);
    compute_of<Bf16>(y, qkv, to, from, length);
  }
  template <typename T>
  void compute_of(void* y, const void* qkv, std::int64_t to, std::int64_t from,
                  std::int64_t length) {
    const std::int64_t d = p_.head_width, group = p_.heads / p_.heads_of_keys();
    const auto* const all = static_cast<const T*>(qkv) + from;
    const auto at = [&](std::int64_t row, std::int64_t head, std::int64_t i) {
      return static_cast<double>(number_of(all[row * qkv_width() + head * d + i]));
    };
    for (std::int64_t row = 0; row < length; ++row) {
      for (std::int64_t h = 0; h < p_.heads; ++h) {
        const std::int64_t key = p_.heads + h / group, value = key + p_.heads_of_keys();
        double total = 0;
        std::vector<double> sums(static_cast<std::size_t>(d), 0.0);
        for (std::int64_t s = 0; s <= row; ++s) {
          double score = 0;
          for (std::int64_t i = 0; i < d; ++i) score += at(row, h, i) * at(s, key, i);
          const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
          total += weight;
          for (std::int64_t i = 0; i < d; ++i) {
            sums[static_cast<std::size_t>(i)] += weight * at(s, value, i);
          }
        }
        for (std::int64_t i = 0; i < d; ++i) {
          static_cast<T*>(y)[to + row * y_width() + h * d + i] =
              element_of<T>(sums[static_cast<std::size_t>(i)] / total);
        }
      }
    }
  }

  const FusedAttentionProblem p_;
};

const FusedAttentionRegistry::Add registered{
    {.backend = "cpu",
     .same_bits = true,
     .check = [](const FusedAttentionProblem& problem, const DeviceFacts&) -> Status {
       if (host_library.is_there && problem.forward_only) return {};
       return Error{ErrorKind::unavailable, "the stand-in is not there"};
     },
     .open = [](Device&,
                const FusedAttentionProblem& problem) -> Result<std::unique_ptr<FusedAttention>> {
       if (!host_library.has_plans) return Error{ErrorKind::unsupported, "no plan"};
       ++host_library.plans;
       return std::unique_ptr<FusedAttention>(std::make_unique<HostAttention>(problem));
     }}};

class LibraryPrompts : public testing::Test {
 protected:
  void SetUp() override { host_library = {.is_there = true}; }
  void TearDown() override { host_library = {}; }

  std::unique_ptr<Device> device_ = open_test_device("cpu");
  std::unique_ptr<Stream> stream_ = std::move(device_->create_stream()).value();
};

/// Two prompts of one length, and one of another, among tokens that need the cache; if the library
/// has no plans, by the own kernels, which there are for bf16, or through the cache too.
TEST_F(LibraryPrompts, AreRightBesideTokensThatNeedTheCache) {
  const auto check = [&](PromptWay way, DataType type, bool any_lengths, std::string_view name) {
    SCOPED_TRACE(name);
    host_library.plans = host_library.calls = 0;
    const DecoderSettings settings = {
        .shape = parse_decoder_shape("2L4H2K64D128C96F131V").value(),
        .limits = {.tokens = 24, .results = 5, .sequences = 5, .positions = 16, .blocks = 5},
        .precision = type,
        .prompts = {.way = way, .any_lengths = any_lengths}};
    auto decoder = Decoder::create(*device_, *stream_, settings).value();
    EXPECT_EQ(host_library.calls, any_lengths ? host_library.plans : 0);  // each plan once
    host_library.calls = 0;
    ASSERT_TRUE(decoder->set_tables(*stream_, {3, 1, 4, 0, 2}));
    const std::vector<float> weights = decoder->weights(*stream_).value();
    const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
    GrowingTexts texts(5);
    texts.append(0, 5);
    ASSERT_TRUE(decoder->set_tokens(*stream_, texts.pass()));
    ASSERT_TRUE(decoder->enqueue(*stream_, {5, 1, 4, {{0, 5, 1}}}));
    texts.append(0, 1);  // the next token of the first sequence
    texts.append(1, 7);
    texts.append(2, 7);
    texts.append(4, 3);  // as the first part of a longer prompt
    texts.append(3, 4);
    DecoderTokens tokens = texts.pass();
    tokens.results = {0, 7, 14, 21, 17};  // of sequences in their order
    ASSERT_TRUE(decoder->set_tokens(*stream_, tokens));
    ASSERT_TRUE(decoder->enqueue(*stream_, {22, 5, 6, {{1, 7, 2}, {18, 4, 1}}}));
    const std::vector<double> expected = texts.last_logits(oracle, settings.shape.vocabulary);
    EXPECT_LE(relative_distance(decoder->logits(*stream_, 5).value(), expected),
              logits_tolerance(type, 2));
    // Two layers of two passes; by length the second pass has two calls, in one class one.
    EXPECT_EQ(host_library.calls, !host_library.has_plans ? 0 : any_lengths ? 4 : 6);
    EXPECT_EQ(decoder->prompt_attention(), name);
  };
  for (const bool any_lengths : {false, true}) {
    for (const DataType type : {DataType::f32, DataType::bf16}) {
      host_library.has_plans = true;
      check(PromptWay::library, type, any_lengths, "library (stand-in 1.0)");
      host_library.has_plans = false;
      check(PromptWay::best, type, any_lengths,
            type == DataType::bf16 ? "own (no plan)" : "cache (no plan)");
    }
  }
}

/// What `auto` is stays open until plans are made.
TEST_F(LibraryPrompts, PrefillTakesThemWhereItHasPlans) {
  const Benchmark& prefill = *find_benchmark("prefill");
  const auto note = [&](std::string_view attention) -> std::string {
    const auto cells = expand_cells("prefill", prefill.axes(),
                                    {{"model", "1L2H1K64D64C96F131V"},
                                     {"prompt", "16"},
                                     {"precision", "bf16"},
                                     {"attention", std::string(attention)}});
    EXPECT_TRUE(cells.ok()) << cells.error().message;
    const Cell cell = prefill.expand(cells->front(), *device_, solo_team()).front();
    Communicators communicators(*device_, solo_team());
    auto work = prefill.prepare(cell, {*device_, *stream_, 1, solo_team(), communicators});
    if (!work.ok()) return work.error().message;
    EXPECT_TRUE((*work)->enqueue(*stream_));
    EXPECT_TRUE(stream_->synchronize());
    for (const auto& [name, text] : (*work)->notes()) {
      if (name == "attention") return text;
    }
    return "none";
  };
  EXPECT_EQ(note("own"), "own");
  EXPECT_EQ(host_library.plans, 0);
  note("auto");  // the stand-in is asked, but no graph can hold it
  EXPECT_GT(host_library.plans, 0);
  host_library.has_plans = false;
  EXPECT_EQ(note("auto"), "own (no plan)");
  EXPECT_EQ(note("library"), "no plan");
}

TEST_F(LibraryPrompts, OfAServerGiveTheReferencesTokens) {
  engine::ExecutorSettings settings = {.shape = parse_decoder_shape("2L4H2K16D64C96F131V").value(),
                                       .precision = DataType::f32,
                                       .seed = 5,
                                       .max_sequences = 4,
                                       .max_batched_tokens = 24,
                                       .max_length = 96,
                                       .blocks = 12};
  const ReferenceDecoder reference(*device_, settings.shape, settings.seed);
  for (const bool deterministic : {false, true}) {
    settings.deterministic = deterministic;
    host_library.plans = host_library.calls = 0;
    auto executor = engine::StepExecutor::create(*device_, settings).value();
    const int plans = host_library.plans;
    host_library.calls = 0;
    server::Scheduler scheduler({.blocks = 12, .max_sequences = 4, .max_batched_tokens = 24});
    engine::SequenceTexts texts;
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::vector<std::uint32_t> text;
      for (std::uint32_t t = 0; t < 5 + 9 * i; ++t) text.push_back((i + 37 * t) % 131);
      scheduler.submit({i, text.size(), 6, {}});
      texts[i] = {text, text.size(), {}};
    }
    while (!scheduler.idle()) {
      const server::ScheduledStep& step = scheduler.schedule();
      const auto tokens = executor->run(step, texts).value();
      std::size_t next = 0;
      for (const server::StepPart& part : step.parts) {
        if (part.yields) texts[part.id].tokens.push_back(tokens[next++]);
      }
      scheduler.finish();
    }
    for (const auto& [id, text] : texts) {
      const auto begin = text.tokens.begin();
      const auto prompt = begin + static_cast<std::ptrdiff_t>(text.prompt_tokens);
      EXPECT_EQ(std::vector<std::uint32_t>(prompt, text.tokens.end()),
                reference.generate({begin, prompt}, 6))
          << id;
    }
    if (deterministic) {  // where a token's bits must not depend on its batch
      EXPECT_EQ(host_library.plans, 0);
      EXPECT_EQ(executor->prompt_attention(), "cache");
    } else {
      EXPECT_GT(plans, 0);
      EXPECT_EQ(host_library.plans, plans) << "a request waited for a plan";
      EXPECT_GT(host_library.calls, 0);
      EXPECT_EQ(executor->prompt_attention(), "library (stand-in 1.0)");
    }
  }
}

TEST_F(LibraryPrompts, WithoutALibraryAreTheOwnKernelsOrSaid) {
  host_library.is_there = false;
  const PromptLimits limits = {64, 4, 64};
  for (const bool any_lengths : {false, true}) {
    auto own = open_prompt_attention(*device_, {DataType::bf16, 4, 2, 64},
                                     {PromptWay::best, any_lengths}, limits);
    ASSERT_TRUE(own.ok()) << own.error().message;
    ASSERT_NE(*own, nullptr);
    EXPECT_TRUE((*own)->begin(*stream_, std::vector<PromptRows>{{0, 8, 1}}));
    EXPECT_EQ((*own)->name(), "own (attention by a library: the stand-in is not there)");
    setenv("ASSAY_OWN_ATTENTION", "groups", 1);
    const auto groups = open_prompt_attention(*device_, {DataType::bf16, 4, 2, 64},
                                              {PromptWay::own, any_lengths}, limits);
    unsetenv("ASSAY_OWN_ATTENTION");
    ASSERT_TRUE(groups.ok()) << groups.error().message;
    EXPECT_EQ((*groups)->name(),
              "own (forward: groups of 4 waves, 1 x 64 queries, 64 keys a step)");
    const auto cache = open_prompt_attention(*device_, {DataType::f32, 4, 2, 64},
                                             {PromptWay::best, any_lengths}, limits);
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    EXPECT_TRUE((*cache)->begin(*stream_, std::vector<PromptRows>{{0, 8, 1}}));
    EXPECT_EQ((*cache)->name(), "cache (attention by a library: the stand-in is not there)");
  }
  const auto none = open_prompt_attention(*device_, {DataType::bf16, 4, 2, 64},
                                          {PromptWay::library, true}, limits);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("the stand-in is not there"));
}

}  // namespace
}  // namespace assay
