// assay load --spawn: servers live as long as their load, whatever ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "e2e/simulated_load.h"
#include "serving/client/endpoint.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The URL of a load's first server, once it listens.
Url url_in(const Process& process) {
  Url url;
  url.host = "127.0.0.1";
  for (int i = 0; i < 6000 && url.port == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::error_code none;
    for (const auto& log :
         std::filesystem::directory_iterator(process.folder() / "store/servers", none)) {
      const std::string text = Process::read(log.path());
      const std::size_t at = text.find("127.0.0.1:");
      if (at != std::string::npos) url = *parse_url(text.substr(at, text.find('\n') - at));
    }
  }
  return url;
}

bool ends(const Url& url) {
  for (int i = 0; i < 6000 && find_endpoint(url, false).ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !find_endpoint(url, false).ok();
}

/// A load that would take minutes.
std::vector<std::string> long_load() {
  return {"load",       "--spawn", simulated("--ttft 10ms --itl 10ms"),
          "--requests", "1000000", "--max-concurrency",
          "2",          "--out",   "store"};
}

TEST(LoadSpawn, StartsItsServersLoadsThemAndEndsThem) {
  Process process({"load", "--spawn", simulated("--ttft 50ms --itl 1ms"), "--servers", "2",
                   "--spawn-env", "ASSAY_WHICH={index}", "--max-concurrency", "2", "--requests",
                   "8", "--output-tokens", "4", "--out", "store"});
  const Outcome outcome = process.wait();
  EXPECT_THAT(outcome.out, HasSubstr("8 of 8 requests")) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("starting 2 servers; logs: store/servers/"));
  const Json record = last_record(process);
  ASSERT_TRUE(record.is_object());
  const Json& notes = record["notes"];
  EXPECT_EQ(notes["servers"], "2");
  EXPECT_EQ(notes["spawn_env ASSAY_WHICH"], "{index}");
  EXPECT_THAT(notes["spawn"].get<std::string>(), HasSubstr("serve-sim --port '{port}'"));
  EXPECT_NE(notes["url 0"], notes["url 1"]);
  for (const char* url : {"url 0", "url 1"}) {
    EXPECT_FALSE(find_endpoint(*parse_url(notes[url].get<std::string>()), false).ok());
  }
}

/// `assay serve --partitions` and `assay serve-sim --servers` are several servers, too.
TEST(LoadSpawn, EveryServerOfOneProgramIsLoaded) {
  const Outcome outcome = assay_run(
      {"load", "--spawn", simulated("--gpu MI300X --partitions --servers 3"), "--max-concurrency",
       "3", "--requests", "9", "--input", "8", "--output-tokens", "2", "--out", "-"});
  const auto records = json_lines(outcome.out);
  ASSERT_EQ(records.size(), 2u) << outcome.err;  // a fingerprint comes first
  const Json& notes = records[1]["notes"];
  std::uint16_t first = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(notes.contains("url " + number)) << notes.dump();
    const auto url = parse_url(notes["url " + number].get<std::string>());
    ASSERT_TRUE(url.ok());
    if (i == 0) first = url->port;
    EXPECT_EQ(url->port, first + i);
    EXPECT_THAT(notes["target " + number].get<std::string>(), Not(HasSubstr("0 requests")));
  }
  EXPECT_FALSE(notes.contains("url 3"));
  const Outcome hidden = assay_run({"load", "--spawn", simulated("--servers 3 --json"),
                                    "--request-rate", "1", "--requests", "1", "--out", "-"});
  EXPECT_EQ(hidden.status, 2);
  EXPECT_THAT(hidden.err, HasSubstr("leave out --json"));
}

/// Where no other one is installed, and where another program starts it.
TEST(LoadSpawn, AssayMeansThisBinary) {
  for (const char* command : {"assay", "env assay"}) {
    Process process(
        {"load", "--spawn", std::string(command) + " serve-sim --port {port} --ttft 1ms --itl 1ms",
         "--max-concurrency", "1", "--requests", "2", "--output-tokens", "4", "--out", "store"},
        {{"PATH", "/usr/bin:/bin"}});
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("2 of 2 requests")) << outcome.err;
  }
}

/// Programs differ in which of two they take.
TEST(LoadSpawn, AServerHasOnePathWhicheverTheUserSets) {
  for (const char* path : {"PATH=/usr/bin:/given", "OTHER=/given"}) {
    const Outcome outcome = assay_run(
        {"load", "--spawn", "grep -z -c -e ^PATH= -e x{port}x /proc/self/environ", "--spawn-env",
         path, "--requests", "1", "--max-concurrency", "1", "--out", "store"});
    EXPECT_THAT(outcome.err, HasSubstr("ended with status 0: 1; its log")) << path;
  }
}

TEST(LoadSpawn, AServerThatDoesNotStartIsTheEnd) {
  const Outcome outcome = assay_run(
      {"load", "--spawn", simulated("--ttft never"), "--request-rate", "1", "--out", "store"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("server 0 ended with status 2: "), HasSubstr("never")));
}

