// Suites' cells that are other programs.
#include "measure/sampling/external.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "measure/suites/cells_of_target.h"
#include "measure/suites/suite.h"
#include "results/record/measured_unit.h"
#include "results/store/record_json.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(MeasuredUnit, DecimalBinaryAndBits) {
  EXPECT_EQ(measured_unit("GB/s")->si, "bytes/s");
  EXPECT_DOUBLE_EQ(measured_unit("GB/s")->factor, 1e9);
  EXPECT_DOUBLE_EQ(measured_unit("GiB/s")->factor, 0x1p30);
  EXPECT_DOUBLE_EQ(measured_unit("Gb/s")->factor, 1.25e8);
  EXPECT_DOUBLE_EQ(measured_unit("Gbit/s")->factor, 1.25e8);
  EXPECT_DOUBLE_EQ(measured_unit("TFLOPS")->factor, 1e12);
  EXPECT_DOUBLE_EQ(measured_unit("us")->factor, 1e-6);
  EXPECT_EQ(measured_unit("tok/s")->si, "tokens/s");
  EXPECT_EQ(measured_unit("MiB")->si, "bytes");
  EXPECT_FALSE(measured_unit("furlongs"));
  EXPECT_FALSE(measured_unit(""));
  EXPECT_FALSE(measured_unit("GGB/s"));
}

Result<Suite> suite_with(const std::string& command) {
  return parse_suite("name: s\ndescription: d\ncells:\n  - " + command + "\n", "s.yaml");
}

TEST(ExternalCommand, MistakesNameTheirLine) {
  const auto problem = [](const std::string& command) {
    const auto suite = suite_with(command);
    if (!suite.ok()) return suite.error().message;
    const auto cells = cells_of(*suite, {});
    return cells.ok() ? std::string("fine") : cells.error().message;
  };
  EXPECT_EQ(problem("{command: [x], name: a, format: nccl-tests}"), "fine");
  EXPECT_EQ(problem("{command: [x], name: a}"), "fine");
  EXPECT_EQ(problem("{command: [x], name: a, format: f, metrics: [{name: m, json: /x, unit: s, "
                    "better: lower}]}"),
            "s.yaml:4: a command has either \"format\" (of `assay import`) or \"metrics\", not "
            "both; without either its run time is measured");
  EXPECT_EQ(problem("{command: [x], name: 'a b', format: f}"),
            "s.yaml:4: \"a b\" is not a valid name; allowed: 1 to 64 letters, digits, _ - . "
            "without . in front");
  EXPECT_EQ(problem("{command: [x], name: memory, format: f}"),
            "s.yaml:4: the command's name \"memory\" is that of a benchmark; choose another");
  EXPECT_THAT(problem("{command: [x], name: a, metrics: [{name: m, regex: '(', unit: s, better: "
                      "lower}]}"),
              HasSubstr("s.yaml:4: bad regular expression \"(\""));
  EXPECT_THAT(problem("{command: [x], name: a, metrics: [{name: m, regex: 'x', unit: s, better: "
                      "lower}]}"),
              HasSubstr("it has no group"));
  EXPECT_THAT(problem("{command: [x], name: a, metrics: [{name: m, json: x, unit: s, better: "
                      "lower}]}"),
              HasSubstr("\"x\" is not a JSON pointer"));
  EXPECT_THAT(problem("{command: [x], name: a, metrics: [{name: m, json: /x, unit: q, better: "
                      "lower}]}"),
              HasSubstr("unknown unit \"q\""));
  EXPECT_THAT(problem("{command: [x], name: a, metrics: [{name: m, json: /x, unit: s, better: "
                      "up}]}"),
              HasSubstr("must be higher, lower or neither"));
  EXPECT_THAT(problem("{command: [x], name: a, format: f}\n  - {command: [y], name: a, format: f}"),
              HasSubstr("s.yaml:5: the command in line 4 is also named \"a\""));
}

