#!/usr/bin/env bash
# The main job, shown: sets the machine up, builds, compiles softmax.tile to PTX, and runs vector add
# and softmax on the best device there is, each checked against a double-precision reference.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
bin=$PWD/build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo
echo "== tilec examples/softmax.tile"
sig='softmax_fp32(y=*fp32:16, x=*fp32:16, y_stride=i32:16, x_stride=i32:16, n_cols=i32:16)'
arch=sm_80
"$bin/tilec" --arch=native --kernel softmax_fp32 -o /dev/null examples/softmax.tile 2>/dev/null && arch=native
"$bin/tilec" --arch=$arch --kernel softmax_fp32 --signature "$sig" --time -o "$work/softmax.ptx" examples/softmax.tile
echo
head -n 30 "$work/softmax.ptx"
echo "... ($(wc -l <"$work/softmax.ptx") lines)"
echo
if "$bin/tilec" --arch=$arch --kernel softmax_fp32 --signature "$sig" --resource-usage -o /dev/null \
    examples/softmax.tile 2>"$work/usage"; then
    cat "$work/usage"
else
    echo "(no ptxas here: registers and spills are not shown)"
fi

echo
echo "== running, checked against a double-precision reference"
"$bin/vector_add" --verify --bench
for dtype in fp32 fp16 bf16; do
    for cols in 781 1000 4096; do
        "$bin/softmax" --cols $cols --dtype $dtype --verify --bench
    done
done
"$bin/softmax" --cols 1000 --form persistent --verify --bench
