#include "results/store/record_line.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(RecordLine, LosesItsReadings) {
  EXPECT_EQ(shorten(R"({"a":1,"telemetry":{"seconds":[1,2],"x":{"y":"}"}},"b":[2,{"c":3}]})").text,
            R"({"a":1,"telemetry":{"seconds":[],"x":{"y":"}"}},"b":[2,{"c":3}]})");
  EXPECT_EQ(
      shorten(R"({"telemetry":{"channels":{"a.b":{"values":[null,2]}},"summary":{}},"b":1})").text,
      R"({"telemetry":{"channels":{},"summary":{}},"b":1})");
  EXPECT_EQ(shorten(R"({"a":"\"telemetry\":{","telemetry":{}})").text,
            R"({"a":"\"telemetry\":{","telemetry":{}})");
}

/// By these it is told whether a record is evidence.
/// Other programs and people write blanks.
TEST(RecordLine, MayHaveBlanks) {
  EXPECT_EQ(shorten(R"({"a": 1, "telemetry": {"seconds": [1, 2], "x": 3}, "b": 2})").text,
            R"({"a": 1,"telemetry": {"seconds":[],"x": 3},"b": 2})");
  EXPECT_EQ(shorten(R"({"a": 1, b: 2})").text, R"({"a": 1, b: 2})");
}

TEST(RecordLine, KeepsItsSamplesAndVerification) {
  const char* line = R"({"samples":{"seconds":[1]},"seconds":{"median":1},"verification":{}})";
  EXPECT_EQ(shorten(line).text, line);
}

TEST(RecordLine, ADeviceThatIsKnownIsLeftOut) {
  const char* line = R"({"a":1,"device":{"name":"x"},"b":2})";
  const std::string device = R"("device":{"name":"x"})";
  EXPECT_EQ(shorten(line).text, line);
  EXPECT_EQ(shorten(line).device, device);
  EXPECT_EQ(shorten(line, device).text, R"({"a":1,"b":2})");
  EXPECT_EQ(shorten(line, device).device, device);
  EXPECT_EQ(shorten(line, R"("device":{"name":"y"})").text, line);
}

TEST(RecordLine, MembersOfMembersStay) {
  const char* line = R"({"notes":{"telemetry":"3"},"a":1})";
  EXPECT_EQ(shorten(line).text, line);
}

TEST(RecordLine, RubbishIsHandedOnToTheParser) {
  for (const char* line : {"", "{", "}", "{}", "[1]", "{\"a", "{\"a\":", "{\"telemetry\":[1,2",
                           "{\"telemetry\"", "{\"a\":\"\\", "{,,,}", "nothing", "{\"a\":[1"}) {
    EXPECT_LE(shorten(line).text.size(), std::string(line).size());
  }
  EXPECT_EQ(shorten("{}").text, "{}");
  EXPECT_EQ(shorten("{\"a\":1").text, "{\"a\":1");
}

}  // namespace
}  // namespace assay
