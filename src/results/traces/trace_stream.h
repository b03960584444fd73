// The bytes of a trace file, decompressed and in order, with a limit on how many there are. Traces
// may be larger than memory.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.h"
#include "core/result.h"

namespace assay {

/// Limit of the decompressed bytes of one file.
constexpr std::size_t most_trace_bytes = std::size_t{64} << 30;

/// Reads a file once, from its beginning to its end.
class TraceStream {
 public:
  /// Most bytes that read() returns, but for those that start() looked at.
  static constexpr std::size_t bytes_at_once = std::size_t{1} << 18;

  /// Opens a file or a pipe, plain or compressed with gzip. Error: as unreadable().
  static Result<TraceStream> open(const std::filesystem::path& path);
  /// Reads `bytes`, which must outlive this object, as if they were a file's, `at_once` at a time.
  static TraceStream of(std::string_view bytes, std::string name,
                        std::size_t at_once = bytes_at_once);

  const std::string& name() const { return name_; }
  /// Returns whether the bytes are those of the file that name() names: no pipe, not compressed.
  /// Ask only after start() or read().
  bool is_file() const { return inflate_ == nullptr && file_.is_open() && file_.size() > 0; }

  /// Returns the size of the file as it is, compressed or not; 0 for a pipe and for of().
  std::size_t size() const { return file_.size(); }

  /// Returns the first `most` bytes, or all if there are fewer; read() returns them again. Call it
  /// before read().
  std::string_view start(std::size_t most);
  /// Returns the next bytes, at least one unless the stream has ended; valid until the next call.
  std::string_view read();
  /// Returns everything that is left; if the stream ended early (problem()), what came before.
  /// Error: usage, if that is more than `most` bytes.
  Result<std::string> read_all(std::size_t most);

  /// Returns why the stream ended early: it cannot be read, is cut off, damaged, or has more than
  /// most_trace_bytes, or there is no memory. Empty if it has not.
  const std::string& problem() const { return problem_; }

 private:
  struct EndInflate {
    void operator()(z_stream* stream) const;
  };
  std::string_view raw();
  std::string_view inflated();

  std::string name_, problem_;
  InputFile file_;                       // not open if bytes are read
  std::string_view given_;               // bytes that raw() has not returned
  std::string_view bytes_;               // compressed ones that were not used yet
  std::size_t at_once_ = bytes_at_once;  // of given_
  std::vector<char> buffer_, compressed_;
  std::string start_;
  std::unique_ptr<z_stream, EndInflate> inflate_;
  std::size_t returned_ = 0;
  bool ended_ = false, file_ended_ = false;
};

}  // namespace assay
