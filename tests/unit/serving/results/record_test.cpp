// A result as a record of the store and as vLLM's JSON, and that JSON read back.
#include <gmock/gmock.h>

#include "cli/results_view.h"
#include "core/json.h"
#include "judge/report/document.h"
#include "judge/report/report.h"
#include "results/store/record_json.h"
#include "serving/results/analysis.h"
#include "serving/results/passes.h"
#include "serving/results/serving_record.h"
#include "serving/results/vllm_json.h"
#include "unit/import_test.h"
#include "unit/serving_logs.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AnalysisSettings settings_of(std::size_t prompts) {
  AnalysisSettings settings;
  settings.load.request_rate = 4;
  settings.load.max_concurrency = 64;
  settings.load.num_prompts = prompts;
  settings.goodput.ttft = 0.5;
  return settings;
}

/// Two targets, uneven times.
std::vector<RequestLog> uneven_logs(std::size_t n) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < n; ++i) {
    const double extra = 0.01 * static_cast<double>(i % 7);
    logs.push_back(reply(i, static_cast<double>(i) / 4, 0.2 + extra,
                         {0.25f, static_cast<float>(0.1 + extra)}));
    logs.back().target = static_cast<int>(i % 2);
    logs.back().scheduled -= 0.0625;  // each waits for its turn
  }
  return logs;
}

std::vector<std::string> names_of(const Record& record) {
  std::vector<std::string> names;
  for (const Metric& metric : record.metrics) names.push_back(metric.name);
  return names;
}

std::vector<std::string> judged_of(const Record& record) {
  std::vector<std::string> judged;
  for (const Metric& metric : record.metrics) {
    if (metric.better != Better::neither) judged.push_back(metric.name);
  }
  return judged;
}

TEST(ServingRecord, AFewOfItsMetricsAreJudged) {
  const ServingResult result = analyse(uneven_logs(100), settings_of(100));
  const std::vector<std::string> judged = judged_of(serving_record(result, {}));
  EXPECT_THAT(judged, ElementsAre("output_throughput", "request_goodput", "mean_ttft", "p99_ttft",
                                  "mean_tpot", "p99_tpot", "p99_itl", "mean_e2el", "p99_e2el"));
  const Imported others = imported(vllm_json({}, result, nullptr));
  ASSERT_EQ(others.records.size(), 1u);
  EXPECT_THAT(judged_of(others.records[0]), testing::UnorderedElementsAreArray(judged))
      << "of the same result in vLLM's JSON, the same ones";
  EXPECT_GT(others.records[0].metrics.size(), judged.size()) << "the others are shown";
}

TEST(ServingRecord, IsReadBackFromTheStore) {
  const ServingResult result = analyse(uneven_logs(100), settings_of(100));
  Record record = serving_record(result, {{"dataset", "random"}, {"input_tokens", "10"}});
  record.run = "20260131T120000Z-0001";
  record.device.backend = "cpu";
  record.device.name = "somewhere";
  EXPECT_EQ(record.cell.id(),
            "serving request_rate=4 max_concurrency=64 num_prompts=100 dataset=random "
            "input_tokens=10");
  EXPECT_EQ(record.status, RecordStatus::passed) << record.reason;
  EXPECT_EQ(record.source->tool, "assay load");
  EXPECT_EQ(record.metrics[0].name, "output_throughput");
  EXPECT_EQ(metric_of(record, "mean_ttft").value, result.ttft.mean);
  EXPECT_EQ(metric_of(record, "p99_e2el_scheduled").value,
            result.e2el_scheduled.percentile(99)->value);
  EXPECT_EQ(metric_of(record, "queue_time_p99").value, 0.0625);
  EXPECT_NE(metric_of(record, "p99_e2el_scheduled").value, metric_of(record, "p99_e2el").value);
  EXPECT_EQ(metric_of(record, "p99_itl").interval95->high,
            result.itl.percentile(99)->interval95.high);
  EXPECT_EQ(metric_of(record, "steady_output_throughput").value, result.steady->output_throughput);
  EXPECT_EQ(metric_of(record, "send_lag_p99").better, Better::neither);
  EXPECT_THAT(note_of(record, "target 1"),
              HasSubstr("50 requests, 50 completed, mean TTFT 0.2296 s"));
  EXPECT_THAT(note_of(record, "saturation"), HasSubstr("not saturated"));
  EXPECT_THAT(note_of(record, "warning 1"), HasSubstr("p99 of 100 requests"));
  const auto read = record_from_json(Json::parse(to_json(record).dump()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read).dump(), to_json(record).dump());
}

