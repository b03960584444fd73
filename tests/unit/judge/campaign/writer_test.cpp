#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/store/unit_line.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

UnitLine line(const std::string& environment, std::size_t pair, bool complete) {
  UnitLine line;
  line.unit = {environment, environment + "-run", pair, complete};
  line.reason = complete ? "" : "it was killed";
  line.stderr_tail = "a \"quoted\" line\nand \xff another";
  return line;
}

TEST(CampaignFolder, UnitsComeBackAndDamageIsLeftOut) {
  const TemporaryFolder folder;
  folder.write("plan.yaml", "name: x\n");
  std::string text = to_line(line("a", 0, false)) + "\n" + to_line(line("a", 0, true)) + "\n";
  text += "not JSON\n{}\n[]\n\n{\"environment\":1}\n" + std::string(1000, '[') + "\n";
  text += to_line(line("a", 0, true)) + "\n" + to_line(line("b", 1, true)) + "\n";
  UnitLine too_long = line("b", 3, true);  // costs seconds and is not assay's own
  too_long.reason = std::string(2 << 20, 'x');
  text += to_line(too_long) + "\n";
  folder.write("units.jsonl", text + to_line(line("b", 2, true)));
  const auto units = read_units(folder.path());
  ASSERT_TRUE(units.ok()) << units.error().message;
  ASSERT_EQ(units->size(), 4u);
  EXPECT_FALSE((*units)[0].complete);
  EXPECT_TRUE((*units)[1].complete);
  EXPECT_FALSE((*units)[2].complete);  // a second complete unit would count its pair twice
  EXPECT_EQ((*units)[3].environment, "b");
  EXPECT_EQ((*units)[3].run, "b-run");
  EXPECT_EQ((*units)[3].pair, 1u);
}

TEST(CampaignFolder, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_campaign(folder.path()));
  const auto units = read_units(folder.path());
  ASSERT_FALSE(units.ok());
  EXPECT_THAT(units.error().message, HasSubstr("is not a campaign: plan.yaml and units.jsonl"));
}

TEST(CampaignFolder, AUnitLineKeepsEverything) {
  UnitLine before = line("host", 7, false);
  before.taken_share = 0.25;
  before.position = 21;
  before.attempt = 2;
  before.exit_status = 137;
  before.seconds = 1.5;
  const auto after = parse_unit_line(to_line(before));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->position, 21u);
  EXPECT_EQ(after->attempt, 2);
  EXPECT_EQ(after->exit_status, 137);
  EXPECT_EQ(after->seconds, 1.5);
  EXPECT_EQ(after->reason, "it was killed");
  EXPECT_EQ(after->taken_share, 0.25);
  EXPECT_THAT(after->stderr_tail, HasSubstr("a \"quoted\" line\nand "));
}

}  // namespace
}  // namespace assay
