// The result of an acceptance: what was judged and how, as JSON and as a certificate on one page.
#pragma once

#include <string>
#include <vector>

#include "advise/health/accept/judge_machine.h"
#include "core/json_fwd.h"

namespace assay::health {

/// The result of the short test for silent data corruption.
struct CorruptionTest {
  std::string verdict;  ///< "SOUND", "CORRUPT", "UNKNOWN"; empty: it did not run
  std::string why;      ///< one line
  std::string file;     ///< the whole result; empty: it was not kept
  double seconds = 0;
};

/// The result of an acceptance test, with all that its certificate states.
struct Acceptance {
  std::string begin;                 ///< "2026-01-31T12:00:00Z"
  double seconds = 0;                ///< duration of the acceptance
  std::string machine;               ///< "8 x AMD Instinct MI300X, ROCm 6.2.4"
  std::string host;                  ///< name of the host; empty: not asked for
  std::vector<std::string> devices;  ///< "hip:0, 0000:3b:00.0"
  std::vector<std::string> serials;  ///< only on request
  std::string limits_name, limits_description;
  std::vector<std::string> not_covered;  ///< Limits::not_covered, and left_out_lines() with reasons
  std::vector<JudgedLine> lines;         ///< the limits, each with its verdict
  CorruptionTest corruption;
  std::vector<std::string> runs;  ///< ids of the runs that measured
  std::string folder;             ///< folder of the store; empty: nothing is stored
  std::string fingerprint;        ///< id of the environment
  std::string records_hash;       ///< SHA-256 of the records' lines as the runs wrote them
  std::string version;            ///< version of assay
  std::string command;            ///< command line that repeats the acceptance
  bool interrupted = false;

  /// Returns FAIL if a line fails or the test found corruption. Otherwise UNKNOWN if a line is, if
  /// the test ran and its verdict is not SOUND, if the acceptance was interrupted, or if there are
  /// no lines; else PASS.
  LineVerdict verdict() const;
};

Json to_json(const Acceptance& acceptance);
/// Returns the certificate: one A4 page of HTML without scripts and external files.
std::string certificate(const Acceptance& acceptance);

}  // namespace assay::health
