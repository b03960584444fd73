// assay serve: one server, several on parts of the CPUs, and assay load against it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "e2e/json_lines.h"
#include "e2e/served.h"
#include "machine/system/affinity.h"
#include "support/one_cpu.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string completion(int tokens) {
  return post("/v1/completions", R"({"prompt":[1,2,3],"return_token_ids":true,"max_tokens":)" +
                                     std::to_string(tokens) + "}");
}

TEST(ServeCommand, ServesUntilItIsAskedToEnd) {
  const OneCpu one_cpu;
  Process server(tiny_serve({"--device", "cpu", "--num-gpu-blocks-override", "40"}));
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const Json reply = Json::parse(body_of(ask(ports[0], completion(5))), nullptr, false);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 5);
  server.signal(SIGTERM);
  const Outcome end = server.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("served 1 request and 5 tokens; 40 of 40 blocks"));
}

TEST(ServeCommand, QuantizedModelsSayWhatTheirProductsRead) {
  const OneCpu one_cpu;
  Process server(
      tiny_serve({"--device", "cpu", "--quantization", "fp8", "--kv-cache-dtype", "fp8"}));
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const Json reply = Json::parse(body_of(ask(ports[0], completion(5))), nullptr, false);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 5);
  const std::string metrics = body_of(ask(ports[0], get("/metrics")));
  EXPECT_THAT(metrics, HasSubstr("inputs=\"f32 (only bf16 becomes fp8)\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("products=\"more: library, matrices unpacked\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("type=\"e4m3, a factor per token and head"));
  server.signal(SIGTERM);
  const Outcome end = server.wait();
  EXPECT_THAT(end.err, HasSubstr(" in f32, matrices of e4m3, whose products read f32 (only bf16 "
                                 "becomes fp8), on "));
  EXPECT_THAT(end.err, HasSubstr(" blocks of 16 tokens in e4m3, a factor per token and head"));
}

TEST(ServeCommand, PartsOfTheCpusServeBesideEachOther) {
  const std::size_t count = std::min<std::size_t>(2, affinity_cpus().size());
  Process servers(tiny_serve({"--device", "cpu", "--partitions", std::to_string(count)}));
  const auto ports = ports_of(servers, count);
  ASSERT_EQ(ports.size(), count) << servers.error_text();
  std::vector<std::string> texts;
  for (const std::uint16_t port : ports) {
    const Json reply = Json::parse(body_of(ask(port, completion(7))), nullptr, false);
    texts.push_back(reply["choices"][0]["text"]);
  }
  EXPECT_EQ(texts.front(), texts.back());  // the same weights
  servers.signal(SIGTERM);
  const Outcome end = servers.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_THAT(end.err, HasSubstr("server " + std::to_string(i) + ": served 1 request and"));
  }
}

TEST(ServeCommand, WhatCannotBeServedIsSaid) {
  const auto said = [](std::vector<std::string> more) {
    const Outcome end = assay_run(tiny_serve(std::move(more)));
    EXPECT_EQ(end.status, 2) << end.err;
    return end.err;
  };
  EXPECT_THAT(said({"--device", "cpu", "--partitions", "200000"}), HasSubstr("between 1 and 256"));
  EXPECT_THAT(said({"--device", "cpu:0", "--partitions", "256"}), HasSubstr("--partitions 256"));
  EXPECT_THAT(said({"--device", "cpu", "--num-gpu-blocks-override", "0"}), HasSubstr("between 1"));
  EXPECT_THAT(said({"--device", "cpu", "--gpu-memory-utilization", "2"}), HasSubstr("at most 1"));
  EXPECT_THAT(said({"--device", "cpu", "--deterministic", "--attention", "library"}),
              HasSubstr("--attention library is not allowed with --deterministic"));
  const Outcome too_long = assay_run({"serve", "--port", "0", "--device", "cpu", "--model",
                                      "llama3-8b", "--max-model-len", "8193"});
  EXPECT_EQ(too_long.status, 2);
  EXPECT_THAT(too_long.err, HasSubstr("--max-model-len 8193 is more than the 8192 positions"));
}

TEST(ServeCommand, OnADeviceThatComputesWronglyItEndsAsWrongResultsDo) {
  std::vector<std::string> words = tiny_serve({"--device", "fake"});
  std::ranges::replace(words, "f32", "bf16");
  const Outcome end = assay_run(words, {{"ASSAY_FAKE", "corrupt=1"}});
  EXPECT_EQ(end.status, 3) << end.err;
  EXPECT_THAT(end.err, HasSubstr("differs from the reference on this device"));
}

TEST(ServeCommand, ALoadSpawnsItAndCountsItsTokens) {
  const OneCpu one_cpu;
  std::string command = "'" + std::string(ASSAY_BINARY) + "'";
  for (const std::string& word : tiny_serve({"--device", "cpu"})) {
    command += word == "0" ? " {port}" : " " + word;
  }
  const Outcome load =
      assay_run({"load", "--spawn", command, "--max-concurrency", "4", "--requests", "24",
                 "--input", "16", "--output-tokens", "8", "--json", "--telemetry", "off"});
  const std::vector<Json> records = json_lines(load.out);
  ASSERT_EQ(records.size(), 1u) << load.err;
  const auto metric_of = [&](const char* name) {
    for (const Json& metric : records[0]["metrics"]) {
      if (metric["name"] == name) return metric["value"].get<double>();
    }
    return -1.0;
  };
  EXPECT_EQ(metric_of("completed"), 24) << load.err;
  EXPECT_EQ(metric_of("total_input_tokens"), 24 * 16);
  EXPECT_EQ(metric_of("total_output_tokens"), 24 * 8);
}

}  // namespace
}  // namespace assay
