#!/usr/bin/env bash
# The project's gate on itself: measures the reference disk for real and compares with the baseline committed under
# baselines/. The one place where a rate decides. It fails on regressed and invalid, and where there is nothing to
# compare with; inconclusive passes with its note. Arguments replace the filter and go to `run`.
#   ci/gate.sh
#   ci/gate.sh reference::direct --message-format json
# Alone, or the neighbours are measured too: one at a time by a lock, and nothing else should run beside it.
set -euo pipefail
cd "$(dirname "$0")/.."

(($#)) || set -- reference::direct
cargo build --release --locked
mkdir -p /run/iogate-testdisk
exec 8>/run/iogate-testdisk/.gate
flock -n 8 || { echo "gate: waiting for another gate on this machine" >&2; flock -w 1200 8; }

trap 'ci/testdisk.sh down reference' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
disk=$(ci/testdisk.sh up reference)
ci/testdisk.sh check reference
ci/testdisk.sh exec reference -- cargo run --release --locked --quiet -- run --disk "$disk" "$@"
