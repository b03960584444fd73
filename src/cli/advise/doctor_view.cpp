#include "cli/advise/doctor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "advise/doctor/advice.h"
#include "cli/screen_text.h"

namespace assay::cli {
namespace {

constexpr std::size_t judgement_width = 9;  ///< "UNKNOWN" and a gap

struct Numbered {
  std::string prefix;
  long long number = 0;
};

/// "GPU 3 (0000:3b:00.0)" is number 3 of "GPU ".
std::optional<Numbered> numbered(std::string_view subject) {
  subject = subject.substr(0, subject.find(" ("));
  const std::size_t last = subject.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  Numbered found{std::string(subject.substr(0, digits)), 0};
  const char* const end = subject.data() + subject.size();
  const auto [rest, error] = std::from_chars(subject.data() + digits, end, found.number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return found;
}

/// {0, 1, 2, 5} to "0-2, 5".
std::string ranges_text(std::vector<long long> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    ranges.push_back(last == i ? fmt::format("{}", numbers[i])
                               : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::string judgement_text(Judgement judgement, const Style& style) {
  const std::string word = fmt::format("{:{}}", name_of(judgement), judgement_width);
  switch (judgement) {
    case Judgement::fail:
      return style.red(word);
    case Judgement::warn:
      return style.yellow(word);
    case Judgement::pass:
      return style.green(word);
    case Judgement::unknown:
      break;
  }
  return style.bold(word);
}

/// A finding to act on, in full. Commands stay on one line so that they can be copied.
std::string long_text(const FoldedFinding& folded, std::size_t width, const Style& style) {
  const Finding& finding = folded.finding;
  std::string text = judgement_text(finding.judgement, style) + style.bold(folded.check->title);
  if (!folded.subjects.empty()) text += "  " + subjects_text(folded.subjects);
  text += "\n";
  const auto line = [&](const char* name, const std::string& value, bool command) {
    constexpr std::size_t indent = judgement_width + 8;
    text += fmt::format("{:{}}{:8}{}\n", "", judgement_width, name,
                        command ? value : wrapped(value, indent, width));
  };
  line("found:", finding.found, false);
  line("wanted:", finding.wanted, false);
  line("why:", finding.why + " (" + finding.source + ")", false);
  if (!finding.fix.empty()) line("fix:", finding.fix, true);
  return text + "\n";
}

std::string not_applicable_text(const Diagnosis& diagnosis, bool all, std::size_t width) {
  std::vector<std::string_view> ids;
  for (const CheckResult& result : diagnosis.results) {
    if (result.findings.empty()) ids.push_back(result.check->id);
  }
  if (ids.empty()) return {};
  if (!all) {
    return fmt::format("{} check{} not apply here; --all names them\n\n", ids.size(),
                       ids.size() == 1 ? " does" : "s do");
  }
  return wrapped(fmt::format("not applicable here: {}", fmt::join(ids, ", ")), 2, width) + "\n\n";
}

}  // namespace

std::string subjects_text(const std::vector<std::string>& subjects) {
  if (subjects.size() == 1) return subjects.front();
  std::vector<std::string> prefixes;  // in the order of their first subject
  std::map<std::string, std::vector<long long>> numbers;
  for (const std::string& subject : subjects) {
    const auto parts = numbered(subject);
    const std::string prefix = parts ? parts->prefix : subject;
    if (numbers.find(prefix) == numbers.end()) prefixes.push_back(prefix);
    auto& list = numbers[prefix];
    if (parts) list.push_back(parts->number);
  }
  constexpr std::size_t shown = 4;
  std::vector<std::string> texts;
  for (const std::string& prefix : prefixes) {
    if (texts.size() == shown) {
      texts.push_back(fmt::format("{} more", prefixes.size() - shown));
      break;
    }
    texts.push_back(prefix + ranges_text(numbers[prefix]));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string machine_text(const Diagnosis& diagnosis) {
  std::map<std::string, int> models;
  for (const Gpu& gpu : diagnosis.gpus) {
    std::string model = gpu.name.empty() ? gpu.vendor + " GPU" : gpu.name;
    if (!gpu.compute_partition.empty()) {
      model += " (" + gpu.compute_partition +
               (gpu.memory_partition.empty() ? "" : "/" + gpu.memory_partition) + ")";
    }
    ++models[printable(model)];
  }
  std::string text = models.empty() ? "no GPU" : "";
  for (const auto& [model, number] : models) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", number, model);
  }
  if (diagnosis.rocm) text += ", ROCm " + to_string(*diagnosis.rocm);
  const Virtualization& virtualization = diagnosis.virtualization;
  if (!virtualization.container.empty()) text += ", container: " + virtualization.container;
  if (!virtualization.hypervisor.empty()) {
    text += ", virtual machine: " + virtualization.hypervisor;
  }
  return text;
}

std::string short_text(const std::vector<FoldedFinding>& findings, Judgement judgement,
                       std::size_t width, const Style& style) {
  std::size_t titles = 0;
  for (const FoldedFinding& folded : findings) {
    if (folded.finding.judgement == judgement) {
      titles = std::max(titles, display_width(folded.check->title));
    }
  }
  std::string text;
  for (const FoldedFinding& folded : findings) {
    if (folded.finding.judgement != judgement) continue;
    std::string rest = subjects_text(folded.subjects);
    if (!rest.empty()) rest += ": ";
    rest += folded.finding.found;
    const std::size_t indent = judgement_width + titles + 2;
    text += fmt::format("{}{:{}}{}\n", judgement_text(judgement, style), folded.check->title,
                        titles + 2, wrapped(rest, indent, width));
  }
  return text.empty() ? text : text + "\n";
}

std::string diagnosis_text(const Diagnosis& diagnosis, bool all, std::size_t width,
                           const Style& style) {
  const std::vector<FoldedFinding> findings = fold(diagnosis);
  std::string text = style.bold(machine_text(diagnosis)) + "\n\n";
  for (const Judgement judgement : {Judgement::fail, Judgement::warn}) {
    for (const FoldedFinding& folded : findings) {
      if (folded.finding.judgement == judgement) text += long_text(folded, width, style);
    }
  }
  for (const Judgement judgement : {Judgement::unknown, Judgement::pass}) {
    text += short_text(findings, judgement, width, style);
  }
  return text + not_applicable_text(diagnosis, all, width) + summary_text(findings) + "\n";
}

std::string summary_text(const std::vector<FoldedFinding>& findings) {
  const auto warnings = count(findings, Judgement::warn);
  return fmt::format("{} passed, {} warning{}, {} failed, {} unknown",
                     count(findings, Judgement::pass), warnings, warnings == 1 ? "" : "s",
                     count(findings, Judgement::fail), count(findings, Judgement::unknown));
}

}  // namespace assay::cli
