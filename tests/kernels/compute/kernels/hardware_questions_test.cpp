// Questions that only hardware can answer, asked of each build: the kernels see what was planted.
#include "support/every_device.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

class HardwareQuestions : public KernelTest {
 protected:
  static constexpr unsigned numbers = 1000, round = 3;

  void expect_check_passes(std::string_view name) {
    expect_passes(*selftest::find_checks(name).value().front(), *device_);
  }
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    program_ = std::move(device_->build({"hardware_questions", {}})).value();
    found_ = upload(std::vector<unsigned>(2, 0));
    window_ = upload(std::vector<unsigned>(numbers + 1, 0));
  }
  unsigned* flag() const { return window_.as<unsigned>() + numbers; }
  void send() {
    Kernel& kernel = *program_->kernel("send_numbers").value();
    ASSERT_TRUE(
        launch(*stream_, kernel, {{1}, {64}}, window_.as<unsigned>(), numbers, flag(), round));
  }
  /// How many numbers were old, and whether the flag did not come.
  std::vector<unsigned> receive() {
    Kernel& kernel = *program_->kernel("receive_numbers").value();
    const unsigned *from = window_.as<unsigned>(), *behind = flag();
    EXPECT_TRUE(launch(*stream_, kernel, {{1}, {64}}, from, numbers, behind, round, 100u,
                       found_.as<unsigned>()));
    return download<unsigned>(found_.data(), 2);
  }

  std::unique_ptr<Program> program_;
  Buffer found_, window_;
};

TEST_P(HardwareQuestions, WhatWasSentIsReceived) {
  send();
  EXPECT_EQ(receive(), (std::vector<unsigned>{0, 0}));
}

TEST_P(HardwareQuestions, AnOldNumberAndAFlagThatDoesNotComeAreFound) {
  EXPECT_EQ(receive(), (std::vector<unsigned>{0, 1}));
  send();
  write(window_.as<unsigned>() + 7, std::vector<unsigned>{round - 1});
  EXPECT_EQ(receive(), (std::vector<unsigned>{1, 1}));
}

TEST_P(HardwareQuestions, TheClockAdvances) {
  Kernel& kernel = *program_->kernel("read_ticks").value();
  const Buffer ticks = upload(std::vector<std::uint64_t>(2, 0));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(launch(*stream_, kernel, {{1}, {64}}, ticks.as<std::uint64_t>() + i));
  }
  const auto read = download<std::uint64_t>(ticks.data(), 2);
  EXPECT_GT(read[0], 0u);
  EXPECT_GE(read[1], read[0]);
}

TEST_P(HardwareQuestions, TheLastBlockSeesAllOthers) {
  expect_check_passes("fences");
}

TEST_P(HardwareQuestions, AtomicsLoseNothing) {
  expect_check_passes("atomics");
}

TEST_P(HardwareQuestions, WordsArriveWhole) {
  if (device_->facts().is_host_cpu()) GTEST_SKIP() << "the check is about GPUs";
  expect_check_passes("whole-words");
}

ASSAY_KERNEL_BUILDS(HardwareQuestions);

}  // namespace
}  // namespace assay