TEST(LoadSpawn, AServerThatDiesUnderItsLoadEndsIt) {
  const TemporaryFolder folder;
  const std::string order = folder.path() / "die";
  Process process({"load", "--spawn",
                   "sh -c '\"$0\" serve-sim --port {port} & until [ -e " + order +
                       " ]; do sleep 0.05; done; echo out of memory; kill $!; exit 9' '" +
                       ASSAY_BINARY + "'",
                   "--requests", "1000000", "--max-concurrency", "2", "--out", "store"});
  EXPECT_TRUE(process.wait_for_error_text("[1/1]"));
  folder.write("die", "");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, HasSubstr("server 0 ended with status 9: out of memory"));
}

TEST(LoadSpawn, AnInterruptEndsTheServersToo) {
  Process process(long_load());
  const Url url = url_in(process);
  ASSERT_NE(url.port, 0);
  ASSERT_TRUE(process.wait_for_error_text("[1/1]"));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().status, 130);
  EXPECT_FALSE(find_endpoint(url, false).ok());
}

TEST(LoadSpawn, NothingIsLostWhereBothStreamsAreOneFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "both";
  Process process(
      {"-c",
       "exec \"$0\" load --spawn \"$1\" --max-concurrency 1,2 --requests 4 --json --out store "
       "> " +
           file + " 2>&1",
       ASSAY_BINARY, simulated("--ttft 2ms --itl 1ms")},
      {}, "", "/bin/sh");
  EXPECT_EQ(process.wait().status, 0);
  const std::string both = Process::read(file);
  const std::string stored = Process::read(process.folder() / "store/records.jsonl");
  EXPECT_EQ(json_lines(stored).size(), 2u);
  // Each record is there as a whole, in its place.
  const std::size_t end = stored.find('\n') + 1;
  const std::size_t first = both.find("\n" + stored.substr(0, end));
  const std::size_t second = both.find("\n" + stored.substr(end));
  ASSERT_NE(second, std::string::npos) << both;
  EXPECT_LT(both.find("[1/2] 1 in flight"), first) << both;
  EXPECT_LT(first, both.find("[2/2] 2 in flight")) << both;
  EXPECT_LT(both.find("[2/2] 2 in flight"), second) << both;
  EXPECT_LT(second, both.find("stored in store")) << both;
}

TEST(LoadSpawn, ServersDoNotOutliveAssay) {
  Process process(long_load());
  const Url url = url_in(process);
  ASSERT_NE(url.port, 0);
  ASSERT_TRUE(process.wait_for_error_text("[1/1]"));
  ASSERT_TRUE(find_endpoint(url, false).ok());
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  EXPECT_TRUE(ends(url));
}

/// The processes with `mark` among their environment's variables.
std::size_t marked_processes(const std::string& mark) {
  std::size_t count = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    count += text.find(mark) != std::string::npos;
  }
  return count;
}

/// A server whose own child serves and that has another one, which `ignores` signals or not.
std::string server_with_children(bool ignores) {
  return std::string("sh -c '") + (ignores ? "trap \"\" TERM HUP INT; " : "") +
         "sleep 600 & \"$0\" serve-sim --port {port} --ttft 10ms --itl 10ms & wait' '" +
         ASSAY_BINARY + "'";
}

// Whenever the signals come: before the servers start, while they start, under load, at the end.
TEST(LoadSpawn, SignalsAtAnyTimeEndTheChildrenOfServersToo) {
  const TemporaryFolder unique;
  for (int round = 0; round < 12; ++round) {
    const bool twice = round % 2 == 1;  // as a service manager or a closing terminal sends them
    const std::string mark = fmt::format("ASSAY_MARK={}-{}", unique.path().string(), round);
    std::vector<std::string> words = long_load();
    words[2] = server_with_children(twice);
    words.insert(words.end(), {"--servers", "2", "--spawn-env", mark, "--spawn-env",
                               "CUDA_VISIBLE_DEVICES=0", "--telemetry", "off"});
    Process process(words);
    if (round < 8) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60 * round));
    } else {
      ASSERT_TRUE(process.wait_for_error_text("[1/1]"));
      EXPECT_GE(marked_processes(mark), 6u);
    }
    process.signal(round % 4 < 2 ? SIGTERM : SIGHUP);
    if (twice) {
      process.wait_for_pending_signals();
      process.signal(round % 4 < 2 ? SIGHUP : SIGTERM);
    }
    const Outcome outcome = process.wait();
    EXPECT_THAT(outcome.status, testing::AnyOf(130, 128 + SIGTERM, 128 + SIGHUP)) << outcome.err;
    for (int i = 0; i < 1000 && marked_processes(mark) > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(marked_processes(mark), 0u) << "round " << round;
  }
}

TEST(LoadSpawn, WhatMakesNoSenseIsSaid) {
  const auto error_of = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"load", "--request-rate", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_THAT(error_of({"--servers", "2"}), HasSubstr("--servers needs --spawn"));
  EXPECT_THAT(error_of({"--spawn", "a {port}", "--url", "http://a"}),
              HasSubstr("only one of them"));
  EXPECT_THAT(error_of({"--spawn", "vllm serve M"}), HasSubstr("has no {port}"));
  EXPECT_THAT(error_of({"--spawn", "vllm 'serve"}), HasSubstr("never closed"));
  EXPECT_THAT(error_of({"--spawn", "a {port}", "--servers", "0"}), HasSubstr("allowed: 1 to 256"));
  EXPECT_THAT(error_of({"--spawn", "a {port}", "--spawn-env", "X"}), HasSubstr("NAME=VALUE"));
}

}  // namespace
}  // namespace assay
