#include "measure/benchmarks/conv/conv_cell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compute/device/helpers.h"
#include "core/units.h"

namespace assay {
namespace {

constexpr std::string_view conv_auto = "auto", flat_depth = "none";
constexpr std::uint64_t most_conv_extent = 1 << 20;

constexpr std::array<std::pair<std::string_view, ConvolutionSearch>, 8> conv_searches = {{
    {"best", ConvolutionSearch::every},
    {"first", ConvolutionSearch::first},
    {"normal", ConvolutionSearch::find_normal},
    {"fast", ConvolutionSearch::find_fast},
    {"hybrid", ConvolutionSearch::find_hybrid},
    {"dynamic", ConvolutionSearch::find_dynamic},
    {"find2", ConvolutionSearch::find_2},
    {"exhaustive", ConvolutionSearch::find_exhaustive},
}};

/// Parses "3" or "3x1x1"; empty if `text` has another form or a number is out of range.
std::vector<std::int64_t> parse_extents(std::string_view text, std::uint64_t least) {
  std::vector<std::int64_t> extents;
  while (true) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const auto number = parse_integer(text.substr(0, end));
    if (!number.ok() || *number < least || *number > most_conv_extent) return {};
    extents.push_back(static_cast<std::int64_t>(*number));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  if (extents.size() > ConvolutionProblem::most_dimensions) return {};
  return extents;
}

Status check_extents(std::string_view text, std::uint64_t least) {
  if (!parse_extents(text, least).empty()) return {};
  return Error{ErrorKind::usage, "is not one number, nor two or three with x between them"};
}
Status check_positive(std::string_view text) {
  return check_extents(text, 1);
}
Status check_padding(std::string_view text) {
  return check_extents(text, 0);
}

std::string shortest(const std::vector<std::int64_t>& extents) {
  const bool equal = std::all_of(extents.begin(), extents.end(),
                                 [&](std::int64_t extent) { return extent == extents.front(); });
  return equal ? std::to_string(extents.front()) : fmt::format("{}", fmt::join(extents, "x"));
}
std::string shortest(const ConvolutionProblem& problem,
                     const ConvolutionProblem::Extents& extents) {
  return shortest(std::vector(extents.begin(), extents.begin() + problem.dimensions));
}

/// The padding with which a convolution with an odd filter and stride 1 keeps the extents.
std::string same_padding(const Cell& cell) {
  auto filter = parse_extents(cell.text("filter"), 1);
  auto dilation = parse_extents(cell.text("dilation"), 1);
  const std::size_t count = std::max(filter.size(), dilation.size());
  if (filter.size() < count) filter.resize(count, filter.front());
  if (dilation.size() < count) dilation.resize(count, dilation.front());
  for (std::size_t i = 0; i < count; ++i) filter[i] = (filter[i] - 1) * dilation[i] / 2;
  return shortest(filter);
}

/// Reads the extents of an axis; a single number applies to all dimensions.
Status read_extents(const Cell& cell, const char* axis, int dimensions,
                    ConvolutionProblem::Extents& extents) {
  const auto numbers = parse_extents(cell.text(axis), 0);
  if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(dimensions)) {
    return Error{ErrorKind::usage,
                 fmt::format("{}={} has {} numbers, and the convolution {} dimensions (d={})", axis,
                             cell.text(axis), numbers.size(), dimensions, cell.text("d"))};
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    extents[i] = numbers.size() == 1 ? numbers.front() : numbers[i];
  }
  return {};
}

Axis integer_axis(std::string name, std::string description, std::string usual,
                  std::vector<std::string> choices = {}) {
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = Axis::Kind::integer,
          .defaults = {std::move(usual)},
          .choices = std::move(choices),
          .most = most_conv_extent};
}

Axis extents_axis(std::string name, std::string description, std::string usual,
                  Status (*check)(std::string_view)) {
  Axis axis = {.name = std::move(name),
               .description = std::move(description),
               .kind = Axis::Kind::text,
               .defaults = {usual},
               .choices = {},
               .check = check,
               .allowed = "a number, or one for each dimension: 3x3"};
  if (usual == conv_auto) axis.choices = {std::move(usual)};
  return axis;
}

