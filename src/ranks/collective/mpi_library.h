// The MPI library of this machine, whichever it is: one binary of assay works with all of them.
#pragma once

#include <string>
#include <variant>

#include "ranks/collective/mpi_api.h"

namespace assay::mpi {

/// Who started this process, by the variables it left.
struct Launcher {
  enum class Kind { none, open_mpi, mpich, either };
  Kind kind = Kind::none;
  int processes = 0;  ///< 0: it does not say
};
Launcher find_launcher();

template <typename H>
struct Library {
  Functions<H> functions;
  NativeHandles<H> handles;
  std::string name;  ///< "Open MPI 4.1.4"
  std::string path;

  /// Error: failed, naming `call`, unless `status` is success.
  Status check(int status, std::string_view call) const;
};

using AnyLibrary = std::variant<Library<OpenMpiHandle>, Library<MpichHandle>>;

/// Opens the library that fits the launcher, first of all; it is not initialised. Error:
/// unavailable, naming what was looked for or which function it lacks.
Result<AnyLibrary> load(Launcher::Kind launcher);

/// "Open MPI 4.1.4" from what MPI_Get_library_version says.
std::string short_version(std::string_view text);

}  // namespace assay::mpi
