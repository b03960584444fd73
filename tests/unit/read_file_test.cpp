#include "core/read_file.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

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

}  // namespace
}  // namespace assay
