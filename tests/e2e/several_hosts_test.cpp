// Ranks on several hosts, which are namespaces of this machine with networks, names and sshd. What
// is between them may be long and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>

#include "core/json.h"
#include "core/program.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

struct Output {
  int status = -1;
  std::string out, err;
};

/// Runs one check of several_hosts.sh.
Output on_hosts(const std::string& check) {
  const TemporaryFolder folder;
  Output output;
  ProgramStart start;
  start.words = {ASSAY_SOURCE_DIR "/tests/e2e/several_hosts.sh", ASSAY_BINARY,
                 folder.path().string(), check};
  start.timeout_seconds = 400;
  start.line = [&](std::string_view line) { output.out += std::string(line) + "\n"; };
  start.error_line = [&](std::string_view line) { output.err += std::string(line) + "\n"; };
  const auto end = run_program(start);
  if (end.ok()) output.status = end->status;
  return output;
}

#define SKIP_WITHOUT_HOSTS(output) \
  if (output.status == 77) GTEST_SKIP() << "no hosts on this machine: " << output.out

/// Expects that all operations passed between ranks on two hosts.
void expect_all_passed(const Output& output, const std::string& library, std::size_t ranks) {
  EXPECT_EQ(output.status, 0) << output.err;
  std::set<std::string> operations;
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    if (!record.contains("status")) continue;
    ASSERT_EQ(record["status"], "passed") << record.value("reason", "");
    EXPECT_EQ(record["axes"]["library"], library);
    operations.insert(record["axes"]["op"]);
    ASSERT_EQ(record["ranks"].size(), ranks);
    EXPECT_EQ(record["ranks"][0]["host"], "host-1");
    EXPECT_EQ(record["ranks"][1]["host"], "host-2");
    EXPECT_EQ(record["ranks"][1]["local_rank"], 0);
  }
  EXPECT_EQ(operations.size(), 5u) << output.out << output.err;
}

TEST(SeveralHosts, MeetByTcpAlone) {
  const Output output = on_hosts("rendezvous");
  SKIP_WITHOUT_HOSTS(output);
  expect_all_passed(output, "tcp", 2);
}

TEST(SeveralHosts, AreStartedOverSsh) {
  const Output output = on_hosts("ssh");
  SKIP_WITHOUT_HOSTS(output);
  expect_all_passed(output, "tcp", 3);
}

TEST(SeveralHosts, AreStartedByMpirun) {
  const Output output = on_hosts("mpirun");
  SKIP_WITHOUT_HOSTS(output);
  expect_all_passed(output, "mpi", 2);
}

TEST(SeveralHosts, TheSlowOneIsFound) {
  const Output output = on_hosts("slow_node");
  SKIP_WITHOUT_HOSTS(output);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("2 sends and receives at"))
      << output.err;  // rank 2 is on host 3
}

/// The two hosts are 5 ms from each other and lose every hundredth frame: losses of one rank on
/// the batches of both.
void expect_training_of_one_rank(const std::string& check, const std::string& library) {
  const Output output = on_hosts(check);
  SKIP_WITHOUT_HOSTS(output);
  ASSERT_EQ(output.status, 0) << output.err;
  std::vector<Json> lines;
  std::istringstream text(output.out);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('{')) lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 5u) << output.out << output.err;
  const auto losses = lines[0]["curves"][0]["y"].get<std::vector<double>>();
  EXPECT_EQ(losses.size(), 10u);
  constexpr std::array ways = {"ddp", "zero1", "fsdp"};
  for (std::size_t i = 1; i < 4; ++i) {
    const Json& record = lines[i];
    const std::string way = record["axes"]["parallel"];
    EXPECT_EQ(way, ways[i - 1]);
    EXPECT_EQ(record["status"], "passed") << way << record.value("reason", "");
    EXPECT_EQ(record["axes"]["library"], library) << way;
    EXPECT_EQ(record["ranks"][0]["host"], "host-1") << way;
    EXPECT_EQ(record["ranks"][1]["host"], "host-2") << way;
    EXPECT_GT(record["samples"]["seconds"].get<std::vector<double>>().front(), 0.005) << way;
    const auto there = record["curves"][0]["y"].get<std::vector<double>>();
    ASSERT_GE(there.size(), losses.size()) << way;  // ranks warm up longer
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(there[step], losses[step], 1e-5) << way;
    }
  }
  EXPECT_GT(lines[4]["lost"], 0) << lines[4];
}

TEST(SeveralHosts, TrainOverALongAndBadWireByTcp) {
  expect_training_of_one_rank("train_rendezvous", "tcp");
}

TEST(SeveralHosts, TrainOverALongAndBadWireByMpi) {
  expect_training_of_one_rank("train_mpirun", "mpi");
}

}  // namespace
}  // namespace assay
