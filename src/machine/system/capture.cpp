#include "machine/system/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/write_file.h"
#include "machine/system/anonymize_capture.h"
#include "machine/system/capture_text.h"
#include "machine/system/recordable_settings.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

Json file_json(const FileText& file) {
  if (file.state != FileState::found) return {{"state", name_of(file.state)}};
  if (!is_plain_text(file.text)) return {{"hex", to_hex(file.text)}};
  return file.text;
}

/// Masks everything in the capture, including paths, because they contain container ids.
Json masked(const Json& capture) {
  Masking masking;
  Json json = Json::object();
  for (const auto& [section, content] : capture.items()) {
    if (!content.is_object()) {
      json[section] = content;
      continue;
    }
    Json& target = json[section] = Json::object();
    for (const auto& [key, value] : content.items()) {
      Json& entry = target[masking.text(key)] = value;
      if (section != "files") {
        masking.json(entry);
      } else if (entry.is_string()) {
        entry = masking.file(key, entry.get<std::string>());
      } else if (entry.contains("hex")) {
        entry["hex"] = to_hex(masking.file(key, from_hex(entry["hex"].get<std::string>())));
      }
    }
  }
  Json& answers = json["answers"];
  if (answers.contains("uname") && answers["uname"].contains("name")) {
    answers["uname"]["name"] = "(hidden)";
  }
  return json;
}

}  // namespace

FileText RecordingMachine::read(const fs::path& path) const {
  FileText file = machine_.read(path);
  const MutexLock lock(mutex_);
  files_[path.generic_string()] = file;
  return file;
}

std::vector<std::string> RecordingMachine::list(const fs::path& folder) const {
  std::vector<std::string> names = machine_.list(folder);
  const MutexLock lock(mutex_);
  folders_[folder.generic_string()] = names;
  return names;
}

fs::path RecordingMachine::resolve(const fs::path& path) const {
  fs::path real = machine_.resolve(path);
  const MutexLock lock(mutex_);
  links_[path.generic_string()] = real.generic_string();
  return real;
}

FileState RecordingMachine::access(const fs::path& path) const {
  const FileState state = machine_.access(path);
  const MutexLock lock(mutex_);
  access_[path.generic_string()] = state;
  return state;
}

Json RecordingMachine::ask(std::string_view probe) const {
  Json answer = machine_.ask(probe);
  const MutexLock lock(mutex_);
  answers_[std::string(probe)] = answer;
  return answer;
}

Json RecordingMachine::capture(bool with_serials) const {
  const MutexLock lock(mutex_);
  Json json = {{"format", capture_format}, {"version", capture_version}};
  Json files = Json::object(), folders = Json::object(), links = Json::object();
  Json access = Json::object(), variables = Json::object(), answers = Json::object();
  for (const auto& [path, file] : files_) {
    files[path] = file_json({file.state, recorded_file(path, file.text)});
  }
  for (const auto& [path, names] : folders_) folders[path] = names;
  for (const auto& [path, real] : links_) links[path] = real;
  for (const auto& [path, state] : access_) access[path] = name_of(state);
  for (const auto& [name, value] : machine_.variables()) variables[name] = value;
  for (const auto& [name, answer] : answers_) answers[name] = answer;
  json["variables"] = std::move(variables);
  json["answers"] = std::move(answers);
  json["access"] = std::move(access);
  json["folders"] = std::move(folders);
  json["links"] = std::move(links);
  json["files"] = std::move(files);
  return with_serials ? json : masked(json);
}

Status write_capture(const Json& capture, const fs::path& path) {
  // Files may hold any bytes; text that is not valid UTF-8 was already written in hexadecimal.
  const std::string text = capture.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_file(path, text);
}

}  // namespace assay
