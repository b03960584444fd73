// MPI as this process has it: initialised once and finalised at its end.
#pragma once

#include "ranks/collective/mpi_library.h"

namespace assay::mpi {

class Process {
 public:
  /// The only one; the first call initialises MPI. Error: unavailable, without a launcher or a
  /// library that works with it; failed, as the library says.
  static Result<Process*> get();

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  const AnyLibrary& library() const { return library_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Other ranks may be gone: what waits for all is not called any more.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }

 private:
  explicit Process(AnyLibrary library) : library_(std::move(library)) {}
  template <typename H>
  Status start(const Library<H>& library);

  AnyLibrary library_;
  int rank_ = 0, size_ = 1;
  bool finalise_ = false, given_up_ = false;
};

}  // namespace assay::mpi