TEST(ExternalCommand, ASuiteSurvivesItsOneLineForm) {
  const auto suite = suite_with(
      "{command: [prog, 'a b', \"it's\"], name: a, timeout: 90s, file: out.json, variables: {X: "
      "'1'}, metrics: [{name: m, regex: '^bw\\s+(\\S+)', unit: GB/s, better: higher}]}\n"
      "  - {benchmark: launch}");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  const std::string line = inline_text(*suite, {});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto plan = make_plan(line, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->commands.size(), 1u);
  EXPECT_EQ(plan->commands[0].words, suite->entries[0].command->words);
  EXPECT_EQ(plan->commands[0].metrics[0].regex, "^bw\\s+(\\S+)");
  EXPECT_EQ(plan->commands[0].timeout_seconds, 90);
  EXPECT_EQ(plan->commands[0].file, "out.json");
  EXPECT_GT(plan->cells.size(), 1u);
}

TEST(ExternalCommand, OverridesStayInTheOneLineForm) {
  const auto suite = parse_suite(
      "name: s\ndescription: d\ncells:\n  - {benchmark: memory, axes: {op: copy, size: 1MiB}}\n",
      "s.yaml");
  const auto plan = make_plan(inline_text(*suite, {{"op", "triad"}, {"dtype", "f64"}}), {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const Cell& cell : plan->cells) {
    EXPECT_EQ(cell.text("op"), "triad");
    EXPECT_EQ(cell.text("size"), "1MiB");
  }
}

TEST(ExternalCommand, WithoutMetricsItsRunTimeIsTheResult) {
  ExternalCommand command;
  command.name = "nap";
  command.words = {"sleep", "0.05"};
  const auto records = run_external(command, {}, [] { return false; });
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_EQ(records->size(), 1u);
  ASSERT_EQ(records->front().metrics.size(), 1u);
  const Metric& duration = records->front().metrics.front();
  EXPECT_EQ(duration.name, "duration");
  EXPECT_EQ(duration.unit, "s");
  EXPECT_EQ(duration.better, Better::lower);
  EXPECT_GE(duration.value, 0.05);
}

MetricRule by_regex(const std::string& regex) {
  return {"m", "", regex, "GB/s", "higher"};
}
MetricRule by_json(const std::string& pointer) {
  return {"m", pointer, "", "ms", "lower"};
}

TEST(FindMetric, TheLastLineThatMatches) {
  const auto metric = find_metric(by_regex("bw: (\\S+)"), "bw: 1\nnoise\nbw: 2.5\nend\n");
  ASSERT_TRUE(metric.ok()) << metric.error().message;
  EXPECT_DOUBLE_EQ(metric->value, 2.5e9);
  EXPECT_EQ(metric->unit, "bytes/s");
  EXPECT_EQ(metric->text, "2.5 GB/s");
  EXPECT_EQ(metric->better, Better::higher);
}

TEST(FindMetric, JsonAsAWholeOrAsTheLastLine) {
  EXPECT_DOUBLE_EQ(find_metric(by_json("/a/1/b"), "{\"a\": [0,\n {\"b\": 4}]}")->value, 4e-3);
  EXPECT_DOUBLE_EQ(find_metric(by_json("/b"), "log\n{\"b\": 1}\n{\"b\": \"2\"}\nbye\n")->value,
                   2e-3);
}

TEST(FindMetric, WhatIsNotThereOrNoNumberIsAnError) {
  const auto problem = [](const MetricRule& rule, const std::string& output) {
    const auto metric = find_metric(rule, output);
    return metric.ok() ? std::string("fine") : metric.error().message;
  };
  EXPECT_THAT(problem(by_regex("x(.)"), "a\n"), HasSubstr("no line of its output matches"));
  EXPECT_EQ(problem(by_regex("bw: (\\S+)"), "bw: fast"), "metric m: \"fast\" is not a number");
  EXPECT_EQ(problem(by_regex("bw: (\\S+)"), "bw: nan"), "metric m: \"nan\" is not a number");
  EXPECT_EQ(problem(by_regex("bw: (\\S+)"), "bw: 1e999"), "metric m: \"1e999\" is not a number");
  EXPECT_EQ(problem(by_json("/b"), "none"), "metric m: its output holds no JSON");
  EXPECT_EQ(problem(by_json("/b"), "{}"), "metric m: its output has nothing at /b");
  EXPECT_EQ(problem(by_json("/b/99999999999999999999"), "{\"b\":[1]}"),
            "metric m: its output has nothing at /b/99999999999999999999");
  EXPECT_EQ(problem(by_json("/b"), "{\"b\":[1]}"), "metric m: the value at /b is not a number");
  EXPECT_THAT(problem(by_json("/b"), std::string(5000, '[')), HasSubstr("holds no JSON"));
  // Catastrophic backtracking is stopped, however long the line is.
  EXPECT_THAT(problem(by_regex("(a|b)*z(.)"), std::string(5'000'000, 'a')),
              HasSubstr("metric m: "));
}

Record blank() {
  Record record;
  record.run = "r";
  record.device.backend = "fake";
  return record;
}

Result<std::vector<Record>> run_shell(const std::string& script, ExternalCommand command = {}) {
  command.name = "probe";
  command.words = {"sh", "-c", script};
  if (command.format.empty()) command.metrics = {by_regex("bw: (\\S+)")};
  return run_external(command, blank(), [] { return false; });
}

TEST(RunExternal, ARecordWithMetricAndSource) {
  const auto records = run_shell("echo bw: 3");
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_EQ(records->size(), 1u);
  const Record& record = records->front();
  EXPECT_EQ(record.status, RecordStatus::passed);
  EXPECT_EQ(record.cell.id(), "probe");
  EXPECT_EQ(record.run, "r");
  EXPECT_DOUBLE_EQ(record.metrics.at(0).value, 3e9);
  EXPECT_EQ(record.source->tool, "sh");
  EXPECT_EQ(record.source->file, "sh -c echo bw: 3");
}

TEST(RunExternal, AMissingMetricIsAnErrorThatKeepsTheOthers) {
  ExternalCommand command;
  command.name = "probe";
  command.words = {"sh", "-c", "echo bw: 3"};
  command.metrics = {by_regex("bw: (\\S+)"), by_regex("latency: (\\S+)")};
  const auto records = run_external(command, blank(), [] { return false; });
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->front().status, RecordStatus::error);
  EXPECT_THAT(records->front().reason, HasSubstr("no line of its output matches latency"));
  EXPECT_EQ(records->front().metrics.size(), 1u);
}

