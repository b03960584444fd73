#include "core/thread_stacks.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

namespace assay {
namespace {

std::size_t stack_of_a_thread() {
  std::size_t bytes = 0;
  std::thread([&] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }).join();
  return bytes;
}

TEST(ThreadStacks, AreNotAsSmallAsALimitAsksFor) {
  pthread_attr_t before;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  pthread_attr_t small = before;
  pthread_attr_setstacksize(&small, std::size_t{128} << 10);
  ASSERT_EQ(pthread_setattr_default_np(&small), 0);
  ensure_thread_stacks();
  EXPECT_GE(stack_of_a_thread(), least_thread_stack);
  pthread_attr_setstacksize(&small, 4 * least_thread_stack);
  ASSERT_EQ(pthread_setattr_default_np(&small), 0);
  ensure_thread_stacks();
  EXPECT_GE(stack_of_a_thread(), 4 * least_thread_stack);  // larger ones stay
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&before);
}

}  // namespace
}  // namespace assay