TEST(ServingRecord, AVoidRunIsFailedAndKeepsItsMetrics) {
  std::vector<RequestLog> logs = uneven_logs(2);
  for (std::size_t i = 2; i < 5; ++i) logs.push_back(failure(i, 0, 1, ReplyEnd::refused));
  AnalysisSettings settings = settings_of(5);
  settings.load.burstiness = 0.5;
  settings.client.cpu_share = 0.9;
  const Record record = serving_record(analyse(logs, settings), {});
  EXPECT_EQ(record.cell.id(),
            "serving request_rate=4 burstiness=0.5 max_concurrency=64 num_prompts=5");
  EXPECT_EQ(record.status, RecordStatus::failed);
  EXPECT_THAT(record.reason, HasSubstr("90% of the time"));
  EXPECT_THAT(record.reason, HasSubstr("; 3 of 5 requests failed"));
  EXPECT_EQ(metric_of(record, "failed").value, 3);
  EXPECT_EQ(metric_of(record, "client_cpu_share").value, 0.9);
}

std::vector<std::string> voids_of(const Record& record) {
  std::vector<std::string> names;
  for (const Metric& metric : record.metrics) {
    if (metric.is_void) names.push_back(metric.name);
  }
  return names;
}

/// What late sends void stays void wherever the record is read.
TEST(ServingRecord, VoidFiguresStayVoid) {
  ServingResult result = analyse(uneven_logs(100), settings_of(100));
  EXPECT_THAT(voids_of(serving_record(result, {})), IsEmpty());
  result.verdict.late = "5 of 100 requests were sent more than 1 ms late; TTFT and E2EL are void";
  Record record = serving_record(result, {});
  record.run = "1";
  EXPECT_THAT(voids_of(record),
              testing::IsSupersetOf({"request_goodput", "mean_ttft", "median_ttft", "p99_ttft",
                                     "mean_e2el", "p99_e2el"}));
  for (const std::string& name : voids_of(record)) {
    EXPECT_EQ(metric_of(record, name).better, Better::neither) << name;
    EXPECT_THAT(name, testing::Not(HasSubstr("scheduled"))) << "counts from the schedule";
    EXPECT_THAT(name, testing::Not(HasSubstr("tpot")));
  }
  const auto read = record_from_json(to_json(record));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(voids_of(*read), voids_of(record));
  const std::string shown = cli::results_text(std::vector{*read}, 0, cli::Style(false));
  EXPECT_THAT(shown, testing::ContainsRegex("mean_ttft .*\n.*void"));
  EXPECT_THAT(shown, HasSubstr("void in part: serving\n"));
  EXPECT_THAT(shown, HasSubstr("sent more than 1 ms late"));
  EXPECT_THAT(shown, testing::Not(HasSubstr("229.")));  // milliseconds
  Record of_model = *read;
  of_model.device.emulated = true;
  EXPECT_THAT(cli::results_text(std::vector{of_model}, 0, cli::Style(false)),
              testing::Not(HasSubstr("model void")));
  report::ReportInput input;
  input.environments = {{.results = result_set_of({*read}, "host"), .records = {}}};
  const report::Document document = report::make_document(input);
  EXPECT_THAT(document.cards.at(2).lines,
              testing::Contains(testing::ContainsRegex("Void in part: serving.* \\(e2el, ")));
  EXPECT_THAT(document.notes, testing::Contains(HasSubstr("sent more than 1 ms late")));
  EXPECT_THAT(report::to_markdown(document),
              testing::ContainsRegex("e2el, request_goodput[^|]*ttft[^|]*\\|.*\\| void: "));
  // A closed loop sends when a reply has ended: its throughput is void, too.
  result.load.request_rate = INFINITY;
  EXPECT_THAT(voids_of(serving_record(result, {})),
              testing::IsSupersetOf({"output_throughput", "total_token_throughput"}));
}

