#include "serving/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/read_file.h"
#include "serving/client/endpoint.h"
#include "serving/client/http_call.h"
#include "support/scripted_server.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Servers of `script`, a shell's.
SpawnPlan plan_of(const TemporaryFolder& folder, const std::string& script) {
  SpawnPlan plan;
  plan.words = {"sh", "-c", script, "{port}"};
  plan.timeout_seconds = 60;
  plan.logs = folder.path() / "logs" / "server";
  return plan;
}

/// Replaces the shell by a server.
const std::string becomes_server = "exec '" ASSAY_BINARY "' serve-sim --port {port}";

Result<std::unique_ptr<SpawnedServers>> start(const SpawnPlan& plan) {
  return SpawnedServers::start(plan, {}, {});
}

bool is_reached(const Url& url) {
  return find_endpoint(url, false).ok();
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return holds();
}

TEST(Spawn, AFileInPlaceOfTheLogsFolderIsTheUsersMistake) {
  const TemporaryFolder folder;
  const SpawnPlan plan = plan_of(folder, becomes_server);
  std::ofstream(folder.path() / "logs") << "a file";
  const auto servers = start(plan);
  ASSERT_FALSE(servers.ok());
  EXPECT_EQ(servers.error().kind, ErrorKind::usage);
  EXPECT_THAT(servers.error().message, HasSubstr("logs"));
}

TEST(Spawn, EachServerHasItsPortItsVariablesAndItsLog) {
  const TemporaryFolder folder;
  SpawnPlan plan = plan_of(folder, "echo $WHICH sees $CARD {\"a\":1} {x+index}; " + becomes_server);
  plan.servers = 2;
  plan.variables = {{"WHICH", "number {index} renderD{128+8*index} {port-port} {3-index*2}"}};
  plan.devices = VisibleDevices{"CARD", {"4", "7"}};
  auto servers = start(plan);
  ASSERT_TRUE(servers.ok()) << servers.error().message;
  const std::vector<Url> urls = (*servers)->urls();
  ASSERT_EQ(urls.size(), 2u);
  EXPECT_NE(urls[0].port, urls[1].port);
  for (const Url& url : urls) EXPECT_TRUE(is_reached(url)) << text_of(url);
  EXPECT_TRUE((*servers)->check().ok());
  servers->reset();
  for (const Url& url : urls) EXPECT_FALSE(is_reached(url)) << text_of(url);
  EXPECT_THAT(read_file(folder.path() / "logs/server-0.log").value_or(""),
              testing::StartsWith("number 0 renderD128 0 3 sees 4 {a:1} {x+index}\n"));
  EXPECT_THAT(read_file(folder.path() / "logs/server-1.log").value_or(""),
              testing::StartsWith("number 1 renderD136 0 1 sees 7 {a:1} {x+index}\n"));
}

TEST(Spawn, AServerWithoutAPageForItsHealthIsReadyWhenItListsItsModels) {
  const TemporaryFolder folder;
  const auto port_file = folder.path() / "port";
  // The test itself is the server; the program that it starts only writes down the port.
  std::unique_ptr<ScriptedServer> server;
  const auto serve_at_port = [&](const SpawnState&) {
    const std::string port = read_file(port_file).value_or("");
    if (server || !port.ends_with('\n')) return;
    const auto reply = [](ScriptedServer::Client& client, int, const std::string&) {
      const bool lists_models = client.head().starts_with("GET /v1/models ");
      client.say(
          fmt::format("HTTP/1.1 {} x\r\nContent-Length: 0\r\n\r\n", lists_models ? 200 : 404));
    };
    server = std::make_unique<ScriptedServer>(reply, nullptr, std::stoi(port));
  };
  const auto servers = SpawnedServers::start(
      plan_of(folder, "echo {port} > " + port_file.string() + "; exec sleep 600"), {},
      serve_at_port);
  EXPECT_TRUE(servers.ok()) << servers.error().message;
}

