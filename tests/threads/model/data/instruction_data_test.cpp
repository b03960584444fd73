// Files with enough rows for several threads to encode them.
#include "model/data/instruction_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace assay {
namespace {

TEST(InstructionDataOfManyRows, KeepsTheirOrder) {
  std::string rows;
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 2999; ++i) {
    const std::string number = std::to_string(i);
    rows += "{\"text\": \"" + number + "\"}\n";
    expected.insert(expected.end(), number.begin(), number.end());
  }
  const TemporaryFolder folder;
  const auto read = read_instructions({.file = folder.write("rows.jsonl", rows + "bad\n"),
                                       .model = {},  // a token for each byte
                                       .vocabulary = 256});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->documents.tokens, expected);
  ASSERT_EQ(read->documents.count(), 2999u);
  EXPECT_EQ(read->documents.length_of(10), 2u);
  EXPECT_EQ(read->documents.ends.back(), expected.size());
  EXPECT_THAT(read->first_damaged, testing::ElementsAre("line 3000: it is not JSON"));
}

}  // namespace
}  // namespace assay