std::vector<Axis> make_axes() {
  const std::string by_device(conv_auto);
  std::vector<std::string> libraries = convolution_names(), search_names;
  libraries.insert(libraries.begin(), by_device);
  for (const auto& [name, search] : conv_searches) search_names.emplace_back(name);
  return {
      {.name = "direction",
       .description =
           "forward: y from x and w; data: the gradient of x from w and that of y, which "
           "is also a transposed convolution; weights: the gradient of w from x and "
           "that of y",
       .defaults = {"forward", "data", "weights"},
       .choices = {"forward", "data", "weights"}},
      {.name = "precision",
       .description = "type of all tensors, summed in f32; tf32: f32 tensors rounded to it in "
                      "products; auto: bf16 on a GPU, f32 on a CPU",
       .defaults = {by_device},
       .choices = {by_device, "f32", "tf32", "f16", "bf16"}},
      {.name = "layout",
       .description = "of all tensors: nchw or nhwc (channels last); with d ncdhw or ndhwc",
       .defaults = {"nhwc"},
       .choices = {"nchw", "nhwc"}},
      integer_axis("n", "images of a batch; auto: 64 on a GPU, 1 on a CPU", by_device, {by_device}),
      integer_axis("c", "channels of the input", "64"),
      integer_axis("d", "depth of the input; none: a convolution in two dimensions",
                   std::string(flat_depth), {std::string(flat_depth)}),
      integer_axis("h", "height of the input", "56"),
      integer_axis("w", "width of the input; auto: as its height", by_device, {by_device}),
      integer_axis("k", "channels of the output, which is as many filters", "64"),
      extents_axis("filter", "extents of the filters, [d x] h x w", "3", check_positive),
      extents_axis("stride", "input elements between neighbours of the output", "1",
                   check_positive),
      extents_axis("pad", "zeros around the input; auto: half of what the filter covers beyond one",
                   by_device, check_padding),
      extents_axis("dilation", "input elements between neighbours under the filter", "1",
                   check_positive),
      integer_axis("groups",
                   "groups of channels that do not see each other; as many as c: depthwise", "1"),
      {.name = "library",
       .description = "auto: the one for the device: cuDNN, MIOpen, oneDNN",
       .defaults = {by_device},
       .choices = libraries},
      {.name = "find",
       .description =
           "best: all algorithms that the library proposes are measured and the fastest "
           "is taken, and remembered; first: the library's own choice without measuring "
           "(MIOpen: immediate mode); the rest as MIOpen finds them: in its find mode "
           "normal, fast, hybrid or dynamic; find2: its Find 2.0; exhaustive: its search of "
           "all parameters of all solvers, minutes long, which it keeps in its user "
           "databases (`assay tune conv`)",
       .defaults = {"best"},
       .choices = search_names},
      {.name = "launch",
       .description = "each convolution queued on a stream, or 20 replayed from a graph, so that "
                      "short ones do not wait for the host",
       .defaults = {"stream"},
       .choices = {"stream", "graph"}},
  };
}

}  // namespace

const std::vector<Axis>& conv_axes() {
  static const std::vector<Axis> axes = make_axes();
  return axes;
}

Cell decide_conv_cell(const Cell& cell, const DeviceFacts& facts) {
  const bool large = suits_large_work(facts);
  Cell decided = cell;
  const auto decide = [&](std::string_view axis, const std::string& value) {
    if (decided.text(axis) == conv_auto) decided = with_value(decided, axis, value);
  };
  decide("precision", large ? "bf16" : "f32");
  decide("n", large ? "64" : "1");
  decide("w", std::string(decided.text("h")));
  decide("pad", same_padding(decided));
  const std::size_t dimensions = decided.text("d") == flat_depth ? 2 : 3;
  for (const char* axis : {"filter", "stride", "pad", "dilation"}) {
    const auto extents = parse_extents(decided.text(axis), 0);
    // Any other count is a mistake that parse_conv_cell() reports.
    if (extents.size() == dimensions) decided = with_value(decided, axis, shortest(extents));
  }
  return decided;
}

Result<ConvCell> parse_conv_cell(const Cell& cell) {
  ConvCell parsed;
  ConvolutionProblem& p = parsed.problem;
  const auto number = [&](const char* axis) {
    return static_cast<std::int64_t>(cell.integer(axis));
  };
  for (const ConvolutionDirection direction :
       {ConvolutionDirection::forward, ConvolutionDirection::data, ConvolutionDirection::weights}) {
    if (cell.text("direction") == name_of(direction)) p.direction = direction;
  }
  for (const char* axis : {"precision", "n", "w", "pad"}) {
    if (cell.text(axis) == conv_auto) {
      return Error{ErrorKind::usage, fmt::format("{} is not decided yet", axis)};
    }
  }
  p.type = *parse_data_type(cell.text("precision"));
  p.channels_last = cell.text("layout") == "nhwc";
  p.dimensions = cell.text("d") == flat_depth ? 2 : 3;
  p.n = number("n");
  p.c = number("c");
  p.k = number("k");
  p.groups = number("groups");
  p.in = {number("h"), number("w"), 0};
  if (p.dimensions == 3) p.in = {number("d"), number("h"), number("w")};
  TRY(read_extents(cell, "filter", p.dimensions, p.filter));
  TRY(read_extents(cell, "stride", p.dimensions, p.stride));
  TRY(read_extents(cell, "pad", p.dimensions, p.pad));
  TRY(read_extents(cell, "dilation", p.dimensions, p.dilation));
  TRY(validate(p));
  parsed.library = cell.text("library");
  for (const auto& [name, search] : conv_searches) {
    if (cell.text("find") == name) parsed.search = search;
  }
  parsed.graph = cell.text("launch") == "graph";
  return parsed;
}

ChoiceKey conv_choice_key(const std::string& library, const ConvolutionProblem& problem) {
  return {"convolution", library, describe(problem)};
}

std::vector<AxisSetting> conv_settings(const ConvolutionProblem& p) {
  const std::size_t first = p.dimensions == 3 ? 1 : 0;
  return {
      {"direction", std::string(name_of(p.direction))},
      {"precision", std::string(name_of(p.type))},
      {"layout", p.channels_last ? "nhwc" : "nchw"},
      {"n", std::to_string(p.n)},
      {"c", std::to_string(p.c)},
      {"d", p.dimensions == 3 ? std::to_string(p.in[0]) : std::string(flat_depth)},
      {"h", std::to_string(p.in[first])},
      {"w", std::to_string(p.in[first + 1])},
      {"k", std::to_string(p.k)},
      {"filter", shortest(p, p.filter)},
      {"stride", shortest(p, p.stride)},
      {"pad", shortest(p, p.pad)},
      {"dilation", shortest(p, p.dilation)},
      {"groups", std::to_string(p.groups)},
  };
}

}  // namespace assay
