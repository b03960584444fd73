// Limits as files: the embedded ones, and what a file may not say.
#include "advise/health/limits/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/grid/axis.h"

namespace assay::health {
namespace {

using testing::HasSubstr;

std::string file_with(const std::string& line) {
  return "name: ours\ndescription: test\nsource: us\ndate: 2026-11-29\nkind: measured population\n"
         "limits:\n  - " +
         line + "\n";
}

std::string error_of(const std::string& line) {
  const auto limits = parse_limits(file_with(line), "ours.yaml");
  return limits.ok() ? "" : limits.error().message;
}

Cell cell(const std::string& benchmark, std::vector<std::pair<std::string, std::string>> values) {
  return {benchmark, std::move(values)};
}

TEST(Limits, ALineHasQuantityLimitAndProvenance) {
  const auto limits = parse_limits(
      file_with(
          "{cell: memory op=copy dtype=f64 size=1GiB, metric: bandwidth, at_least: 4.1, unit: "
          "TB/s, quick: true, n: 3 GPUs, doubts: few}"),
      "ours.yaml");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  ASSERT_EQ(limits->lines.size(), 1u);
  const LimitLine& line = limits->lines.front();
  EXPECT_DOUBLE_EQ(line.value, 4.1e12);
  EXPECT_EQ(line.unit, "bytes/s");
  EXPECT_EQ(line.limit_text(), "at least 4.100 TB/s");
  EXPECT_EQ(line.thoroughness, Thoroughness::quick);
  EXPECT_EQ(line.kind, LimitKind::measured_population);
  EXPECT_EQ(line.source, "us");
  EXPECT_EQ(line.doubts, "few");
  EXPECT_TRUE(matches(
      line,
      cell("memory", {{"op", "copy"}, {"dtype", "f64"}, {"size", "1GiB"}, {"cache", "cold"}})));
  EXPECT_FALSE(matches(
      line,
      cell("memory", {{"op", "copy"}, {"dtype", "f64"}, {"size", "2GiB"}, {"cache", "hot"}})));
}

TEST(Limits, ErrorsNameTheLineAndWhatIsAllowed) {
  EXPECT_EQ(
      error_of(
          "{cell: memory op=copy dtype=f64 size=1GiB, metric: bandwidth, at_least: 0, unit: TB/s}"),
      "ours.yaml:7: at_least 0: every machine would pass; the limit must be above 0");
  EXPECT_THAT(error_of("{cell: memry op=copy, metric: bandwidth, at_least: 1, unit: TB/s}"),
              HasSubstr("unknown benchmark \"memry\" (did you mean \"memory\"?)"));
  EXPECT_THAT(
      error_of("{cell: memory op=copy size=1GiB, metric: bandwidth, at_least: 1, unit: TB/s}"),
      HasSubstr("means 2 cells"));
  EXPECT_THAT(error_of("{cell: memory op=cop, metric: bandwidth, at_least: 1, unit: TB/s}"),
              HasSubstr("ours.yaml:7"));
  EXPECT_THAT(error_of("{machine: gpu, at_least: 8, unit: GPUs}"),
              HasSubstr("did you mean \"gpus\"?"));
  EXPECT_THAT(error_of("{machine: gpus, at_least: 8, unit: GB}"), HasSubstr("gpus is in GPUs"));
  EXPECT_THAT(error_of("{machine: gpus, at_least: 8, unit: dozen}"),
              HasSubstr("unknown unit \"dozen\""));
  EXPECT_THAT(error_of("{machine: gpus, unit: GPUs}"),
              HasSubstr("either \"at_least\" or \"at_most\""));
  EXPECT_THAT(error_of("{machine: gpus, check: ecc, at_least: 8, unit: GPUs}"),
              HasSubstr("exactly one of"));
  EXPECT_THAT(error_of("{check: eccc}"), HasSubstr("ecc"));
  EXPECT_THAT(error_of("{machine: kernel-arguments}"), HasSubstr("\"has\""));
  EXPECT_THAT(error_of("{machine: gpus, at_least: 8, unit: GPUs, kind: rumour}"),
              HasSubstr("kind \"rumour\""));
}

TEST(Limits, ADateIsOneOfTheCalendar) {
  EXPECT_EQ(error_of("{check: ecc, date: 2026-02-31}"),
            "ours.yaml:7: date \"2026-02-31\" is no day of the calendar; allowed: a day, "
            "2026-05-30, a month, 2026-05, or undated");
  EXPECT_THAT(error_of("{check: ecc, date: today}"), HasSubstr("date \"today\""));
  EXPECT_EQ(error_of("{check: ecc, date: 2026-05}"), "");
  const auto of_file = parse_limits(
      "name: a\ndescription: b\nsource: c\ndate: 2026-13-01\nlimits:\n  - {check: ecc}\n",
      "a.yaml");
  ASSERT_FALSE(of_file.ok());
  EXPECT_THAT(of_file.error().message, HasSubstr("a.yaml:4: date \"2026-13-01\""));
}

TEST(Limits, AMeasuredLimitComesFromAtLeastOneMachine) {
  EXPECT_EQ(error_of("{check: ecc, n: 0 GPUs}"),
            "ours.yaml:7: n \"0 GPUs\" begins with a number that counts nothing; allowed: a whole "
            "number from 1, e.g. 3 GPUs, or words");
  for (const char* wrong : {"0", "-3", "-1 nodes", "-3GPUs", "2.5 GPUs", "0.0 nodes"}) {
    EXPECT_THAT(error_of(std::string("{check: ecc, n: ") + wrong + "}"),
                HasSubstr("ours.yaml:7: n"))
        << wrong;
  }
  for (const char* right :
       {"1", "40 nodes", "3-4 GPUs", "a few", "nano GPUs", "\"two and four GPUs\""}) {
    EXPECT_EQ(error_of(std::string("{check: ecc, n: ") + right + "}"), "") << right;
  }
}

TEST(Limits, NeedASourceAndADate) {
  const auto limits =
      parse_limits("name: a\ndescription: b\nlimits:\n  - {check: ecc}\n", "a.yaml");
  ASSERT_FALSE(limits.ok());
  EXPECT_THAT(limits.error().message, HasSubstr("a.yaml:4: a limit needs \"source\" and \"date\""));
}

TEST(Limits, ALineMayHaveNoneOfTheFilesDoubts) {
  const auto limits = parse_limits(
      "name: a\ndescription: b\nsource: c\ndate: 2026-01-01\ndoubts: many\nlimits:\n  - {check: "
      "ecc}\n  - {check: smt, doubts: none}\n",
      "a.yaml");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  EXPECT_EQ(limits->lines[0].doubts, "many");
  EXPECT_EQ(limits->lines[1].doubts, "");
}

TEST(Limits, EmbeddedOnesAreAboutTheirDevices) {
  const auto mi300x = limits_of_device("AMD Instinct MI300X VF");
  ASSERT_TRUE(mi300x.ok()) << mi300x.error().message;
  EXPECT_EQ(mi300x->name, "mi300x");
  EXPECT_EQ(limits_of_device("NVIDIA H200")->name, "h200");
  EXPECT_FALSE(limits_of_device("NVIDIA H200 NVL").ok()) << "another card";
  EXPECT_EQ(limits_of_device("NVIDIA H100 80GB HBM3")->name, "h100");
  const auto none = limits_of_device("AMD EPYC");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("--limits FILE"));
  const auto built_in = built_in_limits();
  ASSERT_TRUE(built_in.ok()) << built_in.error().message;
  for (const Limits& limits : *built_in) {
    EXPECT_FALSE(limits.devices.empty()) << limits.name;
    for (const LimitLine& line : limits.lines) {
      EXPECT_EQ(line.date.substr(0, 5), "2026-") << limits.name << ": " << line.what();
    }
  }
}

}  // namespace
}  // namespace assay::health
