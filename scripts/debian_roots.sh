# Checks in roots of Debian's releases. Sourced after common.sh.
#
#   check WHAT COMMAND...    counts whether the command succeeds
#   skip WHAT
#   make_root NAME SUITE [PACKAGES]
#   end_checks               prints the last line, "N passed, N failed[, N skipped]"

passed=0 failed=0 skipped=0

# What the command printed appears if it failed.
check() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
    echo "ok      $what"
  else
    failed=$((failed + 1))
    echo "FAILED  $what"
    tail -n 15 <<<"$output" | sed 's/^/        /'
  fi
}

skip() {
  skipped=$((skipped + 1))
  echo "skipped $1"
}

end_checks() {
  echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
  [ "$failed" = 0 ]
}

# make_root NAME SUITE [PACKAGES]: a Debian in $roots, made once by debootstrap from the archive that apt here
# is set up for.
make_root() {
  [ ! -e "$roots/$1/usr/bin/env" ] || return 0
  echo "making $1" >&2
  mkdir -p "$roots"
  rm -rf "$roots/$1.part"
  debootstrap --variant=minbase ${3:+--include="$3"} "$2" "$roots/$1.part" "$(apt_site)" >"$roots/$1.log" 2>&1 ||
    fail "debootstrap could not make $2; what it did: $roots/$1.log"
  mv "$roots/$1.part" "$roots/$1"
}
