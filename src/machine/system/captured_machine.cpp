// The machine described by a capture.
#include <fmt/format.h>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "machine/system/capture.h"
#include "machine/system/capture_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CapturedMachine final : public Machine {
 public:
  FileText read(const fs::path& path) const override {
    const auto known = files_.find(path.generic_string());
    return known == files_.end() ? FileText{FileState::not_captured, {}} : known->second;
  }
  std::vector<std::string> list(const fs::path& folder) const override {
    const auto known = folders_.find(folder.generic_string());
    return known == folders_.end() ? std::vector<std::string>() : known->second;
  }
  fs::path resolve(const fs::path& path) const override {
    const auto known = links_.find(path.generic_string());
    return known == links_.end() ? fs::path() : fs::path(known->second);
  }
  FileState access(const fs::path& path) const override {
    const auto known = access_.find(path.generic_string());
    return known == access_.end() ? FileState::not_captured : known->second;
  }
  const Variables& variables() const override { return variables_; }
  Json ask(std::string_view probe) const override {
    const auto known = answers_.find(probe);
    return known == answers_.end() ? Json() : known->second;
  }

  /// Error: usage, naming the field of the wrong type.
  Status load(const Json& json) {
    TRY(each(json, "files", [&](const std::string& path, const Json& value) {
      if (value.is_string()) files_[path] = {FileState::found, value.get<std::string>()};
      if (!value.is_object()) return value.is_string();
      if (const auto hex = value.find("hex"); hex != value.end() && hex->is_string()) {
        files_[path] = {FileState::found, from_hex(hex->get<std::string>())};
        return true;
      }
      const auto state = value.find("state");
      if (state == value.end() || !state->is_string()) return false;
      files_[path] = {file_state_from(state->get<std::string>()), {}};
      return true;
    }));
    TRY(each(json, "folders", [&](const std::string& path, const Json& value) {
      std::vector<std::string>& names = folders_[path];
      for (const Json& name : value) {
        if (!name.is_string()) return false;
        names.push_back(name.get<std::string>());
      }
      return value.is_array();
    }));
    TRY(each(json, "links", [&](const std::string& path, const Json& value) {
      if (value.is_string()) links_[path] = value.get<std::string>();
      return value.is_string();
    }));
    TRY(each(json, "access", [&](const std::string& path, const Json& value) {
      if (value.is_string()) access_[path] = file_state_from(value.get<std::string>());
      return value.is_string();
    }));
    TRY(each(json, "variables", [&](const std::string& name, const Json& value) {
      if (value.is_string()) variables_[name] = value.get<std::string>();
      return value.is_string();
    }));
    return each(json, "answers", [&](const std::string& name, const Json& value) {
      answers_[name] = value;
      return true;
    });
  }

 private:
  template <typename Take>
  static Status each(const Json& json, const char* field, Take take) {
    const auto object = json.find(field);
    if (object == json.end()) return {};
    if (!object->is_object()) {
      return Error{ErrorKind::usage, fmt::format("\"{}\" of the capture is not an object", field)};
    }
    for (const auto& [key, value] : object->items()) {
      if (!take(key, value)) {
        return Error{
            ErrorKind::usage,
            fmt::format("\"{}\" of the capture has an invalid value for \"{}\"", field, key)};
      }
    }
    return {};
  }

  std::map<std::string, FileText, std::less<>> files_;
  std::map<std::string, std::vector<std::string>, std::less<>> folders_;
  std::map<std::string, std::string, std::less<>> links_;
  std::map<std::string, FileState, std::less<>> access_;
  Variables variables_;
  std::map<std::string, Json, std::less<>> answers_;
};

}  // namespace

Result<std::unique_ptr<Machine>> machine_from_capture(const Json& json) {
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (!json.is_object() || format == json.end() || *format != capture_format) {
    return Error{ErrorKind::usage,
                 "this is not a capture; `assay doctor --capture FILE` writes one"};
  }
  const auto version = json.find("version");
  if (version == json.end() || *version != capture_version) {
    return Error{ErrorKind::usage,
                 fmt::format("the capture's version is not {}; open it with the assay that wrote "
                             "it, or a later one",
                             capture_version)};
  }
  auto machine = std::make_unique<CapturedMachine>();
  TRY(machine->load(json));
  return std::unique_ptr<Machine>(std::move(machine));
}

Result<std::unique_ptr<Machine>> open_machine(const fs::path& path) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return std::unique_ptr<Machine>(std::make_unique<FolderMachine>(path));
  }
  const auto about = [&](const Error& error) {
    return Error{error.kind, fmt::format("{}: {}", path.string(), error.message)};
  };
  const auto json = parse_json(TRY(read_operand(path, most_bytes)));
  if (!json.ok()) return about(json.error());
  auto machine = machine_from_capture(*json);
  if (!machine.ok()) return about(machine.error());
  return machine;
}

}  // namespace assay
