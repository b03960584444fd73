// Computes a graph of cuDNN's operations on the host, one operation after the other.
#include <cmath>

#include "compute/vendor/libraries/cudnn_api.h"
#include "descriptor.h"
#include "numbers.h"

namespace mock_cudnn {
namespace {

using namespace assay::cudnn;
using Index = std::array<std::int64_t, 4>;

/// All elements of a tensor, row-major; where it lies in memory is only of interest when it is read
/// or written.
struct Tensor {
  Index size = {};
  std::vector<double> values;

  double& at(const Index& i) {
    return values[static_cast<std::size_t>(((i[0] * size[1] + i[1]) * size[2] + i[2]) * size[3] +
                                           i[3])];
  }
  /// Where the tensor is 1 wide, its element stands for all.
  double broadcast(Index i) {
    for (std::size_t d = 0; d < 4; ++d) i[d] = size[d] == 1 ? 0 : i[d];
    return at(i);
  }
};

template <typename Function>
void for_each(const Index& size, const Function& function) {
  Index i;
  for (i[0] = 0; i[0] < size[0]; ++i[0]) {
    for (i[1] = 0; i[1] < size[1]; ++i[1]) {
      for (i[2] = 0; i[2] < size[2]; ++i[2]) {
        for (i[3] = 0; i[3] < size[3]; ++i[3]) function(i);
      }
    }
  }
}

/// How much of the last two dimensions there is of each of a batch: the rest is not touched.
struct Extents {
  const std::vector<std::int64_t>*rows = nullptr, *columns = nullptr;

  bool hold(const Index& i) const {
    const auto b = static_cast<std::size_t>(i[0]);
    return (rows == nullptr || i[2] < (*rows)[b]) && (columns == nullptr || i[3] < (*columns)[b]);
  }
};

class Run {
 public:
  Run(const Descriptor& pack, bool adds) : adds_(adds) {
    const auto ids = pack.all<std::int64_t>(attribute::pack_ids);
    const auto addresses = pack.all<std::byte*>(attribute::pack_pointers);
    for (std::size_t i = 0; i < ids.size(); ++i) addresses_[ids[i]] = addresses[i];
  }

  bool ok() const { return ok_; }

  void operation(const Descriptor& o) {
    if (is_convolution(o)) {
      ok_ = ok_ && convolve(o, addresses_);
      return;
    }
    if (o.type == descriptor::matmul_operation) return matmul(o);
    if (o.type == descriptor::reduction_operation) return reduce(o);
    if (o.type == descriptor::reshape_operation) return reshape(o);
    pointwise(o);
  }

 private:
  void pointwise(const Descriptor& o) {
    const Descriptor& how = *o.part(attribute::pointwise_descriptor);
    const int m = how.get<int>(attribute::pointwise_mode);
    Tensor x = read(o.part(attribute::pointwise_x));
    Tensor b = o.has(attribute::pointwise_b) ? read(o.part(attribute::pointwise_b)) : x;
    Tensor t = o.has(attribute::pointwise_t) ? read(o.part(attribute::pointwise_t)) : x;
    const auto axis = static_cast<std::size_t>(how.get<std::int64_t>(attribute::pointwise_axis));
    write(o.part(attribute::pointwise_y), [&](const Index& i) {
      const double left = x.broadcast(i), right = b.broadcast(i);
      switch (m) {
        case mode::add:
          return left + right;
        case mode::sub:
          return left - right;
        case mode::mul:
          return left * right;
        case mode::div:
          return left / right;
        case mode::exp:
          return std::exp(left);
        case mode::log:
          return std::log(left);
        case mode::index:
          return static_cast<double>(i[axis]);
        case mode::greater_or_equal:
          return left >= right ? 1.0 : 0.0;
        case mode::less:
          return left < right ? 1.0 : 0.0;
        case mode::logical_and:
          return left != 0 && right != 0 ? 1.0 : 0.0;
        case mode::select:
          return t.broadcast(i) != 0 ? left : right;
        default:
          return left;
      }
    });
  }

