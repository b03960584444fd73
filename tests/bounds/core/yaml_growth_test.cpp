// What reading YAML costs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "core/yaml_text.h"

namespace assay {
namespace {

/// Returns the CPU seconds that reading a map of `keys` keys takes.
double seconds_for(int keys) {
  std::string text;
  for (int i = 0; i < keys; ++i) text += fmt::format("key{}: 1\n", i);
  const std::clock_t begin = std::clock();
  const auto value = parse_yaml(text, "f.yaml");
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(value.ok()) << value.error().message;
  return seconds;
}

/// Four times as many keys take somewhat more than four times as long; comparing each with all
/// before it takes up to sixteen times as long.
TEST(YamlGrowth, AMapOfManyKeysIsNotQuadratic) {
  constexpr int few = 20'000;
  constexpr double most_growth = 7, most_seconds_of_any = 0.3;
  EXPECT_LT(seconds_for(4 * few), most_growth * seconds_for(few) + most_seconds_of_any);
}

}  // namespace
}  // namespace assay
