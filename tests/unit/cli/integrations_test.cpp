// Command lines of assay in manifests for Kubernetes and in the jobs of docs/slurm.md are accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "cli/option_values.h"
#include "cli/parse.h"
#include "core/read_file.h"
#include "core/version.h"
#include "core/yaml_text.h"

namespace assay::cli {
namespace {

const std::filesystem::path tree = ASSAY_SOURCE_DIR;

void expect_accepted(const std::vector<std::string>& words, const std::string& where) {
  const auto parsed = parse(words);
  EXPECT_TRUE(parsed.ok()) << where << ": " << parsed.error().message;
}

const YamlValue* member(const YamlValue& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) return &map.items[i];
  }
  return nullptr;
}

/// Checks each container below `value`, and returns how many there are.
int check_containers(const YamlValue& value, const std::string& where) {
  int found = 0;
  if (const YamlValue* image = member(value, "image")) {
    EXPECT_EQ(image->text, "assay:" + std::string(version())) << where;
    EXPECT_EQ(member(value, "command"), nullptr) << where << ": the image starts assay itself";
    std::vector<std::string> words;
    for (const YamlValue& word : member(value, "args")->items) words.push_back(word.text);
    expect_accepted(words, where);
    ++found;
  }
  for (const YamlValue& item : value.items) found += check_containers(item, where);
  return found;
}

/// Splits a file of several YAML documents.
std::vector<std::string> documents_of(const std::string& text) {
  std::vector<std::string> documents(1);
  for (const std::string& line : split(text, '\n')) {
    if (line == "---") {
      documents.emplace_back();
    } else {
      documents.back() += line + "\n";
    }
  }
  return documents;
}

TEST(Integrations, ManifestsForKubernetesRunCommandsThatExist) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree / "integrations/kubernetes")) {
    const std::string name = entry.path().filename();
    int containers = 0;
    for (const std::string& document : documents_of(read_file(entry.path().string()).value())) {
      const auto parsed = parse_yaml(document, name);
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      for (const char* key : {"apiVersion", "kind", "metadata", "spec"}) {
        EXPECT_NE(member(*parsed, key), nullptr) << name << " has no " << key;
      }
      containers += check_containers(*parsed, name);
    }
    EXPECT_GE(containers, 1) << name;
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(Integrations, JobsForSlurmRunCommandsThatExist) {
  const std::string page = read_file((tree / "docs/slurm.md").string()).value();
  const std::regex job("`sbatch ([^`]*?)([a-z]+)\\.sbatch ([^`]+)`");
  int jobs = 0;
  for (auto i = std::sregex_iterator(page.begin(), page.end(), job); i != std::sregex_iterator();
       ++i) {
    const std::string file = "integrations/slurm/" + (*i)[2].str() + ".sbatch";
    EXPECT_TRUE(std::filesystem::exists(tree / file)) << file;
    // A quoted value has spaces, which no check here depends on.
    std::string words = std::regex_replace((*i)[3].str(), std::regex("\"[^\"]*\""), "quoted");
    expect_accepted(split(words, ' '), (*i)[0].str());
    ++jobs;
  }
  EXPECT_GE(jobs, 10);
}

}  // namespace
}  // namespace assay::cli
