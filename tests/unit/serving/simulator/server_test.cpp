// The simulated server over real sockets: replies in every dialect, their times, wrong requests.
#include <gmock/gmock.h>

#include <chrono>

#include "core/json.h"
#include "serving/simulator/deployment.h"
#include "unit/serving_sim_server.h"

namespace assay::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

double elapsed_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ServerSettings engine_settings() {
  Deployment deployment;
  deployment.model = *find_model("llama-3.1-8b");
  deployment.gpu = *find_gpu("MI300X");
  ServerSettings settings;
  settings.port = 0;
  const DeployedEngine deployed = *deploy(deployment);
  settings.engine = deployed.engine;
  settings.model.max_length = deployed.max_length;
  return settings;
}

/// False if it has not after half a minute.
bool becomes_zero(const RunningServer& server, const std::string& gauge) {
  const auto begin = Clock::now();
  while (metric(server, gauge) != "0") {
    if (elapsed_since(begin) > 30) return false;
  }
  return true;
}

TEST(SimServer, AStreamHasItsTokensItsUsageAndItsEnd) {
  const RunningServer server(fixed_settings());
  const std::string reply = ask_stream(server);
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("0\r\n\r\n"));
  const std::string body = body_of(reply);
  EXPECT_EQ(count(body, "\"text\":"), 8u);
  EXPECT_EQ(count(body, "\"finish_reason\":\"length\""), 1u);
  EXPECT_THAT(
      body,
      HasSubstr(
          R"("choices":[],"usage":{"prompt_tokens":3,"total_tokens":11,"completion_tokens":8}})"));
  EXPECT_THAT(body, ::testing::EndsWith("data: [DONE]\n\n"));
  // Every event is JSON.
  for (std::size_t at = 0; (at = body.find("data: {", at)) != std::string::npos; ++at) {
    EXPECT_TRUE(Json::accept(body.substr(at + 6, body.find("\n\n", at) - at - 6)));
  }
}

TEST(SimServer, FixedTimesAreExactHoweverManyStreams) {
  const RunningServer server(fixed_settings(0.1, 0.01));
  std::vector<std::unique_ptr<Client>> clients;
  const auto begin = Clock::now();
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send(
        post("/v1/completions", R"({"prompt":[1],"max_tokens":21,"stream":true})"));
  }
  for (auto& client : clients) EXPECT_EQ(count(client->read_all(), "\"text\":"), 21u);
  EXPECT_GE(elapsed_since(begin), 0.3);
  EXPECT_LT(elapsed_since(begin), 10);  // one after the other they take 15 s
  EXPECT_LT(std::stod(metric(server,
                             "assay_sim_write_lag_seconds{engine=\"0\",model_name="
                             "\"assay-sim\",quantile=\"0.5\"}")),
            1);
  EXPECT_EQ(metric(server, "vllm:generation_tokens_total"), "1050");
  EXPECT_EQ(metric(server, "vllm:time_to_first_token_seconds_count"), "50");
  EXPECT_EQ(metric(server, "vllm:num_requests_running"), "0");
}

TEST(SimServer, WithoutAStreamTheReplyIsOneObject) {
  const RunningServer server(fixed_settings());
  const Json reply = Json::parse(
      body_of(ask(server, post("/v1/completions", R"({"prompt":[[1,2],[3]],"max_tokens":4})"))));
  EXPECT_EQ(reply["choices"].size(), 2u);
  EXPECT_EQ(reply["choices"][1]["text"].get<std::string>().size(), 16u);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 8);
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 3);
}

TEST(SimServer, SeveralPromptsStreamTheirIndexes) {
  for (const auto& settings : {fixed_settings(), engine_settings()}) {
    const RunningServer server(settings);
    const std::string body =
        body_of(ask(server, post("/v1/completions",
                                 R"({"prompt":[[1],[2],[3]],"max_tokens":4,"stream":true})")));
    for (const char* index : {"0", "1", "2"}) {
      EXPECT_EQ(count(body, std::string("\"index\":") + index + ",\"text\""), 4u);
    }
  }
}

