// assay fingerprint and assay diff as programs, in and out of containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "core/json.h"
#include "e2e/process.h"
#include "machine/system/machine.h"
#include "support/sanitized.h"

namespace assay {
namespace {

using testing::HasSubstr;

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Runs a program of /usr/bin to its end.
Outcome run_program(std::vector<std::string> words) {
  const std::string program = "/usr/bin/" + words.front();
  words.erase(words.begin());
  return Process(words, {}, "", program).wait();
}

/// The paths in which `assay diff` finds this machine to differ from itself as `wrapper assay` sees
/// it.
std::set<std::string> differences_inside(const std::vector<std::string>& wrapper,
                                         const std::string& container) {
  const TemporaryFolder folder;
  std::vector<std::string> inside = wrapper;
  inside.insert(inside.end(), {ASSAY_BINARY, "fingerprint", "--json"});
  const Outcome contained = run_program(inside);
  if (contained.status != 0) return {"cannot run: " + contained.err};
  EXPECT_EQ(Json::parse(contained.out)["virtualization"]["container"], container);
  write(folder.path() / "out.json", assay_run({"fingerprint", "--json"}).out);
  write(folder.path() / "in.json", contained.out);
  const Outcome diff =
      assay_run({"diff", folder.path() / "out.json", folder.path() / "in.json", "--json"});
  EXPECT_EQ(diff.status, 1) << "they differ: " << diff.err;
  std::set<std::string> paths;
  for (const Json& difference : Json::parse(diff.out)) paths.insert(difference["path"]);
  return paths;
}

TEST(Fingerprint, ThisMachineDoesNotDifferFromItself) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "here.json";
  write(path, assay_run({"fingerprint", "--json"}).out);
  const Outcome same = assay_run({"diff", path, "here"});
  EXPECT_EQ(same.out, "no difference\n");
  EXPECT_EQ(same.status, 0);
}

TEST(Fingerprint, ACaptureOfThisMachineDoesNotDifferFromIt) {
  const TemporaryFolder folder;
  const std::string capture = folder.path() / "capture.json";
  const Outcome doctor = assay_run({"doctor", "--capture", capture});
  ASSERT_LE(doctor.status, 1) << doctor.err;
  EXPECT_EQ(assay_run({"diff", capture, "here"}).out, "no difference\n");
}

TEST(Fingerprint, ReadsStoresAndNamesRubbish) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  ASSERT_EQ(assay_run({"run", "launch", "--device", "fake", "--out", store}).status, 0);
  EXPECT_THAT(assay_run({"diff", store, store}).out, HasSubstr("no difference"));
  const Outcome absent = assay_run({"diff", store + ":no-such-run", "here"});
  EXPECT_EQ(absent.status, 2);
  EXPECT_THAT(absent.err, HasSubstr("holds no run no-such-run"));
  const std::string file = store + "/fingerprints.jsonl";
  const std::string id = Json::parse(Process::read(file))["id"];
  write(file, "{\"id\":\"" + id + "\",\"fingerprint\":5}\n");
  const Outcome number = assay_run({"diff", store, "here"});
  EXPECT_EQ(number.status, 2);
  EXPECT_THAT(number.err, HasSubstr("does not hold the fingerprint " + id));
  write(folder.path() / "rubbish", "\x7f\x45{");
  EXPECT_EQ(assay_run({"diff", folder.path() / "rubbish", "here"}).status, 2);
  EXPECT_EQ(assay_run({"fingerprint", "--from", folder.path() / "rubbish"}).status, 2);
  EXPECT_EQ(assay_run({"fingerprint", "--from", folder.path() / "absent"}).status, 2);
}

TEST(Fingerprint, AnUnshareContainerDiffersByItsNamespacesOnly) {
  const std::vector<std::string> wrapper = {"unshare", "--mount", "--pid", "--fork",
                                            "--mount-proc"};
  std::vector<std::string> trial = wrapper;
  trial.push_back("true");
  if (run_program(trial).status != 0) GTEST_SKIP() << "namespaces need privileges here";
  const Json here = Json::parse(assay_run({"fingerprint", "--json"}).out);
  if (here["virtualization"]["container"] != "none") GTEST_SKIP() << "this is a container already";
  EXPECT_EQ(differences_inside(wrapper, "unnamed"),
            (std::set<std::string>{"virtualization.container", "virtualization.namespaces"}));
}

TEST(Fingerprint, BubblewrapIsRecognised) {
  const std::vector<std::string> wrapper = {
      "bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid"};
  std::vector<std::string> trial = wrapper;
  trial.push_back("true");
  if (run_program(trial).status != 0) GTEST_SKIP() << "bubblewrap is not installed or may not run";
  const std::set<std::string> differences = differences_inside(wrapper, "bubblewrap");
  EXPECT_THAT(differences,
              testing::IsSubsetOf({"virtualization.container", "virtualization.namespaces"}));
  EXPECT_EQ(differences.count("virtualization.container"), 1u);
}

