// Units, differences, references and planted faults as text.
#include "advise/health/sdc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/health/corruption_work.h"
#include "advise/health/sdc_json.h"
#include "advise/health/sdc_reference.h"
#include "core/json.h"

namespace assay::health {
namespace {

using testing::HasSubstr;

TEST(Sdc, ADifferenceSurvivesTheWayToAnotherRank) {
  SdcDifference difference;
  difference.unit = "gemm shape=8192";
  difference.run = 7;
  difference.rank = 2;
  difference.launch = 3;
  difference.operation = "softmax";
  difference.buffer = 4;
  difference.offset = 1 << 20;
  difference.address = 0x7f0000000000;
  difference.expected = 0xFFFFFFFFFFFFFFFF;
  difference.found = 0;
  difference.wrong_words = 1;
  difference.wrong_blocks = 5;
  difference.replays = 4;
  difference.replayed = 3;
  difference.before.sensors.power_watts = 690;
  difference.after.ecc_uncorrected = 2;
  const auto read = difference_from(to_json(difference));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(difference));
  EXPECT_EQ(*read->expected, 0xFFFFFFFFFFFFFFFF);
  EXPECT_EQ(read->before.sensors.power_watts, 690);
}

TEST(Sdc, AUnitKeepsTheTrailOfItsChecksums) {
  SdcUnit unit;
  unit.name = "gemm";
  unit.operations = {"a", "b"};
  unit.trail = {1, 0x8000000000000000, 3};
  unit.scratch = {4};
  unit.variant = "v";
  unit.choices = {{"0f3a", "gemm, library 1 for 8x8x8", "algorithm 7"}};
  const auto read = unit_from(with_trail(unit));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->trail, unit.trail);
  EXPECT_EQ(read->operations, unit.operations);
  EXPECT_EQ(read->scratch, unit.scratch);
  EXPECT_EQ(read->choices, unit.choices);
  Json two_lines = with_trail(unit);
  two_lines["choices"][0]["choice"] = "7\n8";
  EXPECT_THAT(unit_from(two_lines).error().message, HasSubstr("must be one line"));
  for (const double wrong : {-1.0, 0.5, 1e30}) {
    Json json = with_trail(unit);
    json["scratch_buffers"] = {wrong};
    EXPECT_THAT(unit_from(json).error().message, HasSubstr("whole numbers from 1")) << wrong;
  }
  Json short_of_one = with_trail(unit);
  short_of_one["trail"].erase(0);
  EXPECT_THAT(unit_from(short_of_one).error().message, HasSubstr("units.trail must have one"));
}

TEST(Sdc, AReferenceIsOfOneKindOfDevice) {
  const auto reference = read_reference(
      R"({"health_sdc_reference": 1, "kind": "A, sm_80, 108 multiprocessors", "assay": "1 a",
          "units": []})");
  ASSERT_TRUE(reference) << reference.error().message;
  DeviceFacts facts;
  facts.name = "A";
  facts.arch = "sm_80";
  facts.multiprocessors = 108;
  EXPECT_TRUE(check_kind(*reference, facts));
  facts.name = "B";
  EXPECT_THAT(check_kind(*reference, facts).error().message,
              HasSubstr("of A, sm_80, 108 multiprocessors, this device is B"));
  EXPECT_THAT(read_reference(R"({"health_sdc_reference": 2})").error().message,
              HasSubstr("health_sdc_reference is 2"));
}

TEST(Sdc, AReferenceMadeWithAnotherSeedOrLibraryIsNotCompared) {
  const auto reference = read_reference(
      R"({"health_sdc_reference": 1, "kind": "A", "assay": "1 a", "seed": 2, "libraries":
          {"driver": "550"}, "units": []})");
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_EQ(other_making(*reference, {{"assay", "1 a"}, {"seed", "2"}, {"driver", "550"}}), "");
  EXPECT_EQ(other_making(*reference, {{"assay", "1 a"}, {"seed", "1"}}), "seed 2 instead of 1");
  EXPECT_EQ(other_making(*reference, {{"driver", "560"}}), "driver 550 instead of 560");
}

TEST(Sdc, AReferenceThatDoesNotTellItsAssayIsRefused) {
  const auto reference = read_reference(R"({"health_sdc_reference": 1, "kind": "A", "units": []})");
  ASSERT_FALSE(reference) << "another assay's kernels may give other bits";
  EXPECT_EQ(reference.error().kind, ErrorKind::usage);
  EXPECT_THAT(reference.error().message, HasSubstr("assay is missing"));
}

