// LoRA adapters in the format of the PEFT package: adapter_config.json and
// adapter_model.safetensors. An adapter adds scale x B A to a matrix W of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "core/result.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// What is added to a matrix of `rows` x `columns` numbers.
struct LoraMatrix {
  std::string module;  ///< "model.layers.0.self_attn.q_proj"
  std::int64_t rows = 0, columns = 0;
  std::vector<float> a;  ///< [rank, columns]
  std::vector<float> b;  ///< [rows, rank]
};

struct LoraAdapter {
  std::int64_t rank = 0;
  double alpha = 0;
  bool divides_by_root =
      false;  ///< scale = alpha / sqrt(rank), as rsLoRA has it; else alpha / rank
  std::vector<LoraMatrix> matrices;

  double scale() const;
  /// Null if the adapter adds nothing to the tensor, "model.layers.0.self_attn.q_proj.weight".
  const LoraMatrix* find(std::string_view tensor) const;
};

/// Reads an adapter of a model of `shape`; nothing in its files is trusted. Error: as
/// read_operand(); usage, naming the file and the tensor or the value: it is of another model, or
/// needs what is not computed here, such as DoRA, biases, or whole modules.
Result<LoraAdapter> read_adapter(const std::filesystem::path& folder,
                                 const TransformerShape& shape);

/// Writes both files, with numbers of `type`, f32 or bf16. `base`: the name or folder of the model,
/// for whoever reads the file. Error: as from write_file().
Status write_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter, DataType type,
                     std::string_view base);

/// Writes `count` rows of the sum from row `first` on to `sums`, in f32. `weights` are those rows
/// of W in a file, of type f32, bf16 or f16.
void add_adapter(const LoraAdapter& adapter, const LoraMatrix& matrix, std::int64_t first,
                 std::int64_t count, const void* weights, DataType type, float* sums);

}  // namespace assay
