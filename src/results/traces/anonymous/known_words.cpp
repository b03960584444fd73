#include "results/traces/anonymous/known_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/text.h"

namespace assay {
namespace {

template <std::size_t count>
bool is_one_of(std::string_view text, const std::string_view (&words)[count]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}
/// Capital letters count as small ones.
template <std::size_t count>
bool is_one_in_any_case(std::string_view text, const std::string_view (&words)[count]) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return is_equal_without_case(text, word); });
}

bool is_letter(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0;
}
bool is_decimal(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Returns whether `text` is `begin` and a number of at most 20 digits.
bool is_numbered(std::string_view text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  const std::string_view number = text.substr(begin.size());
  return number.size() <= 20 && is_digits(number);
}

/// "context", "12", "3(1200)", "32(sq32sk55086)"
bool is_part_of_step(std::string_view part) {
  constexpr std::string_view words[] = {"context", "generation", "prefill", "decode",
                                        "new",     "cached",     "model",   ""};
  if (is_one_of(part, words)) return true;
  return part.size() <= 40 && is_decimal(part.front()) &&
         part.find_first_not_of("0123456789()sqk") == part.npos;
}

/// The name that PyTorch gives to compiled code: "Torch-Compiled Region: 0/1".
bool is_compiled_region(std::string_view text) {
  constexpr std::string_view begin = "Torch-Compiled Region: ";
  constexpr std::size_t longest = 60;
  return text.starts_with(begin) && text.size() <= longest &&
         text.find_first_not_of("0123456789/_!", begin.size()) == text.npos;
}

/// "10.1.2.3", also where a port follows.
bool is_ipv4(std::string_view text) {
  for (int part = 0;; ++part) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 3) return false;
    text.remove_prefix(digits);
    // A full stop may follow, but no further number.
    if (part == 3) return !(text.size() > 1 && text[0] == '.' && is_decimal(text[1]));
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
}

/// An IPv6 or Ethernet address, if `text` has only hexadecimal digits and colons. The names of C++
/// have no single colons, and no digit begins a part of them.
bool is_colon_address(std::string_view text) {
  if (std::ranges::count(text, ':') < 2) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == ':';
    if (begins && is_decimal(text[i])) return true;
    const bool alone = i > 0 && i + 1 < text.size() && text[i - 1] != ':' && text[i + 1] != ':';
    if (text[i] == ':' && alone) return true;
  }
  return false;
}

bool has_address(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto is_word = [](char letter) {
      return is_letter(letter) || is_decimal(letter) || letter == '_';
    };
    const bool in_number = i > 0 && (is_decimal(text[i - 1]) || text[i - 1] == '.');
    if (!in_number && is_ipv4(text.substr(i))) return true;
    // After the single colon of "name:fe80::1" an address may begin.
    const bool after_name = i > 1 && text[i - 1] == ':' && text[i - 2] != ':';
    if (i > 0 && (is_word(text[i - 1]) || text[i - 1] == ':') && !after_name) {
      ++i;
      continue;
    }
    const std::size_t end =
        std::min(text.find_first_not_of("0123456789abcdefABCDEF:", i), text.size());
    const bool whole = end == text.size() || !is_word(text[end]);
    if (whole && is_colon_address(text.substr(i, end - i))) return true;
    i = std::max(end, i + 1);
  }
  return false;
}

constexpr std::string_view category_words[] = {"kernel",
                                               "gpu_memcpy",
                                               "gpu_memset",
                                               "cuda_runtime",
                                               "cuda_driver",
                                               "cpu_op",
                                               "user_annotation",
                                               "gpu_user_annotation",
                                               "python_function",
                                               "overhead",
                                               "cuda_sync",
                                               "cuda_profiler_range",
                                               "cpu_instant_event",
                                               "privateuse1_runtime",
                                               "privateuse1_driver",
                                               "xpu_runtime",
                                               "xpu_driver",
                                               "collective_comm",
                                               "trace",
                                               "ac2g",
                                               "fwdbwd",
                                               "async",
                                               "async_cpu_to_gpu",
                                               "async_gpu",
                                               "memcpy",
                                               "memset",
                                               "runtime",
                                               "driver",
                                               "operator",
                                               "forward_backward",
                                               ""};

