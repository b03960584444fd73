#include "model/parallel/data_parallel.h"

#include <algorithm>

#include "ranks/collective/communicators.h"

namespace assay {

std::vector<std::size_t> first_sections_of_buckets(const std::vector<Section>& sections,
                                                   std::size_t element_bytes,
                                                   std::uint64_t least_bytes) {
  std::vector<std::size_t> firsts;
  std::size_t end = sections.size();
  for (std::size_t i = sections.size(); i-- > 0;) {
    const std::uint64_t bytes = (sections[end - 1].end - sections[i].begin) * element_bytes;
    if (bytes < least_bytes && i > 0) continue;
    firsts.push_back(i);
    end = i;
  }
  return firsts;
}

Result<std::unique_ptr<DataParallel>> DataParallel::create(Device& device, TrainingRanks ranks,
                                                           const ParameterPlan& plan,
                                                           const ParameterArenas& arenas,
                                                           Elementwise& elementwise) {
  auto made =
      std::unique_ptr<DataParallel>(new DataParallel(device, ranks, plan, arenas, elementwise));
  TRY(made->allocate());
  return made;
}

Status DataParallel::allocate() {
  const DataType summed = plan_.parallel.f32_sums ? DataType::f32 : plan_.type;
  for (const CollectiveOperation operation :
       {CollectiveOperation::all_reduce, CollectiveOperation::reduce_scatter}) {
    if (auto reason = ranks_.communicator->unsupported(operation, summed, Reduction::sum)) {
      return Error{ErrorKind::unsupported, *std::move(reason)};
    }
  }
  // What the passes wait for comes first.
  stream_ = TRY(device_.create_stream(StreamPriority::high));
  idle_ = TRY(device_.create_event(EventKind::untimed));
  queued_ = TRY(device_.create_event(EventKind::untimed));
  done_ = TRY(device_.create_event(EventKind::untimed));
  before_last_ = TRY(device_.create_event(EventKind::untimed));
  rows_gathered_ = TRY(device_.create_event(EventKind::untimed));
  const std::size_t sections = arenas_.sections().size();
  std::size_t largest = 0;
  for (const Section& section : arenas_.sections()) {
    largest = std::max(largest, section.elements());
    gathered_.push_back(TRY(device_.create_event(EventKind::untimed)));
  }
  is_gathered_.resize(sections);
  gradients_open_.resize(sections);
  set_bucket(plan_.parallel.bucket_bytes);
  for (Turn& turn : turns_) {
    turn.read = TRY(device_.create_event(EventKind::untimed));
    turn.sent = TRY(device_.create_event(EventKind::untimed));
  }
  if (plan_.parallel.f32_sums) {
    sums_ = TRY(device_.allocate(largest * sizeof(float), MemoryKind::device));
  }
  if (plan_.parallel.slices_optimizer()) {
    meeting_ = TRY(device_.allocate(meeting_bytes, MemoryKind::device));
    whole_ = TRY(device_.allocate(largest * sizeof(float), MemoryKind::device));
  }
  if (plan_.parallel.slices_parameters()) {
    const std::size_t slice = largest / static_cast<std::size_t>(size());
    slice_ = TRY(device_.allocate(slice * size_of(plan_.type), MemoryKind::device));
  }
  return {};
}

void DataParallel::set_bucket(std::uint64_t bytes) {
  ends_bucket_.assign(arenas_.sections().size(), false);
  for (const std::size_t first :
       first_sections_of_buckets(arenas_.sections(), size_of(plan_.type), bytes)) {
    ends_bucket_[first] = true;
  }
}

std::uint64_t DataParallel::bytes() const {
  return sums_.bytes() + slice_.bytes() + whole_.bytes() + rows_.bytes() + meeting_.bytes();
}

Status DataParallel::enqueue(CollectiveOperation operation, const void* send, void* receive,
                             std::size_t count, DataType type) {
  exchanged_.push_back({.operation = operation,
                        .send = send,
                        .receive = receive,
                        .count = count,
                        .type = type,
                        .reduction = Reduction::sum});
  return ranks_.communicator->enqueue(exchanged_.back(), *stream_);
}

Status DataParallel::follow(Stream& stream) {
  if (left_out_) return {};
  TRY(stream.record(*queued_));
  return stream_->wait(*queued_);
}

// ---- Weights ----

Status DataParallel::begin(Stream& stream) {
  TRY(follow(stream));
  exchanged_.clear();
  std::fill(is_gathered_.begin(), is_gathered_.end(), false);
  std::fill(gradients_open_.begin(), gradients_open_.end(), false);
  for (Turn& turn : turns_) {
    turn.weights.reset();
    turn.was_read = turn.was_sent = false;
  }
  waiting_.reset();
  rows_are_sent_ = false;
  if (!plan_.parallel.slices_optimizer()) return {};
  // Each rank has updated its slices in the step before. What has memory of its own is gathered
  // while the passes begin.
  for (std::size_t i = 0; i < arenas_.sections().size(); ++i) {
    if (!arenas_.turn(i)) TRY(gather_weights(i));
  }
  return {};
}

void DataParallel::begin_pass(bool first, bool last) {
  first_pass_ = first;
  last_pass_ = last;
  std::fill(gradients_open_.begin(), gradients_open_.end(), false);
}

Status DataParallel::gather_weights(std::size_t section) {
  if (left_out_) return {};
  if (const auto place = arenas_.turn(section)) {
    Turn& turn = turns_[*place];
    if (turn.weights == section) return {};
    if (turn.was_read) TRY(stream_->wait(*turn.read));
    turn.weights = section;
  }
  const ParameterArenas::Range own = arenas_.kept_of(ParameterPart::weights, section);
  TRY(enqueue(CollectiveOperation::all_gather, own.address,
              arenas_.section_in_pass(ParameterPart::weights, section).address, own.elements,
              plan_.type));
  is_gathered_[section] = true;
  return stream_->record(*gathered_[section]);
}

Status DataParallel::open_weights(Stream& stream, Phase phase, std::size_t section) {
  if (!plan_.parallel.slices_optimizer()) return {};
  if (arenas_.turn(section)) TRY(gather_weights(section));
  if (is_gathered_[section]) {
    TRY(stream.wait(*gathered_[section]));
    TRY(stream.fill(meeting_.data(), 0, meeting_.bytes()));
  }
  // The next section's weights come while this one's are used.
  const std::size_t next = phase == Phase::forward ? section + 1 : section - 1;
  const bool exists = next < arenas_.sections().size();  // also of 0 - 1
  return exists && arenas_.turn(next) ? gather_weights(next) : Status();
}

Status DataParallel::close_weights(Stream& stream, std::size_t section) {
  const auto place = arenas_.turn(section);
  if (!place || left_out_) return {};
  turns_[*place].was_read = true;
  return stream.record(*turns_[*place].read);
}

// ---- Gradients ----

Status DataParallel::open_gradients(Stream& stream, std::size_t section) {
  const auto place = arenas_.turn(section);
  if (!place || gradients_open_[section]) return {};
  gradients_open_[section] = true;
  if (turns_[*place].was_sent) TRY(stream.wait(*turns_[*place].sent));
  // Between tensors would be what another section left there.
  const ParameterArenas::Range range = arenas_.section_in_pass(ParameterPart::gradients, section);
  return stream.fill(range.address, 0, range.elements * size_of(plan_.type));
}

Status DataParallel::close_gradients(Stream& stream, std::size_t section) {
  const bool takes_turns = arenas_.turn(section).has_value();
  if (!takes_turns && !last_pass_) return {};
  Bucket bucket = {section, section + 1};
  if (takes_turns) return send(stream, bucket);
  if (waiting_) bucket.end = waiting_->end;  // sections complete from the last one to the first
  if (!ends_bucket_[section] && !rows_are_sent_) {
    waiting_ = bucket;
    return {};
  }
  waiting_.reset();
  return send(stream, bucket);
}

Status DataParallel::begin_last(std::size_t end) {
  end_of_last_ = end;
  return left_out_ ? Status() : stream_->record(*before_last_);
}

Status DataParallel::send(Stream& stream, Bucket bucket) {
  TRY(begin_last(bucket.end));
  if (left_out_) return {};
  TRY(follow(stream));
  TRY(add_up(bucket));
  const auto place = arenas_.turn(bucket.first);
  if (!place) return {};
  turns_[*place].was_sent = true;
  return stream_->record(*turns_[*place].sent);
}

Status DataParallel::send_gradients(Stream& stream, std::size_t section) {
  return send(stream, {section, section + 1});
}

Status DataParallel::reserve_rows(std::uint64_t elements) {
  const std::uint64_t bytes = elements * size_of(plan_.type) * static_cast<std::uint64_t>(size());
  if (rows_.bytes() < bytes) rows_ = TRY(device_.allocate(bytes, MemoryKind::device));
  return {};
}

Result<const void*> DataParallel::gather_rows(Stream& stream, const void* rows,
                                              std::uint64_t elements) {
  if (waiting_) TRY(send(stream, *waiting_));
  waiting_.reset();
  rows_are_sent_ = true;
  if (left_out_) return rows;
  TRY(follow(stream));
  TRY(enqueue(CollectiveOperation::all_gather, rows, rows_.data(), elements, plan_.type));
  TRY(stream_->record(*rows_gathered_));
  return static_cast<const void*>(rows_.data());
}

Status DataParallel::take_rows(Stream& stream) {
  return left_out_ ? Status() : stream.wait(*rows_gathered_);
}

Result<std::size_t> DataParallel::await_all_but_last(Stream& stream) {
  if (!left_out_) TRY(stream.wait(*before_last_));
  return end_of_last_;
}

/// Queues the sums of gradients that this rank updates from.
Status DataParallel::add_up(Bucket bucket) {
  if (plan_.parallel.f32_sums) {
    for (std::size_t i = bucket.first; i < bucket.end; ++i) TRY(add_up_in_f32(i));
    return {};
  }
  if (!plan_.parallel.slices_optimizer()) {
    const ParameterArenas::Range first =
        arenas_.section_in_pass(ParameterPart::gradients, bucket.first);
    const std::size_t count = arenas_.sections()[bucket.end - 1].end - first.first;
    return enqueue(CollectiveOperation::all_reduce, first.address, first.address, count,
                   plan_.type);
  }
  TRY(ranks_.communicator->begin_group());
  Status queued;
  for (std::size_t i = bucket.first; queued.ok() && i < bucket.end; ++i) queued = scatter_sums(i);
  const Status ended = ranks_.communicator->end_group();  // also after an error
  TRY(std::move(queued));
  TRY(ended);
  const ParameterArenas::Range own = arenas_.kept_of(ParameterPart::gradients, bucket.first);
  return is_added(bucket.first)
             ? elementwise_.add(*stream_, own.address, slice_.data(), own.elements)
             : Status();
}

/// Whether sums of a pass are added to those of earlier ones.
bool DataParallel::is_added(std::size_t section) const {
  return arenas_.turn(section) && !first_pass_;
}

Status DataParallel::scatter_sums(std::size_t section) {
  const ParameterArenas::Range own = arenas_.kept_of(ParameterPart::gradients, section);
  return enqueue(CollectiveOperation::reduce_scatter,
                 arenas_.section_in_pass(ParameterPart::gradients, section).address,
                 is_added(section) ? slice_.data() : own.address, own.elements, plan_.type);
}

Status DataParallel::add_up_in_f32(std::size_t section) {
  const ParameterArenas::Range whole = arenas_.section_in_pass(ParameterPart::gradients, section);
  const ParameterArenas::Range own = arenas_.kept_of(ParameterPart::gradients, section);
  auto* const sums = sums_.as<float>();
  float* const own_sums = sums + (own.first - whole.first);
  TRY(elementwise_.widen(*stream_, sums, whole.address, whole.elements));
  TRY(plan_.parallel.slices_optimizer()
          ? enqueue(CollectiveOperation::reduce_scatter, sums, own_sums, own.elements,
                    DataType::f32)
          : enqueue(CollectiveOperation::all_reduce, sums, sums, whole.elements, DataType::f32));
  if (!is_added(section)) {
    return elementwise_.narrow(*stream_, own.address, own_sums, own.elements);
  }
  TRY(elementwise_.narrow(*stream_, slice_.data(), own_sums, own.elements));
  return elementwise_.add(*stream_, own.address, slice_.data(), own.elements);
}

Status DataParallel::finish(Stream& stream) {
  if (left_out_) return {};
  TRY(stream_->record(*done_));
  return stream.wait(*done_);
}

// ---- Between steps ----

Status DataParallel::sum(Stream& stream, float* floats, std::size_t count) {
  if (left_out_) return {};
  TRY(follow(stream));
  TRY(enqueue(CollectiveOperation::all_reduce, floats, floats, count, DataType::f32));
  return finish(stream);
}

Result<const void*> DataParallel::gather(Stream& stream, ParameterPart part, std::size_t section) {
  const ParameterArenas::Range own = arenas_.kept_of(part, section);
  if (own.address == nullptr || !plan_.parallel.slices_optimizer()) {
    return static_cast<const void*>(own.address);
  }
  TRY(follow(stream));
  TRY(enqueue(CollectiveOperation::all_gather, own.address, whole_.data(), own.elements,
              arenas_.type_of(part)));
  TRY(finish(stream));
  TRY(wait(stream));
  return static_cast<const void*>(whole_.data());
}

Status DataParallel::wait(Stream& stream) {
  TRY(wait_for_ranks(*ranks_.communicator, stream, *idle_, *ranks_.team));
  return ranks_.communicator->status();
}

}  // namespace assay