TEST(Spawn, AServerThatDiesIsNoticedAtOnceWithItsLastLine) {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  SpawnPlan plan =
      plan_of(folder, "echo loading; printf '\\033[31mout of memory\\n\\n' >&2; exit 3");
  plan.timeout_seconds = 600;
  const auto servers = start(plan);
  ASSERT_FALSE(servers.ok());
  EXPECT_EQ(servers.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(servers.error().message,
              AllOf(HasSubstr("server 0 ended with status 3: \\u001b[31mout of memory; its log: "),
                    HasSubstr("logs/server-0.log")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_THAT(read_file(folder.path() / "logs/server-0.log").value_or(""), HasSubstr("loading\n"));
}

TEST(Spawn, AServerThatNeverAnswersIsNotWaitedForForEver) {
  const TemporaryFolder folder;
  SpawnPlan plan = plan_of(folder, "echo loading; exec sleep 600");
  plan.timeout_seconds = 2;
  const auto begin = std::chrono::steady_clock::now();
  std::string seen;
  const auto servers = SpawnedServers::start(plan, {}, [&](const SpawnState& state) {
    EXPECT_EQ(state.ready, 0);
    seen = state.last_line;
  });
  ASSERT_FALSE(servers.ok());
  EXPECT_THAT(servers.error().message, HasSubstr("does not answer after 2 s: loading"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(seen, "loading");
}

TEST(Spawn, AnInterruptWhileWaitingEndsTheServers) {
  const TemporaryFolder folder;
  const auto servers =
      SpawnedServers::start(plan_of(folder, "exec sleep 600"), [] { return true; }, {});
  ASSERT_FALSE(servers.ok());
  EXPECT_EQ(servers.error().kind, ErrorKind::interrupted);
}

TEST(Spawn, TheEndTakesTheWholeGroup) {
  const TemporaryFolder folder;
  const auto pid_file = folder.path() / "worker";
  auto servers =
      start(plan_of(folder, "sleep 600 & echo $! > " + pid_file.string() + "; " + becomes_server));
  ASSERT_TRUE(servers.ok()) << servers.error().message;
  const int worker = std::stoi(read_file(pid_file).value_or("0"));
  ASSERT_GT(worker, 0);
  EXPECT_EQ(::kill(worker, 0), 0);
  servers->reset();
  // Whatever process reaps orphans may be slow, so a dead worker may still be a zombie.
  const auto is_gone = [&] {
    const auto state = read_file("/proc/" + std::to_string(worker) + "/stat");
    return !state || state->find(") Z ") != std::string::npos;
  };
  EXPECT_TRUE(eventually(is_gone));
}

TEST(Spawn, ADeathDuringTheMeasurementIsSeen) {
  const TemporaryFolder folder;
  const auto pid_file = folder.path() / "pid";
  const auto servers =
      start(plan_of(folder, "echo $$ > " + pid_file.string() + "; " + becomes_server));
  ASSERT_TRUE(servers.ok()) << servers.error().message;
  ASSERT_TRUE((*servers)->check().ok());
  ::kill(std::stoi(read_file(pid_file).value_or("0")), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !(*servers)->check().ok(); }));
  EXPECT_THAT((*servers)->check().error().message, HasSubstr("server 0 was ended by signal 9"));
}

TEST(Spawn, ACommandThatCannotBeStartedIsReported) {
  const TemporaryFolder folder;
  SpawnPlan plan = plan_of(folder, "");
  plan.words = {"sh", "-c", "exit"};
  const auto without_port = start(plan);
  ASSERT_FALSE(without_port.ok());
  EXPECT_EQ(without_port.error().kind, ErrorKind::usage);
  EXPECT_THAT(without_port.error().message, HasSubstr("{port}"));
  plan.words = {"no-such-server", "{port}"};
  const auto missing = start(plan);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("cannot start no-such-server"));
}

}  // namespace
}  // namespace assay
