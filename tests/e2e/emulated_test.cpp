// Commands on a device that reports that it is emulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/campaign_study.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Process::Environment model = {{"ASSAY_FAKE", "emulated=1"}};

std::vector<std::string> words_of(const std::string& store) {
  return {"run",  "memory",      "op=copy", "dtype=f64", "size=1MiB", "cache=hot", "--device",
          "fake", "--telemetry", "off",     "--budget",  "500ms",     "--out",     store};
}

TEST(Emulated, RunShowAndReportNeverShowAMeasurement) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const Outcome run = assay_run(words_of(store), model);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("model "), HasSubstr("nothing was measured")));
  EXPECT_THAT(run.err,
              AllOf(HasSubstr(", emulated"), HasSubstr(": model "), Not(HasSubstr("B/s ["))));
  EXPECT_THAT(assay_run({"show", store}).out, HasSubstr("nothing was measured"));
  EXPECT_THAT(assay_run({"show", store, "--json"}).out, HasSubstr("\"emulated\":true"));
  EXPECT_THAT(assay_run({"report", store}).out,
              AllOf(HasSubstr("(model)"), HasSubstr("nothing was measured")));
}

TEST(Emulated, IsRefusedBesideARealDevice) {
  const TemporaryFolder folder;
  const std::string emulated = folder.path() / "emulated", real = folder.path() / "real";
  ASSERT_EQ(assay_run(words_of(emulated), model).status, 0);
  ASSERT_EQ(assay_run(words_of(real)).status, 0);
  for (const char* command : {"compare", "report"}) {
    const Outcome outcome = assay_run({command, emulated, real});
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err,
                HasSubstr("is from a model (an emulated device or a simulated server) and "));
  }
}

TEST(Emulated, ACampaignOfBothEndsBeforeItsFirstUnit) {
  const Study study(
      head() +
      "environments:\n  - {name: real, kind: host}\n  - {name: model, kind: host, variables: "
      "{ASSAY_FAKE: emulated=1}}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(last_of(outcome.err),
              HasSubstr("model is from a model (an emulated device or a simulated server) and real "
                        "is from a real one"));
  EXPECT_TRUE(study.units().empty());
}

TEST(Emulated, NothingIsTunedOnAModel) {
  const TemporaryFolder folder;
  const Outcome outcome =
      assay_run({"tune", "memory", "op=copy", "dtype=f64", "size=1MiB", "cache=hot", "X=1,2",
                 "--device", "fake", "--out", (folder.path() / "tuning").string()},
                model);
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("times of a model are useless for tuning"));
}

}  // namespace
}  // namespace assay
