#include "compute/vendor/blas/lt_descriptors.h"

#include <fmt/format.h>

#include "compute/vendor/blas/lt_dialects.h"

namespace assay::lt {
namespace {

Result<Owned> make_layout(const Library& library, const GemmProblem& problem, DataType type,
                          std::int64_t rows, std::int64_t columns, std::int64_t ld,
                          std::int64_t stride) {
  const Functions& f = library.functions;
  void* layout = nullptr;
  if (const int status = f.layout_create(&layout, data_type(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), ld)) {
    return status_error(library, "MatrixLayoutCreate", status, problem);
  }
  Owned owned(layout, f.layout_destroy);
  if (problem.batch > 1) {
    const auto count = static_cast<std::int32_t>(problem.batch);
    int status = f.layout_set(layout, library.dialect.layout_batch_count, &count, sizeof(count));
    if (status == 0) {
      status = f.layout_set(layout, library.dialect.layout_batch_stride, &stride, sizeof(stride));
    }
    if (status != 0) return status_error(library, "MatrixLayoutSetAttribute", status, problem);
  }
  return owned;
}

}  // namespace

Error status_error(const Library& library, std::string_view call, int status,
                   const GemmProblem& problem) {
  // Some releases call a mode of factors that they do not have an invalid value.
  const bool no_such_mode = problem.scales_lines && status == library.dialect.status_invalid;
  return {no_such_mode ? ErrorKind::unsupported : kind_of_status(library.dialect, status),
          fmt::format("{}: {}: {} ({}) for {}", library.dialect.name, call,
                      library.dialect.status_name(status), status, describe(problem))};
}

Status Descriptors::set(const Library& library, int attribute, const void* value,
                        std::size_t bytes) {
  const int status = library.functions.desc_set(operation_.get(), attribute, value, bytes);
  if (status == 0) return {};
  return Error{ErrorKind::failed,
               fmt::format("{}: MatmulDescSetAttribute({}): {} ({})", library.dialect.name,
                           attribute, library.dialect.status_name(status), status)};
}

Result<Descriptors> Descriptors::create(const Library& library, const GemmProblem& problem) {
  const Functions& f = library.functions;
  const Dialect& dialect = library.dialect;
  Descriptors made;
  void* operation = nullptr;
  if (const int status = f.desc_create(&operation, compute_number(dialect, problem.compute),
                                       data_type(problem.compute))) {
    return status_error(library, "MatmulDescCreate", status, problem);
  }
  made.operation_ = Owned(operation, f.desc_destroy);
  const auto operation_number = [&](bool transpose) -> std::int32_t {
    return transpose ? dialect.operation_transpose : dialect.operation_none;
  };
  const std::int32_t of_left = operation_number(problem.transpose_b);
  const std::int32_t of_right = operation_number(problem.transpose_a);
  TRY(made.set(library, dialect.desc_transpose_a, &of_left, sizeof(of_left)));
  TRY(made.set(library, dialect.desc_transpose_b, &of_right, sizeof(of_right)));
  TRY(made.describe_epilogue(library, problem));
  if (problem.scales_lines) TRY(made.describe_scales(library, problem));
  if (problem.fast_accumulate && dialect.desc_fast_accumulate != absent) {
    const std::int8_t on = 1;
    TRY(made.set(library, dialect.desc_fast_accumulate, &on, sizeof(on)));
  }
  if (problem.multiprocessors > 0) {  // hipblaslt.cpp has already refused such a problem
    const std::int32_t count = problem.multiprocessors;
    TRY(made.set(library, dialect.desc_multiprocessors, &count, sizeof(count)));
  }
  const auto& p = problem;
  made.left_ = TRY(make_layout(library, p, p.b, p.transpose_b ? p.k : p.n,
                               p.transpose_b ? p.n : p.k, p.ldb, p.stride_b));
  made.right_ = TRY(make_layout(library, p, p.a, p.transpose_a ? p.m : p.k,
                                p.transpose_a ? p.k : p.m, p.lda, p.stride_a));
  made.c_ = TRY(make_layout(library, p, p.c, p.n, p.m, p.ldd, p.stride_d));
  made.d_ = TRY(make_layout(library, p, p.d, p.n, p.m, p.ldd, p.stride_d));
  return made;
}

/// Error: unsupported, if the release has no factors for rows and columns.
Status Descriptors::describe_scales(const Library& library, const GemmProblem& problem) {
  for (const int attribute :
       {library.dialect.desc_scale_mode_a, library.dialect.desc_scale_mode_b}) {
    const Status taken = set(library, attribute, &scale_of_lines, sizeof(scale_of_lines));
    if (taken.ok()) continue;
    return Error{ErrorKind::unsupported,
                 fmt::format("{} (no factors for rows and columns in this release: {})",
                             taken.error().message, describe(problem))};
  }
  return {};
}

Status Descriptors::describe_epilogue(const Library& library, const GemmProblem& problem) {
  const Dialect& dialect = library.dialect;
  if (problem.epilogue == Epilogue::none) return {};
  const std::uint32_t number = epilogue_number(problem.epilogue);
  TRY(set(library, dialect.desc_epilogue, &number, sizeof(number)));
  if (reads_bias(problem.epilogue) || writes_bias(problem.epilogue)) {
    const std::int32_t type = data_type(problem.bias);
    TRY(set(library, dialect.desc_bias_type, &type, sizeof(type)));
  }
  if (reads_aux(problem.epilogue) || writes_aux(problem.epilogue)) {
    TRY(set(library, dialect.desc_aux_ld, &problem.ld_aux, sizeof(problem.ld_aux)));
    // The default is D's type. It is not set explicitly, because older releases lack the attribute.
    if (problem.aux != problem.d) {
      const std::int32_t type = data_type(problem.aux);
      TRY(set(library, dialect.desc_aux_type, &type, sizeof(type)));
    }
  }
  return {};
}

Status Descriptors::point_to(const Library& library, const GemmProblem& problem,
                             const GemmOperands& operands) {
  const Dialect& dialect = library.dialect;
  const auto update = [&](bool used, int attribute, auto* value, auto*& current) -> Status {
    if (!used || (value == current && value != nullptr)) return {};
    if (value == nullptr) {
      return Error{ErrorKind::failed, fmt::format("{}: an operand of {} is null (attribute {})",
                                                  dialect.name, describe(problem), attribute)};
    }
    TRY(set(library, attribute, &value, sizeof(value)));
    current = value;
    return {};
  };
  const bool uses_bias = reads_bias(problem.epilogue) || writes_bias(problem.epilogue);
  const bool uses_aux = reads_aux(problem.epilogue) || writes_aux(problem.epilogue);
  TRY(update(uses_bias, dialect.desc_bias_pointer, operands.bias, current_.bias));
  TRY(update(uses_aux, dialect.desc_aux_pointer, operands.aux, current_.aux));
  TRY(update(problem.scales_b, dialect.desc_scale_a, operands.scale_b, current_.scale_b));
  TRY(update(problem.scales_a, dialect.desc_scale_b, operands.scale_a, current_.scale_a));
  TRY(update(problem.scales_d, dialect.desc_scale_d, operands.scale_d, current_.scale_d));
  return update(problem.writes_amax_d, dialect.desc_amax_d, operands.amax_d, current_.amax_d);
}

}  // namespace assay::lt
