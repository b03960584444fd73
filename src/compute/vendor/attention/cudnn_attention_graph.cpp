#include "compute/vendor/attention/cudnn_attention_graph.h"

#include <utility>

namespace assay::cudnn {

namespace {

/// Returns the transposed view of the same memory.
TensorSpec transposed(TensorSpec spec) {
  std::swap(spec.dimensions[2], spec.dimensions[3]);
  std::swap(spec.strides[2], spec.strides[3]);
  return spec;
}

/// The layout of all tensors; dimensions are [batch, heads, rows, columns].
struct Shapes {
  explicit Shapes(const AttentionSizes& s)
      : narrow(s.type), b(s.batch), t(s.sequence), h(s.heads), hk(s.kv_heads), d(s.head_width) {}

  int narrow;
  std::int64_t b, t, h, hk, d;

  /// Returns the queries, keys or values, or one of their gradients.
  TensorSpec packed(Id id) const {
    const std::int64_t all_heads = h + 2 * hk;
    const bool is_query = id == queries || id == d_queries;
    return {narrow, {b, is_query ? h : hk, t, d}, {t * all_heads * d, d, all_heads * d, 1}, id};
  }
  TensorSpec result_like(Id id) const {
    return {narrow, {b, h, t, d}, {t * h * d, d, h * d, 1}, id};
  }
  TensorSpec rows() const { return {data::f32, {b, h, t, 1}, {h * t, t, 1, 1}}; }
  /// Returns a tensor with one number for each of `count`.
  static TensorSpec numbers(std::int64_t count, Id id) {
    return {data::i32, {count, 1, 1, 1}, {1, 1, 1, 1}, id};
  }
  TensorSpec scores() const { return {data::f32, {b, h, t, t}, {h * t * t, t * t, t, 1}}; }
  TensorSpec contiguous() const { return {data::f32, {b, h, t, d}, {h * t * d, t * d, d, 1}}; }
  static TensorSpec scalar(Id id) { return {data::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, id, true}; }
};

/// How many rows, columns and elements of a sum a product has for each sequence; null: all.
struct Extents {
  void *rows = nullptr, *columns = nullptr, *depth = nullptr;
};

class AttentionBuilder : public GraphBuilder {
 public:
  using GraphBuilder::GraphBuilder;

  Status pointwise_into(int mode, void* x, void* b, void* y, int precision = data::f32,
                        std::int64_t axis = -1, void* predicate = nullptr) {
    Descriptor how = TRY(Descriptor::create(library_, descriptor::pointwise, "a pointwise mode"));
    TRY(how.set(attribute::pointwise_mode, type::pointwise_mode, mode));
    TRY(how.set(attribute::pointwise_precision, type::data_type, precision));
    if (axis >= 0) TRY(how.set(attribute::pointwise_axis, type::int64, axis));
    void* const kept = TRY(keep(std::move(how)));
    Descriptor made =
        TRY(Descriptor::create(library_, descriptor::pointwise_operation, "a pointwise operation"));
    TRY(made.set_descriptor(attribute::pointwise_descriptor, kept));
    TRY(made.set_descriptor(attribute::pointwise_x, x));
    if (b != nullptr) TRY(made.set_descriptor(attribute::pointwise_b, b));
    TRY(made.set_descriptor(attribute::pointwise_y, y));
    if (predicate != nullptr) TRY(made.set_descriptor(attribute::pointwise_t, predicate));
    return keep_operation(std::move(made));
  }
  Result<void*> pointwise(int mode, void* x, void* b, const TensorSpec& y) {
    void* const made = TRY(tensor(y));
    TRY(pointwise_into(mode, x, b, made));
    return made;
  }

  Status matmul_into(void* a, void* b, void* c, const Extents& extents = {}) {
    Descriptor how = TRY(Descriptor::create(library_, descriptor::matmul, "a product's precision"));
    TRY(how.set(attribute::matmul_precision, type::data_type, data::f32));
    if (extents.columns != nullptr) TRY(how.set(attribute::matmul_padding, type::f64, 0.0));
    void* const kept = TRY(keep(std::move(how)));
    Descriptor made =
        TRY(Descriptor::create(library_, descriptor::matmul_operation, "a matrix product"));
    TRY(made.set_descriptor(attribute::matmul_a, a));
    TRY(made.set_descriptor(attribute::matmul_b, b));
    TRY(made.set_descriptor(attribute::matmul_c, c));
    TRY(made.set_descriptor(attribute::matmul_descriptor, kept));
    const std::pair<int, void*> own[] = {{attribute::matmul_rows, extents.rows},
                                         {attribute::matmul_columns, extents.columns},
                                         {attribute::matmul_depth, extents.depth}};
    for (const auto& [name, extent] : own) {
      if (extent != nullptr) TRY(made.set_descriptor(name, extent));
    }
    return keep_operation(std::move(made));
  }
  Result<void*> matmul(void* a, void* b, const TensorSpec& c, const Extents& extents = {}) {
    void* const made = TRY(tensor(c));
    TRY(matmul_into(a, b, made, extents));
    return made;
  }

