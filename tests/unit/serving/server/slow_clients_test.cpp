// Clients that send or read too slowly, or say what a server must not believe: they harm nobody
// else.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "core/json.h"
#include "unit/serving_sim_server.h"

namespace assay::simulator {
namespace {

using server::ConnectionLimits;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ServerSettings limited(const ConnectionLimits& limits) {
  ServerSettings settings = fixed_settings(0.001, 0.001);
  settings.limits = limits;
  return settings;
}

ConnectionLimits many() {
  ConnectionLimits limits;
  limits.connections = 1000;
  return limits;
}

std::string small_request() {
  return post("/v1/completions", R"({"prompt":[1],"max_tokens":2})");
}

/// A part of a request whose body has `bytes`.
std::string begun(std::size_t bytes, std::string_view part) {
  return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(bytes) + "\r\n\r\n" + std::string(part);
}

TEST(SlowClients, OnesThatSendNothingMakeRoomForOthers) {
  ConnectionLimits limits;
  limits.connections = 20;
  const RunningServer server(limited(limits));
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 60; ++i) idle.push_back(std::make_unique<Client>(server.port(), 20));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask(server, small_request()), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_EQ(idle.front()->read(), "");  // it had waited longest
  EXPECT_EQ(idle.front()->error, 0);
}

TEST(SlowClients, UnfinishedBodiesAreBoundedTogether) {
  ConnectionLimits limits = many();
  limits.bytes = 4 << 20;
  const RunningServer server(limited(limits));
  const std::string part(1 << 20, ' ');
  std::vector<std::unique_ptr<Client>> begun_ones;
  for (int i = 0; i < 40; ++i) {
    begun_ones.push_back(std::make_unique<Client>(server.port(), 20));
    begun_ones.back()->send(begun(2 << 20, part));
    EXPECT_THAT(ask(server, small_request()), StartsWith("HTTP/1.1 200 ")) << i;
  }
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 36; ++i) {
    refused += begun_ones[i]->read().starts_with("HTTP/1.1 503 ");
    EXPECT_EQ(begun_ones[i]->error, 0);
    if (refused + 4 < i) break;  // the rest would wait for a minute each
  }
  EXPECT_GE(refused, 34u);
}

TEST(SlowClients, HaveATimeForEverythingThatTheyDo) {
  ConnectionLimits limits = many();
  limits.request_begins = 3;
  limits.request_is_there = 0.3;
  const RunningServer server(limited(limits));
  Client idle(server.port(), 20), in_head(server.port(), 20), in_body(server.port(), 20);
  in_head.send("POST /v1/completions HTTP/1.1\r\nHost: loc");
  in_body.send(begun(100, "{"));
  EXPECT_EQ(idle.read_all(), "");
  for (Client* client : {&in_head, &in_body}) {
    EXPECT_THAT(client->read_all(), AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("in time")));
  }
  // Each request begins a new time, also of a reply that is there at once.
  Client polls(server.port(), 20);
  for (int i = 0; i < 14; ++i) {
    polls.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(polls.read(), StartsWith("HTTP/1.1 200 ")) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  // A reply may take any time.
  ServerSettings slow = limited(limits);
  slow.fixed = FixedTiming{1, 0.001, {}};
  EXPECT_THAT(ask(RunningServer(slow), small_request()), StartsWith("HTTP/1.1 200 "));
}

