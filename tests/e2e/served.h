// A server that the assay binary runs, and where it listens.
#pragma once

#include <string>
#include <vector>

#include "e2e/process.h"
#include "support/http_client.h"

namespace assay {

/// A model small enough for any machine.
inline std::vector<std::string> tiny_serve(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"serve",
                                    "--port",
                                    "0",
                                    "--model",
                                    "1L2H1K16D32C48F300V",
                                    "--precision",
                                    "f32",
                                    "--max-model-len",
                                    "128",
                                    "--max-num-seqs",
                                    "8",
                                    "--max-num-batched-tokens",
                                    "32"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The ports of "listening on http://127.0.0.1:PORT", once there are `count` of them; fewer, if the
/// process ends or writes no more within a minute.
inline std::vector<std::uint16_t> ports_of(const Process& process, std::size_t count) {
  const std::string before = "listening on http://127.0.0.1:";
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 6000 && ports.size() < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string text = Process::read(process.folder() / "out");
    ports.clear();
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; ++at) {
      if (text.find('\n', at) == std::string::npos) break;
      ports.push_back(static_cast<std::uint16_t>(std::stoi(text.substr(at + before.size()))));
    }
    siginfo_t ended = {};
    ::waitid(P_PID, static_cast<id_t>(process.id()), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0) break;
  }
  return ports;
}

}  // namespace assay
