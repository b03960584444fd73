// MPI in this process: initialised once and finalised at the end.
#pragma once

#include "ranks/collective/mpi_library.h"

namespace assay::mpi {

class Process {
 public:
  /// Returns the only instance; the first call initialises MPI. Error: unavailable, without a
  /// launcher or a library that works with it; failed, with the library's message.
  static Result<Process*> get();

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  const AnyLibrary& library() const { return library_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether threads other than the first may call MPI, one at a time.
  bool serves_all_threads() const { return serves_all_threads_; }

  /// Call this when other ranks may be gone: from now on no call waits for all ranks.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }

 private:
  explicit Process(AnyLibrary library) : library_(std::move(library)) {}
  template <typename H>
  Status start(const Library<H>& library);

  AnyLibrary library_;
  int rank_ = 0, size_ = 1;
  bool finalise_ = false, given_up_ = false, serves_all_threads_ = false;
};

}  // namespace assay::mpi
