#include "core/input_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "support/temporary_folder.h"

namespace assay {
namespace {

/// "1:text 2:text", "!" after a line without its end, "ERROR message" in the end.
std::string lines_of(const std::filesystem::path& path, std::size_t longest) {
  auto lines = InputLines::open(path, longest);
  if (!lines.ok()) return lines.error().message;
  std::string all;
  for (;;) {
    const auto line = lines->next();
    if (!line.ok()) return all + "ERROR " + line.error().message;
    if (!*line) return all;
    all += std::to_string((*line)->number) + ":" + std::string((*line)->text) +
           ((*line)->ended ? " " : "!");
  }
}

TEST(InputLines, AllLinesAndWhetherTheLastOneEnded) {
  const TemporaryFolder folder;
  EXPECT_EQ(lines_of(folder.write("a", "one\n\nthree\n"), 100), "1:one 2: 3:three ");
  EXPECT_EQ(lines_of(folder.write("b", "one\ntorn"), 100), "1:one 2:torn!");
  EXPECT_EQ(lines_of(folder.write("c", ""), 100), "");
}

TEST(InputLines, LinesLongerThanAnyBuffer) {
  const TemporaryFolder folder;
  std::string text, expected;
  for (int i = 0; i < 5; ++i) {
    const std::string line(static_cast<std::size_t>(i) * 50'001, static_cast<char>('a' + i));
    text += line + "\n";
    expected += std::to_string(i + 1) + ":" + line + " ";
  }
  EXPECT_EQ(lines_of(folder.write("a", text), std::size_t{1} << 20), expected);
}

TEST(InputLines, ALineBeyondTheLimitIsOneErrorAndLittleMemory) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "first\n");
  // A hole of 3 GB takes no space on the disk.
  std::filesystem::resize_file(path, std::uintmax_t{3} << 30);
  EXPECT_EQ(lines_of(path, std::size_t{1} << 20),
            "1:first ERROR " + path.string() + ":2: the line is longer than 1 MiB");
}

TEST(InputLines, WhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(lines_of("/dev/zero", 10), "cannot read /dev/zero: it is neither a file nor a pipe");
  EXPECT_EQ(lines_of("/", 10), "cannot read /: Is a directory");
  const std::string absent = folder.path() / "absent";
  EXPECT_EQ(lines_of(absent, 10), "cannot read " + absent + ": No such file or directory");
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(lines_of(pipe, 10), "");  // nobody writes to it
  const Descriptor keeps_it_open(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  std::ofstream writer(pipe);
  std::thread writes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    writer << "slow\n";
    writer.close();
  });
  EXPECT_EQ(lines_of(pipe, 10), "1:slow ");
  writes.join();
}

}  // namespace
}  // namespace assay
