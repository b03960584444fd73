// Finds this machine's MPI library, of any implementation: one binary of assay works with all of
// them.
#pragma once

#include <string>
#include <variant>

#include "ranks/collective/mpi_api.h"

namespace assay::mpi {

/// The launcher that started this process, judged by its environment variables.
struct Launcher {
  enum class Kind {
    none,
    open_mpi,
    mpich,   ///< MPICH or a descendant: Intel's, Cray's, MVAPICH
    either,  ///< its variables do not tell: PMIx
  };
  Kind kind = Kind::none;
  int processes = 0;  ///< 0: not reported
};
Launcher find_launcher();

template <typename H>
struct Library {
  Functions<H> functions;
  NativeHandles<H> handles;
  std::string name;  ///< "Open MPI 4.1.4"
  std::string path;

  /// Returns ok if `status` is success. Error: failed, naming `call`.
  Status check(int status, std::string_view call) const;
};

using AnyLibrary = std::variant<Library<OpenMpiHandle>, Library<MpichHandle>>;

/// Opens an MPI library, preferring one that fits the launcher, without initialising it. If
/// ASSAY_MPI_LIBRARY names a file, it opens that. Error: unavailable, naming what was looked for or
/// which function is missing; failed, with the library's message.
Result<AnyLibrary> load(Launcher::Kind launcher);

/// Extracts "Open MPI 4.1.4" from the text of MPI_Get_library_version.
std::string short_version(std::string_view text);

}  // namespace assay::mpi
