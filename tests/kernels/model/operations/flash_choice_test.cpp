// Choosing among kernels of own attention: what is left out, and that somebody is told.
#include "model/operations/flash_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/operations/flash_forward.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class OwnChoice : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    device_ = open_test_device("cpu");
    auto built = choose_flash_forward(*device_, DataType::bf16, 64, FlashKind::waves);
    ASSERT_TRUE(built) << built.error().message;
    forward_ = std::make_unique<FlashForward>(std::move(*built));
  }

  Status compute(Stream& stream, const AttentionTrial& trial) const {
    return forward_->enqueue(stream, trial.y.data(), trial.qkv.data(), trial.log_sum.data(),
                             trial.shape);
  }
  /// Candidates of these names, each computed by `enqueue`.
  OwnChosen choose(const std::vector<std::string>& names,
                   decltype(OwnCandidates::enqueue) enqueue) {
    return best_of_own(*device_, DataType::bf16, 64,
                       {.pass = "forward",
                        .sources = {"flash_attention"},
                        .count = names.size(),
                        .describe = [&](std::size_t i) { return names[i]; },
                        .enqueue = std::move(enqueue),
                        .result = [](const AttentionTrial& trial) { return &trial.y; },
                        .left_out = "old: does not compile"});
  }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<FlashForward> forward_;
};

/// One small element among thousands: the norm of all does not show it.
TEST_F(OwnChoice, WhatIsWrongOrDoesNotRunIsLeftOutByName) {
  const OwnChosen chosen = choose(
      {"first", "wrong", "broken", "right"},
      [&](Stream& stream, const AttentionTrial& trial, std::size_t i) -> Status {
        if (i == 2) return Error{ErrorKind::failed, "no such\ninstruction"};
        TRY(compute(stream, trial));
        if (i != 1) return {};
        return stream.fill(trial.y.as<std::byte>() + trial.y.bytes() - 64, 0x3E, 2);  // bf16 0.19
      });
  EXPECT_THAT(chosen.index, AnyOf(0, 3));
  EXPECT_THAT(chosen.left_out, HasSubstr("old: does not compile; wrong: an element of row 599 is"));
  EXPECT_THAT(chosen.left_out, HasSubstr("; broken: no such instruction"));
  EXPECT_THAT(chosen.left_out, Not(HasSubstr("right")));
}

/// Training may have taken what the larger trial needs.
TEST_F(OwnChoice, WhereNothingCanBeMeasuredTheFirstIsTakenAndNotKept) {
  bool short_of_memory = true;
  int measured = 0;
  const auto enqueue = [&](Stream& stream, const AttentionTrial& trial, std::size_t) -> Status {
    if (trial.shape.sequence > 300) {
      if (short_of_memory) return Error{ErrorKind::exhausted, "3 bytes are free"};
      ++measured;
    }
    return compute(stream, trial);
  };
  const OwnChosen without = choose({"first", "second"}, enqueue);
  EXPECT_EQ(without.index, 0U);
  EXPECT_THAT(without.left_out, HasSubstr("all but the first: measuring failed: 3 bytes are free"));
  short_of_memory = false;
  const OwnChosen with = choose({"first", "second"}, enqueue);
  EXPECT_EQ(with.left_out, "old: does not compile");
  EXPECT_GT(measured, 0);
  measured = 0;
  EXPECT_EQ(choose({"first", "second"}, enqueue).index, with.index);
  EXPECT_EQ(measured, 0) << "the choice was not kept";
}

}  // namespace
}  // namespace assay
