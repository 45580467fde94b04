#!/usr/bin/env bash
# Sums the closing lines of cargo test on stdin into one.
set -euo pipefail
awk '/^test result: / {
       for (i = 2; i <= NF; i++) {
         if ($i == "passed;") passed += $(i - 1)
         if ($i == "failed;") failed += $(i - 1)
         if ($i == "ignored;") skipped += $(i - 1)
       }
     }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
