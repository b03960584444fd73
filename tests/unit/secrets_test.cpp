#include "core/secrets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(Secrets, AreRecognizedByName) {
  for (const char* name : {"rd.pass",     "VLLM_HTTP_AUTH", "OMPI_MCA_pw",   "VLLM_API_KEY",
                           "--api-key",   "apiKey",         "HF_TOKEN",      "API_KEYS",
                           "wifi.psk",    "PASSPHRASE",     "MY_JWT",        "AWS_CREDS",
                           "SSH_PRIVKEY", "accessKey",      "GITHUB_PAT",    "X-Amz-Signature",
                           "sig",         "Authorization",  "client_secret", "session-cookie"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"iommu.passthrough", "NCCL_MIN_NCHANNELS", "PATH", "keyboard", "pattern",
                           "LD_LIBRARY_PATH", "signal"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, AreHiddenInTheWordsOfACommand) {
  const auto shown = [](std::vector<std::string> words) {
    return fmt::format("{}", fmt::join(hide_secrets(words), " "));
  };
  EXPECT_EQ(shown({"serve", "--api-key", "x1", "--port", "80"}), "serve --api-key (set) --port 80");
  EXPECT_EQ(shown({"serve", "--api-key=x1"}), "serve --api-key=(set)");
  EXPECT_EQ(shown({"env", "HF_TOKEN=x1", "prog"}), "env HF_TOKEN=(set) prog");
  EXPECT_EQ(shown({"sshpass", "-p", "x1", "ssh", "-p", "22", "h"}), "sshpass -p (set) ssh -p 22 h");
  EXPECT_EQ(shown({"/usr/bin/sshpass", "-px1", "ssh"}), "/usr/bin/sshpass -p(set) ssh");
  EXPECT_EQ(shown({"curl", "-H", "Authorization: Bearer x1"}),
            "curl -H Authorization: Bearer (set)");
  EXPECT_EQ(shown({"curl", "-H", "X: Bearer x1"}), "curl -H X: Bearer (set)");
  EXPECT_EQ(shown({"curl", "-d", "{\"api_key\": \"x1\", \"n\": 2}"}),
            "curl -d {\"api_key\": (set), \"n\": 2}");
  EXPECT_EQ(shown({"get", "https://me:x1@host/a?b=x1&c"}), "get https://(set)@host/a?(set)");
  EXPECT_EQ(shown({"login", "me:x1@host"}), "login (set)@host");
  EXPECT_EQ(shown({"run", "image:tag@sha256:1234"}), "run image:tag@sha256:1234");
  EXPECT_EQ(shown({"serve", "--max-num-batched-tokens", "8192"}),
            "serve --max-num-batched-tokens 8192");
  EXPECT_EQ(shown({"serve", "--max-num-batched-tokens=8192"}),
            "serve --max-num-batched-tokens=8192");
}

TEST(Secrets, AreHiddenInALine) {
  EXPECT_EQ(hide_secrets_in("a_password=\"x y\" iommu=pt\n"), "a_password=(set) iommu=pt\n");
  EXPECT_EQ(hide_secrets_in("proxy=http://me:pw@host/x b"), "proxy=http://(set)@host/x b");
  EXPECT_EQ(hide_secrets_in("token: abc, next"), "token: (set), next");
  EXPECT_EQ(hide_secrets_in("bearer"), "bearer");
  EXPECT_EQ(hide_secrets_in(""), "");
}

}  // namespace
}  // namespace assay
