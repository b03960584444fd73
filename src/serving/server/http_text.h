// The parts of an HTTP/1.1 reply other than its body.
#pragma once

#include <string>
#include <string_view>

namespace assay::server {

struct ReplyHead {
  int status = 200;
  std::string_view content_type = "application/json";
  bool close = false;           ///< the connection closes after the reply
  std::string_view extra = "";  ///< more header lines, each with its line end
};

/// A reply whose body is `body`; without `with_body` its head alone, which still tells the length.
std::string whole_reply(const ReplyHead& head, std::string_view body, bool with_body = true);
/// The head of a reply whose body comes in chunks.
std::string stream_head(const ReplyHead& head);
/// An error body in OpenAI's format; `message` may be any text.
std::string error_body(int status, std::string_view message);

/// Frames content as an HTTP chunk in place, so that nothing is copied twice.
class ChunkBuffer {
 public:
  /// Begins a chunk; append its content to the result.
  std::string& begin();
  /// The chunk with its frame; empty if there is no content. Valid until begin().
  std::string_view end();

 private:
  std::string text_;
};

inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace assay::server
