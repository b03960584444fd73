#!/bin/sh
# Prolog of slurm.conf: measures the node for less than a minute before a job begins. A node that fails is
# drained, and the job is requeued. Of a device without limits, only the setup is checked.
. "$(dirname "$0")/node_check.sh"
# Several options on purpose.
# shellcheck disable=SC2086
check 65 health --quick $prolog_options
