// The load generator over TLS: which certificates it trusts, and whether replies arrive whole.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <thread>

#include "support/scripted_load.h"

namespace assay {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using boost::system::error_code;
using testing::HasSubstr;

/// A key and a self-signed certificate for "localhost", as one PEM text.
std::string self_signed() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(text.get(), certificate.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Answers every request with a stream of three tokens, one connection after the other.
class TlsServer {
 public:
  TlsServer() {
    const std::string pem = self_signed();
    context_.use_certificate(asio::buffer(pem), asio::ssl::context::pem);
    context_.use_private_key(asio::buffer(pem), asio::ssl::context::pem);
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsServer() {
    stopping_ = true;
    error_code ignored;
    Tcp::socket(loop_).connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  int handshakes() const { return handshakes_; }
  std::string url() const {
    return "https://localhost:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  void serve() {
    while (!stopping_) {
      error_code error;
      asio::ssl::stream<Tcp::socket> stream(loop_, context_);
      acceptor_.accept(stream.next_layer(), error);
      if (!error && !stopping_) stream.handshake(asio::ssl::stream_base::server, error);
      if (!error && !stopping_) ++handshakes_;
      while (!error && !stopping_) answer(stream, error);
    }
  }

  static void answer(asio::ssl::stream<Tcp::socket>& stream, error_code& error) {
    asio::streambuf request;
    asio::read_until(stream, request, "}", error);  // the body has no nested object
    if (error) return;
    write(stream,
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Transfer-Encoding: chunked\r\n\r\n",
          error);
    for (int i = 0; i < 3; ++i) chunk(stream, R"(data: {"choices":[{"text":"word"}]})", error);
    chunk(stream, "data: [DONE]", error);
    write(stream, "0\r\n\r\n", error);
  }
  static void chunk(asio::ssl::stream<Tcp::socket>& stream, std::string_view event,
                    error_code& error) {
    write(stream, fmt::format("{:x}\r\n{}\n\n\r\n", event.size() + 2, event), error);
  }
  static void write(asio::ssl::stream<Tcp::socket>& stream, const std::string& text,
                    error_code& error) {
    if (!error) asio::write(stream, asio::buffer(text), error);
  }

  asio::io_context loop_;
  asio::ssl::context context_{asio::ssl::context::tls_server};
  Tcp::acceptor acceptor_{loop_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::atomic<bool> stopping_ = false;
  std::atomic<int> handshakes_ = 0;
  std::thread thread_;
};

LoadOutcome load_tls(const TlsServer& server, bool insecure) {
  LoadPlan plan = closed_loop(1);
  plan.silence_seconds = 10;
  auto endpoint = find_endpoint(*parse_url(server.url()), insecure);
  if (!endpoint.ok()) {
    ADD_FAILURE() << endpoint.error().message;
    return {};
  }
  auto outcome = run_load(plan, TextPrompts(4), {*endpoint}, nullptr, nullptr);
  EXPECT_TRUE(outcome.ok());
  return std::move(*outcome);
}

TEST(LoadTls, RepliesComeThroughOnOneConnection) {
  const TlsServer server;
  const LoadOutcome outcome = load_tls(server, true);
  ASSERT_EQ(outcome.logs.size(), 4u);
  for (const RequestLog& log : outcome.logs) {
    EXPECT_TRUE(log.succeeded()) << log.error;
    EXPECT_EQ(log.gaps.size(), 2u);
    EXPECT_GT(log.first, log.sent);
  }
  EXPECT_EQ(server.handshakes(), 1);
}

TEST(LoadTls, ACertificateThatNobodySignedIsRefused) {
  const TlsServer server;
  const LoadOutcome outcome = load_tls(server, false);
  ASSERT_EQ(outcome.logs.size(), 4u);
  for (const RequestLog& log : outcome.logs) {
    EXPECT_EQ(log.reply_end, ReplyEnd::unconnected);
    EXPECT_THAT(log.error, HasSubstr("certificate verify failed"));
  }
}

}  // namespace
}  // namespace assay
