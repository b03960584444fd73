#include "advise/tune/gemm/pytorch.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_text.h"
#include "core/program.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace assay {
namespace {

constexpr double time_limit = 300;  // seconds, for importing PyTorch and tuning a GEMM
constexpr std::size_t most_answer = std::size_t{1} << 20;

// The arguments of the script are the device and, optionally, a results file. It reads the rows to
// try from standard input.
constexpr const char* script = R"(
import json, os, sys
def leave(reason):
    print("assay:" + json.dumps({"problem": reason})); sys.exit(0)
for name in list(os.environ):
    if name.startswith("PYTORCH_TUNABLEOP_"): del os.environ[name]
try:
    import torch
except Exception as error:
    leave("PyTorch cannot be imported: %s" % error)
if not torch.cuda.is_available(): leave("PyTorch %s sees no GPU" % torch.__version__)
try:
    import torch.cuda.tunable as tunable
except Exception as error:
    leave("PyTorch %s has no TunableOp: %s" % (torch.__version__, error))
types = {"float": "float32", "tf32": "float32", "double": "float64", "BFloat16": "bfloat16",
         "Half": "float16"}
types.update((t, t.lower()) for t in
             ("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"))
def matrix(rows, columns, ld, dtype, transposed, batch):
    stored = (columns, rows) if transposed else (rows, columns)
    if ld < stored[1]: raise ValueError("its leading dimension is too short")
    shape = ((batch,) if batch > 1 else ()) + (stored[0], ld)
    made = torch.rand(shape, device="cuda").to(dtype)[..., :stored[1]]
    return made.transpose(-1, -2) if transposed else made
def compute(op, parameters):
    kind, rest = op.split("_", 1)
    names, layout = rest.rsplit("_", 1)
    words = parameters.split("_")
    m, n, k = (int(word) for word in words[1:4])
    batch = int(words[words.index("B") + 1]) if "B" in words else 1
    ta, tb = layout[0] == "T", layout[1] == "T"
    dense = [k if ta else m, n if tb else k, m]
    at = words.index("ld") if "ld" in words else None
    lda, ldb, ldc = [int(w) for w in words[at + 1:at + 4]] if at else dense
    if ldc != m: raise ValueError("PyTorch makes its results dense")
    found = []
    while names:
        name = next((t for t in sorted(types, key=len, reverse=True)
                     if names == t or names.startswith(t + "_")), None)
        if name is None: raise ValueError("its type is not tried here")
        found.append(getattr(torch, types[name])); names = names[len(name) + 1:]
    torch.backends.cuda.matmul.allow_tf32 = "tf32" in op
    x = matrix(n, k, ldb, found[0] if len(found) < 2 else found[1], tb, batch)
    w = matrix(k, m, lda, found[0], ta, batch)
    if kind == "GemmTunableOp": torch.mm(x, w)
    elif kind == "GemmStridedBatchedTunableOp": torch.bmm(x, w)
    elif kind == "GemmAndBiasTunableOp":
        torch.nn.functional.linear(x, w.t(), torch.rand(m, device="cuda").to(found[0]))
    elif kind == "ScaledGemmTunableOp":
        one = torch.ones((), device="cuda")
        bias = words[words.index("bias") + 1] if "bias" in words else "None"
        torch._scaled_mm(x, w, scale_a=one, scale_b=one, out_dtype=found[-1],
                         bias=None if bias == "None" else
                         torch.rand(m, device="cuda").to(getattr(torch, types[bias])))
    else: raise ValueError("no product of TunableOp")
    torch.cuda.synchronize()
torch.cuda.set_device(int(sys.argv[1]))
tunable.set_filename(os.path.join(os.sep, "nonexistent", "assay.csv"))
if hasattr(tunable, "write_file_on_exit"): tunable.write_file_on_exit(False)
tunable.enable(True)
tunable.tuning_enable(False)
compute("GemmTunableOp_BFloat16_TN", "tn_64_64_64")  # validators are known from the first on
answer = {"version": torch.__version__, "hip": torch.version.hip or "",
          "validators": [list(pair) for pair in tunable.get_validators()], "accepted": False,
          "rows": []}
if len(sys.argv) > 2:
    answer["accepted"] = bool(tunable.read_file(sys.argv[2]))
    tunable.tuning_enable(True)
    tunable.set_max_tuning_iterations(1)
    keys = lambda: {(row[0], row[1]): row[2] for row in tunable.get_results()}
    for line in sys.stdin.read().splitlines():
        op, parameters, solution = line.split(",")[:3]
        row = {"op": op, "parameters": parameters, "solution": solution, "reason": ""}
        before = keys()
        try:
            compute(op, parameters)
            added = [",".join(key) for key in keys() if key not in before]
            if before.get((op, parameters)) != solution:
                row["reason"] = "PyTorch did not keep this row of the file"
            elif added:
                row["reason"] = "PyTorch looked for " + " and ".join(added)
        except Exception as error:
            row["reason"] = str(error).strip().split("\n")[0]
        answer["rows"].append(row)
print("assay:" + json.dumps(answer))
)";

