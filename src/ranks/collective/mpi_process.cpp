#include "ranks/collective/mpi_process.h"

#include <fmt/format.h>
#include <malloc.h>

#include <atomic>
#include <memory>

#include "ranks/collective/mpi_world.h"

namespace assay {
namespace mpi {
namespace {

/// Sets the allocator's limits to what glibc itself raises them to once a program has freed a block
/// of nearly 32 MiB. With lower limits, the heap's content decides whether buffers that MPI
/// allocates for one operation are returned to the kernel after it, which can triple the
/// operation's time.
void settle_allocator() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

std::atomic<bool>& used_from_streams() {
  static std::atomic<bool> used = false;
  return used;
}

}  // namespace

template <typename H>
Status Process::start(const Library<H>& library) {
  const Functions<H>& api = library.functions;
  int running = 0;
  TRY(library.check(api.initialized(&running), "MPI_Initialized"));
  settle_allocator();
  int provided = 0;
  if (running == 0) {
    // This is the thread level that MPI_Init requests, as osu and nccl-tests do, unless streams
    // will call MPI. With a higher level, Open MPI takes locks at every step, which costs a fifth
    // of the time of 1 KiB messages.
    const int level = used_from_streams() ? thread_serialized : thread_single;
    TRY(library.check(api.init_thread(nullptr, nullptr, level, &provided), "MPI_Init_thread"));
    finalise_ = true;
  } else {
    TRY(library.check(api.query_thread(&provided), "MPI_Query_thread"));
  }
  serves_all_threads_ = provided >= thread_serialized;
  const H world = library.handles.world;
  TRY(library.check(api.set_error_handler(world, library.handles.errors_return),
                    "MPI_Comm_set_errhandler"));
  TRY(library.check(api.rank(world, &rank_), "MPI_Comm_rank"));
  return library.check(api.size(world, &size_), "MPI_Comm_size");
}

Result<Process*> Process::get() {
  static const Result<std::unique_ptr<Process>> only = []() -> Result<std::unique_ptr<Process>> {
    const Launcher launcher = find_launcher();
    if (launcher.kind == Launcher::Kind::none) {
      return Error{ErrorKind::unavailable,
                   "no MPI launcher started this process: start it with mpirun, mpiexec or srun"};
    }
    auto process = std::unique_ptr<Process>(new Process(TRY(load(launcher.kind))));
    TRY(std::visit([&](const auto& library) { return process->start(library); },
                   process->library_));
    if (launcher.processes > 0 && launcher.processes != process->size_) {
      const auto name = [](const auto& library) { return library.name + " in " + library.path; };
      return Error{
          ErrorKind::unavailable,
          fmt::format("the launcher started {} processes, but {} sees {}: set "
                      "ASSAY_MPI_LIBRARY to the launcher's own library",
                      launcher.processes, std::visit(name, process->library_), process->size_)};
    }
    return process;
  }();
  if (!only.ok()) return only.error();
  return only->get();
}

Process::~Process() {
  if (!finalise_ || given_up_) return;
  std::visit([](const auto& library) { library.functions.finalize(); }, library_);
}

namespace {

template <typename H>
Result<std::string> broadcast(Process& process, const Library<H>& library, std::string text) {
  constexpr std::size_t most = std::size_t{1} << 20;
  const auto from_0 = [&](void* data, std::size_t bytes) {
    Status status =
        library.check(library.functions.bcast(data, static_cast<int>(bytes), library.handles.byte,
                                              0, library.handles.world),
                      "MPI_Bcast");
    if (!status) process.give_up();
    return status;
  };
  std::size_t bytes = text.size();
  TRY(from_0(&bytes, sizeof(bytes)));
  if (bytes > most) {
    return Error{ErrorKind::failed,
                 fmt::format("{} bytes are too many to broadcast; the most are {}", bytes, most)};
  }
  if (process.rank() != 0) text.assign(bytes, '\0');
  TRY(from_0(text.data(), bytes));
  return text;
}

}  // namespace
}  // namespace mpi

bool started_by_mpi() {
  return mpi::find_launcher().kind != mpi::Launcher::Kind::none;
}

void mpi_use_from_streams() {
  mpi::used_from_streams() = true;
}

Result<std::string> mpi_broadcast(std::string from_rank_0) {
  mpi::Process* process = TRY(mpi::Process::get());
  return std::visit(
      [&](const auto& library) {
        return mpi::broadcast(*process, library, std::move(from_rank_0));
      },
      process->library());
}

}  // namespace assay
