// Names models and GPUs, with the figures that the capacity formulas need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::simulator {

/// A decoder with grouped-query attention and separate embedding and output tables.
struct Model {
  std::string name;
  double parameters = 0;        ///< all of them
  double table_parameters = 0;  ///< parameters of the embedding table; the output table has as many
  std::uint32_t vocabulary = 0;
  int layers = 0, query_heads = 0, kv_heads = 0, head_size = 0;
  std::uint64_t context = 0;      ///< tokens, prompt and reply together
  double bytes_per_weight = 2;    ///< 2: bf16, 1: fp8
  double bytes_per_kv_value = 2;  ///< the same for the KV cache
};

/// Peak figures of a whole device.
struct Gpu {
  std::string name;
  double memory_bytes = 0;
  double bandwidth = 0;  ///< bytes/s
  double flops = 0;      ///< operations/s, dense bf16 on the matrix units
};

/// Finds "llama-3.1-8b" regardless of case. Error: usage, naming all models.
Result<Model> find_model(std::string_view name);
/// Finds "MI300X" regardless of case. Error: usage, naming all GPUs.
Result<Gpu> find_gpu(std::string_view name);

}  // namespace assay::simulator
