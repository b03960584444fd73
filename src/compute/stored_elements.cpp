#include "compute/stored_elements.h"

#include <cstring>

namespace assay {

double load_element(DataType type, const void* from) {
  return with_element(type, [&](auto element) {
    std::memcpy(&element, from, sizeof(element));
    return static_cast<double>(value_of(element));
  });
}

void store_element(DataType type, void* to, double value) {
  with_element(type, [&]<typename T>(T) {
    const T element = stored_as<T>(value);
    std::memcpy(to, &element, sizeof(element));
  });
}

}  // namespace assay