TEST(Fingerprint, IsQuick) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take their time";
  // The least processor time of five runs, which hardly depends on what else runs here.
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = assay_run({"fingerprint", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    least = std::min(least, outcome.cpu_seconds);
  }
  EXPECT_LT(least, 0.2);
}

/// Whatever the environment, a measured command or an address holds.
TEST(Secrets, FortyKindsReachNothingThatIsShownOrStored) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {
      "HF_TOKEN",  "API_KEY",     "API_KEYS",  "WIFI_PSK",   "SSH_PASSPHRASE", "SESSION_JWT",
      "AWS_CREDS", "TLS_PRIVKEY", "ACCESSKEY", "GITHUB_PAT", "DB_PASSWORD",    "MY_SECRET",
      "AUTH",      "COOKIE",      "UNRELATED", "NCCL_X_KEY"};
  const std::vector<std::string> values = {
      "serve --api-key @",  "https://host/x?token=@", "Bearer @",
      "sshpass -p @ ssh h", R"({"api_key": "@"})",    "https://me:@@host/dav",
      "password=@",         "--auth-token=@",         "postgres://u:@@host/db",
      "x-api-key: @"};
  const std::vector<std::vector<std::string>> commands = {
      {"echo", "m 2", "--api-key", "@"},
      {"echo", "m 2", "--token=@"},
      {"env", "HF_TOKEN=@", "echo", "m 2"},
      {"echo", "m 2", "-H", "Authorization: Bearer @"},
      {"echo", "m 2", "https://me:@@host/x"},
      {"echo", "m 2", "https://host/x?sig=@"},
      {"echo", "m 2", R"({"password": "@"})"},
      {"echo", "m 2", "--passphrase", "@"},
      {"echo", "m 2", "me:@@host"},
      {"echo", "m 2", "secret=@"}};
  int kinds = 0;
  const auto planted = [&kinds](std::string text) {
    const std::string secret = "plantedsecret" + std::to_string(++kinds);
    for (std::size_t at; (at = text.find('@')) != std::string::npos;) {
      // "@@" is a secret before the "@" of an address, which the shortest mark stands for
      // meanwhile.
      const bool address = text.compare(at, 2, "@@") == 0;
      text.replace(at, address ? 2 : 1, secret + (address ? "\x01" : ""));
    }
    std::replace(text.begin(), text.end(), '\x01', '@');
    return text;
  };
  Process::Environment environment;
  for (const std::string& name : names) environment[name] = planted("@");
  for (const std::string& value : values) {
    environment["VLLM_ARGS_" + std::to_string(environment.size())] = planted(value);
  }
  std::string suite = "name: s\ndescription: d\ncells:\n";
  for (const std::vector<std::string>& command : commands) {
    Json words = Json::array();
    for (const std::string& word : command) words.push_back(planted(word));
    suite += "  - {command: " + words.dump() + ", name: c" + std::to_string(kinds) +
             ", metrics: [{name: m, regex: 'm (\\S+)', unit: s, better: lower}]}\n";
  }
  const std::string store = folder.path() / "store";
  std::vector<std::pair<std::string, Outcome>> shown;
  const auto note = [&](std::vector<std::string> words) {
    const std::string what = words.front();
    shown.emplace_back(what, assay_run(std::move(words), environment));
  };
  note({"fingerprint", "--json"});
  note({"fingerprint"});
  note({"doctor", "--json"});
  note({"run", folder.write("s.yaml", suite), "--device", "fake", "--out", store});
  note({"show", store, "--json"});
  note({"report", store, "--format", "html"});
  for (const char* url :
       {"http://me:@@127.0.0.1:1", "http://127.0.0.1:1/v1?key=@", "ftp://me:@@h"}) {
    note(
        {"load", "--url", planted(url), "--requests", "1", "--max-concurrency", "1", "--out", "-"});
  }
  environment["OPENAI_API_KEY"] = planted("@") + "\r\nX: y";
  note({"load", "--url", "http://127.0.0.1:1", "--requests", "1", "--max-concurrency", "1"});
  EXPECT_GE(kinds, 40);
  shown.emplace_back("records", Outcome{0, 0, Process::read(store + "/records.jsonl"), ""});
  shown.emplace_back("fingerprints",
                     Outcome{0, 0, Process::read(store + "/fingerprints.jsonl"), ""});
  for (const auto& [what, outcome] : shown) {
    for (const std::string& text : {outcome.out, outcome.err}) {
      const std::size_t at = text.find("plantedsecret");
      EXPECT_EQ(at, std::string::npos) << what << ": " << text.substr(at > 60 ? at - 60 : 0, 120);
    }
    EXPECT_FALSE(outcome.out.empty() && outcome.err.empty()) << what;
  }
}

}  // namespace
}  // namespace assay
