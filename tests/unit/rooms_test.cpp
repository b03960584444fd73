// The rooms of src/ as HACKING.md lists them, and the includes between them: each room may include
// itself and what stands below it in that list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

/// First cells of HACKING's table of rooms, "| `judge/` | ...", from the top.
std::vector<std::string> rooms_of_hacking(const fs::path& file) {
  std::vector<std::string> rooms;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    constexpr std::string_view before = "| `", after = "/` |";
    const std::size_t end = line.find(after);
    if (line.starts_with(before) && end != std::string::npos) {
      rooms.push_back(line.substr(before.size(), end - before.size()));
    }
  }
  return rooms;
}

std::vector<std::string> folders_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  return names;
}

/// "core/result.h" lies in room "core"; empty for a file that lies in none.
std::string room_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// "judge/compare/verdict.h includes cli/table.h", for every include that leads upwards in `rooms`.
std::vector<std::string> upward_includes(const fs::path& source,
                                         const std::vector<std::string>& rooms) {
  const auto height = [&](const std::string& room) {
    return rooms.end() - std::find(rooms.begin(), rooms.end(), room);
  };
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    const std::string path = fs::relative(entry.path(), source);
    const std::string from = room_of(path);
    if (from.empty()) continue;  // main.cpp stands above all rooms
    std::ifstream text(entry.path());
    for (std::string line; std::getline(text, line);) {
      constexpr std::string_view before = "#include \"";
      if (!line.starts_with(before)) continue;
      const std::string included = line.substr(before.size(), line.rfind('"') - before.size());
      if (!fs::exists(source / included))
        continue;  // beside the including file, or of another tree
      if (height(room_of(included)) > height(from)) found.push_back(path + " includes " + included);
    }
  }
  return found;
}

const fs::path source_root = ASSAY_SOURCE_DIR;

TEST(Rooms, AreThoseOfHacking) {
  const auto rooms = rooms_of_hacking(source_root / "HACKING.md");
  EXPECT_THAT(folders_of(source_root / "src"), UnorderedElementsAreArray(rooms));
  EXPECT_LE(rooms.size(), 11u);
}

TEST(Rooms, IncludeDownwardsOnly) {
  EXPECT_THAT(upward_includes(source_root / "src", rooms_of_hacking(source_root / "HACKING.md")),
              IsEmpty());
}

TEST(Rooms, AnIncludeUpwardsIsFound) {
  const TemporaryFolder tree;
  tree.write("cli/table.h", "#include \"core/result.h\"\n");
  tree.write("core/result.h", "#include \"cli/table.h\"\n");
  EXPECT_THAT(upward_includes(tree.path(), {"cli", "core"}),
              testing::ElementsAre("core/result.h includes cli/table.h"));
}

}  // namespace
}  // namespace assay
