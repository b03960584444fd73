#include "measure/suites/miopen_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>

#include "core/shown_text.h"
#include "core/units.h"
#include "measure/benchmarks/conv/conv_cell.h"

namespace assay {
namespace {

constexpr std::string_view driver = "MIOpenDriver";

Error wrong_command(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view space = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(space); at != std::string_view::npos;
       at = line.find_first_not_of(space, at)) {
    const std::size_t end = std::min(line.find_first_of(space, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_convolution(std::string_view word) {
  return word.starts_with("conv") && word != "convert";
}

/// The command's arguments from the name of the operation on; empty if the line has no command. A
/// line without the program's name must begin with the operation.
std::vector<std::string_view> command_of(std::string_view line) {
  std::vector<std::string_view> words = words_of(line);
  const auto found = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return word == driver ||
           (word.ends_with(driver) && word[word.size() - driver.size() - 1] == '/');
  });
  if (found != words.end()) {
    words.erase(words.begin(), found + 1);
    return words;
  }
  const bool bare = words.size() > 1 && is_convolution(words[0]) && words[1].starts_with('-');
  return bare ? words : std::vector<std::string_view>();
}

/// The driver's options that describe the convolution: their names, defaults and least values. All
/// other options control how the driver measures.
struct Option {
  std::string_view letter, name;
  std::int64_t usual, least;
};
constexpr Option driver_options[] = {
    {"-n", "--batchsize", 100, 1},
    {"-c", "--in_channels", 3, 1},
    {"-!", "--in_d", 32, 1},
    {"-H", "--in_h", 32, 1},
    {"-W", "--in_w", 32, 1},
    {"-k", "--out_channels", 32, 1},
    {"-@", "--fil_d", 3, 1},
    {"-y", "--fil_h", 3, 1},
    {"-x", "--fil_w", 3, 1},
    {"-#", "--conv_stride_d", 1, 1},
    {"-u", "--conv_stride_h", 1, 1},
    {"-v", "--conv_stride_w", 1, 1},
    {"-$", "--pad_d", 0, 0},
    {"-p", "--pad_h", 0, 0},
    {"-q", "--pad_w", 0, 0},
    {"-^", "--dilation_d", 1, 1},
    {"-l", "--dilation_h", 1, 1},
    {"-j", "--dilation_w", 1, 1},
    {"-g", "--group_count", 1, 1},
    {"-_", "--spatial_dim", 2, 2},
    {"-F", "--forw", 0, 0},
    {"-%", "--trans_output_pad_d", 0, 0},
    {"-Y", "--trans_output_pad_h", 0, 0},
    {"-X", "--trans_output_pad_w", 0, 0},
};

/// Options whose values are text.
constexpr std::pair<std::string_view, std::string_view> driver_word_options[] = {
    {"-m", "--mode"},
    {"-z", "--pad_mode"},
    {"-I", "--in_layout"},
    {"-f", "--fil_layout"},
    {"-O", "--out_layout"}};

/// The settings in a command, by the options' long names.
class Settings {
 public:
  static Result<Settings> read(const std::vector<std::string_view>& words) {
    Settings settings;
    for (const Option& option : driver_options) settings.numbers_[option.name] = option.usual;
    for (std::size_t i = 1; i < words.size(); i += 2) {
      const std::string_view name = words[i];
      if (!name.starts_with('-')) {
        return wrong_command(
            fmt::format("\"{}\" is not an option of {}", shown_line(name, 40), driver));
      }
      if (i + 1 == words.size()) {
        return wrong_command(fmt::format("option {} has no value", shown_line(name, 40)));
      }
      TRY(settings.take(name, words[i + 1]));
    }
    return settings;
  }

  std::int64_t number(std::string_view name) const { return numbers_.at(name); }
  std::string_view word(std::string_view name, std::string_view usual) const {
    const auto found = words_.find(name);
    return found == words_.end() ? usual : found->second;
  }

 private:
  Status take(std::string_view name, std::string_view value) {
    for (const auto& [letter, full] : driver_word_options) {
      if (name == letter || name == full) words_[full] = value;
    }
    for (const Option& option : driver_options) {
      if (name != option.letter && name != option.name) continue;
      constexpr std::uint64_t most = 1 << 20;
      const auto number = parse_integer(value);
      if (!number.ok() || *number < static_cast<std::uint64_t>(option.least) || *number > most) {
        return wrong_command(fmt::format("option {} is \"{}\"; allowed: {} to {}", name,
                                         shown_line(value, 40), option.least, most));
      }
      numbers_[option.name] = static_cast<std::int64_t>(*number);
    }
    return {};
  }

  std::map<std::string_view, std::int64_t> numbers_;
  std::map<std::string_view, std::string_view> words_;
};

Result<DataType> type_of(std::string_view operation) {
  if (operation == "conv") return DataType::f32;
  if (operation == "convfp16") return DataType::f16;
  if (operation == "convbfp16") return DataType::bf16;
  return wrong_command(fmt::format("{} is not measured; allowed: conv, convfp16, convbfp16",
                                   shown_line(operation, 40)));
}

/// Whether the layout has the channels last. Error: the three tensors do not agree.
Result<bool> layout_of(const Settings& settings, int dimensions) {
  const std::string_view first = dimensions == 3 ? "NCDHW" : "NCHW",
                         last = dimensions == 3 ? "NDHWC" : "NHWC";
  const std::string_view in = settings.word("--in_layout", first);
  const std::string_view filter = settings.word("--fil_layout", first);
  const std::string_view out = settings.word("--out_layout", first);
  if (in != filter || in != out || (in != first && in != last)) {
    return wrong_command(fmt::format("layouts {}, {} and {}; allowed: {} or {} for all three",
                                     shown_line(in, 20), shown_line(filter, 20),
                                     shown_line(out, 20), first, last));
  }
  return in == last;
}

/// The plain convolution for a transposed one. The forward pass of a transposed convolution is the
/// data gradient of a plain one, whose output is its input.
ConvolutionProblem untransposed(ConvolutionProblem p, const Settings& settings) {
  const std::array<std::int64_t, 3> deep = {settings.number("--trans_output_pad_d"),
                                            settings.number("--trans_output_pad_h"),
                                            settings.number("--trans_output_pad_w")};
  const std::size_t skipped = p.dimensions == 3 ? 0 : 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.dimensions); ++i) {
    p.in[i] = (p.in[i] - 1) * p.stride[i] - 2 * p.pad[i] + p.dilation[i] * (p.filter[i] - 1) + 1 +
              deep[i + skipped];
  }
  std::swap(p.c, p.k);
  return p;
}

std::vector<ConvolutionDirection> directions_of(std::int64_t bits, bool transposed) {
  std::vector<ConvolutionDirection> directions;
  const auto wants = [&](std::int64_t bit) { return bits == 0 || (bits & bit) != 0; };
  const ConvolutionDirection forward = ConvolutionDirection::forward,
                             data = ConvolutionDirection::data;
  if (wants(1)) directions.push_back(transposed ? data : forward);
  if (wants(2)) directions.push_back(transposed ? forward : data);
  if (wants(4)) directions.push_back(ConvolutionDirection::weights);
  return directions;
}

}  // namespace

