// Results of load generators: what they state, what their arrays say, and what cannot be a result.
#include "results/import/serving.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ImportVllm, StatedAndRecomputedOfSeveralRuns) {
  const Imported result = imported(vllm_sample);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_NE(result.records[0].run, result.records[1].run);
  const Record& first = record_of(
      result,
      "serving request_rate=inf max_concurrency=8 num_prompts=3 input_about=10 output_about=3.15");
  EXPECT_EQ(first.metrics.front().name, "output_throughput");
  EXPECT_EQ(metric_of(first, "output_throughput").unit, "tokens/s");
  EXPECT_EQ(metric_of(first, "mean_ttft").value, 0.2);
  EXPECT_EQ(metric_of(first, "mean_ttft").text, "200.0");
  EXPECT_DOUBLE_EQ(metric_of(first, "mean_ttft_nonempty").value, 0.3);
  EXPECT_EQ(metric_of(first, "p99_9_ttft").value, 0.3996);
  EXPECT_EQ(metric_of(first, "mean_e2el").value, 0.5);
  EXPECT_EQ(metric_of(first, "empty_replies").value, 1);
  EXPECT_EQ(metric_of(first, "longest_stall").value, 0.4);
  EXPECT_DOUBLE_EQ(metric_of(first, "median_longest_stall").value, 0.25);
  EXPECT_EQ(first.time, "2026-03-01T10:11:12");
  EXPECT_EQ(
      note_of(first, "flag"),
      "1 of 3 replies are empty and count as successes; mean TTFT 0.200 s as reported, 0.300 s "
      "without them");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("line 1: 1 of 3 replies are empty")));
  const Record& second = record_of(result,
                                   "serving request_rate=2.5 burstiness=2 max_concurrency=none "
                                   "num_prompts=10 input_about=10 output_about=8");
  EXPECT_EQ(metric_of(second, "failed").value, 1);  // num_prompts minus completed
  EXPECT_EQ(second.status, RecordStatus::passed);
  EXPECT_EQ(second.source->line, 2u);
}

TEST(ImportVllm, AResultOfASimulatedServerStaysOne) {
  std::string text(vllm_sample.substr(0, vllm_sample.find('\n')));
  EXPECT_FALSE(imported(text).records.at(0).device.emulated);
  text.replace(text.find("\"label\":null"), 12,
               "\"label\":\"" + std::string(simulated_label) + "\"");
  EXPECT_TRUE(imported(text).records.at(0).device.emulated);
}

TEST(ImportVllm, ContradictionsWithItsArraysAreNamed) {
  std::string text(vllm_sample.substr(0, vllm_sample.find('\n')));
  text.replace(text.find("\"mean_ttft_ms\":200.0"), 20, "\"mean_ttft_ms\":100.0");
  text.replace(text.find("\"completed\":3"), 13, "\"completed\":2");
  text.replace(text.find("\"num_prompts\":3"), 15, "\"num_prompts\":4");
  const Imported result = imported(text);
  EXPECT_THAT(
      result.warnings,
      ElementsAre(HasSubstr("num_prompts is 4, its arrays contain 3 requests"),
                  HasSubstr("completed is 2, its arrays contain 3 requests without an error"),
                  HasSubstr("mean_ttft_ms is reported as 100.0, its arrays give 200.000000"),
                  HasSubstr("replies are empty")));
  text.replace(text.find("[0.2,0.4,0.0]"), 13, "[0.2,0.4]");
  EXPECT_THAT(imported(text).warnings, ElementsAre(HasSubstr("are inconsistent, not used")));
}

TEST(ImportVllm, MoreFailuresThanSuccessesAreNoResult) {
  const Imported result = imported(
      R"({"num_prompts":100,"request_rate":1,"completed":40,"failed":60,"total_output_tokens":500,"request_throughput":1.0,"output_throughput":5.0,"mean_ttft_ms":1.0})");
  EXPECT_EQ(result.records.at(0).status, RecordStatus::failed);
  EXPECT_EQ(result.records.at(0).reason, "60 of 100 requests failed");
  EXPECT_EQ(metric_of(result.records.at(0), "output_throughput").value, 5);
  const Imported empty = imported(
      R"({"num_prompts":100,"request_rate":1,"completed":100,"total_output_tokens":0,"request_throughput":1.0,"output_throughput":0.0,"mean_ttft_ms":1.0})");
  EXPECT_EQ(empty.records.at(0).reason, "no reply has a token");
}

