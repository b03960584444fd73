// Campaigns as child processes.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/json_lines.h"
#include "e2e/process.h"

namespace assay {

/// The head of a plan with one cell on the fake device.
inline std::string head(const std::string& more = "") {
  return "name: test\nsuite: memory\naxes: {op: copy, dtype: f64, size: 1MiB, cache: hot}\n"
         "device: fake\ntelemetry: off\nunit_budget: 500ms\n" +
         more;
}

/// The prefix of an environment that passes the first look and then does as the shell script says,
/// in which "$0" "$@" is what it should start.
inline std::string after_look(const std::string& script) {
  return "[sh, -c, 'case \"$*\" in *--check*) exec \"$0\" \"$@\";; esac; " + script + "']";
}

/// The last line that was written.
inline std::string last_of(const std::string& text) {
  const std::size_t begin = text.rfind('\n', text.empty() ? 0 : text.size() - 2);
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

/// A folder with a plan, and the campaign run there.
class Study {
 public:
  explicit Study(const std::string& plan) { folder_.write("plan.yaml", plan); }

  std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"campaign", (folder_.path() / "plan.yaml").string(), "--out",
                                      out().string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Outcome run(std::vector<std::string> more = {}, Process::Environment environment = {}) const {
    return assay_run(words(std::move(more)), std::move(environment));
  }
  std::vector<Json> units() const { return json_lines(Process::read(out() / "units.jsonl")); }
  /// How often each environment and pair was completed.
  std::map<std::string, int> complete() const {
    std::map<std::string, int> counts;
    for (const Json& unit : units()) {
      if (unit["complete"]) ++counts[unit["environment"].get<std::string>() + unit["pair"].dump()];
    }
    return counts;
  }
  std::filesystem::path out() const { return folder_.path() / "out"; }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

}  // namespace assay