TEST(RunExternal, FailuresCarryTheLastLineOfStandardError) {
  EXPECT_EQ(run_shell("echo bw: 3; echo first >&2; echo no device >&2; exit 4").error().message,
            "sh ended with 4: no device");
  ExternalCommand slow;
  slow.timeout_seconds = 0.2;
  EXPECT_THAT(run_shell("sleep 60", slow).error().message, HasSubstr("took longer than"));
  ExternalCommand unknown;
  unknown.format = "no-such-format";
  EXPECT_THAT(run_shell("echo", unknown).error().message, HasSubstr("no-such-format"));
  ExternalCommand absent;
  absent.name = "a";
  absent.words = {"no-such-program-anywhere"};
  EXPECT_EQ(run_external(absent, blank(), [] { return false; }).error().kind,
            ErrorKind::unavailable);
}

/// A load on a simulated server is a command of a campaign, whose device is the machine's own.
TEST(RunExternal, WhatAModelMadeStaysMarked) {
  for (const bool emulated : {true, false}) {
    Record record = blank();
    record.cell = Cell("serving", {});
    record.status = RecordStatus::passed;
    record.device.name = "a server";
    record.device.emulated = emulated;
    record.metrics = {{"mean_ttft", 0.1, "s", Better::lower, ""}};
    const TemporaryFolder folder;
    ExternalCommand command;
    command.format = "assay";
    const auto records = run_shell(
        "cat " + folder.write("line", json_line(to_json(record)) + "\n").string(), command);
    ASSERT_TRUE(records.ok()) << records.error().message;
    EXPECT_EQ(records->at(0).device.emulated, emulated);
    EXPECT_EQ(records->at(0).device.name, "") << "this run's device";
  }
}

TEST(RunExternal, ReadsTheFileItWroteAndNeverAnOldOne) {
  const TemporaryFolder folder;
  ExternalCommand command;
  command.file = folder.write("result", "bw: 1\n");
  EXPECT_THAT(run_shell("true", command).error().message, HasSubstr("wrote no result"));
  const auto records = run_shell("echo bw: 9 > " + command.file, command);
  ASSERT_TRUE(records.ok()) << records.error().message;
  EXPECT_DOUBLE_EQ(records->front().metrics.at(0).value, 9e9);
}

}  // namespace
}  // namespace assay
