#include "serving/results/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr std::size_t most_page_bytes = std::size_t{64} << 20, most_samples = 1'000'000,
                      most_labels = 64;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "+Inf", "NaN", "1.5e+06"; all of the text.
std::optional<double> parse_value(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads one line from left to right. Each function returns false if its part is not there.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : rest_(line) {}

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool accept(char letter) {
    if (rest_.empty() || rest_[0] != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool name(std::string& name) {
    std::size_t length = 0;
    while (length < rest_.size() &&
           (is_letter(rest_[length]) || (length > 0 && is_digit(rest_[length])))) {
      ++length;
    }
    name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return length > 0;
  }
  /// In quotes, with \\, \" and \n.
  bool quoted(std::string& text) {
    if (!accept('"')) return false;
    bool escaped = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char letter = rest_[i];
      if (escaped) {
        text += letter == 'n' ? '\n' : letter;
      } else if (letter == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      } else if (letter != '\\') {
        text += letter;
      }
      escaped = !escaped && letter == '\\';
    }
    return false;
  }
  /// Up to a blank or the end.
  std::string_view word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

/// Reads the labels up to the closing brace; the opening one has been read.
bool parse_labels(LineParser& line, PrometheusSample& sample) {
  for (line.skip_blanks(); !line.accept('}'); line.skip_blanks()) {
    auto& [key, value] = sample.labels.emplace_back();
    if (sample.labels.size() > most_labels || !line.name(key)) return false;
    line.skip_blanks();
    if (!line.accept('=')) return false;
    line.skip_blanks();
    if (!line.quoted(value)) return false;
    line.skip_blanks();
    if (!line.accept(',')) {
      line.skip_blanks();
      return line.accept('}');
    }
  }
  return true;
}

/// A timestamp or an exemplar may follow the value; neither is needed.
std::optional<PrometheusSample> parse_sample(std::string_view text) {
  LineParser line(text);
  PrometheusSample sample;
  line.skip_blanks();
  if (!line.name(sample.name)) return std::nullopt;
  line.skip_blanks();
  if (line.accept('{') && !parse_labels(line, sample)) return std::nullopt;
  line.skip_blanks();
  const auto value = parse_value(line.word());
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

const std::string* PrometheusSample::label(std::string_view key) const {
  for (const auto& [own_key, text] : labels) {
    if (own_key == key) return &text;
  }
  return nullptr;
}

std::optional<double> Histogram::quantile(double q) const {
  const double all = buckets.empty() ? 0 : buckets.rbegin()->second;
  if (!(all > 0)) return std::nullopt;
  const double rank = q * all;
  double low = 0, below = 0;
  for (const auto& [bound, no_larger] : buckets) {
    if (no_larger >= rank && no_larger > below) {
      if (std::isinf(bound)) return low;
      return low + (bound - low) * std::max(0.0, rank - below) / (no_larger - below);
    }
    low = bound;
    below = std::max(below, no_larger);
  }
  return low;
}

Result<Scrape> Scrape::parse(std::string_view text) {
  const auto wrong = [](std::size_t line, std::string_view what) {
    return Error{ErrorKind::usage, fmt::format("line {}: {}", line, what)};
  };
  if (text.size() > most_page_bytes) return wrong(1, "metrics of more than 64 MiB");
  Scrape scrape;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    auto sample = parse_sample(line);
    if (!sample) return wrong(number, "is not a metric in the Prometheus text format");
    if (scrape.samples_.size() == most_samples) return wrong(number, "more than a million metrics");
    scrape.samples_.push_back(std::move(*sample));
  }
  return scrape;
}

bool Scrape::has_prefix(std::string_view prefix) const {
  return std::any_of(samples_.begin(), samples_.end(), [&](const PrometheusSample& sample) {
    return sample.name.starts_with(prefix);
  });
}

std::optional<double> Scrape::sum(std::string_view name) const {
  std::optional<double> sum;
  for (const PrometheusSample& sample : samples_) {
    if (sample.name != name || !std::isfinite(sample.value)) continue;
    sum = sum.value_or(0) + sample.value;
  }
  return sum;
}

std::optional<Histogram> Scrape::histogram(std::string_view name) const {
  const auto count = sum(fmt::format("{}_count", name));
  if (!count) return std::nullopt;
  Histogram histogram;
  histogram.count = *count;
  histogram.sum = sum(fmt::format("{}_sum", name)).value_or(0);
  const std::string bucket = fmt::format("{}_bucket", name);
  for (const PrometheusSample& sample : samples_) {
    if (sample.name != bucket || !std::isfinite(sample.value)) continue;
    const std::string* label = sample.label("le");
    const auto bound = label != nullptr ? parse_value(*label) : std::nullopt;
    if (bound && !std::isnan(*bound)) histogram.buckets[*bound] += sample.value;
  }
  return histogram;
}

}  // namespace assay