TEST(ImportVllm, ThroughputAndLatency) {
  const Imported throughput = imported(vllm_throughput_sample);
  const Record& record =
      record_of(throughput, "vllm_throughput num_requests=256 tokens=557056 input=128 output=2048");
  EXPECT_EQ(metric_of(record, "tokens_per_second").value, 2450.880808907917);
  EXPECT_EQ(metric_of(record, "tokens_per_second").text, "2450.880808907917");
  const Imported latency = imported(vllm_latency_sample);
  EXPECT_EQ(value_of(latency, "vllm_latency", "mean_latency"), 2);
  EXPECT_EQ(value_of(latency, "vllm_latency", "p99_latency"), 2.98);
  EXPECT_THAT(latency.warnings, IsEmpty());
  EXPECT_THAT(
      imported(R"({"avg_latency": 2.5, "latencies": [1.0, 3.0], "percentiles": {"50": 2.0}})")
          .warnings,
      ElementsAre(HasSubstr("avg_latency is reported as 2.5, its latencies give 2")));
  EXPECT_THAT(
      imported(R"({"avg_latency": 2.5, "latencies": [], "percentiles": {"50": 2.0}})").warnings,
      ElementsAre(HasSubstr("has no individual latencies")));
}

TEST(ImportSglang, BareInfinityAndNoTokenAtAll) {
  const Imported result = imported(sglang_sample);
  EXPECT_EQ(result.format, "sglang");
  ASSERT_EQ(result.records.size(), 2u);
  const Record& first = record_of(
      result,
      "serving dataset_name=random request_rate=inf max_concurrency=16 random_input_len=1024 "
      "random_output_len=128 random_range_ratio=0");
  EXPECT_EQ(metric_of(first, "median_e2el").value, 1.49);
  EXPECT_EQ(metric_of(first, "p95_itl").value, 0.015);
  EXPECT_EQ(result.records[1].status, RecordStatus::failed);
  EXPECT_EQ(result.records[1].reason, "no request completed; no reply has a token");
}

TEST(ImportGuidellm, DistributionsOfSuccessfulRequests) {
  const Imported result = imported(guidellm_sample);
  const Record& record = record_of(
      result, "serving strategy=constant request_rate=5 max_concurrency=none output_about=125");
  EXPECT_EQ(metric_of(record, "output_throughput").value, 612.5);
  EXPECT_EQ(metric_of(record, "p99_ttft").value, 0.055);
  EXPECT_EQ(metric_of(record, "median_e2el").value, 1.2);
  EXPECT_EQ(metric_of(record, "failed").value, 2);
  EXPECT_EQ(record.time, "2026-01-01T00:00:00Z");
  EXPECT_EQ(record.source->version, "0.5.0");
  std::string failed(guidellm_sample);
  failed.replace(failed.find("\"total_sum\":6250"), 16, "\"total_sum\":0");
  EXPECT_EQ(imported(failed).records.at(0).reason, "no reply has a token");
}

TEST(ImportAiperf, TagsWithTheirUnits) {
  const Imported result = imported(aiperf_sample);
  const Record& record =
      record_of(result, "serving concurrency=10 request_count=100 output_about=125");
  EXPECT_EQ(metric_of(record, "request_throughput").unit, "1/s");
  EXPECT_EQ(metric_of(record, "output_token_throughput").value, 1200.5);
  EXPECT_EQ(metric_of(record, "output_token_throughput").better, Better::higher);
  EXPECT_EQ(metric_of(record, "request_throughput").better, Better::neither);
  EXPECT_EQ(metric_of(record, "p99_e2el").value, 1.2);
  EXPECT_EQ(metric_of(record, "median_ttft").value, 0.079);
  EXPECT_EQ(metric_of(record, "mean_output_sequence_length").better, Better::neither);
  EXPECT_EQ(record.status, RecordStatus::passed);
  std::string cancelled(aiperf_sample);
  cancelled.replace(cancelled.find("\"was_cancelled\":false"), 21, "\"was_cancelled\":true");
  EXPECT_EQ(imported(cancelled).records.at(0).status, RecordStatus::interrupted);
}

