// The progress bar and colours, on a pseudo-terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "cli/screen_text.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Everything that `words` show on a terminal of `columns`; empty if there are no pseudo-terminals,
/// as in a bare chroot.
std::string screen(const std::vector<std::string>& words, unsigned short columns,
                   bool no_color = false, bool of_mpirun = false) {
  const TemporaryFolder home;
  const winsize size = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  if (child < 0) return {};
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    ::setenv("HOME", home.path().c_str(), 1);
    ::unsetenv("XDG_CACHE_HOME");
    ::setenv("ASSAY_FAKE", "noise=0.01", 1);
    no_color ? ::setenv("NO_COLOR", "1", 1) : ::unsetenv("NO_COLOR");
    if (of_mpirun) ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    std::vector<char*> pointers = {const_cast<char*>("assay")};
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execv(ASSAY_BINARY, pointers.data());
    ::_exit(127);
  }
  std::string output;
  char buffer[4096];
  for (ssize_t got; (got = ::read(master, buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(got));
  }
  ::waitpid(child, nullptr, 0);
  ::close(master);
  return output;
}

/// A short run that is stored in `folder`.
std::vector<std::string> short_run(const TemporaryFolder& folder) {
  return {"run",       "memory",   "op=copy,triad", "dtype=f64", "size=1MiB",
          "cache=hot", "--device", "fake",          "--out",     folder.path()};
}

/// The longest of the lines.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    longest = std::max(longest, cli::display_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

TEST(Terminal, ABarThatIsGoneAtTheEnd) {
  const TemporaryFolder folder;
  const std::string output = screen(short_run(folder), 100);
  if (output.empty()) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_THAT(output, HasSubstr("\r\x1b[K"));
  EXPECT_THAT(output, HasSubstr("[############------------]"));
  EXPECT_THAT(output, HasSubstr("1/2  0:0"));
  const std::string last = output.substr(output.rfind("\r\x1b[K"));
  EXPECT_THAT(last, Not(HasSubstr(" left")));
  EXPECT_THAT(last, HasSubstr("2 cells: 2 passed"));
  EXPECT_THAT(last, HasSubstr("\x1b[32mpassed\x1b[0m"));
}

TEST(Terminal, NoColorIsHonoured) {
  const TemporaryFolder folder;
  const std::string output = screen(short_run(folder), 100, true);
  if (output.empty()) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_THAT(output, HasSubstr("\r\x1b[K"));  // moving the cursor is not colour
  EXPECT_THAT(output, Not(HasSubstr("\x1b[32m")));
  EXPECT_THAT(output, Not(HasSubstr("\x1b[1m")));
}

/// mpirun gives ranks a pseudo-terminal although its own output may go to a file.
TEST(Terminal, RanksOfMpirunGetNoEscapes) {
  const TemporaryFolder folder;
  const std::string output = screen(short_run(folder), 100, false, true);
  if (output.empty()) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_THAT(output, HasSubstr("2 cells: 2 passed"));
  EXPECT_THAT(output, Not(HasSubstr("\x1b[")));
}

TEST(Terminal, NarrowOnesGetNoLongerLines) {
  constexpr std::size_t columns = 40;
  const TemporaryFolder folder;
  const std::string output = screen(short_run(folder), columns);
  if (output.empty()) GTEST_SKIP() << "no pseudo-terminals here";
  const std::string last = output.substr(output.rfind("\r\x1b[K"));
  EXPECT_THAT(last, HasSubstr("95% interval"));  // below its row
  const std::size_t table = last.find("op");
  const std::size_t end = last.find("2 cells");
  ASSERT_NE(end, std::string::npos);
  EXPECT_LE(longest_line(last.substr(table, end - table)), columns);
}

TEST(Terminal, HeadingsAndSentencesAreWrapped) {
  constexpr std::size_t columns = 60;
  const TemporaryFolder one, other;
  if (screen(short_run(one), columns).empty()) GTEST_SKIP() << "no pseudo-terminals here";
  screen(short_run(other), columns);
  const std::string shown = screen({"show", one.path()}, columns);
  EXPECT_THAT(shown, HasSubstr("environment "));
  EXPECT_LE(longest_line(shown), columns) << shown;
  const std::string compared = screen({"compare", one.path(), other.path()}, columns);
  EXPECT_THAT(compared, HasSubstr("UNPAIRED"));
  EXPECT_LE(longest_line(compared), columns) << compared;
}

}  // namespace
}  // namespace assay
