#include "serving/server/http_text.h"

#include <fmt/format.h>

#include "core/json.h"

namespace assay::server {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

std::string_view type_of(int status) {
  switch (status) {
    case 403:
      return "PermissionDeniedError";
    case 404:
      return "NotFoundError";
    case 429:
      return "RateLimitError";
    case 503:
      return "ServiceUnavailableError";
    default:
      return status < 500 ? "BadRequestError" : "InternalServerError";
  }
}

std::string head_text(const ReplyHead& head, std::string_view framing) {
  return fmt::format("HTTP/1.1 {} {}\r\nserver: assay\r\ncontent-type: {}\r\n{}{}{}\r\n",
                     head.status, reason_of(head.status), head.content_type, framing, head.extra,
                     head.close ? "connection: close\r\n" : "");
}

constexpr std::size_t chunk_frame = 10;  // eight hexadecimal digits and the end of the line

}  // namespace

std::string whole_reply(const ReplyHead& head, std::string_view body, bool with_body) {
  std::string text = head_text(head, fmt::format("content-length: {}\r\n", body.size()));
  if (with_body) text += body;
  return text;
}

std::string stream_head(const ReplyHead& head) {
  return head_text(head, "transfer-encoding: chunked\r\n");
}

std::string error_body(int status, std::string_view message) {
  const Json body = {
      {"error",
       {{"message", message}, {"type", type_of(status)}, {"param", nullptr}, {"code", status}}}};
  return json_line(body);
}

std::string& ChunkBuffer::begin() {
  text_.assign(chunk_frame, ' ');
  return text_;
}

std::string_view ChunkBuffer::end() {
  std::size_t size = text_.size() - chunk_frame;
  if (size == 0) return {};
  std::size_t at = chunk_frame - 2;
  text_[at] = '\r';
  text_[at + 1] = '\n';
  for (; size > 0; size /= 16) text_[--at] = "0123456789abcdef"[size % 16];
  text_ += "\r\n";
  return std::string_view(text_).substr(at);
}

}  // namespace assay::server