TEST(ImportServing, TimesAndRates) {
  EXPECT_EQ(iso_time("2026-01-02 03:04:05"), "2026-01-02T03:04:05");
  EXPECT_EQ(iso_time("2026-01-02T03:04:05.123456Z"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(iso_time("2026-01-01T01:04:05+02:30"), "2025-12-31T22:34:05Z");
  EXPECT_EQ(iso_time("2026-13-02T03:04:05Z"), "");
  EXPECT_EQ(iso_time("2026-01-02T24:04:05Z"), "");
  EXPECT_EQ(iso_time("2026-01-02T03:60:05"), "");
  EXPECT_EQ(iso_time("2026-01-02 23:59:61"), "");
  EXPECT_EQ(iso_time("2026-12-31T23:59:60"), "2026-12-31T23:59:60") << "a leap second";
  EXPECT_EQ(iso_time("Mon Dec  5"), "");
  EXPECT_EQ(rate_text("16.0"), "16");
  EXPECT_EQ(rate_text("Infinity"), "inf");
  EXPECT_EQ(rate_text(""), "none");
  EXPECT_EQ(rate_text("Poisson"), "poisson");
  EXPECT_EQ(compact_time("20241109-150547"), "2024-11-09T15:05:47");
  EXPECT_EQ(compact_time("20241109-15054x"), "");
  EXPECT_EQ(utc_time(1767225600), "2026-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(-1), "");
}

std::string sweep_result(std::string_view settings) {
  return "{" + std::string(settings) +
         "\"date\":\"20260301-101112\",\"num_prompts\":10,\"request_rate\":\"inf\","
         "\"max_concurrency\":8,\"duration\":2.0,\"completed\":10,\"total_output_tokens\":7,"
         "\"request_throughput\":1.5,\"mean_ttft_ms\":200.0,\"new_counter\":" +
         std::to_string(settings.size()) + "}";
}

TEST(ImportServing, SettingsOfASweepAreAxes) {
  const std::string base = "serving request_rate=inf max_concurrency=8 num_prompts=10";
  // Each alone in its file, as run by run results are.
  const Imported alone =
      imported(sweep_result("\"max_num_seqs\":32,\"max_num_batched_tokens\":1024,"));
  EXPECT_EQ(alone.records[0].cell.id(),
            base + " max_num_seqs=32 max_num_batched_tokens=1024 output_about=1");
  // All in one array, as the summary of `vllm bench sweep` is, over a setting nobody here knows.
  const Imported summary =
      imported("[" + sweep_result("\"novel\":1,\"same\":5,\"run_number\":0,") + "," +
               sweep_result("\"novel\":22,\"same\":5,\"run_number\":1,") + "]");
  ASSERT_EQ(summary.records.size(), 2u);
  EXPECT_EQ(summary.records[0].cell.id(), base + " novel=1 output_about=1");
  EXPECT_EQ(summary.records[1].cell.id(), base + " novel=22 output_about=1");
  EXPECT_NE(summary.records[0].run, summary.records[1].run);
}

std::string vllm_of_lengths(int prompts, int input, int output, std::string_view more) {
  return fmt::format(
      "{{\"num_prompts\":{0},\"request_rate\":\"inf\",\"max_concurrency\":64,{3}\"duration\":2.0,"
      "\"completed\":{0},\"total_input_tokens\":{1},\"total_output_tokens\":{2},"
      "\"request_throughput\":1.5,\"output_throughput\":5,\"mean_ttft_ms\":200.0}}",
      prompts, input, output, more);
}

TEST(ImportServing, LengthsTellLoadsApart) {
  const auto cell = [](const std::string& text) { return imported(text).records.at(0).cell.id(); };
  const std::string base = "serving request_rate=inf max_concurrency=64 num_prompts=640";
  EXPECT_EQ(cell(vllm_of_lengths(640, 4729077, 588102, "")),
            base + " input_about=8000 output_about=1000");
  EXPECT_EQ(cell(vllm_of_lengths(640, 655360, 655360, "")),
            base + " input_about=1000 output_about=1000");
  // Two runs of a load are never quite equal.
  EXPECT_EQ(cell(vllm_of_lengths(640, 650000, 640000, "")),
            base + " input_about=1000 output_about=1000");
  // The program's own axes say more.
  EXPECT_EQ(cell(vllm_of_lengths(640, 655360, 655360,
                                 "\"random_input_len\":1024,\"random_output_len\":1024,")),
            base + " random_input_len=1024 random_output_len=1024");
}

TEST(ImportServing, TimesOfZeroWithinRepliesAreVoid) {
  std::string text = vllm_of_lengths(10, 1000, 1000, "");
  text.replace(text.find("\"mean_ttft_ms\":200.0"), 20,
               "\"mean_ttft_ms\":150.0,\"mean_itl_ms\":0.0,\"p99_itl_ms\":0.0,"
               "\"mean_tpot_ms\":4.5,\"mean_e2el_ms\":600.0");
  const Imported result = imported(text);
  const Record& record = result.records.at(0);
  EXPECT_EQ(record.status, RecordStatus::passed);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("ITL of 0 for replies of 100 tokens")));
  EXPECT_THAT(note_of(record, "void"), HasSubstr("the client saw no stream"));
  for (const char* name : {"mean_ttft", "mean_tpot", "mean_itl", "p99_itl"}) {
    EXPECT_TRUE(metric_of(record, name).is_void) << name;
  }
  EXPECT_FALSE(metric_of(record, "mean_e2el").is_void);
  EXPECT_FALSE(metric_of(record, "output_throughput").is_void);
  // A reply of one token has no time between two.
  text.replace(text.find("\"total_output_tokens\":1000"), 26, "\"total_output_tokens\":10");
  EXPECT_FALSE(metric_of(imported(text).records.at(0), "mean_ttft").is_void);
}

std::string aiperf_result(std::string_view config) {
  return "{\"request_throughput\":{\"unit\":\"requests/sec\",\"avg\":9.5},"
         "\"request_latency\":{\"unit\":\"ms\",\"avg\":1000.5,\"p50\":990.0},"
         "\"bytes_received\":{\"unit\":\"KB\",\"avg\":2.0},"
         "\"receive_rate\":{\"unit\":\"MB/sec\",\"avg\":1.5},"
         "\"input_config\":" +
         std::string(config) + "}";
}

TEST(ImportServing, LoadOfAiperfInEachOfItsVersions) {
  const auto cell = [](std::string_view config) {
    return imported(aiperf_result(config)).records[0].cell.id();
  };
  EXPECT_EQ(cell("{\"loadgen\":{\"concurrency\":10}}"), "serving concurrency=10");
  EXPECT_EQ(cell("{\"phases\":[{\"name\":\"warmup\",\"concurrency\":1},"
                 "{\"name\":\"profiling\",\"type\":\"poisson\",\"rate\":2.5,\"concurrency\":16,"
                 "\"requests\":100}]}"),
            "serving request_rate=2.5 concurrency=16 request_count=100");
  EXPECT_EQ(cell("{\"perf_analyzer\":{\"stimulus\":{\"concurrency\":32}}}"),
            "serving concurrency=32");
  EXPECT_EQ(cell("{\"formatted_model_name\":\"m\",\"concurrency\":4,\"request_rate\":null}"),
            "serving concurrency=4");
  const Imported result =
      imported(aiperf_result("{\"models\":{\"items\":[{\"name\":\"llama\"}]},\"phases\":[]}"));
  EXPECT_EQ(note_of(result.records[0], "model_id"), "llama");
  EXPECT_EQ(metric_of(result.records[0], "bytes_received").value, 2048);
  EXPECT_EQ(metric_of(result.records[0], "bytes_received").unit, "bytes");
  EXPECT_EQ(metric_of(result.records[0], "receive_rate").value, 1.5 * 1024 * 1024);
  EXPECT_EQ(metric_of(result.records[0], "receive_rate").unit, "bytes/s");
}

}  // namespace
}  // namespace assay
