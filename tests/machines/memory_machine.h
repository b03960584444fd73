// A machine in memory: files, links, device files, variables and answers of probes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "machine/system/machine.h"

namespace assay {

class MemoryMachine final : public Machine {
 public:
  MemoryMachine& write(const std::string& path, std::string text) {
    entries_[path] = {FileState::found, std::move(text)};
    return *this;
  }
  /// Makes a file that exists and cannot be read.
  MemoryMachine& withhold(const std::string& path, FileState state = FileState::denied) {
    entries_[path] = {state, {}};
    return *this;
  }
  MemoryMachine& erase(const std::string& path) {
    entries_.erase(path);
    return *this;
  }
  /// `target` is relative to the root.
  MemoryMachine& link(const std::string& path, std::string target) {
    links_[path] = std::move(target);
    return *this;
  }
  MemoryMachine& device(const std::string& path, FileState state = FileState::found) {
    devices_[path] = state;
    return *this;
  }
  MemoryMachine& set(const std::string& name, std::string value) {
    variables_[name] = std::move(value);
    return *this;
  }
  MemoryMachine& answer(const std::string& probe, Json json) {
    answers_[probe] = std::move(json);
    return *this;
  }
  /// Replaces every readable file by what `change` returns for its path and text.
  template <typename Change>
  void change_files(Change change) {
    for (auto& [path, file] : entries_) file.text = change(path, file.text);
  }
  /// The text of a file that the test has written.
  const std::string& text(const std::string& path) const { return entries_.at(path).text; }

  const std::map<std::string, FileText>& files() const { return entries_; }
  const std::map<std::string, std::string>& links() const { return links_; }  ///< to their targets
  const std::map<std::string, FileState>& devices() const { return devices_; }

  FileText read(const std::filesystem::path& path) const override {
    const auto entry = entries_.find(follow(path));
    return entry == entries_.end() ? FileText{FileState::missing, {}} : entry->second;
  }
  std::vector<std::string> list(const std::filesystem::path& folder) const override {
    const std::string prefix = follow(folder) + "/";
    std::set<std::string> names;
    const auto add = [&](const auto& map) {
      for (auto at = map.lower_bound(prefix); at != map.end() && at->first.starts_with(prefix);
           ++at) {
        const std::string rest = at->first.substr(prefix.size());
        names.insert(rest.substr(0, rest.find('/')));
      }
    };
    add(entries_);
    add(links_);
    add(devices_);
    return {names.begin(), names.end()};
  }
  std::filesystem::path resolve(const std::filesystem::path& path) const override {
    const std::string real = follow(path);
    const bool there = entries_.count(real) > 0 || devices_.count(real) > 0 || !list(real).empty();
    return there ? std::filesystem::path(real) : std::filesystem::path();
  }
  FileState access(const std::filesystem::path& path) const override {
    const auto device = devices_.find(path.generic_string());
    return device == devices_.end() ? FileState::missing : device->second;
  }
  const Variables& variables() const override { return variables_; }
  Json ask(std::string_view probe) const override {
    const auto answer = answers_.find(probe);
    return answer == answers_.end() ? Json() : answer->second;
  }

 private:
  std::string follow(const std::filesystem::path& path) const {
    std::string real;
    for (const std::filesystem::path& part : path) {
      real += (real.empty() ? "" : "/") + part.string();
      const auto link = links_.find(real);
      if (link != links_.end()) real = follow(link->second);
    }
    return real;
  }

  std::map<std::string, FileText> entries_;
  std::map<std::string, std::string> links_;
  std::map<std::string, FileState> devices_;
  Variables variables_;
  std::map<std::string, Json, std::less<>> answers_;
};

}  // namespace assay
