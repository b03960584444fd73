// Writes a campaign's folder (results/store/campaign_reader.h reads it). The first process of a
// campaign creates the folder and later ones continue it; one process uses it at a time.
#pragma once

#include <filesystem>
#include <optional>

#include "core/descriptor.h"
#include "core/result.h"
#include "judge/campaign/campaign.h"
#include "judge/campaign/plan.h"
#include "results/store/line_file.h"

namespace assay {

class CampaignFolder {
 public:
  /// Creates the folder, or continues it if it was begun with the same plan or has no units yet.
  /// Error: usage if it was begun with another plan (naming the first line that differs) or suite,
  /// if it holds something else, or if another process uses it; file, if it may not be read or
  /// written; exhausted on a full disk.
  static Result<CampaignFolder> open(const std::filesystem::path& path, const CampaignPlan& plan);

  /// Returns the absolute path.
  const std::filesystem::path& path() const { return path_; }
  /// Returns the results of earlier processes. Error: as unreadable() (core/input_file.h).
  Result<CampaignHistory> history() const;
  /// Appends a line; the line is durable when the call returns. Error: as LineFile::append().
  Status append(const UnitLine& line) { return units_.append(to_line(line)); }

 private:
  CampaignFolder(std::filesystem::path path, std::unique_ptr<Descriptor> lock, LineFile units)
      : path_(std::move(path)), lock_(std::move(lock)), units_(std::move(units)) {}

  std::filesystem::path path_;
  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  LineFile units_;
};

}  // namespace assay
