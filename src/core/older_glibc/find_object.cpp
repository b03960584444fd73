#include "core/older_glibc/functions.h"

namespace assay {
namespace {

struct Search {
  std::uintptr_t address;
  FoundObject* found;
};

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

/// Returns the dynamic linker's description of an object; null for one that it did not load by
/// name, like the kernel's.
link_map* link_of(const dl_phdr_info& object, std::uintptr_t dynamic) {
  for (link_map* link = _r_debug.r_map; link != nullptr; link = link->l_next) {
    const auto its_dynamic = reinterpret_cast<std::uintptr_t>(link->l_ld);
    if (link->l_addr == object.dlpi_addr && its_dynamic == dynamic) return link;
  }
  return nullptr;
}

/// Called for each loaded object; a result other than 0 ends the search.
int look_at(dl_phdr_info* object, std::size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  std::uintptr_t first = UINTPTR_MAX, last = 0, eh_frame = 0, dynamic = 0;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD) {
      if (begin < first) first = begin;
      if (end > last) last = end;
      if (search.address >= begin && search.address < end) inside = true;
    }
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = begin;
    if (segment.p_type == PT_DYNAMIC) dynamic = begin;
  }
  if (!inside) return 0;
  *search.found = {};
  search.found->map_start = pointer(first);
  search.found->map_end = pointer(last);
  search.found->link = link_of(*object, dynamic);
  search.found->eh_frame = pointer(eh_frame);
  return 1;
}

}  // namespace
}  // namespace assay

[[gnu::visibility("hidden")]] int assay_find_object(void* address, assay::FoundObject* found) {
  assay::Search search = {reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(&assay::look_at, &search) == 0 ? -1 : 0;
}
