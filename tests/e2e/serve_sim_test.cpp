// assay serve-sim as a program, under clients that do it harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/tcp.h"
#include "e2e/process.h"
#include "support/held_port.h"
#include "support/http_client.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

/// Raises this process's limit of open files, which its children inherit, and returns how many
/// connections leave both ends some files.
std::size_t connections_that_fit(std::size_t wanted) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit raised{std::min<rlim_t>(limit.rlim_max, wanted + 500), limit.rlim_max};
  if (raised.rlim_cur > limit.rlim_cur) ::setrlimit(RLIMIT_NOFILE, &raised);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(wanted, limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, 200));
}

// Each has sent a part of its request and sends no more.
TEST(ServeSim, AnswersUnderTenThousandSlowConnections) {
  const std::size_t count = connections_that_fit(10'000);
  const HeldPort port;
  const std::string number = std::to_string(port.number());
  Process server({"serve-sim", "--port", number, "--ttft", "2ms", "--itl", "1ms"});
  std::vector<Descriptor> slow;
  for (int i = 0; i < 6000 && slow.empty(); ++i) {
    if (auto first = connect_to("127.0.0.1", port.number(), 1)) slow.push_back(std::move(*first));
    if (slow.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(slow.empty()) << server.error_text();
  while (slow.size() < count) {
    auto next = connect_to("127.0.0.1", port.number(), 60);
    ASSERT_TRUE(next.ok()) << "after " << slow.size() << ": " << next.error().message;
    slow.push_back(std::move(*next));
  }
  const std::string part = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Len";
  for (const Descriptor& one : slow) {
    ASSERT_EQ(::send(one.number(), part.data(), part.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(part.size()));
  }
  const Outcome load =
      assay_run({"load", "--url", "http://127.0.0.1:" + number, "--max-concurrency", "4",
                 "--requests", "20", "--input", "8", "--output-tokens", "4", "--out", "store"});
  EXPECT_THAT(load.out, testing::HasSubstr("20 of 20 requests")) << load.err;
  slow.clear();
  server.signal(SIGTERM);
  EXPECT_THAT(server.wait().status, testing::AnyOf(0, 130));
}

/// What this process may open is the server's, too, unless it is told otherwise.
TEST(ServeSim, ElevenHundredIdleConnectionsAndFortyUnfinishedBodiesHarmNobody) {
  constexpr std::size_t idle_ones = 1100, unfinished = 40, body = 30 << 20;
  if (connections_that_fit(idle_ones + unfinished + 100) < idle_ones + unfinished) {
    GTEST_SKIP() << "this process may not open as many files";
  }
  const HeldPort port;
  const std::string number = std::to_string(port.number());
  Process server({"-c", "ulimit -n 1024; exec \"$0\" \"$@\"", ASSAY_BINARY, "serve-sim", "--port",
                  number, "--ttft", "2ms", "--itl", "1ms"},
                 {}, "", "/bin/sh");
  std::vector<Descriptor> clients;
  for (int i = 0; i < 6000 && clients.empty(); ++i) {
    if (auto one = connect_to("127.0.0.1", port.number(), 1)) clients.push_back(std::move(*one));
    if (clients.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(clients.empty()) << server.error_text();
  while (clients.size() < idle_ones + unfinished) {
    auto next = connect_to("127.0.0.1", port.number(), 60);
    ASSERT_TRUE(next.ok()) << "after " << clients.size() << ": " << next.error().message;
    clients.push_back(std::move(*next));
  }
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body + 1) + "\r\n\r\n";
  const std::string part(body, ' ');
  for (std::size_t i = idle_ones; i < clients.size(); ++i) {
    const int socket = clients[i].number();
    ASSERT_GT(::send(socket, head.data(), head.size(), MSG_NOSIGNAL), 0);
    for (std::size_t at = 0; at < body;) {  // ends early if the server ends the connection
      const ssize_t sent = ::send(socket, part.data() + at, body - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
  }
  // A busy machine may take longer for all of that than a load waits for its first answer.
  EXPECT_THAT(ask(static_cast<std::uint16_t>(port.number()), get("/health")),
              testing::StartsWith("HTTP/1.1 200 "));
  const Outcome load =
      assay_run({"load", "--url", "http://127.0.0.1:" + number, "--max-concurrency", "4",
                 "--requests", "20", "--input", "8", "--output-tokens", "4", "--out", "store"});
  EXPECT_THAT(load.out, testing::HasSubstr("20 of 20 requests")) << load.err;
  const std::string status = Process::read("/proc/" + std::to_string(server.id()) + "/status");
  const std::size_t at = status.find("VmHWM:");
  ASSERT_NE(at, std::string::npos);
  if (!is_sanitized) EXPECT_LT(std::stoul(status.substr(at + 6)), 700'000u) << "KiB";
  clients.clear();
  server.signal(SIGTERM);
  EXPECT_THAT(server.wait().status, testing::AnyOf(0, 130));
}

TEST(ServeSim, LinesOfAStoreThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  const std::string store = folder.write("records.jsonl", "{\n{}\n");
  const Outcome outcome = assay_run({"serve-sim", "--calibrate-from", store});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, testing::HasSubstr("models: none; 2 of its lines could not be read, "
                                              "first records.jsonl:1: "));
}

}  // namespace
}  // namespace assay