  void matmul(const Descriptor& o) {
    const Descriptor* const c = o.part(attribute::matmul_c);
    const auto extents = [&](int name, std::size_t batch) {
      return o.has(name) ? lengths_of(*o.part(name)) : std::vector<std::int64_t>(batch, most);
    };
    const auto batch = static_cast<std::size_t>(numbers(*c, attribute::tensor_dimensions)[0]);
    // The names are those in the frontend's graphs, by which the library knows attention.
    ok_ = ok_ && differ(o, o, attribute::matmul_rows, attribute::matmul_columns) &&
          differ(*o.part(attribute::matmul_a), *o.part(attribute::matmul_b),
                 attribute::tensor_ragged, attribute::tensor_ragged);
    const auto rows = extents(attribute::matmul_rows, batch),
               columns = extents(attribute::matmul_columns, batch),
               depth = extents(attribute::matmul_depth, batch);
    Tensor a = read(o.part(attribute::matmul_a), {&rows, &depth}),
           b = read(o.part(attribute::matmul_b), {&depth, &columns});
    Tensor before;
    const bool adds = adds_ && !c->get<bool>(attribute::tensor_virtual) &&
                      c->get<int>(attribute::tensor_type) == data::f32;
    if (adds) before = read(c);
    ok_ = ok_ && a.size[3] == b.size[2] && a.size[1] % b.size[1] == 0;
    if (!ok_) return;
    const std::int64_t group = a.size[1] / b.size[1];  // heads of queries that share one of keys
    write(c,
          [&](const Index& i) {
            double sum = adds ? before.at(i) : 0;
            const std::int64_t end = std::min(a.size[3], depth[static_cast<std::size_t>(i[0])]);
            for (std::int64_t k = 0; k < end; ++k) {
              sum += a.at({i[0], i[1], i[2], k}) * b.at({i[0], i[1] / group, k, i[3]});
            }
            return sum;
          },
          {&rows, &columns});
  }

  /// Whether two attributes are descriptors of their own, where both are there.
  static bool differ(const Descriptor& left, const Descriptor& right, int left_name,
                     int right_name) {
    return !left.has(left_name) || !right.has(right_name) ||
           left.part(left_name) != right.part(right_name);
  }

  /// Over the last dimension, or over neighbouring heads, which is all that attention needs.
  void reduce(const Descriptor& o) {
    const int m = o.part(attribute::reduction_descriptor)->get<int>(attribute::reduction_mode);
    Tensor x = read(o.part(attribute::reduction_x));
    const Index reduced = numbers(*o.part(attribute::reduction_y), attribute::tensor_dimensions);
    if (reduced[3] == x.size[3]) {
      const std::int64_t group = x.size[1] / reduced[1];
      write(o.part(attribute::reduction_y), [&](const Index& i) {
        double sum = 0;
        for (std::int64_t h = 0; h < group; ++h) {
          sum += x.at({i[0], i[1] * group + h, i[2], i[3]});
        }
        return sum;
      });
      return;
    }
    write(o.part(attribute::reduction_y), [&](const Index& i) {
      double all = m == reduce::max ? -INFINITY : 0;
      for (std::int64_t k = 0; k < x.size[3]; ++k) {
        const double value = x.at({i[0], i[1], i[2], k});
        all = m == reduce::max ? std::max(all, value) : all + value;
      }
      return all;
    });
  }

  /// All that attention reshapes it transposes.
  void reshape(const Descriptor& o) {
    Tensor x = read(o.part(attribute::reshape_x));
    write(o.part(attribute::reshape_y), [&](const Index& i) {
      return x.at({i[0], i[1], i[3], i[2]});
    });
  }

  static Index numbers(const Descriptor& tensor, int name) { return tensor.get<Index>(name); }
  std::int64_t offset(const Descriptor& tensor, const Index& i) {
    const Index strides = numbers(tensor, attribute::tensor_strides);
    const Descriptor* const ragged = tensor.part(attribute::tensor_ragged);
    std::int64_t sum =
        ragged == nullptr ? i[0] * strides[0] : lengths_of(*ragged)[static_cast<std::size_t>(i[0])];
    for (std::size_t d = 1; d < 4; ++d) sum += i[d] * strides[d];
    return sum;
  }
  /// The numbers that lie there, one for each of a batch.
  std::vector<std::int64_t> lengths_of(const Descriptor& tensor) {
    std::vector<std::int64_t> all(
        static_cast<std::size_t>(numbers(tensor, attribute::tensor_dimensions)[0]));
    const auto* const memory = address_of(tensor);
    ok_ = ok_ && memory != nullptr;
    for (std::size_t i = 0; ok_ && i < all.size(); ++i) {
      std::int32_t number = 0;
      std::memcpy(&number, memory + 4 * i, sizeof number);
      all[i] = number;
    }
    return all;
  }
  static constexpr std::int64_t most = INT64_MAX;
  std::byte* address_of(const Descriptor& tensor) {
    const auto found = addresses_.find(tensor.get<std::int64_t>(attribute::tensor_id));
    return found == addresses_.end() ? nullptr : found->second;
  }

