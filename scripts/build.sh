#!/usr/bin/env bash
# Sets the machine up and builds a preset (default: release) into build/<preset>.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/setup.sh
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