TEST(ServingRecord, WhatIsVoidInOnePassIsVoidInTheMean) {
  ServingResult result = analyse(uneven_logs(100), settings_of(100));
  const Record sound = serving_record(result, {});
  result.verdict.late = "3 of 100 requests were late";
  const Record late = serving_record(result, {});
  const std::vector<Record> passes = {sound, late};
  const Record mean = record_of_passes(passes);
  EXPECT_EQ(voids_of(mean), voids_of(late));
  EXPECT_EQ(note_of(mean, "void"), "3 of 100 requests were late");
}

TEST(ServingRecord, RepliesThatCameWholeHaveNoTimePerToken) {
  std::vector<RequestLog> logs = {reply(0, 0, 1, {}), reply(1, 1, 1, {})};
  for (RequestLog& log : logs) log.output_tokens = 100;
  const Record record = serving_record(analyse(logs, {}), {});
  EXPECT_THAT(names_of(record), testing::Not(testing::Contains(HasSubstr("tpot"))));
  EXPECT_THAT(names_of(record), testing::Contains("mean_ttft"));
}

TEST(ServingRecord, ServersStandBesideTheirClient) {
  Record record = serving_record(analyse(uneven_logs(100), settings_of(100)), {});
  const std::size_t own = record.metrics.size();
  ServerMetrics server;
  add_server_metrics(record, server);
  EXPECT_EQ(record.metrics.size(), own);  // unknown values are absent
  server.ttft = Histogram{6, 30, {{0.25, 30}}};
  server.prefix_cache_hit_rate = 0.5;
  server.preemptions = 2;
  server.server = "vLLM";
  add_server_metrics(record, server);
  EXPECT_EQ(metric_of(record, "server_mean_ttft").value, 0.2);
  EXPECT_DOUBLE_EQ(metric_of(record, "server_p99_ttft").value, 0.2475);
  EXPECT_EQ(metric_of(record, "preemptions").value, 2);
  EXPECT_EQ(metric_of(record, "prefix_cache_hit_rate").value, 0.5);
  EXPECT_EQ(record.notes.back().second, "vLLM");
  EXPECT_THAT(prefix_cache_warning(server), HasSubstr("50% of the prompts"));
}

const VllmNames run_names = {"20260131-120000", "openai", std::nullopt, "meta/model",
                             "meta/tokenizer"};

