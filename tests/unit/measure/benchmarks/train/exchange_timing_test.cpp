#include "measure/benchmarks/train/exchange_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<std::string, std::string>> doubt(double step, double passes) {
  std::vector<std::pair<std::string, std::string>> notes;
  ExchangeTimes{.step = step, .passes = passes}.add_doubt(notes);
  return notes;
}

TEST(ExchangeTimes, ANegativeCostIsDoubted) {
  EXPECT_THAT(doubt(0.10, 0.14), ElementsAre(Pair("exchange_exposed", HasSubstr("40% longer"))));
  EXPECT_THAT(doubt(0.100, 0.101), IsEmpty()) << "by chance";
  EXPECT_THAT(doubt(0.14, 0.10), IsEmpty());
  EXPECT_THAT(doubt(0, 0), IsEmpty()) << "not measured";
}

}  // namespace
}  // namespace assay
