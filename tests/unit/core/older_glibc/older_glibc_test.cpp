// assay's own versions of functions that only newer versions of glibc have behave as glibc's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/older_glibc/functions.h"

namespace assay {
namespace {

int in_this_program = 0;

FoundObject found_at(const void* address) {
  FoundObject found = {};
  EXPECT_EQ(assay_find_object(const_cast<void*>(address), &found), 0);
  return found;
}

TEST(OlderGlibc, RandomBitsAreSetInHalfOfAllNumbers) {
  constexpr int draws = 4000;
  std::array<int, 32> set = {};
  std::set<std::uint32_t> different;
  for (int draw = 0; draw < draws; ++draw) {
    const std::uint32_t bits = assay_arc4random();
    different.insert(bits);
    for (unsigned bit = 0; bit < 32; ++bit) set[bit] += static_cast<int>(bits >> bit & 1);
  }
  // Six standard deviations of a fair coin: 190 of 4,000.
  for (const int count : set) EXPECT_NEAR(count, draws / 2, 190);
  EXPECT_GT(different.size(), draws - 5u);
}

TEST(OlderGlibc, AForkedProcessDrawsOtherRandomBits) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  (void)assay_arc4random();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint32_t bits = assay_arc4random();
    ::_exit(::write(ends[1], &bits, sizeof bits) == sizeof bits ? 0 : 1);
  }
  std::uint32_t others = 0;
  ASSERT_EQ(::read(ends[0], &others, sizeof others), static_cast<ssize_t>(sizeof others));
  EXPECT_NE(others, assay_arc4random());
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(OlderGlibc, TheStandardLibrarysRandomDeviceWorks) {
  std::random_device device;
  std::set<unsigned> different;
  for (int draw = 0; draw < 100; ++draw) different.insert(device());
  EXPECT_GT(different.size(), 98u);
}

TEST(OlderGlibc, AnAddressIsFoundInTheObjectThatContainsIt) {
  const FoundObject program = found_at(&in_this_program);
  const FoundObject library = found_at(reinterpret_cast<const void*>(&::getpid));
  for (const FoundObject& found : {program, library}) {
    EXPECT_EQ(found.flags, 0u);
    EXPECT_LT(found.map_start, found.map_end);
    ASSERT_NE(found.link, nullptr);
    EXPECT_GE(found.eh_frame, found.map_start);
    EXPECT_LT(found.eh_frame, found.map_end);
  }
  EXPECT_LE(program.map_start, static_cast<void*>(&in_this_program));
  EXPECT_GT(program.map_end, static_cast<void*>(&in_this_program));
  EXPECT_NE(program.link, library.link);
  EXPECT_NE(std::string(library.link->l_name).find("libc.so"), std::string::npos)
      << library.link->l_name;
}

TEST(OlderGlibc, AnAddressInNoObjectIsNotFound) {
  const std::vector<int> on_the_heap(1000);
  FoundObject found = {};
  EXPECT_EQ(assay_find_object(const_cast<int*>(on_the_heap.data()), &found), -1);
  EXPECT_EQ(assay_find_object(nullptr, &found), -1);
}

TEST(OlderGlibc, TheSystemsOwnFunctionFindsTheSame) {
  using Find = int (*)(void*, FoundObject*);
  const auto theirs = reinterpret_cast<Find>(::dlsym(RTLD_DEFAULT, "_dl_find_object"));
  if (theirs == nullptr) GTEST_SKIP() << "this system's glibc is older than 2.35";
  const std::array<const void*, 3> addresses = {&in_this_program,
                                                reinterpret_cast<const void*>(&::getpid),
                                                reinterpret_cast<const void*>(&::dlopen)};
  for (const void* address : addresses) {
    FoundObject expected = {};
    ASSERT_EQ(theirs(const_cast<void*>(address), &expected), 0);
    const FoundObject found = found_at(address);
    EXPECT_EQ(found.link, expected.link);
    EXPECT_EQ(found.eh_frame, expected.eh_frame);
    EXPECT_LE(found.map_start, address);
    EXPECT_GT(found.map_end, address);
  }
}

TEST(OlderGlibc, ExceptionsOfManyThreadsAreCaughtWhileALibraryIsOpenedAndClosed) {
  std::atomic<bool> stop = false;
  std::thread opener([&] {
    while (!stop) {
      if (void* library = ::dlopen("libutil.so.1", RTLD_NOW)) ::dlclose(library);
    }
  });
  std::atomic<int> caught = 0;
  std::vector<std::thread> throwers;
  for (int i = 0; i < 4; ++i) {
    throwers.emplace_back([&] {
      for (int turn = 0; turn < 500; ++turn) {
        try {
          throw std::runtime_error("thrown");
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
    });
  }
  for (std::thread& thrower : throwers) thrower.join();
  stop = true;
  opener.join();
  EXPECT_EQ(caught, 2000);
}

TEST(OlderGlibc, NumbersAreReadAsByTheFunctionsThatEveryGlibcHas) {
  const char* const text = "-0x7fz";
  char* end = nullptr;
  EXPECT_EQ(assay_isoc23_strtol(text, &end, 0), -0x7f);
  EXPECT_EQ(end, text + 5);
  EXPECT_EQ(assay_isoc23_strtoll("-9223372036854775808", nullptr, 10), INT64_MIN);
  EXPECT_EQ(assay_isoc23_strtoul("17", nullptr, 8), 15u);
  EXPECT_EQ(assay_isoc23_strtoull("18446744073709551615", nullptr, 10), UINT64_MAX);
  errno = 0;
  EXPECT_EQ(assay_isoc23_strtol("99999999999999999999", nullptr, 10), INT64_MAX);
  EXPECT_EQ(errno, ERANGE);
}

TEST(OlderGlibc, SharedCountsAreAtomicFromTheStart) {
  EXPECT_EQ(assay_single_threaded, 0);
}

}  // namespace
}  // namespace assay
