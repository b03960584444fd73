// Work beside an event loop, which continues meanwhile.
#include "serving/server/aside.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
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

}  // namespace
}  // namespace assay::server
