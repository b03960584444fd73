// The C interface of MPI 3 for the two binary interfaces in use. Handles are addresses of global
// objects in Open MPI, and numbers in MPICH and its derivatives (Intel, Cray, MVAPICH). The
// prototypes are otherwise the same.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "ranks/collective/communicator.h"

namespace assay::mpi {

constexpr int success = 0;
constexpr int thread_single = 0, thread_serialized = 2;
constexpr int undefined_colour = -32766;  ///< for MPI_Comm_split: this rank gets no communicator
/// Exceeds every implementation's MPI_MAX_ERROR_STRING and MPI_MAX_LIBRARY_VERSION_STRING.
constexpr std::size_t longest_text = 16384;

// F(member, symbol, parameters) with H as the handle type; all return a status, 0 for success.
#define ASSAY_MPI_FUNCTIONS(F)                                                                     \
  F(initialized, MPI_Initialized, (int* flag))                                                     \
  F(init_thread, MPI_Init_thread, (int* argc, char*** argv, int required, int* provided))          \
  F(query_thread, MPI_Query_thread, (int* provided))                                               \
  F(finalize, MPI_Finalize, ())                                                                    \
  F(library_version, MPI_Get_library_version, (char* text, int* length))                           \
  F(error_string, MPI_Error_string, (int status, char* text, int* length))                         \
  F(rank, MPI_Comm_rank, (H comm, int* rank))                                                      \
  F(size, MPI_Comm_size, (H comm, int* size))                                                      \
  F(split, MPI_Comm_split, (H comm, int color, int key, H* made))                                  \
  F(free_comm, MPI_Comm_free, (H * comm))                                                          \
  F(set_error_handler, MPI_Comm_set_errhandler, (H comm, H handler))                               \
  F(contiguous, MPI_Type_contiguous, (int count, H type, H* made))                                 \
  F(create_struct, MPI_Type_create_struct,                                                         \
    (int count, const int* lengths, const std::ptrdiff_t* offsets, const H* types, H* made))       \
  F(commit, MPI_Type_commit, (H * type))                                                           \
  F(free_type, MPI_Type_free, (H * type))                                                          \
  F(isend, MPI_Isend,                                                                              \
    (const void* data, int count, H type, int peer, int tag, H comm, H* request))                  \
  F(irecv, MPI_Irecv, (void* data, int count, H type, int peer, int tag, H comm, H* request))      \
  F(wait_all, MPI_Waitall, (int count, H* requests, void* statuses))                               \
  F(bcast, MPI_Bcast, (void* data, int count, H type, int root, H comm))                           \
  F(all_reduce, MPI_Allreduce, (const void* send, void* receive, int count, H type, H op, H comm)) \
  F(reduce, MPI_Reduce,                                                                            \
    (const void* send, void* receive, int count, H type, H op, int root, H comm))                  \
  F(reduce_scatter, MPI_Reduce_scatter_block,                                                      \
    (const void* send, void* receive, int count, H type, H op, H comm))                            \
  F(all_gather, MPI_Allgather,                                                                     \
    (const void* send, int sends, H send_type, void* receive, int receives, H receive_type,        \
     H comm))                                                                                      \
  F(all_to_all, MPI_Alltoall,                                                                      \
    (const void* send, int sends, H send_type, void* receive, int receives, H receive_type,        \
     H comm))                                                                                      \
  F(gather, MPI_Gather,                                                                            \
    (const void* send, int sends, H send_type, void* receive, int receives, H receive_type,        \
     int root, H comm))                                                                            \
  F(scatter, MPI_Scatter,                                                                          \
    (const void* send, int sends, H send_type, void* receive, int receives, H receive_type,        \
     int root, H comm))

template <typename H>
struct Functions {
#define ASSAY_MPI_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_MPI_FUNCTIONS(ASSAY_MPI_MEMBER)
#undef ASSAY_MPI_MEMBER
  /// Returns 1 if the library supports GPU memory. Null if it cannot be queried.
  int (*cuda_support)() = nullptr;
  int (*rocm_support)() = nullptr;
};

/// The element types and reductions that MPI supports, in the order of NativeHandles.
constexpr std::array native_types = {DataType::f64, DataType::f32, DataType::i8,  DataType::i32,
                                     DataType::u8,  DataType::u32, DataType::i64, DataType::u64};
constexpr std::array native_reductions = {Reduction::sum, Reduction::prod, Reduction::min,
                                          Reduction::max};

/// The predefined handles.
template <typename H>
struct NativeHandles {
  H world{}, byte{}, errors_return{};
  std::array<H, native_types.size()> types{};
  std::array<H, native_reductions.size()> reductions{};
  void* in_place = nullptr;
  void* statuses_ignore = nullptr;
};

using OpenMpiHandle = void*;
/// The global objects whose addresses are the handles, in the same order.
struct OpenMpiSymbols {
  const char *world, *byte, *errors_return;
  std::array<const char*, native_types.size()> types;
  std::array<const char*, native_reductions.size()> reductions;
};
inline constexpr OpenMpiSymbols open_mpi_symbols = {
    "ompi_mpi_comm_world",
    "ompi_mpi_byte",
    "ompi_mpi_errors_return",
    {"ompi_mpi_double", "ompi_mpi_float", "ompi_mpi_int8_t", "ompi_mpi_int32_t", "ompi_mpi_uint8_t",
     "ompi_mpi_uint32_t", "ompi_mpi_int64_t", "ompi_mpi_uint64_t"},
    {"ompi_mpi_op_sum", "ompi_mpi_op_prod", "ompi_mpi_op_min", "ompi_mpi_op_max"}};
inline constexpr std::size_t open_mpi_in_place = 1;         // as an address
inline constexpr std::size_t open_mpi_statuses_ignore = 0;  // as an address

using MpichHandle = int;
inline constexpr NativeHandles<MpichHandle> mpich_numbers = {
    0x44000000,
    0x4c00010d,
    0x54000001,
    {0x4c00080b, 0x4c00040a, 0x4c000137, 0x4c000439, 0x4c00013b, 0x4c00043d, 0x4c00083a,
     0x4c00083e},
    {0x58000003, 0x58000004, 0x58000002, 0x58000001}};   // loading adds the two addresses
inline constexpr std::ptrdiff_t mpich_in_place = -1;     // as an address
inline constexpr std::size_t mpich_statuses_ignore = 1;  // as an address

/// Returns the index of `value` in one of the two arrays above; nullopt if MPI does not support it.
template <typename Array, typename Value>
constexpr std::optional<std::size_t> native_index(const Array& all, Value value) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == value) return i;
  }
  return std::nullopt;
}

}  // namespace assay::mpi
