// A descriptor as the mock of cuDNN keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace mock_cudnn {

struct Descriptor {
  int type = 0;
  bool finalized = false;
  std::map<int, std::vector<std::byte>> attributes;
  int config = 0;  // of engines, configurations and plans

  bool has(int name) const { return attributes.contains(name); }
  template <typename Value>
  Value get(int name, std::size_t index = 0) const {
    Value value = {};
    const auto found = attributes.find(name);
    if (found != attributes.end() && (index + 1) * sizeof value <= found->second.size()) {
      std::memcpy(&value, found->second.data() + index * sizeof value, sizeof value);
    }
    return value;
  }
  const Descriptor* part(int name) const { return get<const Descriptor*>(name); }
  template <typename Value>
  std::vector<Value> all(int name) const {
    std::vector<Value> values(attributes.at(name).size() / sizeof(Value));
    std::memcpy(values.data(), attributes.at(name).data(), values.size() * sizeof(Value));
    return values;
  }
};

/// What an operation is called in mock_cudnn_graph().
std::string name_of(const Descriptor& operation);

/// Computes the graph in double precision, on host memory; what is bf16 is rounded. `adds`: a
/// product adds to what lies in a f32 matrix, as kernels before cuDNN 9.6 do. Returns whether every
/// tensor that is not virtual had an address.
bool run(const Descriptor& graph, const Descriptor& pack, bool adds);

/// Whether it is one of the three operations that are convolutions; whether it has all attributes.
bool is_convolution(const Descriptor& operation);
bool is_complete_convolution(const Descriptor& operation);
/// Computes it in double precision. Returns whether it has alpha 1 and beta 0, a mode that it
/// knows, and an address for each tensor.
bool convolve(const Descriptor& operation, const std::map<std::int64_t, std::byte*>& addresses);

}  // namespace mock_cudnn