  Status reduce_into(int mode, void* x, void* into) {
    Descriptor how = TRY(Descriptor::create(library_, descriptor::reduction, "a reduction's mode"));
    TRY(how.set(attribute::reduction_mode, type::reduction_mode, mode));
    TRY(how.set(attribute::reduction_precision, type::data_type, data::f32));
    void* const kept = TRY(keep(std::move(how)));
    Descriptor made =
        TRY(Descriptor::create(library_, descriptor::reduction_operation, "a reduction"));
    TRY(made.set_descriptor(attribute::reduction_x, x));
    TRY(made.set_descriptor(attribute::reduction_y, into));
    TRY(made.set_descriptor(attribute::reduction_descriptor, kept));
    return keep_operation(std::move(made));
  }
  Result<void*> reduce(int mode, void* x, const TensorSpec& y) {
    void* const into = TRY(tensor(y));
    TRY(reduce_into(mode, x, into));
    return into;
  }

  Result<void*> reshape(void* x, const TensorSpec& y) {
    void* const into = TRY(tensor(y));
    Descriptor made = TRY(Descriptor::create(library_, descriptor::reshape_operation, "a reshape"));
    TRY(made.set_descriptor(attribute::reshape_x, x));
    TRY(made.set_descriptor(attribute::reshape_y, into));
    TRY(keep_operation(std::move(made)));
    return into;
  }

  /// Computes the gradient of keys or values, a product that has a part from each query head. Heads
  /// that share keys are added up.
  Status gradient_of_keys(void* a, void* b, void* gradient, const Shapes& shapes) {
    if (shapes.h == shapes.hk) return matmul_into(a, b, gradient);
    void* const of_each = TRY(matmul(a, b, shapes.contiguous().as(shapes.narrow)));
    return reduce_into(reduce::add, of_each, gradient);
  }

  /// Sets scores of keys after the query to `masked`.
  Result<void*> causal(void* scores, const TensorSpec& like) {
    const Places at = TRY(places(scores, like));
    void* const seen = TRY(compare(mode::greater_or_equal, at.row, at.column, like));
    return keep_where(seen, scores, masked, like);
  }

  /// Sets scores of queries and keys beyond the end of their sequence to `absent`.
  Result<void*> within(const Extents& extents, void* scores, const TensorSpec& like) {
    const Places at = TRY(places(scores, like));
    void* const row_is = TRY(compare(mode::less, at.row, extents.rows, like));
    void* const column_is = TRY(compare(mode::less, at.column, extents.columns, like));
    void* const both = TRY(compare(mode::logical_and, row_is, column_is, like));
    return keep_where(both, scores, absent, like);
  }

