// The verification of decoders whose products, or whose attention, read codes.
#include "measure/benchmarks/decode/decoder_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/team.h"
#include "support/test_device.h"

namespace assay {
namespace {

/// Passes without codes agree to the last digits of bf16; the measured one has the noise of codes.
TEST(DecoderCase, PassesWithCodesAreComparedWithPassesWithout) {
  const auto device = open_test_device("cpu");
  const auto stream = device->create_stream().value();
  Communicators alone(*device, solo_team());
  for (const DecoderPhase phase : {DecoderPhase::prefill, DecoderPhase::decode}) {
    DecoderCell cell = {.phase = phase,
                        .shape = parse_decoder_shape("4L4H2K32D128C192F256V").value(),
                        .batch = 2,
                        .tokens = 12,
                        .quantization = {DataType::e4m3, InputCodes::always},
                        .graph = false};
    const auto made = prepare_decoder_case(cell, {*device, *stream, 3, solo_team(), alone});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const Verification v = (*made)->verify(*stream).value();
    EXPECT_TRUE(v.passed) << v.detail;
    EXPECT_THAT(v.method, testing::HasSubstr("both without codes"));
    EXPECT_EQ(v.tolerance, noise_tolerance({.inputs = true}, cell.shape));
    EXPECT_GT(v.error, 0.2 * v.tolerance) << "no codes were read";
  }
}

/// A pass and the passes that it is compared with round other numbers to codes of the cache.
TEST(DecoderCase, PassesWithACacheOfCodesAgreeWithinItsNoise) {
  const auto device = open_test_device("cpu");
  const auto stream = device->create_stream().value();
  Communicators alone(*device, solo_team());
  for (const DecoderPhase phase : {DecoderPhase::prefill, DecoderPhase::decode}) {
    for (const bool inputs : {false, true}) {
      DecoderCell cell = {.phase = phase,
                          .shape = parse_decoder_shape("4L4H2K32D128C192F256V").value(),
                          .batch = 2,
                          .tokens = 40,
                          .cache_codes = DataType::e4m3,
                          .graph = false};
      if (inputs) cell.quantization = {DataType::e4m3, InputCodes::always};
      const auto made = prepare_decoder_case(cell, {*device, *stream, 3, solo_team(), alone});
      ASSERT_TRUE(made.ok()) << made.error().message;
      const Verification v = (*made)->verify(*stream).value();
      EXPECT_TRUE(v.passed) << v.detail;
      EXPECT_EQ(v.tolerance, noise_tolerance({.inputs = inputs, .cache = true}, cell.shape));
      if (inputs) EXPECT_GT(v.error, 0.2 * v.tolerance) << "no codes were read";
      const auto notes = (*made)->notes();
      const auto found =
          std::ranges::find(notes, "cache", [](const auto& note) { return note.first; });
      ASSERT_NE(found, notes.end());
      EXPECT_THAT(found->second, testing::StartsWith("e4m3, a factor per token and head"));
    }
  }
}

}  // namespace
}  // namespace assay
