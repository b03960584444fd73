# How prolog.sh, epilog.sh and health_check.sh judge a node. Sourced by them from their own folder.
#
# A node is drained only if assay has found something bad, and the reason says what. If assay could not
# check the node (it is not installed, a signal or the time limit ended it, an option is wrong), that is
# logged, and the node stays in service. Settings, in a file `settings` beside these scripts:
#
#   assay=/opt/assay/bin/assay        the program; default: the one on PATH
#   prolog_options="--limits FILE"    of `assay health --quick`; default none
#   drain_unchecked=yes               also drain nodes that could not be checked; default no
#
# It is a shell script, which may use $node, the node's name.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # Slurm sets none
assay=assay
prolog_options=
drain_unchecked=no
hook=$(basename "$0" .sh)
node=${SLURMD_NODENAME:-$(hostname -s)}
settings=$(dirname "$0")/settings
if [ -r "$settings" ]; then . "$settings"; fi

say() {
  echo "assay $hook on $node: $1" >&2
  logger -t "assay-$hook" -- "$1" 2>/dev/null || true
}

# drain REASON: a reason that is there already stays.
drain() {
  say "drains the node: $1"
  case $(timeout 10 scontrol --oneliner show node "$node" | sed -n 's/.* State=\([^ ]*\).*/\1/p') in
    *DRAIN* | *DOWN*) return ;;
  esac
  timeout 10 scontrol update NodeName="$node" State=DRAIN Reason="assay: $1" ||
    say "scontrol could not drain the node"
}

# What failed, in one line: the first three columns of lines that begin with FAIL, or the title of a
# finding of `assay doctor` with the line of it that begins with "found:".
failures() {
  awk '
    function add(text) { all = all (all == "" ? "" : "; ") text }
    /^ *FAIL  / {
      sub(/^ *FAIL  +/, "")
      columns = split($0, column, /  +/)
      if (columns >= 3) add(column[1] ": " column[3] (column[2] == "PASS" ? "" : ", not " column[2]))
      else add(column[1] (columns == 2 ? ": " column[2] : ""))
      finding = 1
      next
    }
    finding && /^ *found: / { sub(/^ *found: +/, ""); all = all ": " $0 }
    { finding = 0 }
    END { print substr(all, 1, 400) }'
}

# check SECONDS ARGUMENT...: runs assay; status 1: the node is bad, and drained.
check() {
  limit=$1
  shift
  status=0
  output=$(timeout --kill-after=5 "$limit" "$assay" "$@" 2>&1) || status=$?
  [ "$status" -ne 0 ] || return 0
  found=$(printf '%s\n' "$output" | failures)
  if [ "$status" -eq 1 ] && [ -n "$found" ]; then
    drain "$found"
    return 1
  fi
  case $status in
    124 | 137) problem="it did not end within $limit s" ;;
    *) problem="status $status: $(printf '%s\n' "$output" | tail -n 1 | cut -c 1-200)" ;;
  esac
  say "could not check the node: $assay $*: $problem"
  [ "$drain_unchecked" = yes ] || return 0
  drain "could not check the node: $problem"
  return 1
}
