// Work beside an event loop, which continues meanwhile.
#include "serving/server/aside.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <boost/asio/post.hpp>
#include <filesystem>
#include <future>
#include <memory>

namespace assay::server {
namespace {

TEST(Aside, TheLoopGoesOnWhileItWorks) {
  asio::io_context context;
  Aside aside(context);
  std::promise<void> loop_went_on;
  bool done = false;
  const auto loops = std::this_thread::get_id();
  std::thread::id worked, ended;
  aside.run(
      [&] {
        loop_went_on.get_future().wait();
        worked = std::this_thread::get_id();
      },
      [&] {
        ended = std::this_thread::get_id();
        done = true;
        context.stop();
      });
  asio::post(context, [&] { loop_went_on.set_value(); });
  context.run();
  EXPECT_TRUE(done);
  EXPECT_NE(worked, loops);
  EXPECT_EQ(ended, loops);
}

TEST(Aside, WhatTasksHoldIsGivenUpInTheLoop) {
  asio::io_context context;
  std::thread::id given_up;
  std::size_t done = 0;
  {
    Aside aside(context);
    for (int i = 0; i < 100; ++i) {
      const std::shared_ptr<int> held(new int(i), [&](const int* number) {
        given_up = std::this_thread::get_id();
        delete number;
      });
      aside.run([held] {},
                [&, held] {
                  EXPECT_EQ(static_cast<std::size_t>(*held), done);  // in their order
                  if (++done == 50) context.stop();
                });
    }
    context.run();
  }
  EXPECT_GE(done, 50u);  // the rest may have been left
  EXPECT_EQ(given_up, std::this_thread::get_id());
}

/// Every thread gets a stack larger than memory is, for as long as this lives.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_attr_init(&before_);
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    ::pthread_attr_init(&none);
    EXPECT_EQ(::pthread_attr_setstacksize(&none, std::size_t{1} << 60), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&none), 0);
    ::pthread_attr_destroy(&none);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(Aside, WithoutAThreadItWorksInTheLoop) {
  asio::io_context context;
  Aside aside(context);
  std::thread::id worked;
  bool done = false;
  const NoThreads no_threads;
  aside.run([&] { worked = std::this_thread::get_id(); }, [&] { done = true; });
  EXPECT_EQ(worked, std::this_thread::get_id());
  EXPECT_TRUE(done);
}

/// Descriptors that started programs would get.
std::size_t inherited_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
    count += flags >= 0 && (flags & FD_CLOEXEC) == 0 ? 1 : 0;
  }
  return count;
}

TEST(Aside, ItsDescriptorsAreNotInherited) {
  asio::io_context context;
  const std::size_t before = inherited_descriptors();
  const Aside aside(context);
  EXPECT_EQ(inherited_descriptors(), before);
}

}  // namespace
}  // namespace assay::server
