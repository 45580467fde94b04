#!/usr/bin/env bash
# Every test: installs what they need where it may, then runs them all. Arguments go to cargo test.
#   ci/test.sh --test it -- disks
# The last line sums up: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/packages.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
cargo test --locked --no-fail-fast "$@" 2>&1 | tee "$log" || code=$?
ci/tally.sh <"$log"
exit "$code"
