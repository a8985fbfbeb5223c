#!/usr/bin/env bash
# Runs every fuzz target for SECONDS (900), one after the other, on one core: scripts/fuzz.sh
# [SECONDS [TARGET...]]. Needs `scripts/setup.sh fuzz` once. What the fuzzers learn stays in
# build/fuzz/corpus; an input that crashes, hangs or takes too much memory is written to
# build/fuzz/crashes, and the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-900}
shift || true
llvm=
for version in 22 21 20 19; do
    if command -v clang-$version >/dev/null && [ -d /usr/lib/llvm-$version/include ]; then
        llvm=$version
        break
    fi
done
if [ -z "$llvm" ]; then
    echo "fuzz.sh: no clang beside LLVM; scripts/setup.sh fuzz installs it" >&2
    exit 1
fi
cmake --preset fuzz -DCMAKE_C_COMPILER=clang-$llvm >/dev/null
mapfile -t all < <(ls tests/fuzz/fuzz_*.c | sed 's/.*fuzz_\(.*\)\.c/\1/')
names=("${@:-${all[@]}}")
nice cmake --build build/fuzz --target "${names[@]/#/fuzz_}" >/dev/null
export ASAN_OPTIONS=quarantine_size_mb=32:detect_leaks=1
failed=0
mkdir -p build/fuzz/crashes
for name in "${names[@]}"; do
    mkdir -p build/fuzz/corpus/$name
    echo "fuzz: $name for $seconds s"
    # Times are of a sanitizer build on a machine that may be busy: about ten times those of docs/language.md.
    nice build/fuzz/bin/fuzz_$name build/fuzz/corpus/$name tests/fuzz/corpus/$name \
        -dict=build/fuzz/tests/fuzz/tile.dict -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 \
        -max_len=4096 -artifact_prefix=build/fuzz/crashes/$name- -print_final_stats=1 \
        >build/fuzz/$name.log 2>&1 || {
        failed=1
        echo "fuzz: $name has found something; see build/fuzz/$name.log and build/fuzz/crashes/$name-*"
    }
    grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' build/fuzz/$name.log || true
done
exit $failed
