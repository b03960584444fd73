#include "core/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/json_text.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

TEST(ReadFile, GivesTheWholeFile) {
  const TemporaryFolder folder;
  const std::string text = std::string("a\0b", 3) + std::string(100000, 'x') + "\n";
  EXPECT_EQ(read_file(folder.write("file", text)), text);
  EXPECT_EQ(read_file(folder.write("empty", "")), "");
}

TEST(ReadFile, WhatCannotBeReadIsNoException) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_file(folder.path() / "missing"));
  EXPECT_FALSE(read_file(folder.path()));
}

TEST(ReadFile, WholeFilesUpToALimit) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "abc");
  EXPECT_EQ(read_bytes(path, 3).text, "abc");
  EXPECT_EQ(read_bytes(path, 2).error, EFBIG);
  EXPECT_EQ(read_bytes(folder.path() / "absent", 3).error, ENOENT);
  EXPECT_EQ(read_bytes(folder.path(), 3).error, EISDIR);
  EXPECT_EQ(read_bytes("/dev/zero", 3).error, ENOTSUP);
  const auto operand = read_operand(path, 2);
  ASSERT_FALSE(operand.ok());
  EXPECT_EQ(operand.error().kind, ErrorKind::usage);
  EXPECT_NE(operand.error().message.find(path), std::string::npos);
}

TEST(ReadFile, PipesWithAndWithoutAWriter) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_bytes(path, 100).text, "");  // without a writer it is empty at once
  const Descriptor keeps_it_open(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  std::ofstream writer(path);  // opened before the pipe is read ...
  std::thread writes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // ... and written to later
    writer << "slow";
    writer.close();
  });
  EXPECT_EQ(read_bytes(path, 100).text, "slow");
  writes.join();
}

TEST(ParseJson, RefusesWhatIsTooDeep) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + "1" +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(60)).ok());
  EXPECT_FALSE(parse_json(nested(100)).ok());
  EXPECT_FALSE(parse_json(nested(1'000'000)).ok());
  EXPECT_FALSE(parse_json("{").ok());
  const auto object_of = [](int members) {
    std::string text = "{";
    for (int i = 0; i < members; ++i) text += fmt::format("{}\"{}\":1", i > 0 ? "," : "", i);
    return text + "}";
  };
  std::string objects = "[";  // each object has few members, all together too many
  for (int i = 0; i < 201; ++i) objects += object_of(100) + ",";
  EXPECT_TRUE(parse_json(objects + "0]").ok());
  EXPECT_THAT(parse_json(object_of(20'001)).error().message, testing::HasSubstr("20000 members"));
  EXPECT_EQ(parse_json("{\"a\":[1,2]}")->dump(), "{\"a\":[1,2]}");
  EXPECT_EQ(parse_json("{\"a\":1,\"b\":2,\"a\":3}")->dump(), "{\"a\":3,\"b\":2}");
}

/// Numbers are those of the C library, however they are written; such as a double cannot hold are
/// refused, since they would be something else.
TEST(ParseJson, NumbersAreExact) {
  const std::string zeros(400, '0');
  const std::pair<std::string, double> numbers[] = {
      {"0." + zeros + "1", 0},
      {"1." + zeros + "e-400", 0},
      {"0e40", 0},
      {"0e-30", 0},
      {"0.000000000000000000000000", 0},
      {"-1.5e-3", -1.5e-3},
      {"4.9e-324", 4.9e-324},
      {"1.7976931348623157e308", 1.7976931348623157e308},
      {"16.260000000000002", 16.260000000000002},
      {"1e22", 1e22}};
  for (const auto& [text, value] : numbers) {
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(json->get<double>(), value) << text;
  }
  EXPECT_TRUE(parse_json("18446744073709551615")->is_number_unsigned());
  EXPECT_EQ(parse_json("18446744073709551615")->get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parse_json("-9223372036854775808")->get<std::int64_t>(), INT64_MIN);
  EXPECT_TRUE(parse_json("18446744073709551616")->is_number_float());
  for (const char* text : {"9.9e308", "1.9e308", "-1e400", "01", "1.", ".5", "+1", "NaN", "1 2"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
  EXPECT_FALSE(parse_json(std::string_view("1\0x", 3)).ok());
}

}  // namespace
}  // namespace assay