constexpr std::string_view lane_words[] = {
    "Spans", "Traces", "PyTorch Profiler",  "Trace",
    "CPU",   "GPU",    "Record Window End", "Iteration Start: PyTorch Profiler",
    ""};

constexpr std::string_view event_words[] = {"[memory]",
                                            "[OutOfMemory]",
                                            "ac2g",
                                            "fwdbwd",
                                            "launch",
                                            "process_name",
                                            "process_labels",
                                            "process_sort_index",
                                            "thread_name",
                                            "thread_sort_index",
                                            "Record Window End",
                                            "Iteration Start: PyTorch Profiler",
                                            ""};

// Names that c10d of PyTorch, NCCL and assay give.
constexpr std::string_view collective_words[] = {"allreduce",
                                                 "all_reduce",
                                                 "allreduce_coalesced",
                                                 "allgather",
                                                 "all_gather",
                                                 "_allgather_base",
                                                 "allgather_into_tensor_coalesced",
                                                 "allgather_coalesced",
                                                 "all_gather_into_tensor",
                                                 "reduce",
                                                 "_reduce_oop",
                                                 "reduce_scatter",
                                                 "_reduce_scatter_base",
                                                 "reduce_scatter_tensor",
                                                 "reduce_scatter_tensor_coalesced",
                                                 "broadcast",
                                                 "_broadcast_oop",
                                                 "all_to_all",
                                                 "alltoall",
                                                 "all_to_allv",
                                                 "alltoall_base",
                                                 "gather",
                                                 "scatter",
                                                 "send",
                                                 "recv",
                                                 "sendrecv",
                                                 "recvAnysource",
                                                 "barrier",
                                                 "wait",
                                                 "init",
                                                 "coalesced",
                                                 "start_coalescing",
                                                 "end_coalescing",
                                                 ""};

constexpr std::string_view type_words[] = {"float",
                                           "double",
                                           "half",
                                           "bool",
                                           "int",
                                           "long",
                                           "long int",
                                           "short",
                                           "short int",
                                           "unsigned char",
                                           "signed char",
                                           "char",
                                           "unsigned int",
                                           "unsigned long",
                                           "unsigned short",
                                           "c10::half",
                                           "c10::bfloat16",
                                           "bfloat16",
                                           "byte",
                                           "c10::float8_e4m3fn",
                                           "c10::float8_e4m3fnuz",
                                           "c10::float8_e5m2",
                                           "c10::float8_e5m2fnuz",
                                           "c10::float8_e8m0fnu",
                                           "float8_e4m3fn",
                                           "float8_e4m3fnuz",
                                           "float8_e5m2",
                                           "float8_e5m2fnuz",
                                           "float8_e8m0fnu",
                                           "c10::complex<float>",
                                           "c10::complex<double>",
                                           "c10::qint8",
                                           "c10::quint8",
                                           "c10::qint32",
                                           "complexfloat",
                                           "complexdouble",
                                           "scalar",
                                           "scalarlist",
                                           "tensorlist",
                                           "genericlist",
                                           "tensor",
                                           "device",
                                           "bf16",
                                           "f16",
                                           "f32",
                                           "f64",
                                           "fp8",
                                           "fp8_e4m3",
                                           "fp8_e5m2",
                                           "fp4",
                                           "i8",
                                           "i32",
                                           "u8",
                                           ""};

constexpr std::string_view no_numbers[] = {"inf", "-inf", "nan", "Infinity", "-Infinity", "NaN"};

