// assay watch, and telemetry in records, on the fake backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "e2e/energy.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "e2e/served.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Watch, JsonIsALineForEachReading) {
  const Outcome outcome = assay_run({"watch", "--count", "2", "--interval", "0.01", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Json> lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  // The scripted device is listed beside the machine's own channels.
  bool found = false;
  for (const auto& [name, channel] : lines[1]["channels"].items()) {
    if (channel.value("hardware", "") != "fake:0") continue;
    found = found || (name.find(".power") != std::string::npos && channel["value"] == 100);
  }
  EXPECT_TRUE(found) << lines[1];
  EXPECT_GT(lines[1]["time"], lines[0]["time"]);
}

TEST(Watch, PlainTablesWithoutATerminal) {
  const Outcome outcome =
      assay_run({"watch", "--count", "2", "--interval", "10ms"}, {{"ASSAY_FAKE", "throttle=0.1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1.000 GHz  100 W"));
  EXPECT_THAT(outcome.out, HasSubstr("  cpu  "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST(Watch, ASignalEndsItInGoodOrder) {
  Process process({"watch", "--interval", "60", "--json"});
  for (int i = 0; i < 6000 && Process::read(process.folder() / "out").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(json_lines(outcome.out).size(), 1u);
}

TEST(Watch, SaysWhatIsWrongWithAnOption) {
  EXPECT_EQ(assay_run({"watch", "--interval", "soon"}).status, 2);
  EXPECT_THAT(assay_run({"watch", "--interval", "soon"}).err, HasSubstr("--interval: "));
  EXPECT_THAT(assay_run({"watch", "--count", "-1"}).err, HasSubstr("--count: "));
}

TEST(Watch, ServesMetricsAndTheNewestResults) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const std::vector<std::string> measure = {"run",       "memory",    "op=triad", "dtype=f64",
                                            "size=1MiB", "cache=hot", "--device", "fake",
                                            "--budget",  "500ms",     "--out",    store};
  ASSERT_EQ(assay_run(measure).status, 0);
  Process process({"watch", "--listen", "127.0.0.1:0", "--store", store});
  const auto ports = ports_of(process, 1);
  ASSERT_EQ(ports.size(), 1u) << Process::read(process.folder() / "err");
  const std::string reply = ask(ports[0], get("/metrics"));
  EXPECT_THAT(reply, HasSubstr(" 200 "));
  EXPECT_THAT(reply, HasSubstr("application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(reply, HasSubstr("assay_power_watts{"));
  EXPECT_THAT(reply, HasSubstr("assay_result_bandwidth_bytes_per_second{cell=\"memory op=triad"));
  EXPECT_THAT(reply, testing::EndsWith("# EOF\n"));
  EXPECT_THAT(ask(ports[0], get("/other")), HasSubstr(" 404 "));
  EXPECT_THAT(ask(ports[0], post("/metrics", "")), HasSubstr(" 405 "));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().status, 0);
}

TEST(Watch, KeepsMetricsInAFile) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "assay.prom";
  const Outcome outcome =
      assay_run({"watch", "--textfile", file, "--count", "2", "--interval", "10ms"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(Process::read(file), HasSubstr("# TYPE assay_power_watts gauge\nassay_power_watts{"));
}

TEST(Watch, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(assay_run({"watch", "--listen", "9400"}).err, HasSubstr("127.0.0.1:9400"));
  EXPECT_THAT(assay_run({"watch", "--listen", "node7:9400"}).err, HasSubstr("numeric"));
  EXPECT_EQ(assay_run({"watch", "--listen", "127.0.0.1:0", "--textfile", "a"}).status, 2);
  EXPECT_EQ(assay_run({"watch", "--store", "a"}).status, 2);
}

std::vector<std::string> one_cell(const std::string& telemetry) {
  return {"run",      "memory", "op=triad", "dtype=f64",   "size=1MiB",
          "--device", "fake",   "--json",   "--telemetry", telemetry};
}

TEST(RunTelemetry, IsStoredAndSummarized) {
  const Outcome outcome = assay_run(one_cell("100"), {{"ASSAY_FAKE", "throttle=0.5,sleep=0.001"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Json telemetry = json_lines(outcome.out).at(0).at("telemetry");
  EXPECT_DOUBLE_EQ(telemetry["interval"], 0.01);
  const std::size_t ticks = telemetry["seconds"].size();
  EXPECT_GE(ticks, 3u);
  EXPECT_EQ(telemetry["channels"]["gpu0.power"]["values"].size(), ticks);
  EXPECT_EQ(telemetry["channels"]["gpu0.power"]["unit"], "W");
  const Json& gpu = telemetry["summary"]["gpus"]["gpu0"];
  EXPECT_NEAR(gpu["clock_mean_hz"], 1e9, 1);
  EXPECT_NEAR(gpu["power_mean_watts"], 100, 1e-6);
  EXPECT_EQ(gpu["throttled_share"], 1);
  const double window = telemetry["window"];
  const double unseen = unseen_seconds(telemetry, "gpu0.energy");
  EXPECT_NEAR(gpu["energy_joules"], 100 * window, 5 + 100 * unseen);
  EXPECT_LT(unseen, window / 2);
  EXPECT_GT(telemetry["summary"]["joules_per_byte"], 0);
  EXPECT_THAT(outcome.err, HasSubstr("100 W"));
}

TEST(RunTelemetry, CanBeOff) {
  EXPECT_FALSE(json_lines(assay_run(one_cell("off")).out).at(0).contains("telemetry"));
  const Outcome wrong = assay_run(one_cell("sometimes"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--telemetry: \"sometimes\" is not allowed; allowed: off, or"));
  EXPECT_EQ(assay_run(one_cell("0")).status, 2);
}

}  // namespace
}  // namespace assay