TEST(SimServer, TheOtherDialectsAnswerInTheirWords) {
  const RunningServer server(fixed_settings());
  const std::string chat = body_of(ask(
      server,
      post("/v1/chat/completions",
           R"({"messages":[{"role":"user","content":"hello"}],"max_tokens":3,"stream":true})")));
  EXPECT_EQ(count(chat, R"("delta":{"role":"assistant","content":""})"), 1u);
  EXPECT_EQ(count(chat, R"("delta":{"content":)"), 3u);
  EXPECT_THAT(chat, Not(HasSubstr("usage")));
  const std::string llama =
      body_of(ask(server, post("/completion", R"({"prompt":"hi","n_predict":3,"stream":true})")));
  EXPECT_EQ(count(llama, "\"stop\":false"), 3u);
  EXPECT_THAT(llama, HasSubstr("\"stop_type\":\"limit\""));
  EXPECT_THAT(llama, HasSubstr("\"tokens_predicted\":3"));
  const std::string tgi = body_of(ask(
      server, post("/generate_stream", R"({"inputs":"hi","parameters":{"max_new_tokens":3}})")));
  EXPECT_EQ(count(tgi, "data:{"), 3u);
  EXPECT_THAT(tgi, HasSubstr("\"generated_tokens\":3"));
  const Json whole = Json::parse(body_of(
      ask(server, post("/generate", R"({"inputs":"hi","parameters":{"max_new_tokens":3}})"))));
  EXPECT_EQ(whole["generated_text"].get<std::string>().size(), 12u);
}

TEST(SimServer, OneConnectionServesPipelinedRequests) {
  const RunningServer server(fixed_settings(0.002, 0.001));
  Client client(server.port());
  client.send(post("/v1/completions", stream_of_8, false));
  EXPECT_EQ(count(client.read_until("0\r\n\r\n"), "\"text\":"), 8u);
  std::string ahead;
  for (int i = 0; i < 5; ++i) ahead += post("/v1/completions", stream_of_8, i < 4 ? false : true);
  client.send(ahead);
  EXPECT_EQ(count(client.read_all(), "[DONE]"), 5u);
}

TEST(SimServer, ARequestInSmallPiecesIsARequest) {
  const RunningServer server(fixed_settings(0.002, 0.001));
  Client client(server.port());
  for (const char byte : post("/v1/completions", stream_of_8)) client.send({&byte, 1});
  EXPECT_THAT(client.read_all(), HasSubstr("[DONE]"));
}

