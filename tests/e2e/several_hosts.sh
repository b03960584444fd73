#!/usr/bin/env bash
# Hosts made of namespaces, each with its own network, name and sshd, on one bridge or with a long, bad
# wire between them. assay measures between them, whichever way its ranks are started. When the script
# ends, all of it vanishes.
#   several_hosts.sh ASSAY FOLDER CHECK
# Ends with status 77 and a reason where this machine cannot make such hosts.
set -uo pipefail
assay=$1 folder=$2 check=$3

if [ "${INSIDE:-}" != yes ]; then
  for program in ip sshd ssh unshare nsenter tc python3; do
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
pids=("" "$$")
on() {  # HOST WORDS...
  local host=$1
  shift
  if [ "$host" = 1 ]; then "$@"; else nsenter --target "${pids[$host]}" --net --uts "$@"; fi
}
new_host() {  # HOST
  unshare --net --uts sleep infinity &
  pids[$1]=$!
  until [ "$(readlink "/proc/${pids[$1]}/ns/uts")" != "$(readlink /proc/$$/ns/uts)" ]; do
    sleep 0.05
  done
}
start_host() {  # HOST, which has its device "wire"
  on "$1" hostname "host-$1"
  on "$1" ip link set lo up
  on "$1" ip address add "10.77.0.$1/24" dev wire
  on "$1" ip link set wire up
  on "$1" /usr/sbin/sshd -f /dev/null -h "$folder/host_key" -o PidFile=none \
    -o StrictModes=no -o AcceptEnv='*' || { echo "sshd does not start"; exit 77; }
}
bridged() {  # HOSTS, each with 1 Gbit/s in each direction; the first is this shell
  ip link add bridge type bridge || { echo "cannot make a bridge"; exit 77; }
  ip address add 10.77.0.1/24 dev bridge
  ip link set bridge up
  for host in $(seq 2 "$1"); do
    new_host "$host"
    ip link add "port$host" type veth peer name wire netns "${pids[$host]}"
    ip link set "port$host" master bridge up
    start_host "$host"
    tc qdisc add dev "port$host" root tbf rate 1gbit burst 1mb latency 20ms || exit 77
    on "$host" tc qdisc add dev wire root tbf rate 1gbit burst 1mb latency 20ms || exit 77
  done
}
far_apart() {  # two hosts; a frame between them takes 5 ms, and of a hundred one is lost
  new_host 2
  new_host 3  # has nothing but the ends of the wire
  for host in 1 2; do
    ip link add wire netns "${pids[$host]}" type veth peer name "port$host" netns "${pids[3]}" ||
      { echo "cannot make a wire"; exit 77; }
    on 3 ip link set "port$host" up
    start_host "$host"
  done
  nsenter --target "${pids[3]}" --net "$(dirname "$0")/lossy_wire.py" port1 port2 5 1 \
    "$folder/counts" &
  wire=$!
}
train() {  # MORE WORDS...
  "$folder/assay" run train model=2L2H16C32V batch=2 sequence=16 steps=6 --device cpu \
    --telemetry off --json "$@"
}
case $check in
  slow_node) bridged 4 ;;
  train_*) far_apart ;;
  *) bridged 2 ;;
esac

operations="all_reduce,all_gather,reduce_scatter,all_to_all,send_recv"
suite="{name: hosts, description: all operations, cells: [{benchmark: collective, axes: {op: [$operations], size: 256KiB, dtype: f32, \
redop: sum, place: out, launch: stream}}]}"
words=(--device cpu --telemetry off --json --budget 40s)
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
    # It would bind the rank of each host, all of which are this machine, to the first core.
    mpirun.openmpi --allow-run-as-root --host 10.77.0.1:1,10.77.0.2:1 \
      --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --bind-to none \
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
  train_rendezvous | train_mpirun)
    train accumulate=2 --out "$folder/alone" || exit 1
    for way in ddp zero1 fsdp; do
      if [ "$check" = train_mpirun ]; then
        command -v mpirun.openmpi >/dev/null || { echo "there is no mpirun.openmpi"; exit 77; }
        export -f train
        export folder
        mpirun.openmpi --allow-run-as-root --host 10.77.0.1:1,10.77.0.2:1 -x folder \
          --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --bind-to none \
          bash -c "$(declare -f train); train parallel=$way --out $folder/$way" || exit 1
      else
        for rank in 1 0; do
          on $((rank + 1)) env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.77.0.1 \
            MASTER_PORT=29500 bash -c "folder=$folder; $(declare -f train)
              train parallel=$way --out $folder/$way$rank" >"$folder/out$rank" &
        done
        wait $! || exit 1
        cat "$folder/out0"
      fi
    done
    kill "$wire"
    wait "$wire"
    cat "$folder/counts" && echo
    ;;
esac
