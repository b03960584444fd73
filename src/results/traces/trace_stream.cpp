#include "results/traces/trace_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view gzip_mark = "\x1f\x8b";

}  // namespace

void TraceStream::EndInflate::operator()(z_stream* stream) const {
  ::inflateEnd(stream);
  delete stream;
}

Result<TraceStream> TraceStream::open(const std::filesystem::path& path) {
  TraceStream stream;
  stream.name_ = path.string();
  if (const int error = stream.file_.open(path)) return unreadable(path, error);
  return stream;
}

TraceStream TraceStream::of(std::string_view bytes, std::string name, std::size_t at_once) {
  TraceStream stream;
  stream.name_ = std::move(name);
  stream.given_ = bytes;
  stream.at_once_ = at_once;
  stream.file_ended_ = true;
  return stream;
}

std::string_view TraceStream::raw() {
  if (!file_.is_open()) {
    const std::string_view part = given_.substr(0, at_once_);
    given_.remove_prefix(part.size());
    return part;
  }
  if (file_ended_) return {};
  compressed_.resize(bytes_at_once);
  std::size_t got = 0;
  if (const int error = file_.read(compressed_, got)) {
    problem_ = fmt::format("it cannot be read to its end: {}", std::strerror(error));
  }
  file_ended_ = got == 0;
  return {compressed_.data(), got};
}

std::string_view TraceStream::inflated() {
  buffer_.resize(bytes_at_once);
  inflate_->next_out = reinterpret_cast<unsigned char*>(buffer_.data());
  inflate_->avail_out = static_cast<unsigned>(bytes_at_once);
  while (inflate_->avail_out == bytes_at_once) {
    if (bytes_.empty()) bytes_ = raw();
    if (bytes_.empty()) {
      if (problem_.empty()) problem_ = "it is cut off: the compressed data end early";
      break;
    }
    const std::size_t given = std::min<std::size_t>(bytes_.size(), UINT32_MAX);
    inflate_->next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes_.data()));
    inflate_->avail_in = static_cast<unsigned>(given);
    const int status = ::inflate(inflate_.get(), Z_NO_FLUSH);
    bytes_.remove_prefix(given - inflate_->avail_in);
    if (status == Z_STREAM_END) {
      // Several compressed parts may follow each other, as `cat` makes them.
      if (bytes_.empty()) bytes_ = raw();
      ended_ = !bytes_.starts_with(gzip_mark[0]) || ::inflateReset(inflate_.get()) != Z_OK;
      if (ended_) break;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      problem_ = "it is damaged: the compressed data are not gzip's";
      break;
    }
  }
  if (!problem_.empty()) ended_ = true;
  return {buffer_.data(), bytes_at_once - inflate_->avail_out};
}

std::string_view TraceStream::read() {
  if (!start_.empty()) {
    // The caller of start() may still look at these bytes.
    buffer_.assign(start_.begin(), start_.end());
    start_.clear();
    return {buffer_.data(), buffer_.size()};
  }
  if (ended_) return {};
  if (returned_ == 0 && !inflate_) {
    const std::string_view first = raw();
    if (first.starts_with(gzip_mark)) {
      inflate_.reset(new z_stream());
      constexpr int gzip_only = 15 + 16;
      if (::inflateInit2(inflate_.get(), gzip_only) != Z_OK) {
        problem_ = "no memory for zlib";
        ended_ = true;
        return {};
      }
      bytes_ = first;
    } else {
      returned_ += first.size();
      ended_ = first.empty();
      return first;
    }
  }
  const std::string_view bytes = inflate_ ? inflated() : raw();
  returned_ += bytes.size();
  if (bytes.empty()) ended_ = true;
  if (returned_ > most_trace_bytes) {
    problem_ =
        fmt::format("more than {} GiB, of which the rest was not read", most_trace_bytes >> 30);
    ended_ = true;
    return {};
  }
  return bytes;
}

std::string_view TraceStream::start(std::size_t most) {
  std::string begin(start_);
  start_.clear();
  while (begin.size() < most) {
    const std::string_view more = read();
    if (more.empty()) break;
    begin.append(more);
  }
  start_ = std::move(begin);
  return std::string_view(start_).substr(0, most);
}

Result<std::string> TraceStream::read_all(std::size_t most) {
  std::string text;
  for (std::string_view part = read(); !part.empty(); part = read()) {
    text.append(part);
    if (text.size() > most) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: more than {} MiB, the most that a file of this format may have",
                               name_, most >> 20)};
    }
  }
  return text;
}

}  // namespace assay