TEST(Sdc, AChoiceThatIsNotTheReferencesIsNamed) {
  SdcUnit own, known;
  own.choices = known.choices = {{"k1", "geometry for dot", "block=64"}, {"k2", "gemm", "7"}};
  EXPECT_EQ(other_choice(own, known), "");
  own.choices[1].choice = "8";
  EXPECT_EQ(other_choice(own, known), R"(gemm: "8" here, "7" in the reference)");
  own.choices.pop_back();
  EXPECT_EQ(other_choice(own, known), R"(gemm: nothing here, "7" in the reference)");
  EXPECT_EQ(other_choice(known, own), R"(gemm: "7" here, nothing in the reference)");
}

TEST(Sdc, CoverageCountsUnitsThatWereTestedAndSurvivesTheWayToAnotherRank) {
  SdcUnit product, patterns, left_out;
  product.name = "gemm";
  product.runs = 10;
  product.operations = {"fill", "gemm"};
  product.flops = 1e12;
  product.memory_bytes = 100;
  patterns.name = patterns_name;
  patterns.runs = 2;
  patterns.memory_bytes = 1000;
  left_out = product;
  left_out.left_out = "not here";
  SdcCoverage coverage;
  coverage.rank = 1;
  coverage.device = "cuda:1";
  coverage.multiprocessors = 132;
  coverage.multiprocessors_seen = 131;
  coverage.power.seconds = 60;
  coverage.power.limited_seconds = 12.5;
  coverage.power.unknown_seconds = 3;
  coverage.power.mean_watts = 650;
  add_units(coverage, std::vector{product, patterns, left_out});
  const auto read = coverage_from(to_json(coverage));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(coverage));
  EXPECT_EQ(read->units, 2u);
  EXPECT_EQ(read->runs, 12u);
  EXPECT_EQ(read->operations, 10u * 2 + 2 * 15);
  EXPECT_EQ(read->pattern_bytes, 1000u);
  EXPECT_EQ(read->unit_bytes, 100u);
  EXPECT_EQ(read->multiprocessors_seen, 131);
  EXPECT_EQ(read->power.limited_seconds, 12.5);
  EXPECT_EQ(read->power.unknown_seconds, 3);
}

TEST(Sdc, UnitsAreChosenByTheBeginningOfTheirNames) {
  EXPECT_TRUE(is_chosen("gemm shape=96", ""));
  EXPECT_TRUE(is_chosen("gemm shape=96", "train,gemm"));
  EXPECT_FALSE(is_chosen("gemm shape=96", "gemma,shape"));
}

TEST(Sdc, APlantedFaultIsReadFromText) {
  const auto fault = parse_planted_fault("train run=3 launch=5 offset=64 mask=1024 rank=1 stays");
  ASSERT_TRUE(fault) << fault.error().message;
  EXPECT_EQ(fault->work, "train");
  EXPECT_EQ(fault->run, 3u);
  EXPECT_EQ(fault->launch, 5u);
  EXPECT_EQ(fault->offset, 64u);
  EXPECT_EQ(fault->mask, 1024u);
  EXPECT_EQ(fault->rank, 1);
  EXPECT_TRUE(fault->stays);
  EXPECT_EQ(fault->text, "train run=3 launch=5 offset=64 mask=1024 rank=1 stays");
  const auto named = parse_planted_fault("gemm shape=8192 dtype=bf16 mask=0x400");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->work, "gemm shape=8192 dtype=bf16");
  EXPECT_EQ(named->mask, 0x400u);
  for (const char* wrong : {"train run=x", "train run=1 size=2", "gemm launch=0", "gemm rank=-1"}) {
    EXPECT_THAT(parse_planted_fault(wrong).error().message, HasSubstr("allowed: WORK run=N"))
        << wrong;
  }
}

TEST(Sdc, APlantedFaultNeedsAUnitAndARank) {
  const std::vector<std::string> units = {"gemm shape=96 dtype=f32", "memory op=dot"};
  const auto message = [&](const std::string& text, int ranks) {
    const Status status = check_planted_fault(*parse_planted_fault(text), units, ranks);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(message("gemm run=2", 1), "");
  EXPECT_EQ(message("run=2", 1), "") << "any unit";
  EXPECT_EQ(message("memory op=dot rank=1", 2), "");
  EXPECT_EQ(message("memory op=dto launch=3", 1),
            "fault \"memory op=dto launch=3\": no unit that is tested here begins with \"memory "
            "op=dto\" (did you mean \"memory op=dot\"?); the units are: gemm shape=96 dtype=f32, "
            "memory op=dot");
  EXPECT_EQ(message("gemm rank=2", 2),
            "fault \"gemm rank=2\": there is no rank 2; allowed: 0 to 1");
  EXPECT_EQ(message("gemm rank=1", 1), "fault \"gemm rank=1\": there is no rank 1; allowed: 0");
}

}  // namespace
}  // namespace assay::health
