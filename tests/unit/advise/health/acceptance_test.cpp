// The plan of an acceptance, and its result as JSON and as a certificate.
#include "advise/health/accept/acceptance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/health/accept/acceptance_plan.h"
#include "core/json.h"

namespace assay::health {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> steps_of(const std::string& device, Thoroughness thoroughness, int gpus) {
  std::vector<DeviceFacts> devices(static_cast<std::size_t>(gpus));
  for (int i = 0; i < gpus; ++i) {
    devices[static_cast<std::size_t>(i)].backend = "hip";
    devices[static_cast<std::size_t>(i)].ordinal = i;
  }
  const AcceptancePlan plan =
      plan_acceptance(*limits_of_device(device), thoroughness, devices, 600);
  std::vector<std::string> steps;
  double seconds = 0;
  for (const AcceptanceStep& step : plan.steps) {
    steps.push_back(step.what);
    seconds += step.seconds;
  }
  EXPECT_LE(plan.seconds, 601);
  EXPECT_GT(seconds, 500);
  return steps;
}

TEST(AcceptancePlan, MeasuresEveryGpuThenTheNodeThenRanks) {
  EXPECT_THAT(steps_of("MI300X", Thoroughness::normal, 2),
              ElementsAre("hip:0: 8 lines", "hip:1: 8 lines", "copies between GPUs: 2 lines",
                          "ranks: 1 line"));
  EXPECT_THAT(steps_of("MI300X", Thoroughness::quick, 2),
              ElementsAre("hip:0: 2 lines", "hip:1: 2 lines"));
  EXPECT_THAT(steps_of("NVIDIA H200", Thoroughness::full, 1), ElementsAre("hip:0: 11 lines"))
      << "one GPU has no peers";
}

TEST(AcceptancePlan, StepsAreCommandLinesOfAssay) {
  DeviceFacts device;
  device.backend = "hip";
  const std::vector<DeviceFacts> devices = {device, device};
  const auto steps =
      plan_acceptance(*limits_of_device("MI355X"), Thoroughness::normal, devices, 60).steps;
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].words[0], "run");
  const Json suite = Json::parse(steps[0].words[1]);
  EXPECT_EQ(suite["cells"][0]["axes"]["op"], "all_reduce");
  EXPECT_THAT(steps[0].words, testing::IsSupersetOf({"--ranks", "2", "--device", "hip"}));
}

TEST(AcceptancePlan, ManyLinesAreSeveralSteps) {
  std::string text = "{name: a, description: b, source: c, date: 2026-01-01, limits: [";
  constexpr int count = 3000;
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "{{cell: memory op=copy dtype=f64 size={} cache=hot, metric: bandwidth, at_least: 1, unit: "
        "GB/s}}, ",
        4096 + 8 * i);
  }
  const Limits limits = *parse_limits(text + "]}", "a.yaml");
  DeviceFacts device;
  device.backend = "hip";
  const std::vector<DeviceFacts> devices = {device};
  const auto steps = plan_acceptance(limits, Thoroughness::normal, devices, 600).steps;
  EXPECT_GT(steps.size(), 1u);
  std::size_t cells = 0;
  constexpr std::size_t most = 128 << 10;  // bytes of a word in a command line
  for (const AcceptanceStep& step : steps) {
    EXPECT_LT(step.words[1].size(), most);
    cells += Json::parse(step.words[1])["cells"].size();
  }
  EXPECT_EQ(cells, static_cast<std::size_t>(count));
}

Acceptance acceptance() {
  Acceptance result;
  result.begin = "2026-11-29T12:00:00Z";
  result.machine = "8 x <GPU>";
  result.limits_name = "ours";
  result.command = "assay health accept";
  JudgedLine line;
  line.line.machine = "link-width";
  line.line.unit = "lanes";
  line.line.value = 16;
  line.line.date = "2026-07-10";
  line.line.doubts = "none seen";
  line.verdict = LineVerdict::pass;
  line.found = Interval{16, 16};
  line.subjects = 1;
  result.lines = {line};
  return result;
}

TEST(Acceptance, IsAsGoodAsItsWorstPart) {
  Acceptance result = acceptance();
  EXPECT_EQ(result.verdict(), LineVerdict::pass);
  result.corruption.verdict = "SOUND";
  EXPECT_EQ(result.verdict(), LineVerdict::pass);
  result.corruption.verdict = "UNKNOWN";
  EXPECT_EQ(result.verdict(), LineVerdict::unknown);
  result.corruption.verdict = "CORRUPT";
  EXPECT_EQ(result.verdict(), LineVerdict::fail);
  result = acceptance();
  result.interrupted = true;
  EXPECT_EQ(result.verdict(), LineVerdict::unknown);
  result = acceptance();
  result.lines.clear();
  EXPECT_EQ(result.verdict(), LineVerdict::unknown) << "nothing was judged";
}

TEST(Certificate, BeginsWithWhatFailed) {
  Acceptance result = acceptance();
  JudgedLine failed = result.lines[0];
  failed.verdict = LineVerdict::fail;
  failed.line.machine = "link-speed";
  result.lines.push_back(failed);
  const std::string page = certificate(result);
  EXPECT_LT(page.find("link-speed"), page.find("link-width"));
}

TEST(Acceptance, AsJson) {
  const Json json = to_json(acceptance());
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_EQ(json["lines"][0]["at_least"], 16);
  EXPECT_EQ(json["lines"][0]["found"], Json({16.0, 16.0}));
  EXPECT_FALSE(json.contains("serials")) << "only on request";
}

TEST(Certificate, SaysWhatWasTestedAndHow) {
  Acceptance result = acceptance();
  const std::string page = certificate(result);
  for (const char* part : {"8 x &lt;GPU&gt;", "at least 16 lanes", "2026-07-10", "none seen",
                           "assay health accept", "size: A4", ">PASS<"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("<GPU>")));
  EXPECT_THAT(page, Not(HasSubstr("serial")));
  result.folder = "store";
  result.runs = {"r1", "r2"};
  EXPECT_THAT(certificate(result), HasSubstr("grep -F -e r1 -e r2 store/records.jsonl"));
  result.serials = {"SN1"};
  EXPECT_THAT(certificate(result), HasSubstr("SN1"));
}

}  // namespace
}  // namespace assay::health
