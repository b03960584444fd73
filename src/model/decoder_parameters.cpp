#include "model/decoder_parameters.h"

#include <algorithm>

#include "model/decoder_files.h"
#include "model/weights.h"

namespace assay {

DecoderParameters::DecoderParameters(Device& device, const DecoderShape& shape,
                                     const DecoderWeightSettings& settings)
    : device_(&device),
      shape_(shape),
      settings_(settings),
      element_(size_of(settings.precision)),
      layout_(DecoderWeights::of(shape, settings.codes.has_value())) {}

std::size_t DecoderParameters::largest_matrix(const DecoderWeights& layout) {
  std::int64_t most = layout.head.quantized ? layout.head.elements() : 0;
  for (const WeightMatrix& m : layout.matrices()) {
    if (m.quantized) most = std::max(most, m.elements());
  }
  return static_cast<std::size_t>(most);
}

std::uint64_t DecoderParameters::bytes(const DecoderShape& shape,
                                       const DecoderWeightSettings& settings) {
  const DecoderWeights layout = DecoderWeights::of(shape, settings.codes.has_value());
  const std::size_t numbers = layout.elements + largest_matrix(layout);
  return numbers * size_of(settings.precision) + layout.codes + layout.factors * sizeof(float);
}

Result<DecoderParameters> DecoderParameters::create(Device& device, Stream& stream,
                                                    const DecoderShape& shape,
                                                    const DecoderWeightSettings& settings) {
  DecoderParameters made(device, shape, settings);
  const auto write = [&]() -> Status {
    if (settings.folder.empty()) {
      TRY(made.allocate(stream));
      return made.write_random(stream);
    }
    const DecoderFiles files =
        TRY(DecoderFiles::open(settings.folder, decoder_file_tensors(shape, made.layout_)));
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
  TRY(allocate(codes_, layout_.codes));
  TRY(allocate(factors_, layout_.factors * sizeof(float)));
  return allocate(numbers_, largest_matrix(layout_) * element_);
}

Status DecoderParameters::keep(Stream& stream, const WeightMatrix& place, const void* from) {
  if (!place.quantized) {
    return stream.copy(at(place), from, static_cast<std::size_t>(place.elements()) * element_);
  }
  return quantized_->quantize(stream, codes_of(place), factors_of(place), from, place.rows,
                              place.columns);
}

Status DecoderParameters::write_random(Stream& stream) {
  constexpr double deviation = 0.02;  // as transformers begins
  InitialWeights initial =
      TRY(InitialWeights::create(*device_, stream, settings_.precision, settings_.seed));
  // Where a tensor lies without quantization chooses its numbers, so that they are the same.
  const DecoderWeights usual = DecoderWeights::of(shape_);
  const auto write = [&](const WeightMatrix& place, const Tensor& as, std::int64_t rows) -> Status {
    void* const to = place.quantized ? numbers_.data() : at(place);
    TRY(initial.normal(to, as, rows, deviation));
    return place.quantized ? keep(stream, place.rows_from(0, rows), to) : Status();
  };
  TRY(initial.normal(at(layout_.embedding), usual.embedding, shape_.vocabulary, deviation));
  if (!shape_.tied) {
    TRY(write(layout_.head, usual.head, shape_.vocabulary));
  } else if (layout_.head.quantized) {
    TRY(keep(stream, layout_.head, at(layout_.embedding)));
  }
  const std::vector<WeightMatrix> places = layout_.matrices(), as = usual.matrices();
  for (std::size_t i = 0; i < places.size(); ++i) TRY(write(places[i], as[i], as[i].rows));
  const std::vector<Tensor> biases = layout_.biases(), biases_as = usual.biases();
  for (std::size_t i = 0; i < biases.size(); ++i) {
    TRY(initial.normal(at(biases[i]), biases_as[i], deviation));
  }
  for (const Tensor& t : layout_.norms()) TRY(initial.ones(at(t), t));
  return {};
}

Status DecoderParameters::read(Stream& stream, const DecoderFiles& files) {
  Elementwise elementwise = TRY(Elementwise::create(*device_, settings_.precision));
  Buffer converted;
  const Status got = files.read(
      *device_, stream, [&](const WeightMatrix& place, const void* rows, DataType type) -> Status {
        if (type == settings_.precision) return keep(stream, place, rows);
        const auto elements = static_cast<std::size_t>(place.elements());
        if (!place.quantized) {
          return elementwise.convert(stream, at(place), rows, type, elements);
        }
        if (converted.bytes() < elements * element_) {
          TRY(stream.synchronize());  // what is replaced may still be read
          converted = TRY(device_->allocate(elements * element_, MemoryKind::device));
        }
        TRY(elementwise.convert(stream, converted.data(), rows, type, elements));
        return keep(stream, place, converted.data());
      });
  TRY(stream.synchronize());  // `converted` is still read, also after an error
  TRY(got);
  if (!shape_.tied || !layout_.head.quantized) return {};
  return keep(stream, layout_.head, at(layout_.embedding));
}

Result<void*> DecoderParameters::numbers_of(Stream& stream, const WeightMatrix& m) {
  if (!m.quantized) return at(m);
  TRY(quantized_->dequantize(stream, numbers_.data(), codes_of(m), factors_of(m), m.rows,
                             m.columns));
  return numbers_.data();
}

Result<std::vector<float>> DecoderParameters::host_copy(Stream& stream) {
  const DecoderWeights usual = DecoderWeights::of(computed_shape(shape_, settings_));
  std::vector<float> all(usual.elements);
  const auto copy = [&](const Tensor& to, const void* from) -> Status {
    const auto elements = static_cast<std::size_t>(to.elements());
    const std::vector<float> values =
        TRY(read_weights(stream, from, settings_.precision, elements));
    std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(to.offset));
    return {};
  };
  const auto copy_all = [&](const auto& to, const auto& from) -> Status {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const void* const numbers = TRY(numbers_of(stream, WeightMatrix{from[i]}));
      TRY(copy(to[i], numbers));
    }
    return {};
  };
  TRY(copy(usual.embedding, at(layout_.embedding)));
  const void* const head = TRY(numbers_of(stream, layout_.head));
  TRY(copy(usual.head, head));
  TRY(copy_all(usual.matrices(), layout_.matrices()));
  TRY(copy_all(usual.biases(), layout_.biases()));
  TRY(copy_all(usual.norms(), layout_.norms()));
  return all;
}

DecoderShape computed_shape(DecoderShape shape, const DecoderWeightSettings& settings) {
  shape.tied = shape.tied && !settings.codes;
  return shape;
}

}  // namespace assay
