#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "core/yaml_text.h"

namespace assay {
namespace {

/// A key is not compared with all before it.
TEST(YamlGrowth, AMapOfManyKeysIsReadOnce) {
  constexpr double most_seconds = 10;  // it takes one second, the square a minute
  std::string text;
  for (int i = 0; i < 90'000; ++i) text += fmt::format("key{}: 1\n", i);
  const std::clock_t begin = std::clock();
  const auto value = parse_yaml(text, "f.yaml");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, most_seconds);
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(value->keys.size(), 90'000u);
}

}  // namespace
}  // namespace assay
