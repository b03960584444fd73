#include "store/record_line.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(RecordLine, LosesItsSamplesAndTelemetry) {
  EXPECT_EQ(without_samples(R"({"a":1,"samples":{"seconds":[1,2],"x":{"y":"}"}},"b":[2,{"c":3}]})"),
            R"({"a":1,"b":[2,{"c":3}]})");
  EXPECT_EQ(without_samples(R"({"samples":[1],"telemetry":{},"b":1})"), R"({"b":1})");
  EXPECT_EQ(without_samples(R"({"a":"\"samples\":{","telemetry":{},"samples":[[]]})"),
            R"({"a":"\"samples\":{"})");
}

TEST(RecordLine, MembersOfMembersStay) {
  const char* line = R"({"notes":{"samples":"3"},"a":1})";
  EXPECT_EQ(without_samples(line), line);
}

TEST(RecordLine, RubbishIsHandedOnToTheParser) {
  for (const char* line : {"", "{", "}", "{}", "[1]", "{\"a", "{\"a\":", "{\"samples\":[1,2",
                           "{\"samples\"", "{\"a\":\"\\", "{,,,}", "nothing", "{\"a\":[1"}) {
    EXPECT_LE(without_samples(line).size(), std::string(line).size());
  }
  EXPECT_EQ(without_samples("{}"), "{}");
  EXPECT_EQ(without_samples("{\"a\":1"), "{\"a\":1");
}

}  // namespace
}  // namespace assay
