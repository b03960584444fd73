import os

_state = {"enabled": False, "tuning": False, "recording": False, "results": {}}
_validators = [("PT_VERSION", "2.9.1")]
if os.environ.get("STUB_HIP"):
    _validators += [("HIP_VERSION", "602"), ("HIPBLASLT_VERSION", "1203-dabb6df2b9"),
                    ("GCN_ARCH_NAME", "gfx942:sramecc+:xnack-"), ("ROCBLAS_VERSION", "4.2.1")]

enable = lambda on=True: _state.update(enabled=on)
tuning_enable = lambda on=True: _state.update(tuning=on)
record_untuned_enable = lambda on=True: _state.update(recording=on)
set_filename = set_max_tuning_iterations = set_max_tuning_duration = lambda value: None
write_file_on_exit = lambda value: None
get_validators = lambda: list(_validators)
get_results = lambda: [(op, parameters, solution, 0.5)
                       for (op, parameters), solution in _state["results"].items()]


def read_file(name):
    validators, results = {}, {}
    with open(name) as file:
        for line in file:
            parts = line.rstrip("\n").split(",")
            if parts[0] == "Validator" and len(parts) >= 3:
                validators[parts[1]] = parts[2]
            elif len(parts) >= 3:
                results.setdefault((parts[0], parts[1]), parts[2])
    if validators != dict(_validators):
        return False
    _state["results"].update(results)
    return True


def write_file(name):
    with open(name, "w") as file:
        for pair in _validators:
            file.write("Validator,%s,%s\n" % pair)
        for row in get_results():
            file.write("%s,%s,%s,%g\n" % row)
    return True


def _look_up(op, parameters):
    if not _state["enabled"]:
        return
    if _state["recording"]:
        name = os.environ["PYTORCH_TUNABLEOP_UNTUNED_FILENAME"].replace("%d", "0")
        with open(name, "a") as file:
            file.write("%s,%s\n" % (op, parameters))
        return
    known = ["Default"] + os.environ.get("STUB_SOLUTIONS", "").split()
    solution = _state["results"].get((op, parameters))
    if solution is None and _state["tuning"]:
        solution = _state["results"][(op, parameters)] = "Default"
    if (solution or "Default") not in known:
        raise RuntimeError("the solution %s is not supported\nat a place" % solution)
