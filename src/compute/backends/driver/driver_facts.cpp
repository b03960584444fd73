#include "compute/backends/driver/driver_facts.h"

#include <algorithm>
#include <cctype>

namespace assay::driver {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

DeviceFacts read_facts(Dialect& dialect, int ordinal) {
  const DriverApi& api = dialect.api();
  const AttributeNumbers& numbers = dialect.attributes();
  DeviceFacts facts;
  facts.backend = dialect.backend();
  facts.ordinal = ordinal;
  int device = 0;
  if (api.device(&device, ordinal) != code::success) return facts;

  char text[256] = {};
  if (api.device_name(text, sizeof(text) - 1, device) == code::success) facts.name = text;
  std::fill(std::begin(text), std::end(text), '\0');
  if (api.device_pci(text, sizeof(text) - 1, device) == code::success) facts.pci = lower(text);
  std::size_t bytes = 0;
  if (api.device_memory(&bytes, device) == code::success) facts.memory_bytes = bytes;

  const auto attribute = [&](int number) {
    int value = 0;
    if (api.device_attribute(&value, number, device) != code::success) return 0;
    return std::max(value, 0);
  };
  const auto at_least_one = [&](int number) { return std::max(attribute(number), 1); };
  facts.multiprocessors = attribute(numbers.multiprocessors);
  facts.wave_size = at_least_one(numbers.wave_size);
  facts.max_threads_per_block = at_least_one(numbers.max_threads_per_block);
  facts.max_threads_per_multiprocessor = at_least_one(numbers.max_threads_per_multiprocessor);
  facts.shared_bytes_per_block = attribute(numbers.shared_bytes_per_block);
  if (numbers.shared_bytes_per_block_optin != 0) {
    facts.shared_bytes_per_block = std::max<std::uint64_t>(
        facts.shared_bytes_per_block, attribute(numbers.shared_bytes_per_block_optin));
  }
  facts.clock_hz = 1e3 * attribute(numbers.clock_khz);
  if (const int khz = attribute(numbers.memory_clock_khz)) facts.memory_clock_hz = 1e3 * khz;
  if (const int bits = attribute(numbers.memory_bus_bits)) facts.memory_bus_bits = bits;
  facts.ecc = attribute(numbers.ecc) != 0;
  facts.cycle_counter = true;  // clock64() and s_memtime
  facts.last_level_cache_bytes = attribute(numbers.l2_bytes);
  dialect.complete(facts, device);
  if (facts.name.empty()) facts.name = facts.arch;
  return facts;
}

}  // namespace assay::driver
