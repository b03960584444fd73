#include "core/suggest.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Suggest, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1u);
  EXPECT_EQ(edit_distance("rnu", "run"), 1u);
  EXPECT_EQ(edit_distance("cdab", "efba"), 3u);
  EXPECT_EQ(edit_distance("ab", ""), 2u);
}

TEST(Suggest, OnlyNearNames) {
  const std::vector<std::string> names = {"copy", "triad", "memory"};
  EXPECT_EQ(did_you_mean("tirad", names), " (did you mean \"triad\"?)");
  EXPECT_EQ(did_you_mean("cap", names), "");
  EXPECT_EQ(did_you_mean("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(did_you_mean("traid", {names.data(), 0}), "");
  EXPECT_EQ(did_you_mean("triat", names), " (did you mean \"triad\"?)");
  EXPECT_EQ(did_you_mean("memroy", names), " (did you mean \"memory\"?)");
  EXPECT_EQ(did_you_mean("zzz", names), "");
  EXPECT_EQ(did_you_mean("mem", names), " (did you mean \"memory\"?)");
  EXPECT_EQ(did_you_mean("me", names), "");
}

}  // namespace
}  // namespace assay
