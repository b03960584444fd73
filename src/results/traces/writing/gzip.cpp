#include "results/traces/writing/gzip.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace assay {

void Gzip::End::operator()(z_stream* stream) const {
  ::deflateEnd(stream);
  delete stream;
}

Gzip::Gzip() : stream_(new z_stream()) {
  constexpr int fast = 1, with_gzip_header = 15 + 16, memory = 8;
  if (::deflateInit2(stream_.get(), fast, Z_DEFLATED, with_gzip_header, memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    stream_.reset();
  }
}

Status Gzip::add(std::string_view text, bool last, std::string& bytes) {
  const Error failure{ErrorKind::exhausted, "the trace could not be compressed: memory is short"};
  if (stream_ == nullptr) return failure;
  std::vector<char> room(std::size_t{1} << 18);
  do {
    const std::string_view part = text.substr(0, std::size_t{1} << 20);
    text.remove_prefix(part.size());
    stream_->next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    stream_->avail_in = static_cast<unsigned>(part.size());
    do {
      stream_->next_out = reinterpret_cast<unsigned char*>(room.data());
      stream_->avail_out = static_cast<unsigned>(room.size());
      const bool ends = last && text.empty();
      const int result = ::deflate(stream_.get(), ends ? Z_FINISH : Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return failure;
      bytes.append(room.data(), room.size() - stream_->avail_out);
    } while (stream_->avail_out == 0);
  } while (!text.empty());
  return {};
}

}  // namespace assay
