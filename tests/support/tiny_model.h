// A tiny Qwen in Hugging Face's format with a byte-level tokenizer and a chat template, for tests
// that train or serve one.
#pragma once

#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "model/transformer/named_shapes.h"
#include "support/model_folder.h"
#include "support/temporary_folder.h"
#include "support/tokenizer_file.h"

namespace assay {

/// A tokenizer.json with a token for each byte and, from 256 on, <|endoftext|>, <|im_start|> and
/// <|im_end|>, which Qwens have.
inline Json tiny_tokenizer() {
  Json file = llama_like({});
  file["added_tokens"] = {added(256, "<|endoftext|>", true), added(257, "<|im_start|>", true),
                          added(258, "<|im_end|>", true)};
  return file;
}

/// Writes tokenizer.json and, with Qwen's form of chats, tokenizer_config.json.
inline void write_tiny_tokenizer(const TemporaryFolder& folder) {
  folder.write("tokenizer.json", tiny_tokenizer().dump());
  folder.write("tokenizer_config.json",
               Json{{"chat_template",
                     "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
                     "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"}}
                   .dump());
}

/// Writes all files of a model of `shape` with random weights, which has room for the tokens of
/// tiny_tokenizer().
inline void write_tiny_model(const TemporaryFolder& folder, const TransformerShape& shape,
                             std::uint64_t seed = 1) {
  write_tiny_tokenizer(folder);
  const TransformerParameters layout = TransformerParameters::of(shape);
  std::vector<float> weights(layout.elements);
  Random random(seed);
  for (float& weight : weights) weight = static_cast<float>(0.02 * random.normal());
  std::vector<ModelTensor> tensors = model_tensors(shape, weights);
  for (ModelTensor& tensor : tensors) {
    if (tensor.name.ends_with("norm.weight")) tensor.numbers.assign(tensor.numbers.size(), 1);
  }
  write_model(folder, shape, tensors, DataType::bf16);
}

}  // namespace assay
