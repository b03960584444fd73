// Collective operations between processes, and what ranks learn about a peer that is gone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "libraries/nccl_operation.h"

namespace mi300x {
namespace {

constexpr int ranks = 4;

std::string fresh_name() {
  static int count = 0;
  return "/mi300x-nccl-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// Runs `each` in one process per rank; returns the exit statuses.
std::vector<int> in_processes(const std::function<int(NcclWorld&)>& each) {
  const std::string name = fresh_name();
  EXPECT_TRUE(NcclWorld::create(name));
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::string problem;
      const auto world = NcclWorld::join(name, ranks, rank, problem);
      const int status = world ? each(*world) : 99;
      ::_exit(status);  // without destructors, like a dying process
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

const std::vector<int> all_well(ranks, 0);

NcclCall call_of(NcclKind kind, const std::vector<float>& send, std::vector<float>& receive,
                 std::size_t count) {
  NcclCall call;
  call.kind = kind;
  call.send = send.data();
  call.receive = receive.data();
  call.count = count;
  call.type = assay::DataType::f32;
  return call;
}

/// Exceeds several windows and is not a multiple of one.
constexpr std::size_t many = 3 * NcclWorld::window_bytes / sizeof(float) + 17;

TEST(NcclProcesses, ReduceManyPieces) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              std::vector<float> send(many), receive(many);
              for (std::size_t i = 0; i < many; ++i) {
                send[i] = static_cast<float>(i % 97) + static_cast<float>(world.rank());
              }
              std::string problem;
              if (!perform(world, call_of(NcclKind::all_reduce, send, receive, many), problem)) {
                return 1;
              }
              for (std::size_t i = 0; i < many; ++i) {
                if (receive[i] != static_cast<float>(4 * (i % 97)) + 6) return 2;
              }
              return 0;
            }),
            all_well);
}

TEST(NcclProcesses, ExchangeManyPieces) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              std::vector<float> send(ranks * many), receive(ranks * many);
              for (std::size_t i = 0; i < send.size(); ++i) {
                send[i] = static_cast<float>(i / many * 10) + static_cast<float>(world.rank());
              }
              std::string problem;
              if (!perform(world, call_of(NcclKind::all_to_all, send, receive, many), problem)) {
                return 1;
              }
              for (std::size_t i = 0; i < send.size(); ++i) {
                const auto from = static_cast<float>(i / many);
                if (receive[i] != static_cast<float>(world.rank() * 10) + from) return 2;
              }
              return 0;
            }),
            all_well);
}

TEST(NcclProcesses, MessagesKeepTheirOrderAndLength) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              const int next = (world.rank() + 1) % ranks, last = (world.rank() + 3) % ranks;
              std::vector<char> first(NcclWorld::window_bytes + 5, static_cast<char>(world.rank()));
              std::vector<char> second(3, static_cast<char>(10 + world.rank()));
              std::vector<char> got_first(first.size()), got_second(3);
              NcclCall call;
              call.messages = {{true, next, first.data(), first.size()},
                               {true, next, second.data(), 3},
                               {false, last, got_first.data(), first.size()},
                               {false, last, got_second.data(), 3}};
              std::string problem;
              if (!perform(world, call, problem)) return 1;
              const bool right = got_first == std::vector(first.size(), static_cast<char>(last)) &&
                                 got_second == std::vector(3, static_cast<char>(10 + last));
              return right ? 0 : 2;
            }),
            all_well);
}

TEST(NcclProcesses, CallsThatDifferAreErrorsThatNameThem) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              std::vector<float> send(8), receive(8);
              const std::size_t count = world.rank() == 2 ? 4 : 8;
              std::string problem;
              if (perform(world, call_of(NcclKind::all_reduce, send, receive, count), problem)) {
                return 1;
              }
              const bool named = problem.find("rank 2 all-reduce of 4 f32") != std::string::npos;
              return named ? 0 : 2;
            }),
            all_well);
}

TEST(NcclProcesses, MessagesThatNobodyReceivesAreErrors) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              char byte = 0;
              NcclCall call;
              if (world.rank() == 0) call.messages = {{true, 1, &byte, 1}};
              std::string problem;
              if (perform(world, call, problem)) return 1;
              return problem.find("rank 0 sends to rank 1") != std::string::npos ? 0 : 2;
            }),
            all_well);
}

TEST(NcclProcesses, ADeadRankIsNamedInsteadOfWaitedFor) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              if (world.rank() == 3) return 3;
              std::vector<float> send(8), receive(8);
              std::string problem;
              if (perform(world, call_of(NcclKind::all_reduce, send, receive, 8), problem)) {
                return 1;
              }
              return problem.find("rank 3 (process ") == 0 ? 0 : 2;
            }),
            (std::vector{0, 0, 0, 3}));
}

TEST(NcclProcesses, AnAbortReachesAll) {
  EXPECT_EQ(in_processes([](NcclWorld& world) {
              if (world.rank() == 1) world.abort("enough");
              while (world.meet()) {
              }
              return world.problem() == "enough" ? 0 : 2;
            }),
            all_well);
}

TEST(NcclProcesses, RanksThatCountDifferentlyDoNotMeet) {
  const std::string name = fresh_name();
  ASSERT_TRUE(NcclWorld::create(name));
  const pid_t child = ::fork();
  std::string problem;
  const bool joined =
      NcclWorld::join(name, child == 0 ? 2 : 3, child == 0 ? 1 : 0, problem) != nullptr;
  if (child == 0) ::_exit(joined ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(joined);
  EXPECT_NE(problem.find("joins"), std::string::npos) << problem;
}

}  // namespace
}  // namespace mi300x
