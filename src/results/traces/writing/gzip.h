// Compresses a text that comes in parts, as gzip does.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// One stream; use another one for another text.
class Gzip {
 public:
  Gzip();
  /// Compresses the next part of the text and appends to `bytes` what is ready; the rest comes with
  /// later parts. `last` says that the text ends with this part. Error: exhausted, without memory.
  Status add(std::string_view text, bool last, std::string& bytes);

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };
  std::unique_ptr<z_stream, End> stream_;  // null: no memory
};

}  // namespace assay
