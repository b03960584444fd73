// A weight matrix as a product reads it from memory, and rows that are quantized for products.
#pragma once

namespace assay {

/// W[outputs, inputs]: numbers, or codes of one byte, of which each row has a factor.
struct StoredMatrix {
  const void* elements = nullptr;
  const float* factors = nullptr;  ///< [outputs], or null
};

/// Where x[rows, width] is written as codes of one byte with a factor for each row.
struct CodedRows {
  void* codes = nullptr;
  float* factors = nullptr;

  StoredMatrix stored() const { return {codes, factors}; }
};

}  // namespace assay
