#include "compute/device/kernel_source.h"

#include <fmt/format.h>

#include <set>

namespace assay {
namespace {

const EmbeddedFile* find(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

/// Returns the name in `#include "name"`; empty for any other line.
std::string_view included(std::string_view line) {
  constexpr std::string_view directive = "#include \"";
  if (!line.starts_with(directive)) return {};
  line.remove_prefix(directive.size());
  return line.substr(0, line.find('"'));
}

void append(const EmbeddedFile& file, std::span<const EmbeddedFile> files,
            std::set<std::string_view>& done, std::string& text) {
  done.insert(file.name);
  text += fmt::format("#line 1 \"{}\"\n", file.name);
  std::string_view rest = file.text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::string_view name = included(line);
    const EmbeddedFile* header = name.empty() ? nullptr : find(files, name);
    if (header != nullptr) {
      if (!done.contains(header->name)) append(*header, files, done, text);
      text += fmt::format("#line {} \"{}\"\n", line_number + 1, file.name);
    } else if (line == "#pragma once") {
      text += '\n';  // #pragma once is dropped: compilers warn about it outside a header
    } else {
      text.append(line).push_back('\n');
    }
  }
}

}  // namespace

std::vector<EmbeddedFile> all_kernel_files() {
  std::vector<EmbeddedFile> files = embedded_kernels();
  const auto& registered = KernelFileRegistry::entries();
  files.insert(files.end(), registered.begin(), registered.end());
  return files;
}

Result<std::string> complete_source(std::string_view name, std::span<const EmbeddedFile> files) {
  const EmbeddedFile* file = find(files, std::string(name) + ".cu");
  if (file == nullptr) {
    return Error{ErrorKind::failed, fmt::format("no kernel file {}.cu is built in", name)};
  }
  std::string text;
  std::set<std::string_view> done;
  append(*file, files, done, text);
  return text;
}

}  // namespace assay
