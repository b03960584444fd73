#include "serving/results/server_metrics.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/random.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Scrape scrape(std::string_view text) {
  auto result = Scrape::parse(text);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : Scrape{};
}

TEST(Prometheus, ReadsEveryKindOfLine) {
  const Scrape read = scrape(
      "# HELP a help { text\n# TYPE a counter\n"
      "a 1\r\n"
      "\n  \t\n"
      "  a{x=\"1\"}\t2.5e+1 1395066363000\n"
      "a{ x = \"a\\\\n\\\"c\\nd\" , } 3 # {trace=\"1\"} 0.5\n"
      "b:c_9{} +Inf\nb:c_9 NaN\nd -Inf");
  ASSERT_EQ(read.samples().size(), 6u);
  EXPECT_EQ(read.samples()[0].value, 1);
  EXPECT_EQ(*read.samples()[1].label("x"), "1");
  EXPECT_EQ(read.samples()[1].value, 25);
  EXPECT_EQ(*read.samples()[2].label("x"), "a\\n\"c\nd");
  EXPECT_EQ(read.samples()[2].label("y"), nullptr);
  EXPECT_EQ(read.samples()[3].name, "b:c_9");
  EXPECT_TRUE(std::isinf(read.samples()[3].value));
  EXPECT_EQ(read.sum("a"), 29);
  EXPECT_FALSE(read.sum("b:c_9"));  // none of its values is a number
  EXPECT_FALSE(read.sum(""));
  EXPECT_TRUE(read.has_prefix("b:"));
  EXPECT_FALSE(read.has_prefix("c"));
}

TEST(Prometheus, RefusesInvalidText) {
  for (const std::string_view text : {"a", "a ", "a b", "a{ 1", "a{x} 1", "a{x=} 1", "a{x=1} 1",
                                      "a{x=\"} 1", "a{x=\"1\" y=\"2\"} 1", "a{x=\"\\",
                                      "{x=\"1\"} 1", "9a 1", "<html>", "a 0x", "a 1,5", "\xff 1"}) {
    const auto read = Scrape::parse(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().message, "line 1: is not a metric in the Prometheus text format");
  }
  EXPECT_THAT(Scrape::parse("a 1\n\nb").error().message, HasSubstr("line 3"));
}

TEST(Prometheus, IsBounded) {
  std::string labels = "a{";
  for (int i = 0; i < 65; ++i) labels += "x=\"1\",";
  EXPECT_FALSE(Scrape::parse(labels + "} 1").ok());
  EXPECT_THAT(Scrape::parse(std::string((64u << 20) + 1, '\n')).error().message,
              HasSubstr("64 MiB"));
  std::string many;
  for (int i = 0; i <= 1'000'000; ++i) many += "a 1\n";
  EXPECT_THAT(Scrape::parse(many).error().message, HasSubstr("more than a million"));
}

// Every text gives a result or an error.
TEST(Prometheus, DamagedTextsDoNoHarm) {
  const std::string good = "a_bucket{le=\"0.5\",x=\"y\\n\"} 12 3\n# TYPE b\nb{le=\"+Inf\"} 1e5\n";
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(random.uniform() * static_cast<double>(text.size()));
      text[at] = static_cast<char>(random.next());
      if (random.uniform() < 0.1) text.resize(at + 1);
    }
    const auto read = Scrape::parse(text);
    if (read.ok()) {
      const auto histogram = read->histogram("a");
      EXPECT_FALSE(histogram);
    }
  }
}

TEST(Histogram, QuantilesAsPrometheusEstimates) {
  Histogram histogram;
  histogram.buckets = {{0.1, 10}, {0.2, 30}, {0.5, 30}, {INFINITY, 40}};
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.125), 0.05);  // rank 5 of 10 in [0, 0.1]
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.5), 0.15);    // rank 20, half way in [0.1, 0.2]
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.99), 0.5);    // beyond: the highest bound
  EXPECT_FALSE(Histogram().quantile(0.5));
  EXPECT_EQ(Histogram().mean(), 0);
}

