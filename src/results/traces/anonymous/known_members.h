// The members of PyTorch's JSON that a trace made anonymous may have, and what becomes of their
// values.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// What becomes of a member's value. A value, or one of a list of such values, stays if it is as
/// the comment says; the functions are those of known_words.h. Else it is replaced or left out.
enum class Keep {
  nothing,     // the member is left out
  number,      // is_number_or_list()
  argument,    // is_plain_argument()
  version,     // is_version()
  type,        // is_type_name(); else replaced
  collective,  // is_collective_name(); else replaced
  kind,        // is_kind_word()
  code,        // the name of a kernel: is_name_of_code(); else replaced
  group,       // the name of a process group: is_kind_word(); else replaced
  device,      // is_device_name(); else replaced
  lane,        // is_lane_name(); else replaced
  note,        // notes of assay, always replaced
  // Members of events:
  category,  // is_category(); it decides how `name` is judged
  name,      // is_profiler_event(), is_profiler_step() or is_name_of_code(); else replaced
  phase,     // at most one letter
  // Containers, whose members the list of the same name in this file tells:
  events,
  args,
  devices,
  distributed,
  groups,
};

struct KnownMember {
  std::string_view key;
  Keep keep;
};

inline constexpr KnownMember top_members[] = {
    {"schemaVersion", Keep::number},        {"baseTimeNanoseconds", Keep::number},
    {"displayTimeUnit", Keep::kind},        {"record_shapes", Keep::number},
    {"profile_memory", Keep::number},       {"with_stack", Keep::number},
    {"with_flops", Keep::number},           {"with_modules", Keep::number},
    {"cuda_runtime_version", Keep::number}, {"cuda_driver_version", Keep::number},
    {"cupti_version", Keep::number},        {"hip_runtime_version", Keep::number},
    {"hip_driver_version", Keep::number},   {"roctracer_version", Keep::version},
    {"rocprofiler_version", Keep::version}, {"deviceProperties", Keep::devices},
    {"distributedInfo", Keep::distributed}, {"assay", Keep::note},
    {"traceEvents", Keep::events}};

inline constexpr KnownMember device_members[] = {{"id", Keep::number},
                                                 {"name", Keep::device},
                                                 {"totalGlobalMem", Keep::number},
                                                 {"computeMajor", Keep::number},
                                                 {"computeMinor", Keep::number},
                                                 {"maxThreadsPerBlock", Keep::number},
                                                 {"maxThreadsPerMultiprocessor", Keep::number},
                                                 {"regsPerBlock", Keep::number},
                                                 {"regsPerMultiprocessor", Keep::number},
                                                 {"warpSize", Keep::number},
                                                 {"sharedMemPerBlock", Keep::number},
                                                 {"sharedMemPerBlockOptin", Keep::number},
                                                 {"sharedMemPerMultiprocessor", Keep::number},
                                                 {"maxSharedMemoryPerMultiProcessor", Keep::number},
                                                 {"numSms", Keep::number}};

inline constexpr KnownMember distributed_members[] = {
    {"backend", Keep::kind},    {"rank", Keep::number},          {"world_size", Keep::number},
    {"pg_count", Keep::number}, {"nccl_version", Keep::version}, {"pg_config", Keep::groups}};

inline constexpr KnownMember group_members[] = {{"pg_name", Keep::group},
                                                {"pg_desc", Keep::group},
                                                {"backend_config", Keep::kind},
                                                {"pg_size", Keep::number},
                                                {"ranks", Keep::number}};

inline constexpr KnownMember event_members[] = {
    {"ph", Keep::phase}, {"cat", Keep::category}, {"name", Keep::name},  {"pid", Keep::lane},
    {"tid", Keep::lane}, {"ts", Keep::number},    {"dur", Keep::number}, {"id", Keep::number},
    {"bp", Keep::phase}, {"s", Keep::phase},      {"args", Keep::args}};

