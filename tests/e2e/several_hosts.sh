#!/usr/bin/env bash
# Hosts made of namespaces, each with its own network, name and sshd, on one bridge. assay measures
# between them, whichever way its ranks are started. When the script ends, all of it vanishes.
#   several_hosts.sh ASSAY FOLDER CHECK
# Ends with status 77 and a reason where this machine cannot make such hosts.
set -uo pipefail
assay=$1 folder=$2 check=$3

if [ "${INSIDE:-}" != yes ]; then
  for program in ip sshd ssh unshare nsenter tc; do
    command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || {
      echo "there is no $program"
      exit 77
    }
  done
  unshare --mount --net --uts --pid --fork true 2>"$folder/refused" || {
    echo "cannot make namespaces: $(cat "$folder/refused")"
    exit 77
  }
  # When the first process of the pid namespace ends, the kernel kills the others.
  INSIDE=yes exec unshare --mount --net --uts --pid --fork --mount-proc "$0" "$@"
fi
export PATH=$PATH:/usr/sbin:/sbin
if [ "$check" = slow_node ]; then hosts=4; else hosts=2; fi  # the first is this shell

mkdir -p "$folder/home/.ssh" /run/sshd
cp "$assay" "$folder/assay"
mount --bind "$folder/home" /root || { echo "cannot mount over /root"; exit 77; }
export HOME=/root
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
printf 'Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n' \
  >/root/.ssh/config
chmod -R go= /root/.ssh
ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"

hostname host-1
ip link set lo up
ip link add bridge type bridge || { echo "cannot make a bridge"; exit 77; }
ip address add 10.77.0.1/24 dev bridge
ip link set bridge up
pids=("" "$$")
on() {  # HOST WORDS...
  local host=$1
  shift
  if [ "$host" = 1 ]; then "$@"; else nsenter --target "${pids[$host]}" --net --uts "$@"; fi
}
for host in $(seq 2 $hosts); do
  unshare --net --uts sleep infinity &
  pids[host]=$!
  until [ "$(readlink "/proc/${pids[$host]}/ns/uts")" != "$(readlink /proc/$$/ns/uts)" ]; do
    sleep 0.05
  done
  ip link add "port$host" type veth peer name wire netns "${pids[$host]}"
  ip link set "port$host" master bridge up
  on "$host" hostname "host-$host"
  on "$host" ip link set lo up
  on "$host" ip address add "10.77.0.$host/24" dev wire
  on "$host" ip link set wire up
  # Every host has 1 Gbit/s in each direction.
  tc qdisc add dev "port$host" root tbf rate 1gbit burst 1mb latency 20ms || exit 77
  on "$host" tc qdisc add dev wire root tbf rate 1gbit burst 1mb latency 20ms || exit 77
  on "$host" /usr/sbin/sshd -f /dev/null -h "$folder/host_key" -o PidFile=none \
    -o StrictModes=no -o AcceptEnv='*' || { echo "sshd does not start"; exit 77; }
done

operations="all_reduce,all_gather,reduce_scatter,all_to_all,send_recv"
suite="{name: hosts, description: all operations, cells: [{benchmark: collective, axes: {op: [$operations], size: 256KiB, dtype: f32, \
redop: sum, place: out, launch: stream}}]}"
words=(--device cpu --telemetry off --json --budget 20s)
case $check in
  rendezvous)
    for rank in 1 0; do
      on $((rank + 1)) env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.77.0.1 \
        MASTER_PORT=29500 "$folder/assay" run "$suite" "${words[@]}" --out "$folder/store$rank" \
        >"$folder/out$rank" &
    done
    wait $! || exit 1
    cat "$folder/out0"
    ;;
  ssh)
    "$folder/assay" run "$suite" "${words[@]}" --out "$folder/store" --hosts 10.77.0.1,10.77.0.2:2
    ;;
  mpirun)
    command -v mpirun.openmpi >/dev/null || { echo "there is no mpirun.openmpi"; exit 77; }
    mpirun.openmpi --allow-run-as-root --host 10.77.0.1:1,10.77.0.2:1 \
      --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
      "$folder/assay" run "$suite" "${words[@]}" --out "$folder/store"
    ;;
  slow_node)
    # Host 3 gets a tenth in each direction.
    tc qdisc replace dev port3 root tbf rate 100mbit burst 256kb latency 20ms
    on 3 tc qdisc replace dev wire root tbf rate 100mbit burst 256kb latency 20ms
    "$folder/assay" run mpi from=all to=all metric=bandwidth library=tcp memory=host size=64KiB \
      --device cpu --telemetry off --budget 120s --out "$folder/store" \
      --hosts 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4
    ;;
esac
