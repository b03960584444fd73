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

TEST(Secrets, AreHiddenInOddFormsOfWords) {
  const auto shown = [](std::vector<std::string> words) {
    return fmt::format("{}", fmt::join(hide_secrets(words), " "));
  };
  EXPECT_EQ(shown({"env", "PASSWORD=abc,x1"}), "env PASSWORD=(set)");
  EXPECT_EQ(shown({"env", "PASSWORD=abc x1"}), "env PASSWORD=(set)");
  EXPECT_EQ(shown({"run", "--env=HF_TOKEN=abc;x1 y"}), "run --env=HF_TOKEN=(set)");
  EXPECT_EQ(shown({"sh", "-c", "HF_TOKEN=x1,x1 prog --size 4"}),
            "sh -c HF_TOKEN=(set) prog --size 4");
  EXPECT_EQ(shown({"serve", "--password", "-x1x1"}), "serve --password (set)");
  EXPECT_EQ(shown({"serve", "--token", "-p", "80", "--auth", "--port", "80"}),
            "serve --token -p 80 --auth --port 80");
  EXPECT_EQ(shown({"curl", "-u", "me:x1", "--user", "me:x1", "--proxy-user=me:x1"}),
            "curl -u me:(set) --user me:(set) --proxy-user=me:(set)");
  EXPECT_EQ(shown({"curl", "-H", "Authorization: token x1"}), "curl -H Authorization: token (set)");
  EXPECT_EQ(shown({"curl", "-H", "Cookie: a=1; session=x1"}), "curl -H Cookie: (set)");
  EXPECT_EQ(shown({"mysql", "-u", "me", "-px1", "db"}), "mysql -u me -p(set) db");
  EXPECT_EQ(shown({"docker", "login", "-p", "x1", "host"}), "docker login -p (set) host");
  EXPECT_EQ(shown({"get", "https://bob:a/x1@host/path"}), "get https://(set)@host/path");
  EXPECT_EQ(shown({"curl", "-d", "{\"pw\":\"a\\\"x1\",\"n\":2}"}),
            "curl -d {\"pw\":(set),\"n\":2}");
  EXPECT_EQ(shown({"curl", "https://hooks.slack.com/services/T01/B02/x1"}),
            "curl https://hooks.slack.com/services/(set)");
}

/// Tokens whose form alone tells what they are, put together here so that nobody takes them for
/// real ones.
TEST(Secrets, AreRecognizedByTheirForm) {
  const std::string random = "a1B2c3D4e5F6g7H8";
  for (const std::string& token :
       {"hf_" + random + random, "ghp_" + random + random, "github_pat_" + random + "_" + random,
        std::string("AKIA") + "ABCDEFGH12345678", "xoxb-123456789012-" + random, "sk-" + random,
        "sk-proj-" + random + "-" + random, "glpat-" + random, "nvapi-" + random}) {
    EXPECT_EQ(hide_secrets_in(token), "(set)");
    EXPECT_EQ(hide_secrets_in("x " + token + ", y"), "x (set), y") << token;
    EXPECT_EQ(hide_secrets_in("ODD=" + token), "ODD=(set)") << token;
  }
}

TEST(Secrets, OrdinaryWordsStay) {
  const std::vector<std::string> words = {"python",
                                          "-u",
                                          "bench.py",
                                          "docker",
                                          "-u",
                                          "1000:1000",
                                          "date",
                                          "-u",
                                          "+%H:%M",
                                          "-p8080",
                                          "-pthread",
                                          "hf_transfer",
                                          "hf_hub_download_parallel_parts",
                                          "sk-learn-benchmarks-of-trees",
                                          "sk-learn-2024",
                                          "task-sk-12",
                                          "AKIA",
                                          "xoxb-",
                                          "risk-a1B2c3D4e5F6g7H8",
                                          "--user",
                                          "http://h:80/a@b",
                                          "host:80",
                                          "http://[::1]:80/x@y",
                                          "size=1GiB,op=triad",
                                          "a=b=c",
                                          "/models/meta-llama/Llama-3.1-8B",
                                          "npm_config_cache_folder"};
  EXPECT_EQ(hide_secrets(words), words);
}

TEST(Secrets, AreHiddenInALine) {
  EXPECT_EQ(hide_secrets_in("a_password=\"x y\" iommu=pt\n"), "a_password=(set) iommu=pt\n");
  EXPECT_EQ(hide_secrets_in("proxy=http://me:pw@host/x b"), "proxy=http://(set)@host/x b");
  EXPECT_EQ(hide_secrets_in("token: abc, next"), "token: (set), next");
  EXPECT_EQ(hide_secrets_in("bearer"), "bearer");
  EXPECT_EQ(hide_secrets_in("user=a,password=b,uid=0"), "user=a,password=(set),uid=0");
  EXPECT_EQ(hide_secrets_in("cannot open:\nme@host refused\n"), "cannot open:\nme@host refused\n");
  EXPECT_EQ(hide_secrets_in("GET https://bob:x1@hub/x: Authorization: Bearer x2 token=x3\nend"),
            "GET https://(set)@hub/x: Authorization: Bearer (set)\nend");
  EXPECT_EQ(hide_secrets_in(""), "");
}

}  // namespace
}  // namespace assay