Result<std::vector<ConvolutionProblem>> parse_driver_command(std::string_view line) {
  const std::vector<std::string_view> words = command_of(line);
  if (words.empty() || !is_convolution(words.front())) return std::vector<ConvolutionProblem>();
  const Settings settings = TRY(Settings::read(words));
  ConvolutionProblem p;
  p.type = TRY(type_of(words.front()));
  const std::int64_t dimensions = settings.number("--spatial_dim");
  if (dimensions > 3) {
    return wrong_command(fmt::format("option --spatial_dim is {}; allowed: 2, 3", dimensions));
  }
  p.dimensions = static_cast<int>(dimensions);
  p.channels_last = TRY(layout_of(settings, p.dimensions));
  if (settings.word("--pad_mode", "default") != "default") {
    return wrong_command("option --pad_mode; allowed: default, with -p and -q");
  }
  const std::string_view mode = settings.word("--mode", "conv");
  if (mode != "conv" && mode != "trans") {
    return wrong_command(
        fmt::format("option --mode is \"{}\"; allowed: conv, trans", shown_line(mode, 40)));
  }
  p.n = settings.number("--batchsize");
  p.c = settings.number("--in_channels");
  p.k = settings.number("--out_channels");
  p.groups = settings.number("--group_count");
  const auto extents = [&](std::string_view d, std::string_view h, std::string_view w) {
    ConvolutionProblem::Extents all = {settings.number(h), settings.number(w), 0};
    if (p.dimensions == 3) all = {settings.number(d), settings.number(h), settings.number(w)};
    return all;
  };
  p.in = extents("--in_d", "--in_h", "--in_w");
  p.filter = extents("--fil_d", "--fil_h", "--fil_w");
  p.stride = extents("--conv_stride_d", "--conv_stride_h", "--conv_stride_w");
  p.pad = extents("--pad_d", "--pad_h", "--pad_w");
  p.dilation = extents("--dilation_d", "--dilation_h", "--dilation_w");
  const bool transposed = mode == "trans";
  if (transposed) p = untransposed(p, settings);
  TRY(validate(p));
  std::vector<ConvolutionProblem> problems;
  for (const ConvolutionDirection direction :
       directions_of(settings.number("--forw"), transposed)) {
    problems.push_back(p);
    problems.back().direction = direction;
  }
  return problems;
}

namespace {

/// Calls `use(line, number)` for each line until it returns false.
template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!use(text.substr(0, end), number)) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

bool has_driver_commands(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::string_view line, int) {
    found = !command_of(line).empty();
    return !found;
  });
  return found;
}

Result<Suite> suite_of_driver_commands(std::string_view text, std::string_view file) {
  Suite suite;
  suite.file = file;
  suite.name = "conv";
  std::unordered_set<std::string> seen;
  std::optional<Error> wrong;
  for_each_line(text, [&](std::string_view line, int number) {
    const auto problems = parse_driver_command(line);
    if (!problems.ok()) {
      wrong = wrong_command(fmt::format("{}:{}: {}", file, number, problems.error().message));
      return false;
    }
    for (const ConvolutionProblem& problem : *problems) {
      if (!seen.insert(describe(problem)).second) continue;
      SuiteEntry entry;
      entry.benchmark = "conv";
      entry.line = number;
      for (AxisSetting& setting : conv_settings(problem)) {
        entry.settings.push_back({std::move(setting), number});
      }
      suite.entries.push_back(std::move(entry));
    }
    return true;
  });
  if (wrong) return *wrong;
  if (suite.entries.empty()) {
    return wrong_command(fmt::format("{}: no convolution among the commands of {}", file, driver));
  }
  suite.description =
      fmt::format("{} convolutions of {}'s command lines", suite.entries.size(), driver);
  return suite;
}

}  // namespace assay