/// Open files of this process, in which client and server run.
std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(SlowClients, OneThatReadsNothingIsLeft) {
  ConnectionLimits limits = many();
  limits.reader_goes_on = 0.3;
  ServerSettings settings = limited(limits);
  settings.fixed = FixedTiming{0, 0, {}};
  const RunningServer server(settings);
  Client client(server.port());
  client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 200 "));
  const std::size_t both_ends = open_files();
  client.send(post("/v1/completions", R"({"prompt":[1],"max_tokens":100000,"stream":true})"));
  const auto begin = std::chrono::steady_clock::now();
  while (open_files() == both_ends && seconds_since(begin) < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(open_files(), both_ends - 1);
  EXPECT_EQ(count(client.read_all(), "[DONE]"), 0u);  // nor is the rest kept for it
  EXPECT_THAT(ask(server, get("/health")), StartsWith("HTTP/1.1 200 "));
}

/// Whose reply is written while they still send.
TEST(SlowClients, AReplyReachesAClientThatIsStillSending) {
  const RunningServer server(limited(many()));
  Client client(server.port());
  const std::string body(40 << 20, ' ');
  client.send(begun(body.size(), body));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(client.error, 0);
}

std::string with_fields(std::string_view fields, std::string_view rest = "") {
  return "POST /v1/completions HTTP/1.1\r\n" + std::string(fields) + "\r\n" + std::string(rest);
}

TEST(RequestHead, ALengthInDoubtIsRefused) {
  const RunningServer server(limited(many()));
  const std::string smuggled = get("/health");
  for (const char* coding : {"xchunked", "chunked, identity", "identity", "gzip, chunked",
                             "chunked\r\nTransfer-Encoding: chunked"}) {
    const std::string reply = ask(
        server, with_fields("Host: localhost\r\nTransfer-Encoding: " + std::string(coding) + "\r\n",
                            smuggled));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 400 ")) << coding;
    EXPECT_EQ(count(reply, "HTTP/1.1 "), 1u) << coding;
  }
  const std::string body = R"({"prompt":[1],"max_tokens":2})";
  const std::string chunked = fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body);
  EXPECT_THAT(ask(server, with_fields("Host: localhost\r\nConnection: close\r\n"
                                      "Content-Type: application/json; charset=utf-8\r\n"
                                      "Transfer-Encoding: Chunked\r\n",
                                      chunked)),
              StartsWith("HTTP/1.1 200 "));
}

TEST(RequestHead, NoWebPageMayAsk) {
  const RunningServer server(limited(many()));
  const std::string body = R"({"prompt":[1],"max_tokens":2})";
  const auto status = [&](std::string_view fields) {
    return ask(server, with_fields(fmt::format("{}Connection: close\r\nContent-Length: {}\r\n",
                                               fields, body.size()),
                                   body))
        .substr(9, 3);
  };
  const std::string json = "Content-Type: application/json\r\n";
  for (const char* host : {"localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000",
                           "10.0.0.1", "LOCALHOST", "a.localhost:1"}) {
    EXPECT_EQ(status(fmt::format("Host: {}\r\n{}", host, json)), "200") << host;
  }
  EXPECT_EQ(status(json + "Host: localhost:80\r\nOrigin: http://localhost:80\r\n"), "200");
  EXPECT_EQ(status(json + "Host: evil.example:8000\r\n"), "403");  // a name that leads here
  EXPECT_EQ(status(json + "Host: localhost\r\nOrigin: http://evil.example\r\n"), "403");
  EXPECT_EQ(status(json + "Host: localhost\r\nOrigin: null\r\n"), "403");
  EXPECT_EQ(status("Host: localhost\r\nContent-Type: text/plain\r\n"), "415");
  EXPECT_EQ(status("Host: localhost\r\n"), "415");
  EXPECT_EQ(status(json), "400");
  EXPECT_EQ(status(json + "Host: localhost\r\nHost: localhost\r\n"), "400");
}

TEST(RequestHead, AReplyToHeadIsAHead) {
  const RunningServer server(limited(many()));
  Client client(server.port());
  for (const char* path : {"/v1/models", "/nowhere", "/v1/completions", "/health"}) {
    client.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  client.send(
      "GET http://localhost/health?x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string replies = client.read_all();
  EXPECT_EQ(count(replies, "HTTP/1.1 "), 5u) << replies;
  EXPECT_EQ(count(replies, "HTTP/1.1 200 "), 3u) << replies;
  EXPECT_EQ(count(replies, "{"), 0u) << replies;
  EXPECT_THAT(replies, AllOf(HasSubstr("allow: POST"),
                             Not(HasSubstr("content-length: 0\r\n\r\nHTTP/1.1 404"))));
}

TEST(RequestHead, HttpOneZeroIsToldThatTheConnectionCloses) {
  const RunningServer server(limited(many()));
  const std::string reply = ask(server, "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(reply, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("connection: close")));
}

}  // namespace
}  // namespace assay::simulator