  Tensor read(const Descriptor* tensor, const Extents& extents = {}) {
    if (tensor->get<bool>(attribute::tensor_virtual)) {
      return kept_[tensor->get<std::int64_t>(attribute::tensor_id)];
    }
    Tensor read = empty(*tensor);
    if (address_of(*tensor) == nullptr) {
      ok_ = false;
      return read;
    }
    const int type = tensor->get<int>(attribute::tensor_type);
    for_each(read.size, [&](const Index& i) {
      if (!ok_ || !extents.hold(i)) return;
      read.at(i) = read_number(type, address_of(*tensor), offset(*tensor, i));
    });
    return read;
  }

  template <typename Function>
  void write(const Descriptor* tensor, const Function& value_at, const Extents& extents = {}) {
    Tensor made = empty(*tensor);
    const int type = tensor->get<int>(attribute::tensor_type);
    const bool narrow = bytes_of(type) == 2;
    for_each(made.size, [&](const Index& i) {
      const double value = extents.hold(i) ? value_at(i) : 0;
      made.at(i) = narrow ? decode(type, encode(type, value)) : value;
    });
    if (tensor->get<bool>(attribute::tensor_virtual)) {
      kept_[tensor->get<std::int64_t>(attribute::tensor_id)] = std::move(made);
      return;
    }
    if (address_of(*tensor) == nullptr) {
      ok_ = false;
      return;
    }
    for_each(made.size, [&](const Index& i) {
      if (!ok_ || !extents.hold(i)) return;
      write_number(type, address_of(*tensor), offset(*tensor, i), made.at(i));
    });
  }

  static Tensor empty(const Descriptor& tensor) {
    Tensor made;
    made.size = numbers(tensor, attribute::tensor_dimensions);
    made.values.resize(
        static_cast<std::size_t>(made.size[0] * made.size[1] * made.size[2] * made.size[3]));
    return made;
  }

  bool adds_, ok_ = true;
  std::map<std::int64_t, std::byte*> addresses_;
  std::map<std::int64_t, Tensor> kept_;
};

}  // namespace

std::string name_of(const Descriptor& o) {
  if (o.type == descriptor::matmul_operation) return "matmul";
  if (o.type == descriptor::reshape_operation) return "reshape";
  if (o.type == descriptor::convolution_forward) return "convolution";
  if (o.type == descriptor::convolution_data) return "convolution-data";
  if (o.type == descriptor::convolution_weights) return "convolution-weights";
  if (o.type == descriptor::reduction_operation) {
    const int m = o.part(attribute::reduction_descriptor)->get<int>(attribute::reduction_mode);
    return m == reduce::max ? "max" : "sum";
  }
  static const std::map<int, std::string> names = {
      {mode::add, "add"},           {mode::sub, "sub"},       {mode::mul, "mul"},
      {mode::div, "div"},           {mode::exp, "exp"},       {mode::log, "log"},
      {mode::index, "index"},       {mode::select, "select"}, {mode::greater_or_equal, "ge"},
      {mode::identity, "identity"}, {mode::less, "less"},     {mode::logical_and, "and"}};
  const int m = o.part(attribute::pointwise_descriptor)->get<int>(attribute::pointwise_mode);
  const auto found = names.find(m);
  return found != names.end() ? found->second : "?";
}

bool run(const Descriptor& graph, const Descriptor& pack, bool adds) {
  Run run(pack, adds);
  for (const Descriptor* o : graph.all<const Descriptor*>(attribute::graph_operations)) {
    run.operation(*o);
  }
  return run.ok();
}

}  // namespace mock_cudnn
