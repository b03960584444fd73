#include "libraries/miopen_databases.h"

#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

namespace mock_miopen {
namespace {

namespace fs = std::filesystem;
using mi300x::Convolution;
using mi300x::ConvolutionTensor;
using mi300x::Number;

/// The file's name means gfx942 with 304 compute units, and MIOpen 3.4.0 at this commit.
fs::path file_of(const std::string& folder, DatabaseKind kind) {
  const std::string name = "gfx942130.HIP.3_4_0_f3a7c1d";
  return fs::path(folder) / (name + (kind == DatabaseKind::find ? ".ufdb.txt" : ".udb.txt"));
}

template <typename Numbers>
std::string joined(const Numbers& numbers, std::size_t first, char separator) {
  std::string text;
  for (std::size_t i = first; i < numbers.size(); ++i) {
    text += (i == first ? "" : std::string(1, separator)) + std::to_string(numbers[i]);
  }
  return text;
}

bool is_channels_last(const ConvolutionTensor& tensor) {
  return tensor.strides[1] == 1 && tensor.extents[1] > 1;
}

DatabaseRecord parse(const std::string& contents) {
  DatabaseRecord record;
  std::istringstream stream(contents);
  for (std::string item; std::getline(stream, item, ';');) {
    const std::size_t colon = item.find(':');
    if (colon != std::string::npos) record.emplace(item.substr(0, colon), item.substr(colon + 1));
  }
  return record;
}

}  // namespace

std::string user_database_folder() {
  const char* const named = std::getenv("MIOPEN_USER_DB_PATH");
  if (named != nullptr && *named != '\0') return named;
  const char* const home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.config/miopen";
}

std::string database_key(DatabaseKind kind, const Convolution& c) {
  using Direction = Convolution::Direction;
  const bool forward = c.direction == Direction::forward;
  // In both backward passes MIOpen's "input" is the gradient of the output.
  const auto& in = forward ? c.x.extents : c.y.extents;
  const auto& out = forward ? c.y.extents : c.x.extents;
  const std::string direction = forward ? "F" : c.direction == Direction::data ? "B" : "W";
  const std::string layout = is_channels_last(c.x) ? (in.size() == 5 ? "NDHWC" : "NHWC")
                                                   : (in.size() == 5 ? "NCDHW" : "NCHW");
  const std::string type = c.x.type == Number::f32    ? "FP32"
                           : c.x.type == Number::bf16 ? "BF16"
                                                      : "FP16";
  if (kind == DatabaseKind::performance) {
    // Depth comes last; it is 1 or 0 if there is none.
    const auto turned = [](const std::vector<int>& all, std::size_t first, int flat) {
      const std::vector<int> own(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
      return own.size() == 3 ? joined(std::vector<int>{own[1], own[2], own[0]}, 0, 'x')
                             : joined(std::vector<int>{own[0], own[1], flat}, 0, 'x');
    };
    std::string key = std::to_string(in.size() - 2);
    for (const std::string& part :
         {std::to_string(in[1]), turned(in, 2, 1), turned(c.w.extents, 2, 1),
          std::to_string(out[1]), std::to_string(in[0]), turned(c.pads, 0, 0),
          turned(c.strides, 0, 0), turned(c.dilations, 0, 0), std::string("0"),
          std::to_string(c.groups), layout, type, direction}) {
      key += "x" + part;
    }
    return key;
  }
  std::string key =
      std::to_string(in[1]) + "-" + joined(in, 2, '-') + "-" + joined(c.w.extents, 2, 'x') + "-" +
      std::to_string(out[1]) + "-" + joined(out, 2, '-') + "-" + std::to_string(in[0]) + "-" +
      joined(c.pads, 0, 'x') + "-" + joined(c.strides, 0, 'x') + "-" + joined(c.dilations, 0, 'x') +
      "-0-" + layout + (is_channels_last(c.x) ? "-" + layout + "-" + layout : "") + "-" + type +
      "-" + direction;
  return c.groups == 1 ? key : key + "_g" + std::to_string(c.groups);
}

DatabaseRecord load_record(const std::string& folder, DatabaseKind kind, const std::string& key) {
  std::ifstream file(file_of(folder, kind));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + "=")) return parse(line.substr(key.size() + 1));
  }
  return {};
}

void store_record(const std::string& folder, DatabaseKind kind, const std::string& key,
                  const DatabaseRecord& record) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path path = file_of(folder, kind);
  // Other processes may access the file; the holder of the lock rewrites it.
  FILE* const lock = std::fopen((path.string() + ".lock").c_str(), "a");
  if (lock == nullptr) return;
  flock(fileno(lock), LOCK_EX);
  std::vector<std::string> lines;
  {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with(key + "=")) lines.push_back(line);
    }
  }
  std::string added = key;
  for (const auto& [id, values] : record) {
    added.append(added.size() == key.size() ? "=" : ";").append(id).append(":").append(values);
  }
  lines.push_back(added);
  const std::string unfinished = path.string() + ".temp";
  {
    std::ofstream file(unfinished);
    for (const std::string& line : lines) file << line << "\n";
  }
  fs::rename(unfinished, path, ignored);
  std::fclose(lock);
}

}  // namespace mock_miopen