 private:
  /// The row and the column number of each score.
  struct Places {
    void *row, *column;
  };
  Result<Places> places(void* scores, const TensorSpec& like) {
    void* const row = TRY(tensor(like.as(data::i32)));
    TRY(pointwise_into(mode::index, scores, nullptr, row, data::i32, 2));
    void* const column = TRY(tensor(like.as(data::i32)));
    TRY(pointwise_into(mode::index, scores, nullptr, column, data::i32, 3));
    return Places{row, column};
  }
  Result<void*> compare(int mode, void* left, void* right, const TensorSpec& like) {
    void* const made = TRY(tensor(like.as(data::boolean)));
    TRY(pointwise_into(mode, left, right, made, data::boolean));
    return made;
  }
  Result<void*> keep_where(void* condition, void* scores, Id otherwise, const TensorSpec& like) {
    void* const instead = TRY(tensor(Shapes::scalar(otherwise)));
    void* const left = TRY(tensor(like));
    TRY(pointwise_into(mode::select, scores, instead, left, data::f32, -1, condition));
    return left;
  }
};

}  // namespace

// y = softmax(causal(scale Q K^T)) V, with the logarithm of the sums of exponentials per row.
Result<OperationGraph> attention_forward(const Library& library, void* handle,
                                         const AttentionSizes& sizes) {
  const Shapes shapes(sizes);
  const TensorSpec scores = shapes.scores(), rows = shapes.rows();
  AttentionBuilder g(library);
  // These are used with own_lengths. Lengths and offsets of queries, keys and values are equal
  // numbers, but separate tensors, as in the frontend's graph.
  Extents tokens;  // rows: of queries, columns: of keys
  void *in_q = nullptr, *in_k = nullptr, *in_v = nullptr, *in_y = nullptr;
  if (sizes.own_lengths) {
    tokens.rows = TRY(g.tensor(Shapes::numbers(shapes.b, query_lengths)));
    tokens.columns = TRY(g.tensor(Shapes::numbers(shapes.b, key_lengths)));
    in_q = TRY(g.tensor(Shapes::numbers(shapes.b + 1, query_offsets)));
    in_k = TRY(g.tensor(Shapes::numbers(shapes.b + 1, key_offsets)));
    in_v = TRY(g.tensor(Shapes::numbers(shapes.b + 1, value_offsets)));
    in_y = TRY(g.tensor(Shapes::numbers(shapes.b + 1, y_offsets)));
  }
  void* const q = TRY(g.tensor(shapes.packed(queries).at(in_q)));
  void* const k_t = TRY(g.tensor(transposed(shapes.packed(keys).at(in_k))));
  void* const v = TRY(g.tensor(shapes.packed(values).at(in_v)));
  void* const y = TRY(g.tensor(shapes.result_like(result).at(in_y)));
  void* const sums = TRY(g.tensor(sizes.forward_only ? rows : rows.with_id(log_sum)));
  void* const factor = TRY(g.tensor(Shapes::scalar(scale)));

  void* const products = TRY(g.matmul(q, k_t, scores, tokens));
  void* const scaled = TRY(g.pointwise(mode::mul, products, factor, scores));
  void* const there = sizes.own_lengths ? TRY(g.within(tokens, scaled, scores)) : scaled;
  void* const seen = TRY(g.causal(there, scores));
  void* const largest = TRY(g.reduce(reduce::max, seen, rows));
  void* const below = TRY(g.pointwise(mode::sub, seen, largest, scores));
  void* const powers = TRY(g.pointwise(mode::exp, below, nullptr, scores));
  void* const sum = TRY(g.reduce(reduce::add, powers, rows));
  void* const logarithm = TRY(g.pointwise(mode::log, sum, nullptr, rows));
  TRY(g.pointwise_into(mode::add, largest, logarithm, sums));
  void* const p = TRY(g.pointwise(mode::div, powers, sum, scores.as(shapes.narrow)));
  TRY(g.matmul_into(p, v, y, {.rows = tokens.rows, .depth = tokens.columns}));
  return g.finish(handle, "attention's graph");
}

// With P as above and D the sum of dY * Y over each row:
//   dV = P^T dY, dS = scale P * (dY V^T - D), dK = dS^T Q, dQ = dS K
Result<OperationGraph> attention_backward(const Library& library, void* handle,
                                          const AttentionSizes& sizes, Summing summing) {
  const Shapes shapes(sizes);
  const TensorSpec scores = shapes.scores(), rows = shapes.rows();
  const TensorSpec scores_t = transposed(scores.as(shapes.narrow));
  AttentionBuilder g(library);
  void* const q = TRY(g.tensor(shapes.packed(queries)));
  void* const k_t = TRY(g.tensor(transposed(shapes.packed(keys))));
  void* const v_t = TRY(g.tensor(transposed(shapes.packed(values))));
  void* const y = TRY(g.tensor(shapes.result_like(result)));
  void* const dy = TRY(g.tensor(shapes.result_like(d_result)));
  void* const sums = TRY(g.tensor(rows.with_id(log_sum)));
  void* const dq = TRY(g.tensor(shapes.packed(d_queries)));
  void* const dk = TRY(g.tensor(shapes.packed(d_keys)));
  void* const dv = TRY(g.tensor(shapes.packed(d_values)));
  void* const factor = TRY(g.tensor(Shapes::scalar(scale)));
  void* const unit = TRY(g.tensor(Shapes::scalar(one)));

  void* const weighted = TRY(g.pointwise(mode::mul, dy, y, shapes.contiguous()));
  void* const weight = TRY(g.reduce(reduce::add, weighted, rows));
  // This takes the position of dropout's factor.
  void* const d = TRY(g.pointwise(mode::mul, weight, unit, rows.with_id(row_sums)));

  void* const products = TRY(g.matmul(q, k_t, scores));
  void* const scaled = TRY(g.pointwise(mode::mul, products, factor, scores));
  void* const logarithms = TRY(g.pointwise(mode::sub, scaled, sums, scores));
  void* const seen = TRY(g.causal(logarithms, scores));
  void* const p = TRY(g.pointwise(mode::exp, seen, nullptr, scores));
  void* const p_t = TRY(g.reshape(p, scores_t));
  TRY(g.gradient_of_keys(p_t, dy, dv, shapes));

  void* const dp = TRY(g.matmul(dy, v_t, scores));
  void* const centred = TRY(g.pointwise(mode::sub, dp, d, scores));
  void* const gradient = TRY(g.pointwise(mode::mul, centred, p, scores));
  void* const ds = TRY(g.pointwise(mode::mul, gradient, factor, scores));
  void* const ds_t = TRY(g.reshape(ds, scores_t));
  TRY(g.gradient_of_keys(ds_t, q, dk, shapes));

  void* const k = TRY(g.reshape(k_t, shapes.packed(keys).with_id(0)));
  if (summing == Summing::in_order) {
    TRY(g.matmul_into(ds, k, dq));
  } else {
    void* const sum = TRY(g.matmul(ds, k, shapes.contiguous().with_id(accumulator)));
    TRY(g.pointwise_into(mode::identity, sum, nullptr, dq));
  }
  return g.finish(handle, "attention's graph");
}

}  // namespace assay::cudnn