constexpr std::string_view kind_words[] = {"Dispatch Kernel",
                                           "Dispatch Task",
                                           "Dispatch Barrier",
                                           "HtoH",
                                           "HtoD",
                                           "DtoH",
                                           "DtoD",
                                           "CopyDeviceToDevice",
                                           "CopyDeviceToHost",
                                           "CopyHostToDevice",
                                           "FillBuffer",
                                           "Stream Sync",
                                           "Context Sync",
                                           "Stream Wait Event",
                                           "Event Sync",
                                           "triton",
                                           "nccl",
                                           "rccl",
                                           "gloo",
                                           "mpi",
                                           "ucc",
                                           "xccl",
                                           "cpu:gloo,cuda:nccl",
                                           "cpu:gloo,cuda:gloo",
                                           "cuda:nccl",
                                           "cpu:gloo",
                                           "ms",
                                           "ns",
                                           "default_pg",
                                           "undefined",
                                           ""};

}  // namespace

bool is_number_or_list(std::string_view text) {
  if (text.starts_with("0x")) {
    return text.size() <= 18 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  }
  // Each number is parsed, because "10.1.2.3" is an address.
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(",[] "), text.size());
    const std::string_view number = text.substr(0, end);
    if (!number.empty() && !parse_number(number) && !is_one_of(number, no_numbers)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool is_version(std::string_view text) {
  constexpr std::size_t longest = 16;
  return text.size() <= longest && std::count(text.begin(), text.end(), '.') <= 2 &&
         text.find_first_not_of("0123456789.") == text.npos;
}

bool is_plain_argument(std::string_view text) {
  return text == "True" || text == "False" || text == "None" || is_number_or_list(text);
}

bool is_profiler_step(std::string_view text) {
  if (is_numbered(text, "ProfilerStep#")) return true;
  constexpr std::string_view begin = "execute_";
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  for (;;) {
    const std::size_t end = std::min(text.find('_'), text.size());
    if (!is_part_of_step(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

bool is_name_of_code(std::string_view text) {
  if (is_compiled_region(text)) return true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    // What else follows a slash may be a part of a path.
    constexpr std::string_view after_operator = " =(<>),";
    if (letter == '/' && after_operator.find(next) == after_operator.npos) return false;
    if (letter == '\\' || letter == '@' || static_cast<unsigned char>(letter) < ' ') return false;
  }
  return !has_address(text);
}

bool is_device_name(std::string_view text) {
  constexpr std::string_view makers[] = {"NVIDIA", "AMD",   "Tesla", "GeForce", "Quadro",
                                         "Radeon", "Intel", "gfx",   "Instinct"};
  constexpr std::size_t longest = 80;
  const bool known =
      text.empty() || std::any_of(std::begin(makers), std::end(makers),
                                  [&](std::string_view maker) { return text.starts_with(maker); });
  return known && text.size() <= longest && std::all_of(text.begin(), text.end(), [](char letter) {
           return is_letter(letter) || is_decimal(letter) ||
                  std::string_view(" -+_()[]").find(letter) != std::string_view::npos;
         });
}

bool is_category(std::string_view text) {
  return is_one_in_any_case(text, category_words);
}
bool is_lane_name(std::string_view text) {
  text = trim(text);
  return is_one_of(text, lane_words) || is_number_or_list(text) || is_numbered(text, "stream ") ||
         is_numbered(text, "GPU ") || is_numbered(text, "thread ");
}
bool is_profiler_event(std::string_view text) {
  if (text.starts_with("PyTorch Profiler (") && text.ends_with(')')) {
    text = text.substr(18, text.size() - 19);
    return is_digits(text);
  }
  return is_one_of(text, event_words);
}
bool is_collective_name(std::string_view text) {
  return is_one_of(text, collective_words);
}
bool is_type_name(std::string_view text) {
  return is_one_in_any_case(text, type_words);
}
bool is_kind_word(std::string_view text) {
  return is_one_of(text, kind_words) || is_number_or_list(text);
}

}  // namespace assay
