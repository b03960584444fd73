// Results as they are kept: compressed, in UTF-16, with log lines around them and prefixes before
// every line.
#include "results/import/plain_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "support/temporary_folder.h"
#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t most_plain_text = std::size_t{1} << 20;

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// `high`: which of two bytes is the higher one. Only for ASCII.
std::string utf16(std::string_view text, std::size_t high) {
  std::string out = high == 1 ? "\xff\xfe" : "\xfe\xff";
  for (const char letter : text) {
    const char bytes[] = {high == 0 ? '\0' : letter, high == 0 ? letter : '\0'};
    out.append(bytes, 2);
  }
  return out;
}

std::string text_of(std::string bytes, std::size_t limit = most_plain_text) {
  const auto text = plain_text(std::move(bytes), "a.gz", limit);
  return text.ok() ? *text : "ERROR " + text.error().message;
}

TEST(PlainText, GzipAndZstdInOneOrSeveralParts) {
  EXPECT_EQ(text_of("plain\n"), "plain\n");
  EXPECT_EQ(text_of(""), "");
  const std::string large = std::string(400'000, 'a') + "b";
  EXPECT_EQ(text_of(gzip(large)), large);
  EXPECT_EQ(text_of(zstd(large)), large);
  EXPECT_EQ(text_of(gzip("one ") + gzip("two")), "one two");
  EXPECT_EQ(text_of(zstd("one ") + zstd("two")), "one two");
  EXPECT_EQ(text_of(gzip("text") + std::string(100, '\0')), "text");  // padding of tapes
}

TEST(PlainText, DamagedOrHugeWhenDecompressedIsAnError) {
  for (const auto& [name, bytes] : {std::pair{"gzip", gzip(std::string(5'000, 'x') + "y")},
                                    {"zstd", zstd(std::string(5'000, 'x') + "y")}}) {
    EXPECT_EQ(text_of(bytes.substr(0, bytes.size() - 3)),
              fmt::format("ERROR a.gz: it is damaged or cut off: it is compressed by {}", name));
    EXPECT_EQ(text_of(bytes, 4'096), "ERROR a.gz: decompressed, it holds more than 0 MiB");
    std::string damaged = bytes;
    damaged[bytes.size() / 2] ^= 0x55;
    EXPECT_THAT(text_of(damaged), HasSubstr("ERROR"));
  }
  EXPECT_THAT(text_of("\x1f\x8b"), HasSubstr("ERROR"));
  // 100 MB of zeros in a hundred kilobytes
  EXPECT_THAT(text_of(gzip(std::string(100'000'000, '\0'))), HasSubstr("more than 1 MiB"));
}

TEST(PlainText, Utf16OfBothOrders) {
  EXPECT_EQ(text_of(utf16("a\r\nb", 1)), "a\r\nb");
  EXPECT_EQ(text_of(utf16("a\r\nb", 0)), "a\r\nb");
  EXPECT_EQ(text_of(std::string("\xff\xfe\xb5\x00\x3d\xd8\x00\xde\x3d\xd8", 10)),
            "\xc2\xb5\xf0\x9f\x98\x80\xef\xbf\xbd");  // a micro sign, a face, half a face
  EXPECT_EQ(text_of(std::string("\xff\xfe\x61", 3)), "");
  EXPECT_EQ(text_of(gzip(utf16("both", 1))), "both");
}

TEST(PlainText, FilesOfAnyFormatMayBeCompressed) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : import_samples()) {
    for (const std::string& bytes : {gzip(text), zstd(text), gzip(utf16(text, 1))}) {
      // UTF-16 is made from ASCII here.
      const bool ascii = text.find_first_of("\xe2\xc2") == text.npos;
      if (!ascii && bytes == gzip(utf16(text, 1))) continue;
      const auto result = import_file(folder.write("result", bytes), "");
      ASSERT_TRUE(result.ok()) << name << ": " << result.error().message;
      EXPECT_EQ(result->format, name);
    }
  }
}

TEST(PlainText, PipesAndDevicesDoNotHang) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(import_file(pipe, "").error().message, HasSubstr("not recognised"));
  EXPECT_EQ(import_file("/dev/zero", "").error().message,
            "cannot read /dev/zero: it is neither a file nor a pipe");
}

TEST(PlainText, AFileBeyondTheLimitIsNotRead) {
  const TemporaryFolder folder;
  const auto path = folder.write("large", "x");
  std::filesystem::resize_file(path, std::uintmax_t{3} << 30);  // a hole: one line of 3 GB
  EXPECT_EQ(import_file(path.string(), "").error().message,
            "cannot read " + path.string() + ": it holds more than 256 MiB");
}

/// Each line of the text with what `prefix` gives for its number before it.
template <typename Make>
std::string prefixed(std::string_view text, const Make& prefix) {
  std::string lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    lines += prefix(number) + std::string(text.substr(0, end)) + "\n";
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

TEST(LinePrefixes, TimesHostsAndQuotesAreSkipped) {
  const auto time = [](std::size_t number) {
    return fmt::format("2026-01-02T03:04:{:02}.123456Z ", number % 60);
  };
  const auto bracket = [](std::size_t number) {
    return fmt::format("[03:04:{:02}] ", number % 60);
  };
  const auto logger = [](std::size_t) { return std::string("2026-01-02 03:04:05,678 "); };
  const auto host = [](std::size_t) { return std::string("node-01.cluster: "); };
  const auto quote = [](std::size_t) { return std::string("> "); };
  const auto kubectl = [](std::size_t) { return std::string("[pod/nccl-7k2p/launcher] "); };
  const auto compose = [](std::size_t) { return std::string("worker-1  | "); };
  const auto torchrun = [](std::size_t) { return std::string("[default0]:"); };
  const auto ray = [](std::size_t number) {
    return fmt::format("\x1b[36m(Worker pid={}, ip=10.0.0.5)\x1b[0m ", 4242 + number % 2);
  };
  const auto colour = [](std::size_t) { return std::string("\x1b[1;32m\x1b[0m"); };
  for (const auto& [format, text] : import_samples()) {
    const bool assay_own = format == "assay";  // lines begin with their first member
    const auto plain = import_text({text, "file.txt"}, "");
    ASSERT_TRUE(plain.ok());
    int kind = 0;
    for (const std::string& lines :
         {prefixed(text, time), prefixed(text, bracket), prefixed(text, logger),
          prefixed(text, host), prefixed(text, quote), prefixed(text, kubectl),
          prefixed(text, compose), prefixed(text, torchrun), prefixed(text, ray),
          prefixed(text, colour)}) {
      ++kind;
      // A text of one or two lines is too short to tell what its prefix is.
      if (std::count(lines.begin(), lines.end(), '\n') < 3 || assay_own) continue;
      const auto result = import_text({lines, "file.txt"}, "");
      ASSERT_TRUE(result.ok()) << format << " " << kind << ": " << result.error().message;
      EXPECT_EQ(result->format, format) << kind;
      ASSERT_THAT(result->records, SizeIs(plain->records.size())) << format << " " << kind;
      for (std::size_t i = 0; i < plain->records.size(); ++i) {
        EXPECT_EQ(result->records[i].cell.id(), plain->records[i].cell.id()) << kind;
        EXPECT_EQ(result->records[i].source->line, plain->records[i].source->line) << kind;
      }
    }
  }
}

TEST(LinePrefixes, WhatOnlySomeLinesHaveStays) {
  std::string buffer;
  for (const std::string_view text :
       {"Version: 5.0\nDevice: x\nCopy 1 2 3\nAdd 4 5 6\n", "03:04:05 a\nb\nc\n", "> a\n> b\n",
        "node1: a\nnode2: b\nnode1: c\nnode3: d\n", "\n\n\n", "[a] x\n[b] y\n[c] z\n",
        "a | x\nb | y\nc | z\n", "(a) x\n(a) y\n(a) z\n"}) {
    EXPECT_EQ(without_line_prefixes(text, buffer), text);
  }
  EXPECT_EQ(without_line_prefixes("[1,2] x\n[3,4] y\n[5,6] z\n", buffer),
            "[1,2] x\n[3,4] y\n[5,6] z\n");
  EXPECT_EQ(without_line_prefixes("Warning: w\nnode1: a\nnode1: b\nnode1: c\nnode1: d\nnode1:\n"
                                  "node1: e\nnode1: f\nnode1: g\nnode1: h\n",
                                  buffer),
            "Warning: w\na\nb\nc\nd\n\ne\nf\ng\nh\n");
}

TEST(LogLines, BeforeBetweenAndAfterJsonAreSkipped) {
  const std::string noise =
      "ggml_cuda_init: found 1 ROCm devices:\n"
      "  Device 0: AMD Instinct MI300X, gfx942\n"
      "[2026-01-02 03:04:05] INFO server.py:12: {'key': 1}\n"
      "INFO 03-01 10:11:12 [serve.py:1] Namespace(x=[1])\n"
      "{'not': 'json'}\n";
  for (const auto& [format, text] : import_samples()) {
    if (text.front() != '{' && text.front() != '[') continue;
    if (format == "assay") continue;
    const auto plain = import_text({text, "file.txt"}, "");
    const auto noisy = import_text({noise + std::string(text) + noise, "file.txt"}, "");
    ASSERT_TRUE(noisy.ok()) << format << ": " << noisy.error().message;
    EXPECT_EQ(noisy->format, format);
    ASSERT_THAT(noisy->records, SizeIs(plain->records.size())) << format;
  }
  const auto line = import_text({noise + "{\"completed\":\n oops}", "a.json"}, "vllm-serving");
  ASSERT_FALSE(line.ok());
  EXPECT_THAT(line.error().message, HasSubstr("a.json:7: it is not JSON"));
  const auto same = import_text({"{\"completed\": 1} rest", "a.json"}, "vllm-serving");
  ASSERT_FALSE(same.ok());
  EXPECT_THAT(same.error().message, HasSubstr("a.json:1: it is not JSON"));
  EXPECT_THAT(import_text({noise, "a.json"}, "vllm-serving").error().message,
              HasSubstr("it holds no JSON"));
}

TEST(LogLines, AnotherProgramsPackageIsNoSuperBench) {
  const auto result = import_text(
      {"{\"name\": \"app\", \"engines\": {\"node\": \">=18\"},\n"
       "\"dependencies\": {\"@types/node\": \"^20.1\", \"./a\": \"1\"}, \"version\": 3}\n",
       "package.json"},
      "");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("not recognised"));
  EXPECT_EQ(imported("{\"node\": \"n1\", \"rccl-bw/allreduce_busbw:0\": 349.5}\n").format,
            "superbench");
}

TEST(LogLines, ATraceOfPyTorchIsNoSuperBench) {
  // With a "node" and keys with slashes that are numbers, as in traces of compiled regions.
  const auto result = import_text(
      {"{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": 0, \"name\": \"H100\"}],\n"
       "\"node\": \"n1\",\n\"traceEvents\": [\n{\"ph\": \"X\", \"name\": \"aten::mm\", "
       "\"args\": {\"node\": \"x\", \"Torch-Compiled Region: 0/0\": 1, \"a/b\": 2}}]}\n",
       "trace.json"},
      "");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("not recognised"));
}

}  // namespace
}  // namespace assay
