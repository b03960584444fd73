#include "core/time_limit.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(TimeLimit, GivesWhatTheCallReturns) {
  EXPECT_EQ(within<int>(60, [] { return 7; }), 7);
}

TEST(TimeLimit, ACallThatTakesLongerIsLeftAlone) {
  std::promise<void> end, ended;
  std::shared_future<void> wait = end.get_future().share();
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> gone = done->get_future();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(within<int>(0.05,
                        [wait, done] {
                          wait.wait();
                          done->set_value();
                          return 7;
                        }),
            std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  end.set_value();  // what it returns then is dropped
  gone.wait();
}

}  // namespace
}  // namespace assay
