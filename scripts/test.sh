#!/usr/bin/env bash
# Sets the machine up, builds, and runs every test that this machine can run. The last lines are
# CTest's summary. `scripts/test.sh asan` does it with sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/build.sh "$preset"
ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)"
