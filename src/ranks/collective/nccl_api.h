// The C interface shared by NCCL and RCCL. Both use the same numbers for types and reductions.
#pragma once

#include <array>
#include <climits>
#include <cstddef>

#include "ranks/collective/communicator.h"

namespace assay::nccl {

using Comm = void*;

/// Passed by value: its size and alignment are part of the interface.
struct UniqueId {
  std::array<char, 128> bytes;
};

/// The beginning of ncclConfig_t, as of 2.17. The structure only grows: a library reads `size`
/// bytes of it and uses its defaults for fields that were added after `version`.
struct Config {
  static constexpr int since = 21700;
  static constexpr int undefined = INT_MIN;  ///< leaves the choice to the library

  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = since;
  int blocking = undefined;
  int cga_cluster_size = undefined;
  int min_ctas = undefined;
  int max_ctas = undefined;
  const char* net_name = nullptr;
};

constexpr int success = 0;
constexpr int aborted = 5;     ///< ncclInvalidUsage
constexpr int no_colour = -1;  ///< for ncclCommSplit: this rank gets no communicator

// F(member, symbol, parameters); all return a status, 0 for success. Streams are the vendor's.
#define ASSAY_NCCL_FUNCTIONS(F)                                                                    \
  F(get_version, ncclGetVersion, (int* version))                                                   \
  F(get_unique_id, ncclGetUniqueId, (UniqueId * id))                                               \
  F(destroy, ncclCommDestroy, (Comm))                                                              \
  F(abort, ncclCommAbort, (Comm))                                                                  \
  F(get_async_error, ncclCommGetAsyncError, (Comm, int* status))                                   \
  F(all_reduce, ncclAllReduce,                                                                     \
    (const void* send, void* receive, std::size_t count, int type, int reduction, Comm,            \
     void* stream))                                                                                \
  F(reduce, ncclReduce,                                                                            \
    (const void* send, void* receive, std::size_t count, int type, int reduction, int root, Comm,  \
     void* stream))                                                                                \
  F(reduce_scatter, ncclReduceScatter,                                                             \
    (const void* send, void* receive, std::size_t count, int type, int reduction, Comm,            \
     void* stream))                                                                                \
  F(broadcast, ncclBroadcast,                                                                      \
    (const void* send, void* receive, std::size_t count, int type, int root, Comm, void* stream))  \
  F(all_gather, ncclAllGather,                                                                     \
    (const void* send, void* receive, std::size_t count, int type, Comm, void* stream))            \
  F(send, ncclSend, (const void* data, std::size_t count, int type, int peer, Comm, void* stream)) \
  F(receive, ncclRecv, (void* data, std::size_t count, int type, int peer, Comm, void* stream))    \
  F(group_start, ncclGroupStart, ())                                                               \
  F(group_end, ncclGroupEnd, ())

// Functions that some versions lack.
#define ASSAY_NCCL_OPTIONAL_FUNCTIONS(F)                                                          \
  F(gather, ncclGather,                                                                           \
    (const void* send, void* receive, std::size_t count, int type, int root, Comm, void* stream)) \
  F(scatter, ncclScatter,                                                                         \
    (const void* send, void* receive, std::size_t count, int type, int root, Comm, void* stream)) \
  F(split, ncclCommSplit, (Comm, int colour, int key, Comm* made, Config*))                       \
  F(register_memory, ncclCommRegister, (Comm, void* address, std::size_t bytes, void** handle))   \
  F(deregister, ncclCommDeregister, (Comm, void* handle))

struct Functions {
#define ASSAY_NCCL_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_NCCL_FUNCTIONS(ASSAY_NCCL_MEMBER)
  ASSAY_NCCL_OPTIONAL_FUNCTIONS(ASSAY_NCCL_MEMBER)
#undef ASSAY_NCCL_MEMBER
  int (*init_rank)(Comm*, int ranks, UniqueId id, int rank) = nullptr;
  /// Available since 2.14; null before.
  int (*init_rank_config)(Comm*, int ranks, UniqueId id, int rank, Config*) = nullptr;
  /// ncclAlltoAll; ncclAllToAll in RCCL before 2.28.
  int (*all_to_all)(const void* send, void* receive, std::size_t count, int type, Comm,
                    void* stream) = nullptr;
  const char* (*error_string)(int status) = nullptr;
  /// Details of the last error, since 2.13; null before.
  const char* (*last_error)(Comm) = nullptr;
};

constexpr int uint8 = 1;

/// Returns -1 if neither library has the type. On gfx942 the fp8 numbers mean the FNUZ encodings.
constexpr int data_type(DataType type) {
  switch (type) {
    case DataType::i8:
      return 0;
    case DataType::u8:
      return uint8;
    case DataType::i32:
      return 2;
    case DataType::u32:
      return 3;
    case DataType::i64:
      return 4;
    case DataType::u64:
      return 5;
    case DataType::f16:
      return 6;
    case DataType::f32:
      return 7;
    case DataType::f64:
      return 8;
    case DataType::bf16:
      return 9;
    case DataType::e4m3:
    case DataType::e4m3_fnuz:
      return 10;
    case DataType::e5m2:
    case DataType::e5m2_fnuz:
      return 11;
    default:
      return -1;
  }
}

constexpr int reduction_number(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return 0;
    case Reduction::prod:
      return 1;
    case Reduction::max:
      return 2;
    case Reduction::min:
      return 3;
    case Reduction::avg:
      return 4;
  }
  return 0;
}

}  // namespace assay::nccl
