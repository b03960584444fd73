// Compresses a text that comes in parts, as gzip does.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

class Gzip {
 public:
  Gzip();
  /// Appends compressed bytes of the text to `bytes`, in all likelihood fewer than were given so
  /// far. `last`: whether the text ends. Error: exhausted.
  Status add(std::string_view text, bool last, std::string& bytes);

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };
  std::unique_ptr<z_stream, End> stream_;  // null: no memory
};

}  // namespace assay
