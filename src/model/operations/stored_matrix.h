// A weight matrix as a product reads it from memory.
#pragma once

namespace assay {

/// W[outputs, inputs]: numbers, or codes of one byte, of which each row has a factor.
struct StoredMatrix {
  const void* elements = nullptr;
  const float* factors = nullptr;  ///< [outputs], or null
};

}  // namespace assay
