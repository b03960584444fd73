#include "model/transformer/model_products.h"

#include "model/operations/linear_products.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

/// A matrix's product with `tokens` rows; the head has the rows that pad the vocabulary.
LinearShape linear_shape(const TransformerShape& shape, const ShapeMatrix& matrix,
                         std::int64_t tokens) {
  const bool is_head = std::string_view(matrix.name) == "head";
  return {tokens, is_head ? shape.padded_vocabulary() : matrix.outputs, matrix.inputs};
}

}  // namespace

std::vector<ModelProduct> training_products(const TransformerShape& shape, std::int64_t tokens,
                                            DataType precision) {
  std::vector<ModelProduct> products;
  for (const ShapeMatrix& matrix : shape.matrices()) {
    const std::string name = matrix.name;
    const LinearShape of = linear_shape(shape, matrix, tokens);
    const auto count = static_cast<std::uint64_t>(matrix.count);
    Epilogue forward = matrix.bias ? Epilogue::bias : Epilogue::none, backward = Epilogue::none;
    if (name == "fc") forward = gelu_epilogue(matrix.bias);
    if (name == "fc2") backward = Epilogue::dgelu;
    products.push_back({name, forward_product(of, precision, forward), count});
    products.push_back({name + "_input", input_gradient_product(of, precision, backward), count});
    products.push_back({name + "_weight", weight_gradient_product(of, precision, false), count});
  }
  return products;
}

std::vector<ModelProduct> inference_products(const TransformerShape& shape, std::int64_t tokens,
                                             DataType precision) {
  std::vector<ModelProduct> products;
  for (const ShapeMatrix& matrix : shape.matrices()) {
    const Epilogue epilogue = matrix.bias ? Epilogue::bias : Epilogue::none;
    products.push_back({matrix.name,
                        forward_product(linear_shape(shape, matrix, tokens), precision, epilogue),
                        static_cast<std::uint64_t>(matrix.count)});
  }
  return products;
}

Result<std::vector<ModelProduct>> products_of_model(std::string_view model, std::int64_t tokens,
                                                    DataType precision) {
  if (tokens < 1) return Error{ErrorKind::usage, "a model needs at least one token"};
  const TransformerShape shape = TRY(parse_shape(model));
  return shape.norm == NormKind::layer ? training_products(shape, tokens, precision)
                                       : inference_products(shape, tokens, precision);
}

}  // namespace assay
