#include "advise/occupancy/image.h"

#include <fmt/format.h>

#include "advise/occupancy/amd_object.h"
#include "advise/occupancy/assembly.h"
#include "advise/occupancy/bundle.h"
#include "advise/occupancy/cubin.h"
#include "advise/occupancy/decompress.h"
#include "advise/occupancy/nvidia_fatbin.h"
#include "advise/occupancy/ptx.h"
#include "machine/code_object/elf.h"

namespace assay::occupancy {
namespace {

using Images = std::vector<CodeImage>;

Result<CodeImage> read_device_elf(Bytes file, const Elf& elf) {
  return elf.machine == elf_machine_amdgpu ? read_amd_object(file, elf) : read_cubin(file, elf);
}

bool is_device(const Elf& elf) {
  return elf.machine == elf_machine_amdgpu || elf.machine == elf_machine_cuda;
}

Result<Images> images_of(const Bundle& bundle) {
  Images images;
  for (const BundleEntry& entry : bundle.entries) {
    const Bytes code(entry.code);
    if (!is_elf(code)) continue;  // e.g. SPIR-V or bitcode, which has no registers
    const Elf elf = TRY(read_elf(code));
    if (!is_device(elf)) continue;
    images.push_back(TRY(read_device_elf(code, elf)));
    images.back().target = entry.target;
  }
  return images;
}

Result<Images> images_of(const Fatbin& fatbin) {
  Images images;
  for (const FatbinEntry& entry : fatbin.entries) {
    const Bytes code(entry.code);
    if (entry.ptx) {
      if (!is_ptx(entry.code)) return malformed("damaged: an entry of a fat binary is not PTX");
      if (auto image = read_ptx(entry.code)) images.push_back(std::move(*image));
      continue;  // skips PTX without a kernel
    }
    const Elf elf = TRY(read_elf(code));
    images.push_back(TRY(read_cubin(code, elf)));
  }
  return images;
}

/// Reads consecutive bundles or fat binaries with zeros between them, as linkers lay out sections.
template <typename Container>
Status read_all(Bytes section, bool (*is)(Bytes), Result<Container> (*read)(Bytes),
                Images& images) {
  std::uint64_t at = 0;
  while (true) {
    at = section.text().find_first_not_of('\0', at);
    if (at == std::string_view::npos) return {};
    const Bytes rest = TRY(section.from(at, "a section of GPU code"));
    if (!is(rest)) return malformed(fmt::format("no GPU code at {} of a section for GPU code", at));
    const Container container = TRY(read(rest));
    for (CodeImage& image : TRY(images_of(container))) images.push_back(std::move(image));
    at += std::max<std::uint64_t>(container.bytes, 1);
  }
}

Result<Images> read_host_program(const Elf& elf) {
  Images images;
  for (const ElfSection& section : elf.sections) {
    if (section.name.starts_with(".hip_fatbin")) {
      TRY(read_all(section.data, &is_bundle, &read_bundle, images));
    } else if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") {
      TRY(read_all(section.data, &is_nvidia_fatbin, &read_nvidia_fatbin, images));
    }
  }
  if (images.empty()) {
    return malformed("a host program without GPU code (no section .hip_fatbin or .nv_fatbin)");
  }
  return images;
}

}  // namespace

std::string_view name_of(ImageKind kind) {
  switch (kind) {
    case ImageKind::amd_object:
      return "AMD code object";
    case ImageKind::amd_assembly:
      return "AMD assembly";
    case ImageKind::cubin:
      return "cubin";
    default:
      return "PTX";
  }
}

Result<Images> read_images(std::string_view text) {
  const DecompressionBudget budget;
  const Bytes file(text);
  Images images;
  if (is_elf(file)) {
    const Elf elf = TRY(read_elf(file));
    if (!is_device(elf)) return read_host_program(elf);
    images.push_back(TRY(read_device_elf(file, elf)));
  } else if (is_bundle(file)) {
    TRY(read_all(file, &is_bundle, &read_bundle, images));
  } else if (is_nvidia_fatbin(file)) {
    TRY(read_all(file, &is_nvidia_fatbin, &read_nvidia_fatbin, images));
  } else if (is_amd_assembly(text)) {
    images.push_back(TRY(read_amd_assembly(text)));
  } else if (is_ptx(text)) {
    images.push_back(TRY(read_ptx(text)));
  } else {
    return malformed(
        "not GPU code of a known kind: AMD code object or assembly, cubin, PTX, offload bundle, "
        "NVIDIA fat binary, or a host program with one");
  }
  if (images.empty()) return malformed("it holds no code for an AMD or NVIDIA GPU");
  return images;
}

}  // namespace assay::occupancy