std::vector<std::string> keys_of(const std::string& text) {
  std::vector<std::string> keys;
  const Json json = Json::parse(text);
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

// The fields are those of h200x8_1p3d_conc128_in128_out2048_20250914_020816.json of
// dstackai/benchmarks.
TEST(VllmJson, HasTheFieldsOfARealResultInTheirOrder) {
  const ServingResult result = analyse(uneven_logs(20), settings_of(20));
  const std::vector<std::string> real = {"date",
                                         "endpoint_type",
                                         "label",
                                         "model_id",
                                         "tokenizer_id",
                                         "num_prompts",
                                         "request_rate",
                                         "burstiness",
                                         "max_concurrency",
                                         "duration",
                                         "completed",
                                         "total_input_tokens",
                                         "total_output_tokens",
                                         "request_throughput",
                                         "request_goodput",
                                         "output_throughput",
                                         "total_token_throughput",
                                         "mean_ttft_ms",
                                         "median_ttft_ms",
                                         "std_ttft_ms",
                                         "p99_ttft_ms",
                                         "mean_tpot_ms",
                                         "median_tpot_ms",
                                         "std_tpot_ms",
                                         "p99_tpot_ms",
                                         "mean_itl_ms",
                                         "median_itl_ms",
                                         "std_itl_ms",
                                         "p99_itl_ms",
                                         "mean_e2el_ms",
                                         "median_e2el_ms",
                                         "std_e2el_ms",
                                         "p99_e2el_ms"};
  EXPECT_EQ(keys_of(vllm_json(run_names, result)), real);
  std::vector<std::string> detailed = real;
  const std::vector<std::string> arrays = {"input_lens", "output_lens",     "ttfts",
                                           "itls",       "generated_texts", "errors"};
  detailed.insert(detailed.begin() + 17, arrays.begin(), arrays.end());
  const std::vector<RequestLog> logs = uneven_logs(20);
  EXPECT_EQ(keys_of(vllm_json(run_names, result, &logs)), detailed);
}

TEST(VllmJson, WritesWhatPythonWrites) {
  AnalysisSettings settings;
  settings.load.num_prompts = 20;
  const Json json = Json::parse(vllm_json(run_names, analyse(uneven_logs(20), settings)));
  EXPECT_EQ(json["request_rate"], "inf");
  EXPECT_EQ(json["burstiness"].dump(), "1.0");
  EXPECT_TRUE(json["max_concurrency"].is_null());
  EXPECT_TRUE(json["request_goodput"].is_null());
  EXPECT_TRUE(json["label"].is_null());
  const Json capped = Json::parse(vllm_json(run_names, analyse(uneven_logs(20), settings_of(20))));
  EXPECT_EQ(capped["request_rate"].dump(), "4.0");
  EXPECT_EQ(capped["max_concurrency"].dump(), "64");
  EXPECT_NEAR(capped["mean_ttft_ms"].get<double>(), 230, 5);
}

// What the importer makes of it is what the store keeps of the run itself.
TEST(VllmJson, IsImportedWithEqualValues) {
  const std::vector<RequestLog> logs = uneven_logs(1000);
  const ServingResult result = analyse(logs, settings_of(1000));
  const Record own = serving_record(result, {});
  for (const auto* details : {static_cast<const std::vector<RequestLog>*>(nullptr), &logs}) {
    const Imported read = imported(vllm_json(run_names, result, details));
    EXPECT_THAT(read.warnings, IsEmpty());
    ASSERT_EQ(read.records.size(), 1u);
    const Record& record = read.records[0];
    // The file does not say how the lengths were chosen, so they tell imported loads apart.
    EXPECT_EQ(without_axis(without_axis(record.cell, "input_about"), "output_about"), own.cell);
    EXPECT_EQ(record.status, RecordStatus::passed);
    EXPECT_EQ(record.time, "2026-01-31T12:00:00");
    EXPECT_EQ(note_of(record, "model_id"), "meta/model");
    const std::vector<std::string> all = names_of(own);
    auto place = all.begin();
    for (const Metric& metric : record.metrics) {
      if (metric.name.ends_with("_nonempty"))
        continue;  // here equal to the metric without that suffix
      const Metric& mine = metric_of(own, metric.name);
      EXPECT_NEAR(metric.value, mine.value, 1e-12 * mine.value) << metric.name;
      EXPECT_EQ(metric.unit, mine.unit) << metric.name;
      // In assay's own record fewer metrics say which direction is better.
      if (mine.better != Better::neither) EXPECT_EQ(metric.better, mine.better) << metric.name;
      place = std::find(place, all.end(), metric.name);  // in the same order
      EXPECT_NE(place, all.end()) << metric.name;
    }
  }
}

TEST(VllmJson, FailuresHaveErrorsAndTextsMayBeBroken) {
  std::vector<RequestLog> logs = uneven_logs(3);
  logs.push_back(failure(4, 0, 1, ReplyEnd::refused));
  logs.push_back(failure(3, 0, 1, ReplyEnd::complete));
  logs[3].error = "half a character: \xc3";
  const std::string text = vllm_json(run_names, analyse(logs, settings_of(5)), &logs);
  const Json json = Json::parse(text);
  EXPECT_EQ(json["errors"][3], "no token came");  // by index
  EXPECT_THAT(json["errors"][4].get<std::string>(), HasSubstr("half a character: \xef\xbf\xbd"));
  EXPECT_EQ(json["ttfts"][4], 0.0);
  EXPECT_EQ(json["completed"], 3);
  EXPECT_THAT(imported(text).warnings, IsEmpty());
}

TEST(ServingRecord, WhatALateClientTouchesIsNotJudged) {
  std::vector<RequestLog> logs = uneven_logs(100);
  for (RequestLog& log : logs) log.due = log.scheduled = log.sent - 1;
  AnalysisSettings settings = settings_of(100);
  const Record record = serving_record(analyse(logs, settings), {});
  EXPECT_EQ(record.status, RecordStatus::passed);
  EXPECT_THAT(note_of(record, "void"), HasSubstr("TTFT and E2EL are void"));
  for (const char* name : {"mean_ttft", "p99_ttft", "mean_e2el", "p99_e2el"}) {
    EXPECT_EQ(metric_of(record, name).better, Better::neither) << name;
  }
  EXPECT_EQ(metric_of(record, "mean_tpot").better, Better::lower);
  EXPECT_EQ(metric_of(record, "output_throughput").better, Better::higher);
}

Record pass_of(double throughput, double ttft, RecordStatus status = RecordStatus::passed) {
  Record record;
  record.cell = Cell("serving", {{"max_concurrency", "4"}});
  record.status = status;
  if (status != RecordStatus::passed) record.reason = "the client was the limit";
  record.metrics = {{"output_throughput", throughput, "tokens/s", Better::higher, "", {}},
                    {"mean_ttft", ttft, "s", Better::lower, "", Interval{0, 9}},
                    {"completed", 100, "1", Better::neither, "", {}}};
  return record;
}

TEST(ServingPasses, TheirMeansAndTheirSpreadAreTheRecord) {
  const Record passes[] = {pass_of(100, 1), pass_of(110, 2), pass_of(120, 3)};
  const Record all = record_of_passes(passes);
  EXPECT_EQ(all.status, RecordStatus::passed);
  EXPECT_EQ(all.cell.id(), passes[0].cell.id());
  EXPECT_EQ(metric_of(all, "output_throughput").value, 110);
  const double margin = 4.302652729911275 * 10 / std::sqrt(3.0);  // Student's t of 2 degrees
  EXPECT_NEAR(metric_of(all, "output_throughput").interval95->low, 110 - margin, 1e-6);
  EXPECT_NEAR(metric_of(all, "output_throughput").interval95->high, 110 + margin, 1e-6);
  EXPECT_EQ(metric_of(all, "mean_ttft").interval95->low, 0);  // no time is negative
  EXPECT_FALSE(metric_of(all, "completed").interval95);
  EXPECT_EQ(note_of(all, "passes"), "3");
  EXPECT_EQ(note_of(all, "pass 2"), "output_throughput 110 tokens/s, mean_ttft 2 s");
}

TEST(ServingPasses, VoidOnesAreLeftOut) {
  const Record some[] = {pass_of(1, 1, RecordStatus::failed), pass_of(110, 2), pass_of(120, 3)};
  const Record all = record_of_passes(some);
  EXPECT_EQ(all.status, RecordStatus::passed);
  EXPECT_EQ(metric_of(all, "output_throughput").value, 115);
  EXPECT_THAT(note_of(all, "pass 1"), HasSubstr("left out: the client was the limit"));
  const Record none[] = {pass_of(1, 1, RecordStatus::failed), pass_of(3, 2, RecordStatus::failed)};
  EXPECT_EQ(record_of_passes(none).status, RecordStatus::failed);
  const Record one[] = {pass_of(1, 1)};
  EXPECT_EQ(metric_of(record_of_passes(one), "mean_ttft").interval95->high, 9);
}

}  // namespace
}  // namespace assay