Error unavailable(const std::string& why) {
  return {ErrorKind::unavailable, why};
}

Result<PyTorchCheck> run_script(const PyTorchSeat& seat, const std::string& file,
                                std::span<const TunableRow> rows) {
  ProgramStart start;
  start.words = {seat.python, "-c", script, std::to_string(seat.ordinal)};
  if (!file.empty()) start.words.push_back(file);
  for (const TunableRow& row : rows) {
    start.input += fmt::format("{},{},{}\n", row.key.op, row.key.parameters, row.solution);
  }
  start.timeout_seconds = time_limit;
  start.stop_requested = seat.stop_requested;
  std::string answer;
  constexpr std::string_view mark = "assay:";
  start.line = [&](std::string_view line) {
    if (line.starts_with(mark) && line.size() < most_answer) answer = line.substr(mark.size());
  };
  const ProgramEnd end = TRY(run_program(start));
  if (end.stopped) return Error{ErrorKind::interrupted, "stopped"};
  if (answer.empty()) {
    return unavailable(fmt::format("{} {}: {}", seat.python,
                                   end.timed_out ? "took more than 5 minutes" : "failed",
                                   shown_line(last_line(end.errors_tail), 200)));
  }
  return parse_pytorch_answer(answer);
}

}  // namespace

Result<PyTorchCheck> parse_pytorch_answer(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed.ok()) return unavailable("PyTorch's answer is damaged");
  const Json& json = *parsed;
  const auto text_of = [](const Json& object, const char* name) -> std::string {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!json.is_object()) return unavailable("PyTorch's answer is damaged");
  const std::string problem = text_of(json, "problem");
  if (!problem.empty()) return unavailable(shown_line(problem, 300));
  PyTorchCheck check;
  check.pytorch.version = text_of(json, "version");
  check.pytorch.hip = text_of(json, "hip");
  const auto validators = json.find("validators"), rows = json.find("rows");
  if (check.pytorch.version.empty() || validators == json.end() || !validators->is_array() ||
      rows == json.end() || !rows->is_array()) {
    return unavailable("PyTorch's answer is damaged");
  }
  for (const Json& pair : *validators) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return unavailable("PyTorch's answer is damaged");
    }
    check.pytorch.validators.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  check.accepted = json.value("accepted", Json()) == true;
  for (const Json& row : *rows) {
    if (!row.is_object()) return unavailable("PyTorch's answer is damaged");
    PyTorchRow read = {{text_of(row, "op"), text_of(row, "parameters")},
                       text_of(row, "solution"),
                       false,
                       shown_line(text_of(row, "reason"), 300)};
    if (!check.accepted) read.reason = "PyTorch did not take the file";
    read.taken = read.reason.empty();
    check.rows.push_back(std::move(read));
  }
  return check;
}

Result<PyTorchFacts> ask_pytorch(const PyTorchSeat& seat) {
  return TRY(run_script(seat, "", {})).pytorch;
}

Result<PyTorchCheck> check_in_pytorch(const PyTorchSeat& seat, const std::string& file,
                                      std::span<const TunableRow> rows) {
  return run_script(seat, file, rows);
}

}  // namespace assay
