#!/bin/sh
# Epilog of slurm.conf: looks within a second for what a job has left behind, e.g. memory errors, a GPU that
# is gone, a lowered power limit. It measures nothing.
. "$(dirname "$0")/node_check.sh"
check 30 doctor
