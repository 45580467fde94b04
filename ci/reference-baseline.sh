#!/usr/bin/env bash
# Measures the accepted baseline of the reference disk anew: three runs, each on a freshly made disk, with a pause
# between them, then accept. To be run when the reference disk, its suite or the measuring itself changed, on a quiet
# machine; the diff under baselines/ is what a reviewer looks at. The argument is the reason accept asks for when the
# new numbers are worse.
#   ci/reference-baseline.sh ["drained writes count"]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PAUSE=${PAUSE:-60}   # seconds between sessions: closer ones look more alike than a later run will
readonly PENDING=${CARGO_TARGET_DIR:-target}/iogate/pending

if [[ -d $PENDING ]]; then    # candidates of earlier work must not slip in
  mv "$PENDING" "$PENDING.$(date +%s)"
  echo "reference-baseline: earlier candidates moved to $(echo "$PENDING".*)" >&2
fi
unset CI                      # no baseline yet is no failure here
for session in 1 2 3; do
  ((session == 1)) || sleep "$PAUSE"
  code=0
  ci/gate.sh reference:: || code=$?
  # Worse than the baseline that is being replaced (3) or not comparable with it (4) is what this is for.
  [[ $code == 0 || $code == 3 || $code == 4 ]] || exit "$code"
done
reason=()
[[ -z ${1:-} ]] || reason=(--reason "$1")
cargo run --release --locked --quiet -- accept "${reason[@]}"
git --no-pager diff --stat -- baselines
