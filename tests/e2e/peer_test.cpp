// assay run peer on the fake backend with several devices, and on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/json.h"
#include "e2e/process.h"
#include "machine/system/affinity.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Json> records_of(const Outcome& outcome) {
  std::vector<Json> records;
  std::istringstream stream(outcome.out);
  for (std::string line; std::getline(stream, line);) records.push_back(Json::parse(line));
  return records;
}

std::vector<std::string> peer(std::initializer_list<std::string> more) {
  std::vector<std::string> words = {"run", "peer", "--device", "fake", "--telemetry", "off"};
  words.insert(words.end(), more);
  return words;
}

const std::string noiseless = "noise=0,devices=4,rate=1e9";

TEST(Peer, EveryPairIsMeasuredAndVerified) {
  const Outcome outcome =
      assay_run(peer({"size=1MiB", "engine=copy,kernel", "by=all", "--json", "--budget", "12s"}),
                {{"ASSAY_FAKE", noiseless}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto records = records_of(outcome);
  EXPECT_EQ(records.size(), 48u);  // 12 pairs, two engines, run by either end
  for (const Json& record : records) {
    EXPECT_EQ(record["status"], "passed");
    EXPECT_EQ(record["notes"]["path"], "peer to peer");
    if (record["axes"]["engine"] != "copy") continue;
    EXPECT_NEAR(record["value"]["median"].get<double>(), 1e9, 1e4) << record["axes"];
  }
}

TEST(Peer, CopiesAtOnceAreTimedOverTheirCommonWindow) {
  const auto measure = [](const std::string& pattern, const std::string& script) {
    const Outcome outcome = assay_run(
        peer({"size=1MiB", "--budget", "1s", "pattern=" + pattern, "from=0", "to=1", "--json"}),
        {{"ASSAY_FAKE", script}});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return records_of(outcome).at(0);
  };
  const std::vector<std::pair<std::string, int>> patterns = {
      {"both", 2}, {"one_to_all", 3}, {"all_to_one", 3}, {"all_to_all", 12}};
  for (const auto& [pattern, copies] : patterns) {
    const Json free = measure(pattern, noiseless);
    EXPECT_NEAR(free["value"]["median"].get<double>(), 1e9 * copies, 1e5) << pattern;
    EXPECT_EQ(free["notes"]["copies"], std::to_string(copies));
    EXPECT_EQ(free["notes"]["concurrency"], "1.00");
    EXPECT_FALSE(free["notes"].contains("serialised"));
    // One engine serves all copies: together they are no faster than one, and the record says why.
    const Json serial = measure(pattern, noiseless + ",serial=1");
    EXPECT_NEAR(serial["value"]["median"].get<double>(), 1e9, 1e5) << pattern;
    EXPECT_EQ(serial["notes"]["serialised"], "yes");
  }
}

TEST(Peer, ADeviceWithSlowLinksIsNamed) {
  const Outcome outcome =
      assay_run(peer({"size=1MiB", "--budget", "12s"}), {{"ASSAY_FAKE", "devices=8,slow=2"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 sends and receives at 50% of the median"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("the link from")));
}

TEST(Peer, ACurveOverSizesSaysWhereItSaturates) {
  const Outcome outcome = assay_run(peer({"size=4KiB..1MiB*4", "from=0", "to=1", "engine=kernel"}),
                                    {{"ASSAY_FAKE", "noise=0,devices=2"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("50% of the plateau at 406.4 KiB"));
  EXPECT_THAT(outcome.out, HasSubstr("4 KiB take 100."));
}

TEST(Peer, AWrongCopyHasNoNumber) {
  const Outcome outcome = assay_run(peer({"size=1MiB", "from=0", "to=1", "engine=kernel"}),
                                    {{"ASSAY_FAKE", "devices=2,corrupt=1"}});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, HasSubstr("1 of 131072 words did not arrive from 0 at 1"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("GB/s")));
}

TEST(Peer, OneDeviceIsTooFew) {
  const Outcome outcome = assay_run(peer({"size=1MiB"}));
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.out, HasSubstr("needs two devices; there is one"));
}

TEST(Peer, TheReportDrawsTheMatrixAndNamesTheOddOne) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const Outcome run = assay_run(peer({"size=1MiB", "--budget", "12s", "--out", store}),
                                {{"ASSAY_FAKE", "devices=8,slow=2"}});
  ASSERT_EQ(run.status, 0) << run.err;
  const Outcome report = assay_run({"report", store, "--format", "md"});
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("peer bandwidth by link"));
  EXPECT_THAT(report.out, HasSubstr("56 links, from "));
  EXPECT_THAT(report.out, HasSubstr("Odd: 2 sends and receives at 50% of the median."));
}

TEST(PeerOnCores, CopiesAndCacheLinesBetweenTwoCores) {
  if (affinity_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  const Outcome copies =
      assay_run({"run", "peer", "--device", "cpu", "--telemetry", "off", "pattern=pair,both",
                 "engine=copy", "by=all", "from=0", "to=1", "size=1MiB", "--json"});
  EXPECT_EQ(copies.status, 0) << copies.err;
  const auto records = records_of(copies);
  EXPECT_EQ(records.size(), 4u);
  for (const Json& record : records) {
    EXPECT_EQ(record["status"], "passed") << record;
    EXPECT_GT(record["value"]["median"].get<double>(), 1e5) << record["axes"];
    EXPECT_LT(record["value"]["median"].get<double>(), 1e12) << record["axes"];
  }
  const Outcome line =
      assay_run({"run", "peer", "--device", "cpu", "--telemetry", "off", "engine=cacheline",
                 "from=all", "to=0,1", "size=4KiB", "pattern=all", "by=all", "--json"});
  EXPECT_EQ(line.status, 0) << line.err;
  const auto lines = records_of(line);
  ASSERT_GE(lines.size(), 1u);
  EXPECT_EQ(lines[0]["axes"]["size"], "64");
  EXPECT_EQ(lines[0]["axes"]["from"], "0");
  EXPECT_EQ(lines[0]["axes"]["to"], "1");
  EXPECT_EQ(lines[0]["value"]["quantity"], "latency");
  EXPECT_GT(lines[0]["value"]["median"].get<double>(), 5e-9);
  EXPECT_LT(lines[0]["value"]["median"].get<double>(), 1);  // long where both cores are busy
}

}  // namespace
}  // namespace assay
