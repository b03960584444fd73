#include "advise/tune/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;

TEST(Parameter, IsUsuallyUnset) {
  const auto variable = parse_parameter("NCCL_PROTO=Simple,LL,Simple");
  ASSERT_TRUE(variable.ok());
  EXPECT_EQ(variable->name, "NCCL_PROTO");
  EXPECT_THAT(variable->values, ElementsAre("unset", "Simple", "LL"));
  EXPECT_EQ(variable->usual, 0u);
  EXPECT_EQ(parse_parameter("X=unset,1")->values.size(), 2u);
  for (const char* bad : {"X", "X=", "=1", "X=\xff"})
    EXPECT_FALSE(parse_parameter(bad).ok()) << bad;
}

TEST(Parameter, OfAServerMayBeAFlag) {
  EXPECT_THAT(parse_server_parameter("max-num-seqs=128,256")->values,
              ElementsAre("unset", "128", "256"));
  EXPECT_THAT(parse_server_parameter("enable-chunked-prefill")->values, ElementsAre("unset", ""));
  EXPECT_FALSE(parse_server_parameter("VLLM_X").ok());  // a variable without a value
  EXPECT_FALSE(parse_server_parameter("a=").ok());
}

TEST(Parameter, ThoseOfOneNameAreOne) {
  const auto all =
      merged({*parse_parameter("X=1,2"), *parse_parameter("Y=1"), *parse_parameter("X=2,3")});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].values, ElementsAre("unset", "1", "2", "3"));
}

}  // namespace
}  // namespace assay
