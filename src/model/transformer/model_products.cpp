#include "model/transformer/model_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/shown_text.h"
#include "model/operations/linear_products.h"

namespace assay {

std::vector<ModelProduct> products_of(const GptShape& shape, std::int64_t tokens,
                                      DataType precision) {
  const std::int64_t c = shape.width, f = shape.hidden;
  const auto layers = static_cast<std::uint64_t>(shape.layers);
  const Epilogue bias = shape.bias ? Epilogue::bias : Epilogue::none;
  const LinearShape qkv = {tokens, 3 * c, c}, proj = {tokens, c, c}, fc = {tokens, f, c},
                    fc2 = {tokens, c, f}, head = {tokens, shape.padded_vocabulary(), c};
  std::vector<ModelProduct> products;
  const auto add = [&](const char* name, LinearShape of, std::uint64_t count, Epilogue forward,
                       Epilogue backward) {
    const std::string text = name;
    products.push_back({text, forward_product(of, precision, forward), count});
    products.push_back({text + "_input", input_gradient_product(of, precision, backward), count});
    products.push_back({text + "_weight", weight_gradient_product(of, precision, false), count});
  };
  add("qkv", qkv, layers, bias, Epilogue::none);
  add("proj", proj, layers, bias, Epilogue::none);
  add("fc", fc, layers, gelu_epilogue(shape.bias), Epilogue::none);
  add("fc2", fc2, layers, bias, Epilogue::dgelu);
  add("head", head, 1, Epilogue::none, Epilogue::none);
  return products;
}

std::vector<ModelProduct> products_of(const DecoderShape& shape, std::int64_t tokens,
                                      DataType precision) {
  const auto layers = static_cast<std::uint64_t>(shape.layers);
  const std::int64_t c = shape.width;
  const auto forward = [&](std::int64_t outputs, std::int64_t inputs, bool bias = false) {
    return forward_product({tokens, outputs, inputs}, precision,
                           bias ? Epilogue::bias : Epilogue::none);
  };
  return {{"qkv", forward(shape.qkv_width(), c, shape.qkv_bias), layers},
          {"proj", forward(c, shape.query_width()), layers},
          {"gate_up", forward(2 * shape.hidden, c), layers},
          {"down", forward(c, shape.hidden), layers},
          {"head", forward(shape.padded_vocabulary(), c), 1}};
}

Result<std::vector<ModelProduct>> products_of_model(std::string_view model, std::int64_t tokens,
                                                    DataType precision) {
  if (tokens < 1) return Error{ErrorKind::usage, "a model needs at least one token"};
  const auto& decoders = decoder_names();
  if (std::find(decoders.begin(), decoders.end(), model) == decoders.end()) {
    const auto gpt = parse_gpt_shape(model);  // numbers alone mean one, as for `train`
    if (gpt.ok()) return products_of(*gpt, tokens, precision);
  }
  const auto decoder = parse_decoder_shape(model);
  if (decoder.ok()) return products_of(*decoder, tokens, precision);
  return Error{ErrorKind::usage,
               fmt::format("model \"{}\" is not allowed; allowed: {}, {}, or numbers with letters "
                           "such as 6L6H384C and 2L4H2K64D256C",
                           shown_line(model, 60), fmt::join(gpt_names(), ", "),
                           fmt::join(decoder_names(), ", "))};
}

}  // namespace assay
