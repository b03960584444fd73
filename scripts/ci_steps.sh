# Steps of .ci/run under a deadline. Sourced.
#
#   step LABEL COMMAND...   adds a step
#   run_steps               runs all and prints the last line, "N passed, N failed[, N skipped]"
#
# A step whose last line is "N passed, N failed[, N skipped]" counts as that says; any other command counts
# as one. How long each took is kept in the folder $ci_state. No step begins that by its last duration would
# end after $ci_last_end seconds, and at $ci_stop seconds the running one is ended. Steps that did not run,
# or not to their end, are named, counted as skipped with as many tests as they had the last time, and come
# first the next time. ASSAY_CI_ALL=1 runs everything, however long it takes.

ci_labels=() ci_commands=()
ci_passed=0 ci_failed=0 ci_skipped=0

step() {
  local label=$1
  shift
  ci_labels+=("$label")
  ci_commands+=("$(printf '%q ' "$@")")
}

run_steps() {
  mkdir -p "$ci_state"
  local left_out=() index
  for index in $(order_of_steps); do
    if must_leave_out "${ci_labels[index]}"; then
      left_out+=("${ci_labels[index]}")
      count_left_out "${ci_labels[index]}" "it would not end in time"
    elif ! run_step "${ci_labels[index]}" "${ci_commands[index]}"; then
      left_out+=("${ci_labels[index]}")
    fi
  done
  printf '%s\n' "${left_out[@]}" >"$ci_state/left-out"
  echo "$ci_passed passed, $ci_failed failed$([ "$ci_skipped" = 0 ] || echo ", $ci_skipped skipped")"
  [ "$ci_failed" = 0 ]
}

# Indices of steps: those that the last run left out, then the others.
order_of_steps() {
  local index
  for index in "${!ci_labels[@]}"; do if was_left_out "${ci_labels[index]}"; then echo "$index"; fi; done
  for index in "${!ci_labels[@]}"; do if ! was_left_out "${ci_labels[index]}"; then echo "$index"; fi; done
}

was_left_out() {
  [ -f "$ci_state/left-out" ] && grep -qxF -- "$1" "$ci_state/left-out"
}

# last_time LABEL: "SECONDS TESTS" of its last run to the end; "0 1" if there is none.
last_time() {
  local found
  found=$(awk -F'\t' -v label="$1" '$3 == label { print $1, $2 }' "$ci_state/durations" 2>/dev/null | tail -n 1)
  echo "${found:-0 1}"
}

must_leave_out() {
  local seconds tests
  read -r seconds tests <<<"$(last_time "$1")"
  [ -z "${ASSAY_CI_ALL:-}" ] && [ "$((SECONDS + seconds))" -gt "$ci_last_end" ]
}

# count_left_out LABEL WHY
count_left_out() {
  local seconds tests
  read -r seconds tests <<<"$(last_time "$1")"
  ci_skipped=$((ci_skipped + tests))
  echo "-- $1: LEFT OUT, $2 ($tests tests; its last run took $seconds s)"
}

# run_step LABEL COMMAND: status 1 if the deadline ended it.
run_step() {
  local label=$1 log=build/ci-step.log begin=$SECONDS cpu status=0 ended='' pid numbers
  times >build/ci-times  # here: a subshell's own times are others
  cpu=$(children_seconds)
  echo "== $label"
  touch --date="@$((EPOCHSECONDS - 1))" build/ci-step.begin  # files of the same moment are not newer
  # A group of processes of its own, so that all of it can be ended.
  set -m
  (set -o pipefail; eval "$2" 2>&1 </dev/null | tee "$log") &
  pid=$!
  set +m
  while kill -0 "$pid" 2>/dev/null; do
    if [ -z "${ASSAY_CI_ALL:-}" ] && [ "$SECONDS" -ge "$ci_stop" ]; then
      ended=1
      kill -TERM -- "-$pid"
      sleep 2
      kill -KILL -- "-$pid" 2>/dev/null
      break
    fi
    sleep 0.2
  done
  wait "$pid" 2>/dev/null || status=1
  if [ -n "$ended" ]; then
    if has_failed_test; then ci_failed=$((ci_failed + 1)); fi
    count_left_out "$label" "ended by the deadline after $((SECONDS - begin)) s"
    return 1
  fi
  read -ra numbers <<<"$(counts_of "$log" "$status")"
  ci_passed=$((ci_passed + numbers[0])) ci_failed=$((ci_failed + numbers[1]))
  ci_skipped=$((ci_skipped + numbers[2]))
  times >build/ci-times
  remember "$label" "$((SECONDS - begin))" "$((numbers[0] + numbers[1] + numbers[2]))"
  echo "-- $label: $([ "${numbers[1]}" = 0 ] && echo ok || echo FAILED) after $((SECONDS - begin)) s," \
       "$(($(children_seconds) - cpu)) core-seconds"
}

# Whether a log of the step that was ended, its own or one of its tests, has a test that failed.
has_failed_test() {
  find build -newer build/ci-step.begin \( -name '*.log' -o -name 'shard-*' \) \
    -exec grep -lE '^\[  FAILED  \]|\*\*\*(Failed|Timeout|Exception)' {} + 2>/dev/null | grep -q .
}

# counts_of LOG STATUS: "PASSED FAILED SKIPPED".
counts_of() {
  local last
  last=$(tail -n 1 "$1")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    # A command may fail after its count.
    local failed=${BASH_REMATCH[2]}
    if [ "$2" -ne 0 ] && [ "$failed" = 0 ]; then failed=1; fi
    echo "${BASH_REMATCH[1]} $failed ${BASH_REMATCH[4]:-0}"
  else
    echo "$((1 - $2)) $2 0"
  fi
}

# remember LABEL SECONDS TESTS: at once, so that a run that is killed has left it behind.
remember() {
  {
    awk -F'\t' -v label="$1" '$3 != label' "$ci_state/durations" 2>/dev/null
    printf '%s\t%s\t%s\n' "$2" "$3" "$1"
  } >"$ci_state/durations.new"
  mv "$ci_state/durations.new" "$ci_state/durations"
}

# CPU time, user and system, of all ended processes that this shell has started, in whole seconds.
children_seconds() {
  awk 'NR == 2 { gsub(/[ms]/, " "); printf "%d\n", $1 * 60 + $2 + $3 * 60 + $4 }' build/ci-times
}
