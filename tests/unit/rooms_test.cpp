// The rooms of src/ as HACKING.md lists them, and the includes between them: each room may include
// itself and what stands below it in that list, and no folders of a room include each other in a
// circle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

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

/// One #include of a file of the tree in another, both as paths below src/.
struct Include {
  std::string from, to;
  auto operator<=>(const Include&) const = default;
};

std::string text_of(const Include& include) {
  return include.from + " includes " + include.to;
}

std::vector<Include> includes_below(const fs::path& source) {
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    const std::string path = fs::relative(entry.path(), source);
    if (room_of(path).empty()) continue;  // main.cpp stands above all rooms
    std::ifstream text(entry.path());
    for (std::string line; std::getline(text, line);) {
      constexpr std::string_view before = "#include \"";
      if (!line.starts_with(before)) continue;
      const std::string included = line.substr(before.size(), line.rfind('"') - before.size());
      // Other names are of files beside the including one, or of another tree.
      if (fs::exists(source / included)) found.push_back({path, included});
    }
  }
  return found;
}

/// "judge/compare/verdict.h includes cli/table.h", for every include that leads upwards in `rooms`.
std::vector<std::string> upward_includes(const fs::path& source,
                                         const std::vector<std::string>& rooms) {
  const auto height = [&](const std::string& room) {
    return rooms.end() - std::find(rooms.begin(), rooms.end(), room);
  };
  std::vector<std::string> found;
  for (const Include& include : includes_below(source)) {
    if (height(room_of(include.to)) > height(room_of(include.from))) {
      found.push_back(text_of(include));
    }
  }
  return found;
}

/// "judge/compare" for "judge/compare/verdict.h", "core" for "core/result.h".
std::string folder_of(const std::string& path) {
  const std::size_t second = path.find('/', path.find('/') + 1);
  return second == std::string::npos ? room_of(path) : path.substr(0, second);
}

/// The includes between folders of one room that include each other in a circle. Files that lie in
/// a room itself count as a folder, too.
std::vector<std::string> circular_includes(const fs::path& source) {
  std::vector<Include> open;
  for (const Include& include : includes_below(source)) {
    const bool inside = room_of(include.from) == room_of(include.to);
    if (inside && folder_of(include.from) != folder_of(include.to)) open.push_back(include);
  }
  // A folder that includes none of those left belongs to no circle: it is taken away, again and
  // again.
  for (std::size_t before = open.size() + 1; open.size() < before;) {
    before = open.size();
    std::set<std::string> including;
    for (const Include& include : open) including.insert(folder_of(include.from));
    std::erase_if(
        open, [&](const Include& include) { return !including.contains(folder_of(include.to)); });
  }
  std::vector<std::string> found;
  for (const Include& include : open) found.push_back(text_of(include));
  std::sort(found.begin(), found.end());
  return found;
}

const fs::path source_root = ASSAY_SOURCE_DIR;

TEST(Rooms, AreThoseOfHacking) {
  const auto rooms = rooms_of_hacking(source_root / "HACKING.md");
  EXPECT_THAT(folders_of(source_root / "src"), UnorderedElementsAreArray(rooms));
  EXPECT_LE(rooms.size(), 12u);
}

TEST(Rooms, IncludeDownwardsOnly) {
  EXPECT_THAT(upward_includes(source_root / "src", rooms_of_hacking(source_root / "HACKING.md")),
              IsEmpty());
}

TEST(Rooms, HaveFoldersThatIncludeEachOtherInNoCircle) {
  EXPECT_THAT(circular_includes(source_root / "src"), IsEmpty());
}

TEST(Rooms, ACircleOfFoldersIsFound) {
  const TemporaryFolder tree;
  tree.write("judge/compare/verdict.h", "#include \"judge/campaign/plan.h\"\n");
  tree.write("judge/campaign/plan.h", "#include \"judge/rules.h\"\n");
  tree.write("judge/rules.h", "#include \"judge/compare/verdict.h\"\n");
  tree.write("judge/report/page.h", "#include \"judge/compare/verdict.h\"\n");
  EXPECT_THAT(circular_includes(tree.path()),
              testing::IsSupersetOf({"judge/compare/verdict.h includes judge/campaign/plan.h",
                                     "judge/campaign/plan.h includes judge/rules.h",
                                     "judge/rules.h includes judge/compare/verdict.h"}));
  tree.write("judge/rules.h", "");
  EXPECT_THAT(circular_includes(tree.path()), IsEmpty());
}

/// "cli/run.cpp:12: backend == "hip"", for every line that compares a backend's name by itself.
std::vector<std::string> compared_backends(const fs::path& source) {
  const std::regex comparison(
      R"re(backend[^=;]*[!=]= *"|"(cpu|cuda|hip|fake)" *[!=]= *[\w.>()-]*backend)re");
  const std::vector<std::string> allowed = {"compute/backends/", "compute/vendor/",
                                            "results/record/device_facts.cpp"};
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string path = fs::relative(entry.path(), source);
    if (!entry.is_regular_file() ||
        std::ranges::any_of(allowed, [&](const std::string& a) { return path.starts_with(a); })) {
      continue;
    }
    std::ifstream text(entry.path());
    int number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      std::smatch match;
      if (std::regex_search(line, match, comparison)) {
        found.push_back(path + ":" + std::to_string(number) + ": " + match.str());
      }
    }
  }
  return found;
}

TEST(Rooms, AskDevicesForFactsAndNotForTheNameOfTheirBackend) {
  EXPECT_THAT(compared_backends(source_root / "src"), IsEmpty());
  const TemporaryFolder tree;
  tree.write("cli/run.cpp", "\nif (device.facts().backend == \"hip\") return;\n");
  tree.write("compute/backends/hip/hip.cpp", "if (facts.backend == \"hip\") return;\n");
  EXPECT_THAT(compared_backends(tree.path()), testing::ElementsAre("cli/run.cpp:2: backend == \""));
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