std::string vllm(double queries, double hits, double ttft_sum, int fast, int all) {
  const std::string labels = "{engine=\"0\",model_name=\"m\"}";
  const auto bucket = [](const char* bound, int count) {
    return std::string("vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"") + bound +
           "\"} " + std::to_string(count) + "\n";
  };
  return "# TYPE vllm:prefix_cache_queries_total counter\n"
         "vllm:prefix_cache_queries_total" +
         labels + " " + std::to_string(queries) + "\nvllm:prefix_cache_hits_total" + labels + " " +
         std::to_string(hits) + "\nvllm:num_preemptions_total" + labels + " 3\n" +
         "vllm:num_requests_waiting{engine=\"0\"} 2\nvllm:num_requests_waiting{engine=\"1\"} 5\n" +
         bucket("0.1", fast) + bucket("0.5", all) + bucket("+Inf", all) +
         "vllm:time_to_first_token_seconds_count" + labels + " " + std::to_string(all) +
         "\nvllm:time_to_first_token_seconds_sum" + labels + " " + std::to_string(ttft_sum) + "\n";
}

TEST(ServerMetrics, VllmByDifference) {
  const auto metrics =
      server_metrics(scrape(vllm(1000, 900, 2, 8, 10)), scrape(vllm(3000, 910, 5, 15, 30)));
  ASSERT_TRUE(metrics.ok()) << metrics.error().message;
  EXPECT_EQ(metrics->server, "vLLM");
  EXPECT_DOUBLE_EQ(*metrics->prefix_cache_hit_rate, 0.005);
  EXPECT_EQ(metrics->preemptions, 0);
  EXPECT_EQ(metrics->waiting, 7);
  EXPECT_DOUBLE_EQ(metrics->ttft->mean(), 0.15);                         // 3 s over 20 requests
  EXPECT_DOUBLE_EQ(*metrics->ttft->quantile(0.75), 0.1 + 0.4 * 8 / 13);  // rank 15; 7 fast, 13 not
  EXPECT_FALSE(metrics->queue_time);
  EXPECT_FALSE(metrics->generation_tokens);
  EXPECT_THAT(prefix_cache_warning(*metrics), IsEmpty());
  const auto warm =
      server_metrics(scrape(vllm(1000, 900, 2, 5, 10)), scrape(vllm(3000, 2400, 5, 15, 30)));
  EXPECT_THAT(prefix_cache_warning(*warm), HasSubstr("75% of the prompts' tokens"));
}

TEST(ServerMetrics, ARestartTellsNothing) {
  const auto metrics =
      server_metrics(scrape(vllm(1000, 900, 2, 5, 10)), scrape(vllm(10, 5, 1, 2, 4)));
  ASSERT_TRUE(metrics.ok());
  EXPECT_FALSE(metrics->prefix_cache_hit_rate);
  EXPECT_FALSE(metrics->ttft);
  EXPECT_EQ(metrics->waiting, 7);
  EXPECT_FALSE(server_metrics(scrape("llamacpp:tokens_predicted_total 50\n"),
                              scrape("llamacpp:tokens_predicted_total 20\n"))
                   ->generation_tokens);
}

TEST(ServerMetrics, OlderNamesAndOtherServers) {
  const auto old = server_metrics(Scrape(), scrape("vllm:gpu_prefix_cache_queries_total 100\n"
                                                   "vllm:gpu_prefix_cache_hits_total 40\n"));
  EXPECT_DOUBLE_EQ(*old->prefix_cache_hit_rate, 0.4);

  const auto sglang =
      server_metrics(scrape("sglang:prompt_tokens_total{m=\"x\"} 100\n"),
                     scrape("sglang:prompt_tokens_total{m=\"x\"} 500\n"
                            "sglang:cached_tokens_total{cache_source=\"device\"} 10\n"
                            "sglang:cached_tokens_total{cache_source=\"host\"} 30\n"
                            "sglang:cache_hit_rate 0.9\nsglang:num_queue_reqs 4\n"
                            "sglang:num_retracted_requests_total 2\n"));
  EXPECT_EQ(sglang->server, "SGLang");
  EXPECT_DOUBLE_EQ(*sglang->prefix_cache_hit_rate, 0.1);
  EXPECT_EQ(sglang->preemptions, 2);
  EXPECT_EQ(sglang->waiting, 4);
  EXPECT_EQ(server_metrics(Scrape(), scrape("sglang:cache_hit_rate 0.9\n"))->prefix_cache_hit_rate,
            0.9);
  EXPECT_DOUBLE_EQ(*server_metrics(Scrape(), scrape("sglang:cache_hit_rate{engine=\"0\"} 0.75\n"
                                                    "sglang:cache_hit_rate{engine=\"1\"} 0.25\n"))
                        ->prefix_cache_hit_rate,
                   0.5);  // of several servers, the mean

  const auto llama = server_metrics(scrape("llamacpp:tokens_predicted_total 5\n"),
                                    scrape("llamacpp:tokens_predicted_total 25\n"
                                           "llamacpp:requests_deferred 1\n"));
  EXPECT_EQ(llama->server, "llama.cpp");
  EXPECT_EQ(llama->generation_tokens, 20);
  EXPECT_EQ(llama->waiting, 1);
  EXPECT_FALSE(llama->prefix_cache_hit_rate);

  const auto tgi = server_metrics(Scrape(), scrape("tgi_queue_size 3\n"
                                                   "tgi_request_queue_duration_sum 4\n"
                                                   "tgi_request_queue_duration_count 8\n"
                                                   "tgi_request_generated_tokens_sum 77\n"));
  EXPECT_EQ(tgi->server, "TGI");
  EXPECT_EQ(tgi->queue_time->mean(), 0.5);
  EXPECT_EQ(tgi->generation_tokens, 77);

  EXPECT_FALSE(server_metrics(Scrape(), scrape("go_goroutines 9\n")).ok());
}

}  // namespace
}  // namespace assay