inline constexpr KnownMember args_members[] = {{"External id", Keep::number},
                                               {"external id", Keep::number},
                                               {"Record function id", Keep::number},
                                               {"Ev Idx", Keep::number},
                                               {"Sequence number", Keep::number},
                                               {"Fwd thread id", Keep::number},
                                               {"Op count", Keep::number},
                                               {"cbid", Keep::number},
                                               {"cid", Keep::number},
                                               {"correlation", Keep::number},
                                               {"queued", Keep::number},
                                               {"device", Keep::number},
                                               {"context", Keep::number},
                                               {"stream", Keep::number},
                                               {"priority", Keep::number},
                                               {"channel", Keep::number},
                                               {"hsa_queue", Keep::number},
                                               {"graph id", Keep::number},
                                               {"graph node id", Keep::number},
                                               {"bytes", Keep::number},
                                               {"Bytes", Keep::number},
                                               {"size", Keep::number},
                                               {"src", Keep::number},
                                               {"dst", Keep::number},
                                               {"ptr", Keep::number},
                                               {"memory bandwidth (GB/s)", Keep::number},
                                               {"registers per thread", Keep::number},
                                               {"shared memory", Keep::number},
                                               {"blocks per SM", Keep::number},
                                               {"warps per SM", Keep::number},
                                               {"grid", Keep::number},
                                               {"block", Keep::number},
                                               {"est. achieved occupancy %", Keep::number},
                                               {"wait_on_stream", Keep::number},
                                               {"wait_on_cuda_event_record_corr_id", Keep::number},
                                               {"wait_on_cuda_event_id", Keep::number},
                                               {"finished", Keep::number},
                                               {"Input Dims", Keep::number},
                                               {"Input dims", Keep::number},
                                               {"Input Strides", Keep::number},
                                               {"Total Reserved", Keep::number},
                                               {"Total Allocated", Keep::number},
                                               {"Addr", Keep::number},
                                               {"Device Id", Keep::number},
                                               {"Device Type", Keep::number},
                                               {"Python parent id", Keep::number},
                                               {"Python id", Keep::number},
                                               {"Python module id", Keep::number},
                                               {"In msg nelems", Keep::number},
                                               {"Out msg nelems", Keep::number},
                                               {"In split size", Keep::number},
                                               {"Out split size", Keep::number},
                                               {"Group size", Keep::number},
                                               {"Global rank start", Keep::number},
                                               {"Global rank stride", Keep::number},
                                               {"Process Group Ranks", Keep::number},
                                               {"Rank", Keep::number},
                                               {"Src Rank", Keep::number},
                                               {"Dst Rank", Keep::number},
                                               {"Seq", Keep::number},
                                               {"Is asynchronized op", Keep::number},
                                               {"num_warps", Keep::number},
                                               {"num_stages", Keep::number},
                                               {"sort_index", Keep::number},
                                               {"flops", Keep::number},
                                               {"bus GB/s", Keep::number},
                                               {"TFLOP/s", Keep::number},
                                               {"share of roof", Keep::number},
                                               {"value", Keep::number},
                                               {"Concrete Inputs", Keep::argument},
                                               {"Input type", Keep::type},
                                               {"dtype", Keep::type},
                                               {"Collective name", Keep::collective},
                                               {"kind", Keep::kind},
                                               {"cuda_sync_kind", Keep::kind},
                                               {"kernel_backend", Keep::kind},
                                               {"kernel", Keep::code},
                                               {"Process Group Name", Keep::group},
                                               {"Process Group Description", Keep::group},
                                               {"name", Keep::lane},
                                               {"labels", Keep::lane}};

/// Returns what becomes of the member `key`; nothing, if it is not known.
template <std::size_t count>
Keep keep_of(std::string_view key, const KnownMember (&members)[count]) {
  for (const KnownMember& one : members) {
    if (one.key == key) return one.keep;
  }
  return Keep::nothing;
}

}  // namespace assay
