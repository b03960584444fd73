#include "model/decoder/decoder_parameters.h"

#include <algorithm>
#include <chrono>

#include "model/decoder/decoder_files.h"
#include "model/tensors/weights.h"

namespace assay {

DecoderParameters::DecoderParameters(Device& device, const TransformerShape& shape,
                                     const DecoderWeightSettings& settings)
    : device_(&device),
      shape_(shape),
      settings_(settings),
      element_(size_of(settings.precision)),
      layout_(TransformerParameters::of(shape, settings.layout())) {}

std::size_t DecoderParameters::largest_matrix(const TransformerParameters& layout) {
  std::int64_t most = layout.head.quantized ? layout.head.elements() : 0;
  for (const Tensor& m : layout.matrices()) {
    if (m.quantized) most = std::max(most, m.elements());
  }
  return static_cast<std::size_t>(most);
}

std::uint64_t DecoderParameters::bytes(const TransformerShape& shape,
                                       const DecoderWeightSettings& settings) {
  const TransformerParameters layout = TransformerParameters::of(shape, settings.layout());
  const std::size_t numbers = layout.elements + largest_matrix(layout);
  return numbers * size_of(settings.precision) + layout.codes + layout.factors * sizeof(float);
}

Result<DecoderParameters> DecoderParameters::create(Device& device, Stream& stream,
                                                    const TransformerShape& shape,
                                                    const DecoderWeightSettings& settings) {
  DecoderParameters made(device, shape, settings);
  const auto write = [&]() -> Status {
    if (settings.folder.empty()) {
      TRY(made.allocate(stream));
      return made.write_random(stream);
    }
    DecoderFiles files = TRY(
        DecoderFiles::open(settings.folder, tensors_of_shard(shape, made.layout_, settings.part)));
    if (!settings.adapter.empty()) files.merge(TRY(read_adapter(settings.adapter, shape)));
    TRY(made.allocate(stream));
    return made.read(stream, files);
  };
  const Status written = write();
  const Status done = stream.synchronize();  // also after an error: memory is still written to
  TRY(written);
  TRY(done);
  return made;
}

Status DecoderParameters::allocate(Stream& stream) {
  const auto allocate = [&](Buffer& buffer, std::size_t bytes) -> Status {
    buffer = TRY(device_->allocate(bytes, MemoryKind::device));
    return stream.fill(buffer.data(), 0, bytes);  // gaps, and the rows that pad the vocabulary
  };
  TRY(allocate(weights_, layout_.elements * element_));
  if (!settings_.codes) return {};
  quantized_ = TRY(QuantizedRows::create(*device_, settings_.precision, *settings_.codes));
  quantized_f32_ = TRY(QuantizedRows::create(*device_, DataType::f32, *settings_.codes));
  TRY(allocate(codes_, layout_.codes));
  TRY(allocate(factors_, layout_.factors * sizeof(float)));
  return allocate(numbers_, largest_matrix(layout_) * element_);
}

Status DecoderParameters::quantize(Stream& stream, const Tensor& place, const void* from,
                                   DataType type) {
  QuantizedRows& rows = type == settings_.precision ? *quantized_ : *quantized_f32_;
  return rows.quantize(stream, codes_of(place), factors_of(place), from, place.rows, place.columns);
}

Status DecoderParameters::write_random(Stream& stream) {
  constexpr double deviation = 0.02;  // as transformers begins
  InitialWeights initial =
      TRY(InitialWeights::create(*device_, stream, settings_.precision, settings_.seed));
  // Where an element lies in a decoder of one rank without quantization chooses its number, so that
  // it is the same in all of them.
  for (const NamedTensor& named : tensors_of_shard(shape_, layout_, settings_.part)) {
    const Tensor& tensor = named.tensor;
    if (named.kind == NamedTensor::Kind::norm) {
      TRY(initial.ones(at(tensor), tensor));
      continue;
    }
    void* const numbers = tensor.quantized ? numbers_.data() : at(tensor);
    TRY(initial.normal_part(numbers, tensor, named.whole, named.first, deviation));
    if (tensor.quantized) TRY(quantize(stream, tensor, numbers, settings_.precision));
  }
  TRY(quantize_tied_head(stream));
  return stream.synchronize();  // the kernels of `initial` are unloaded now
}

Status DecoderParameters::quantize_tied_head(Stream& stream) {
  if (!shape_.tied || !layout_.head.quantized) return {};
  const Tensor& head = layout_.head;
  return quantize(stream, head,
                  at(layout_.embedding.rows_from(settings_.part.rank * head.rows, head.rows)),
                  settings_.precision);
}

Status DecoderParameters::read(Stream& stream, const DecoderFiles& files) {
  Elementwise elementwise = TRY(Elementwise::create(*device_, settings_.precision));
  Buffer stored, converted;  // rows as they are in a file, and of the precision
  const auto make_room = [&](Buffer& buffer, std::size_t bytes) -> Status {
    if (buffer.bytes() >= bytes) return {};
    TRY(stream.synchronize());  // what is replaced may still be read
    buffer = TRY(device_->allocate(bytes, MemoryKind::device));
    return {};
  };
  const auto begin = std::chrono::steady_clock::now();
  const Status got = files.read(
      *device_, stream, [&](const Tensor& place, const void* rows, DataType type) -> Status {
        const auto elements = static_cast<std::size_t>(place.elements());
        const bool as_they_are = type == settings_.precision;
        if (as_they_are && !place.quantized) {
          return stream.copy(at(place), rows, elements * element_);
        }
        TRY(make_room(stored, elements * size_of(type)));
        TRY(stream.copy(stored.data(), rows, elements * size_of(type)));
        const bool wide = type == DataType::f32;  // not rounded twice
        if (place.quantized && (as_they_are || wide)) {
          return quantize(stream, place, stored.data(), type);
        }
        if (!place.quantized) {
          return elementwise.convert(stream, at(place), stored.data(), type, elements);
        }
        TRY(make_room(converted, elements * element_));
        TRY(elementwise.convert(stream, converted.data(), stored.data(), type, elements));
        return quantize(stream, place, converted.data(), settings_.precision);
      });
  TRY(stream.synchronize());  // both are still read, also after an error
  TRY(got);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  read_rate_ = static_cast<double>(files.bytes()) / taken.count();
  return quantize_tied_head(stream);
}

Result<void*> DecoderParameters::numbers_of(Stream& stream, const Tensor& m) {
  if (!m.quantized) return at(m);
  TRY(quantized_->dequantize(stream, numbers_.data(), codes_of(m), factors_of(m), m.rows,
                             m.columns));
  return numbers_.data();
}

Status DecoderParameters::copy_to_host(Stream& stream, std::vector<float>& all) {
  const TransformerShape computed = computed_shape(shape_, settings_);
  all.resize(TransformerParameters::of(computed).elements);
  for (const NamedTensor& named : tensors_of_shard(computed, layout_, settings_.part)) {
    const void* const numbers = TRY(numbers_of(stream, named.tensor));
    const auto columns = static_cast<std::size_t>(named.tensor.columns);
    const std::vector<float> values = TRY(read_weights(
        stream, numbers, settings_.precision, static_cast<std::size_t>(named.tensor.elements())));
    std::size_t to = named.whole.offset + named.first;
    for (std::size_t from = 0; from < values.size(); from += columns) {
      std::copy_n(&values[from], columns, &all[to]);
      to += static_cast<std::size_t>(named.whole.columns);
    }
  }
  return {};
}

TransformerShape computed_shape(TransformerShape shape, const DecoderWeightSettings& settings) {
  shape.tied = shape.tied && !settings.codes;
  return shape;
}

}  // namespace assay
