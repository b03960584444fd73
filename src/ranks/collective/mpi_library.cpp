#include "ranks/collective/mpi_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <regex>

#include "core/environment_value.h"
#include "core/library_search.h"

namespace assay::mpi {
namespace {

template <typename H>
Status bind(const SharedLibrary& file, Library<H>& library) {
  Functions<H>& table = library.functions;
#define ASSAY_MPI_BIND(member, symbol, parameters)                                             \
  if (!file.bind(table.member, {#symbol})) {                                                   \
    return Error{ErrorKind::unavailable,                                                       \
                 fmt::format("{} has no function {}: MPI 3 is needed", file.path(), #symbol)}; \
  }
  ASSAY_MPI_FUNCTIONS(ASSAY_MPI_BIND)
#undef ASSAY_MPI_BIND
  file.bind(table.cuda_support, {"MPIX_Query_cuda_support"});
  file.bind(table.rocm_support, {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"});
  library.path = file.path();
  std::string text(longest_text, '\0');
  int length = 0;
  TRY(library.check(table.library_version(text.data(), &length), "MPI_Get_library_version"));
  library.name = short_version(text.c_str());
  return {};
}

void* as_address(std::ptrdiff_t number) {
  return reinterpret_cast<void*>(number);
}

Result<AnyLibrary> open_mpi(const SharedLibrary& file) {
  Library<OpenMpiHandle> library;
  NativeHandles<OpenMpiHandle>& handles = library.handles;
  const auto find = [&](const char* symbol, OpenMpiHandle& handle) -> Status {
    handle = file.symbol(symbol);
    if (handle != nullptr) return {};
    return Error{ErrorKind::unavailable, fmt::format("{} has no {}", file.path(), symbol)};
  };
  TRY(find(open_mpi_symbols.world, handles.world));
  TRY(find(open_mpi_symbols.byte, handles.byte));
  TRY(find(open_mpi_symbols.errors_return, handles.errors_return));
  for (std::size_t i = 0; i < handles.types.size(); ++i) {
    TRY(find(open_mpi_symbols.types[i], handles.types[i]));
  }
  for (std::size_t i = 0; i < handles.reductions.size(); ++i) {
    TRY(find(open_mpi_symbols.reductions[i], handles.reductions[i]));
  }
  handles.in_place = as_address(open_mpi_in_place);
  handles.statuses_ignore = as_address(open_mpi_statuses_ignore);
  TRY(bind(file, library));
  return AnyLibrary(std::move(library));
}

Result<AnyLibrary> mpich(const SharedLibrary& file) {
  Library<MpichHandle> library;
  library.handles = mpich_numbers;
  library.handles.in_place = as_address(mpich_in_place);
  library.handles.statuses_ignore = as_address(mpich_statuses_ignore);
  TRY(bind(file, library));
  return AnyLibrary(std::move(library));
}

}  // namespace

Launcher find_launcher() {
  using Kind = Launcher::Kind;
  const auto number = [](const char* name) { return std::atoi(environment_value(name).c_str()); };
  if (!environment_value("OMPI_COMM_WORLD_RANK").empty()) {
    return {Kind::open_mpi, number("OMPI_COMM_WORLD_SIZE")};
  }
  // These variables are set by Hydra, Intel MPI, Cray's PALS, and srun with PMI 1 or 2.
  if (!environment_value("PMI_RANK").empty()) return {Kind::mpich, number("PMI_SIZE")};
  // srun --mpi=pmix and PRRTE do not tell which library they are for.
  if (!environment_value("PMIX_RANK").empty()) return {Kind::either, 0};
  return {};
}

template <typename H>
Status Library<H>::check(int status, std::string_view call) const {
  if (status == success) return {};
  std::string text(longest_text, '\0');
  int length = 0;
  functions.error_string(status, text.data(), &length);
  return Error{ErrorKind::failed, fmt::format("{}: {}: {}", name, call, text.c_str())};
}
template struct Library<OpenMpiHandle>;
template struct Library<MpichHandle>;

Result<AnyLibrary> load(Launcher::Kind launcher) {
  std::vector<std::string> first = {"libmpi.so.40"};
  std::vector<std::string> second = {"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12"};
  if (launcher == Launcher::Kind::mpich) first.swap(second);
  LibraryCandidates candidates;
  candidates.role = "an MPI library";
  candidates.names = first;
  candidates.names.insert(candidates.names.end(), second.begin(), second.end());
  candidates.names.emplace_back("libmpi.so");
  // These environment variables name installations; modules and launchers set them.
  for (const char* root : {"OPAL_PREFIX", "MPI_HOME", "MPI_ROOT", "I_MPI_ROOT"}) {
    const std::string folder = environment_value(root);
    if (folder.empty()) continue;
    candidates.folders.push_back(folder + "/lib");
    candidates.folders.push_back(folder + "/lib/release");
  }
  for (const char* folder :
       {"", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64/openmpi/lib",
        "/usr/lib64/mpich/lib", "/usr/local/lib", "/opt/openmpi*/lib", "/opt/amazon/openmpi*/lib*",
        "/opt/hpcx/ompi/lib", "/opt/intel/oneapi/mpi/latest/lib", "/opt/cray/pe/lib64"}) {
    candidates.folders.emplace_back(folder);
  }
  candidates.advice = "install it: apt install libopenmpi3 (or libopenmpi3t64), or libmpich12";
  apply_override(candidates, "ASSAY_MPI_LIBRARY");
  // First searches all folders for the names that fit the launcher, then all for the other names.
  LibraryCandidates fitting = candidates;
  std::erase_if(fitting.names, [&](const std::string& name) {
    return std::any_of(second.begin(), second.end(),
                       [&](const std::string& other) { return name.ends_with(other); });
  });
  auto file = SharedLibrary::open(fitting);
  if (!file) file = SharedLibrary::open(candidates);
  if (!file) return file.error();
  return file->symbol(open_mpi_symbols.world) != nullptr ? open_mpi(*file) : mpich(*file);
}

std::string short_version(std::string_view text) {
  const std::string all(text);
  std::smatch found;
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n...", "Intel(R) MPI Library 2021.9 for
  // ..."
  if (std::regex_search(all, found, std::regex(R"(^Open MPI v([0-9][^, ]*))"))) {
    return "Open MPI " + found.str(1);
  }
  if (std::regex_search(all, found, std::regex(R"(^([A-Za-z0-9 ]+) Version\s*:\s*(\S+))"))) {
    return found.str(1) + " " + found.str(2);
  }
  return all.substr(0, std::min(all.find_first_of(",\n"), std::size_t{60}));
}

}  // namespace assay::mpi
