#include "model/parallel/parameter_arenas.h"

#include <algorithm>

namespace assay {

Result<ParameterArenas> ParameterArenas::allocate(Device& device, Stream& stream,
                                                  const ParameterPlan& plan,
                                                  std::vector<Section> sections, std::size_t kept,
                                                  int rank, std::size_t before_gradients) {
  ParameterArenas made;
  made.plan_ = plan;
  made.sections_ = std::move(sections);
  made.kept_ = kept;
  made.rank_ = static_cast<std::size_t>(rank);
  made.element_ = size_of(plan.type);
  made.gradients_.before = before_gradients;
  TRY(made.allocate(device, made.weights_));
  TRY(made.allocate(device, made.gradients_));
  const std::size_t updated =
      made.elements() / (plan.parallel.slices_optimizer() ? made.slices() : 1);
  TRY(made.allocate(device, made.master_, plan.has_master() ? updated * sizeof(float) : 0));
  TRY(made.allocate(device, made.first_, updated * plan.moment_bytes()));
  TRY(made.allocate(device, made.second_, updated * plan.moment_bytes()));
  // Fills come last and are waited for, because a later allocation that fails frees these buffers.
  for (const Buffer* buffer : made.buffers()) {
    if (buffer->data() != nullptr) TRY(stream.fill(buffer->data(), 0, buffer->bytes()));
  }
  TRY(stream.synchronize());
  return made;
}

Status ParameterArenas::allocate(Device& device, Buffer& buffer, std::uint64_t bytes) {
  if (bytes > 0) buffer = TRY(device.allocate(bytes, MemoryKind::device));
  return {};
}

Status ParameterArenas::allocate(Device& device, Parameters& parameters) {
  if (!plan_.parallel.slices_parameters()) {
    return allocate(device, parameters.arena, (parameters.before + elements()) * element_);
  }
  TRY(allocate(device, parameters.arena, elements() / slices() * element_));
  const std::size_t whole = kept_ > 0 ? sections_[kept_ - 1].end : 0;
  TRY(allocate(device, parameters.kept, whole * element_));
  std::size_t most = 0;
  for (std::size_t i = kept_; i < sections_.size(); ++i) {
    most = std::max(most, sections_[i].elements());
  }
  for (Buffer& place : parameters.turns) TRY(allocate(device, place, most * element_));
  return {};
}

std::size_t ParameterArenas::section_of(std::size_t offset) const {
  const auto after =
      std::upper_bound(sections_.begin(), sections_.end(), offset,
                       [](std::size_t at, const Section& section) { return at < section.begin; });
  return static_cast<std::size_t>(after - sections_.begin()) - 1;
}

std::optional<std::size_t> ParameterArenas::turn(std::size_t section) const {
  if (!plan_.parallel.slices_parameters() || section < kept_) return std::nullopt;
  return (section - kept_) % 2;
}

std::byte* ParameterArenas::start_in_pass(const Parameters& parameters, std::size_t section) const {
  const std::size_t begin = sections_[section].begin * element_;
  if (!plan_.parallel.slices_parameters()) {
    return parameters.arena.as<std::byte>() + parameters.before * element_ + begin;
  }
  if (const auto place = turn(section)) return parameters.turns[*place].as<std::byte>();
  return parameters.kept.as<std::byte>() + begin;
}

void* ParameterArenas::in_pass(const Parameters& parameters, const Tensor& tensor) const {
  const std::size_t section = section_of(tensor.offset);
  return start_in_pass(parameters, section) + (tensor.offset - sections_[section].begin) * element_;
}

ParameterArenas::Range ParameterArenas::section_in_pass(ParameterPart part,
                                                        std::size_t section) const {
  const Section& whole = sections_[section];
  return {start_in_pass(part == ParameterPart::weights ? weights_ : gradients_, section),
          whole.begin, whole.elements()};
}

Section ParameterArenas::own_slice(std::size_t section) const {
  const Section& whole = sections_[section];
  const std::size_t elements = whole.elements() / slices();
  return {whole.begin + rank_ * elements, whole.begin + (rank_ + 1) * elements};
}

std::byte* ParameterArenas::start_of(ParameterPart part) const {
  switch (part) {
    case ParameterPart::weights:
      return weights_.arena.as<std::byte>();
    case ParameterPart::gradients:
      return gradients_.arena.as<std::byte>() + gradients_.before * element_;
    case ParameterPart::master:
      return master_.as<std::byte>();
    case ParameterPart::first:
      return first_.as<std::byte>();
    case ParameterPart::second:
      break;
  }
  return second_.as<std::byte>();
}

DataType ParameterArenas::type_of(ParameterPart part) const {
  switch (part) {
    case ParameterPart::weights:
    case ParameterPart::gradients:
      return plan_.type;
    case ParameterPart::master:
      return DataType::f32;
    case ParameterPart::first:
    case ParameterPart::second:
      break;
  }
  return plan_.moment_type();
}

ParameterArenas::Range ParameterArenas::kept_of(ParameterPart part, std::size_t section) const {
  std::byte* const start = start_of(part);
  if (start == nullptr) return {};
  const ParallelPlan& parallel = plan_.parallel;
  const Section range = parallel.slices_optimizer() ? own_slice(section) : sections_[section];
  const bool of_pass = part == ParameterPart::weights || part == ParameterPart::gradients;
  const bool only_slices = of_pass ? parallel.slices_parameters() : parallel.slices_optimizer();
  // Slices lie one after another, in the order of the sections.
  const std::size_t at = only_slices ? sections_[section].begin / slices() : range.begin;
  return {start + at * size_of(type_of(part)), range.begin, range.elements()};
}

std::vector<UpdatePiece> ParameterArenas::pieces() const {
  const ParallelPlan& parallel = plan_.parallel;
  const auto piece = [&](std::size_t section, std::size_t elements) {
    return UpdatePiece{kept_of(ParameterPart::weights, section).address,
                       kept_of(ParameterPart::master, section).address,
                       kept_of(ParameterPart::first, section).address,
                       kept_of(ParameterPart::second, section).address,
                       kept_of(ParameterPart::gradients, section).address,
                       kept_of(ParameterPart::weights, section).first,
                       elements};
  };
  if (!parallel.slices_optimizer()) return {piece(0, elements())};
  if (parallel.slices_parameters()) return {piece(0, elements() / slices())};
  std::vector<UpdatePiece> all;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    all.push_back(piece(i, sections_[i].elements() / slices()));
  }
  return all;
}

std::size_t ParameterArenas::updated_before(std::size_t section) const {
  const std::size_t all = section < sections_.size() ? sections_[section].begin : elements();
  return plan_.parallel.slices_optimizer() ? all / slices() : all;
}

std::array<const Buffer*, 11> ParameterArenas::buffers() const {
  const auto& w = weights_;
  const auto& g = gradients_;
  return {&w.arena,    &w.kept,     &w.turns[0], &w.turns[1], &g.arena, &g.kept,
          &g.turns[0], &g.turns[1], &master_,    &first_,     &second_};
}

std::uint64_t ParameterArenas::bytes() const {
  std::uint64_t bytes = 0;
  for (const Buffer* buffer : buffers()) bytes += buffer->bytes();
  return bytes;
}

}  // namespace assay
