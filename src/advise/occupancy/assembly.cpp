#include "advise/occupancy/assembly.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <map>

#include "advise/occupancy/amd_object.h"
#include "advise/occupancy/words.h"
#include "core/json.h"
#include "core/text.h"

namespace assay::occupancy {
namespace {

constexpr std::string_view metadata_begin = ".amdgpu_metadata",
                           metadata_end = ".end_amdgpu_metadata",
                           target_directive = ".amdgcn_target";

/// The scalar fields of a kernel's map, as in the binary form; its arguments are not needed.
SortedJson scalars_of(const YAML::Node& kernel) {
  SortedJson object = SortedJson::object();
  for (const auto& field : kernel) {
    if (!field.first.IsScalar() || !field.second.IsScalar()) continue;
    const std::string& text = field.second.Scalar();
    const auto number = leading_number(text);
    if (text == "true" || text == "false") {
      object[field.first.Scalar()] = text == "true";
    } else if (number && text.find_first_not_of("0123456789") == std::string::npos) {
      object[field.first.Scalar()] = *number;
    } else {
      object[field.first.Scalar()] = text;
    }
  }
  return object;
}

Status read_metadata(std::string_view yaml, CodeImage& image) {
  try {  // yaml-cpp reports errors only by exceptions
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsMap()) return malformed("the metadata is not a map");
    if (const YAML::Node target = root["amdhsa.target"]; target && target.IsScalar()) {
      image.target = target.Scalar();
    }
    const YAML::Node kernels = root["amdhsa.kernels"];
    if (!kernels || !kernels.IsSequence()) return malformed("the metadata has no kernels");
    for (const YAML::Node& kernel : kernels) {
      if (!kernel.IsMap()) return malformed("the metadata has a kernel that is not a map");
      image.kernels.push_back(TRY(kernel_of_metadata(scalars_of(kernel))));
    }
  } catch (const YAML::Exception& problem) {
    return malformed(fmt::format("the metadata is not YAML: {}", problem.what()));
  }
  return {};
}

/// Reads comments such as "; Occupancy: 4", which follow the code of the function that they
/// describe.
void read_comments(std::string_view text, CodeImage& image) {
  std::map<std::string_view, KernelUse*> kernels;
  for (KernelUse& kernel : image.kernels) kernels.emplace(kernel.name, &kernel);
  KernelUse* current = nullptr;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const auto at = kernels.find(line.substr(0, line.find(':')));
    if (at != kernels.end() && line.size() > at->first.size()) current = at->second;
    constexpr std::string_view comment = "; Occupancy:";
    if (current == nullptr || !line.starts_with(comment)) continue;
    if (const auto waves = leading_number(trim(line.substr(comment.size())))) {
      current->compiler_waves = static_cast<unsigned>(*waves);
    }
  }
}

}  // namespace

bool is_amd_assembly(std::string_view text) {
  return text.find('\0') == std::string_view::npos &&
         text.find(metadata_begin) != std::string_view::npos;
}

Result<CodeImage> read_amd_assembly(std::string_view text) {
  CodeImage image;
  image.kind = ImageKind::amd_assembly;
  image.code = text;
  const std::size_t target = text.find(target_directive);
  if (target != std::string_view::npos) {
    std::string_view rest = text.substr(target + target_directive.size());
    const std::string_view word = next_word(rest);
    image.target = word.substr(0, word.find('\n'));
    std::erase(image.target, '"');
  }
  const std::size_t begin = text.find(metadata_begin) + metadata_begin.size();
  const std::size_t end = text.find(metadata_end, begin);
  if (end == std::string_view::npos) {
    return malformed(fmt::format("cut off: {} without {}", metadata_begin, metadata_end));
  }
  const std::string_view metadata = text.substr(begin, end - begin);
  TRY(read_metadata(metadata.substr(0, metadata.rfind('\n')), image));
  image.arch = arch_of_target(image.target);
  read_comments(text, image);
  return image;
}

}  // namespace assay::occupancy