TEST(SimServer, WrongRequestsGetTheirErrors) {
  const RunningServer server(fixed_settings());
  EXPECT_THAT(ask(server, post("/v1/completions", "{")),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("not JSON")));
  EXPECT_THAT(ask(server, post("/v1/completions", R"({"prompt":[1],"model":"other"})")),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("does not exist")));
  EXPECT_THAT(ask(server, post("/v1/completions", R"({"prompt":[128256]})")),
              HasSubstr("out of vocabulary"));
  EXPECT_THAT(ask(server, post("/v1/completions", R"({"prompt":[1],"max_tokens":200000})")),
              HasSubstr("maximum context length is 131072"));
  EXPECT_THAT(ask(server, get("/v1/completions")), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server, get("/nowhere")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(server, post("/health", "")), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(
      ask(server, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"),
      StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(server, "GET /health HTTP/1.1\r\nA: " + std::string(20000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(server, get("/health")), StartsWith("HTTP/1.1 200 "));
}

TEST(SimServer, SmallPages) {
  const RunningServer server(fixed_settings());
  const Json models = Json::parse(body_of(ask(server, get("/v1/models"))));
  EXPECT_EQ(models["data"][0]["id"], "assay-sim");
  EXPECT_EQ(models["data"][0]["max_model_len"], 131072);
  EXPECT_THAT(ask(server, post("/tokenize", R"({"prompt":"abcdefghi"})")),
              HasSubstr("\"count\":3"));
  EXPECT_THAT(ask(server, post("/reset_prefix_cache", "")), StartsWith("HTTP/1.1 200 "));
}

TEST(SimServer, AnEngineCountsLikeVllm) {
  ServerSettings settings = engine_settings();
  const RunningServer server(settings);
  std::string ids = "1";
  for (int i = 2; i <= 320; ++i) ids += "," + std::to_string(i);
  const std::string request =
      post("/v1/completions", R"({"max_tokens":5,"stream":true,"prompt":[)" + ids + "]}");
  EXPECT_EQ(count(ask(server, request), "\"text\":"), 5u);
  EXPECT_EQ(metric(server, "vllm:prefix_cache_hits_total"), "0");
  ask(server, request);
  EXPECT_EQ(metric(server, "vllm:prefix_cache_queries_total"), "640");
  EXPECT_EQ(metric(server, "vllm:prefix_cache_hits_total"), "304");
  EXPECT_THAT(ask(server, post("/reset_prefix_cache", "")), StartsWith("HTTP/1.1 200 "));
  ask(server, request);
  EXPECT_EQ(metric(server, "vllm:prefix_cache_hits_total"), "304");
  EXPECT_EQ(metric(server, "vllm:prompt_tokens_total"), "960");
  EXPECT_EQ(metric(server, "vllm:e2e_request_latency_seconds_count"), "3");
}

TEST(SimServer, AClientThatLeavesFreesTheEngine) {
  const RunningServer server(engine_settings());
  {
    Client client(server.port());
    client.send(post("/v1/completions", R"({"prompt":[1],"max_tokens":50000,"stream":true})"));
    EXPECT_THAT(client.read_until("\"text\""), HasSubstr("\"text\""));
    EXPECT_EQ(metric(server, "vllm:num_requests_running"), "1");
  }
  EXPECT_TRUE(becomes_zero(server, "vllm:num_requests_running"));
}

TEST(SimServer, AClientThatLeavesTheQueueIsForgotten) {
  ServerSettings settings = engine_settings();
  settings.engine.scheduler.max_sequences = 1;
  const RunningServer server(settings);
  const std::string request =
      post("/v1/completions", R"({"prompt":[1],"max_tokens":50000,"stream":true})");
  Client running(server.port());
  running.send(request);
  EXPECT_THAT(running.read_until("\"text\""), HasSubstr("\"text\""));
  {
    Client waiting(server.port());
    waiting.send(request);
    EXPECT_THAT(waiting.read(), StartsWith("HTTP/1.1 200 "));  // the head comes at once
    EXPECT_EQ(metric(server, "vllm:num_requests_waiting"), "1");
  }
  EXPECT_TRUE(becomes_zero(server, "vllm:num_requests_waiting"));
  EXPECT_EQ(metric(server, "vllm:num_requests_running"), "1");
}

TEST(SimServer, SeveralServersCountForThemselves) {
  ServerSettings settings = fixed_settings();
  settings.servers = 3;
  const RunningServer server(settings);
  Client client(server.port(2));
  client.send(post("/v1/completions", stream_of_8));
  EXPECT_THAT(client.read_all(), HasSubstr("[DONE]"));
  EXPECT_EQ(metric(server, "vllm:generation_tokens_total"), "0");
}

TEST(SimServer, APortInUseIsSaid) {
  const RunningServer server(fixed_settings());
  ServerSettings settings = fixed_settings();
  settings.port = server.port();
  EXPECT_THAT(Server::open(settings).error().message,
              HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(server.port())));
  settings.host = "not an address";
  EXPECT_THAT(Server::open(settings).error().message, HasSubstr("bad address"));
  settings = fixed_settings();
  settings.model.name = "a\"b";
  EXPECT_THAT(Server::open(settings).error().message, HasSubstr("bad model name"));
  settings = fixed_settings();
  settings.port = 65535;
  settings.servers = 2;
  EXPECT_THAT(Server::open(settings).error().message, HasSubstr("port 65536 is above 65535"));
}

}  // namespace
}  // namespace assay::simulator
