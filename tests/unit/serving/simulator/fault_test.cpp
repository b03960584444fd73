// Every fault of the simulated server, as a client sees it.
#include <gmock/gmock.h>

#include <chrono>

#include "unit/serving_sim_server.h"

namespace assay::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ServerSettings settings_with(const char* faults) {
  ServerSettings settings = fixed_settings(0.002, 0.002);
  settings.faults = *FaultPlan::parse(faults);
  return settings;
}

std::string faults_counted(const RunningServer& server, const std::string& fault) {
  return metric(server, "assay_sim_faults_total{engine=\"0\",model_name=\"assay-sim\",fault=\"" +
                            fault + "\"}");
}

TEST(SimFault, ResetComesWithinTheReply) {
  const RunningServer server(settings_with("reset"));
  Client client(server.port());
  client.send(post("/v1/completions", stream_of_8));
  const std::string reply = client.read_all();
  EXPECT_EQ(count(reply, "\"text\":"), 4u);
  EXPECT_EQ(client.error, ECONNRESET);
  EXPECT_EQ(faults_counted(server, "reset"), "1");
  EXPECT_EQ(faults_counted(server, "hang"), "0");
}

TEST(SimFault, RefusalsAreWholeReplies) {
  const RunningServer failing(settings_with("http500"));
  EXPECT_THAT(ask_stream(failing), AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("\"error\"")));
  EXPECT_EQ(faults_counted(failing, "http500"), "1");
  const RunningServer busy(settings_with("http429"));
  EXPECT_THAT(ask_stream(busy),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("retry-after: 1\r\n")));
  EXPECT_EQ(faults_counted(busy, "http429"), "1");
}

TEST(SimFault, AHangLeavesTheConnectionOpen) {
  const RunningServer server(settings_with("hang"));
  Client client(server.port(), 2);
  client.send(post("/v1/completions", stream_of_8));
  std::string reply;
  for (int i = 0; i < 100 && count(reply, "\"text\":") < 3; ++i) reply += client.read();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client.read(), "");
  EXPECT_EQ(client.error, EAGAIN);  // neither data nor the end of the connection
  EXPECT_GT(seconds_since(begin), 1.5);
  EXPECT_EQ(faults_counted(server, "hang"), "1");
  EXPECT_EQ(metric(server, "vllm:num_requests_running"), "0");
}

TEST(SimFault, ACharacterIsCutInTwo) {
  const RunningServer server(settings_with("utf8"));
  const std::string reply = ask_stream(server);
  EXPECT_EQ(count(reply, "\xc3\r\n"), 1u);  // a chunk ends within the character
  EXPECT_THAT(body_of(reply), HasSubstr(" n\xc3\xa9\""));
  EXPECT_EQ(count(body_of(reply), "\"text\":"), 8u);
  EXPECT_EQ(faults_counted(server, "utf8"), "1");
}

TEST(SimFault, EventsAreMergedAndSplit) {
  const RunningServer merging(settings_with("merged"));
  const std::string merged = ask_stream(merging);
  EXPECT_EQ(count(body_of(merged), "\"text\":"), 8u);
  EXPECT_EQ(count(merged, "\r\ndata: "), 4u);  // two chunks of four, the usage, the end mark
  const RunningServer splitting(settings_with("split"));
  const std::string split = ask_stream(splitting);
  EXPECT_EQ(body_of(split).size(), body_of(merged).size());
  EXPECT_GT(count(split, "\r\n"), 30u);
  EXPECT_EQ(faults_counted(splitting, "split"), "1");
}

TEST(SimFault, EndsAndUsageAreLeftOut) {
  const RunningServer endless(settings_with("nodone"));
  const std::string without_end = ask_stream(endless);
  EXPECT_THAT(without_end, AllOf(Not(HasSubstr("[DONE]")), HasSubstr("usage"),
                                 ::testing::EndsWith("0\r\n\r\n")));
  const RunningServer uncounted(settings_with("nousage"));
  EXPECT_THAT(ask_stream(uncounted), AllOf(HasSubstr("[DONE]"), Not(HasSubstr("usage"))));
}

TEST(SimFault, ALineOfTenMegabytes) {
  const RunningServer server(settings_with("long"));
  const std::string body = body_of(ask_stream(server));
  EXPECT_GT(body.size(), 10'000'000u);
  EXPECT_LT(body.size(), 10'010'000u);
  EXPECT_EQ(count(body, "\"text\":"), 8u);
  EXPECT_THAT(body.substr(body.size() - 14), HasSubstr("[DONE]"));
}

TEST(SimFault, RepliesWithoutTokensAndWithFewer) {
  const RunningServer silent(settings_with("empty"));
  const std::string empty = ask_stream(silent);
  EXPECT_THAT(empty, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\"completion_tokens\":0"),
                           HasSubstr("[DONE]"), Not(HasSubstr("\"text\""))));
  const RunningServer brief(settings_with("short"));
  const std::string cut = ask_stream(brief);
  EXPECT_EQ(count(cut, "\"text\":"), 4u);
  EXPECT_THAT(cut, HasSubstr("\"finish_reason\":\"stop\""));
}

TEST(SimFault, ASlowCloseIsAnnouncedAndTakesItsTime) {
  const RunningServer server(settings_with("slowclose"));
  Client client(server.port());
  client.send(post("/v1/completions", stream_of_8, false));
  const std::string reply = client.read_until("0\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("connection: close"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client.read(), "");
  EXPECT_EQ(client.error, 0);
  EXPECT_GT(seconds_since(begin), 0.8);
}

TEST(SimFault, StreamFaultsAreNotCountedOnOtherReplies) {
  const RunningServer server(settings_with("split"));
  EXPECT_THAT(ask(server, post("/v1/completions", R"({"prompt":[1]})")),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(faults_counted(server, "split"), "0");
}

}  // namespace
}  // namespace assay::simulator
