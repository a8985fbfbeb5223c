#!/usr/bin/env bash
# On a machine with a GPU: runs the execution tests, the reference cases and the examples on cuda:0,
# then bench/run.py beside Triton and torch if python3 has them. Takes a build folder
# (default build/static, which may have been built elsewhere) and a folder for logs.
#   scripts/check_gpu.sh [BUILD] [LOGS] [bench options...]
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/static}
logs=${2:-$build/logs}
shift 2 2>/dev/null || shift $#
mkdir -p "$logs"
export TILE_TEST_DEVICE=cuda:0
export TILE_CACHE_DIR=off # what is tested is compiled
failed=0

step() { # step NAME SECONDS COMMAND...
    local name=$1 limit=$2 start=$SECONDS
    shift 2
    timeout "$limit" "$@" >"$logs/$name.log" 2>&1
    local status=$?
    if [ $status -eq 0 ]; then
        echo "ok      $name ($((SECONDS - start)) s): $(tail -n 1 "$logs/$name.log")"
    elif [ $status -eq 77 ]; then
        echo "skipped $name: $(tail -n 1 "$logs/$name.log")"
    else
        echo "FAILED  $name (exit $status, $((SECONDS - start)) s)"
        grep -m 5 -E 'FAILED|error|WRONG' "$logs/$name.log" || tail -n 3 "$logs/$name.log"
        failed=1
    fi
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for test in "$build"/bin/run_* "$build"/bin/api_*; do
    [ -x "$test" ] && step "$(basename "$test")" 150 "$test"
done
cases=../shared/cases
[ -d "$build/cases" ] && cases=$build/cases
[ -d "$cases" ] && step tile-cases 200 "$build/bin/tile-cases" "$cases"
[ -f "$build/lib/libfakecuda.so" ] && step shipped 300 python3 tests/shipped.py "$build" . "$build/lib/libfakecuda.so"
step accuracy 120 "$build/bin/accuracy" --points 24 --markdown # the log is the table of docs/accuracy.md
for dtype in fp32 bf16; do
    step "vector_add-$dtype" 60 "$build/bin/vector_add" --dtype $dtype --verify --bench
    for example in rmsnorm layernorm cross_entropy; do
        step "$example-$dtype" 60 "$build/bin/$example" --cols 4096 --dtype $dtype --verify --bench
    done
done
for dtype in fp32 fp16 bf16; do
    for cols in 1 2 255 256 781 1000 1024 4096 12345 16384 32768; do
        step "softmax-$dtype-$cols" 60 "$build/bin/softmax" --cols $cols --dtype $dtype --verify --bench
    done
done
for assembler in driver ptxas; do # source to loaded function by either, nothing cached
    CUDA_CACHE_DISABLE=1 TILE_ASSEMBLER=$assembler step "assembler-$assembler" 60 "$build/bin/softmax" --cols 1024 --verify
done
for start in cold warm; do # and once through the cache
    CUDA_CACHE_DISABLE=1 TILE_CACHE_DIR=$logs/cache step "cache-$start" 60 "$build/bin/softmax" --cols 1024 --verify
done
step load_time 60 "$build/bin/load_time"
step softmax-persistent 60 "$build/bin/softmax" --cols 4096 --form persistent --verify --bench
if python3 -c 'import torch, triton' 2>/dev/null; then
    timeout 400 python3 bench/run.py --build "$build" --time 300 --out "$logs/bench" "$@" 2>&1 | tee "$logs/bench.log"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
fi
exit $failed
