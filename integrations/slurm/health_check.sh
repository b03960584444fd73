#!/bin/sh
# HealthCheckProgram of slurm.conf: the same as the epilog, on idle nodes. Slurm kills it after 60 s.
. "$(dirname "$0")/node_check.sh"
check 30 doctor
