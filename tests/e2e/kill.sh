#!/bin/bash
# Nothing acknowledged is lost: the server is killed with SIGKILL at random moments, fifty times on the
# same data, while clients create, update and delete; after each restart every write that was acknowledged is there, and
# versions never go backwards.
# time-limit: 300
. "$(dirname "$0")/../lib.sh"
KILLS=${KILLS:-50}
python3 "$(dirname "$0")/kill_writer.py" "$FAIRLEAD" "$WORK/data" "$(free_port)" "$KILLS" "${SEED:-$RANDOM}"
CHECKS=$KILLS
