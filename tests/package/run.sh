#!/usr/bin/env bash
# Installs the build, and builds and runs the project beside this with what was installed.
# usage: run.sh CMAKE BUILD FAKE_DRIVER
set -euo pipefail
command -v c++ >/dev/null || { echo "skipped: there is no C++ compiler"; exit 77; }
cmake=$1 build=$2 fake=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$build/tests/package-work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

quietly "$cmake" --install "$build" --prefix "$work/installed"
mv "$work/installed" "$work/moved" # it may be anywhere
export CMAKE_PREFIX_PATH=$work/moved
quietly "$cmake" -G Ninja -S "$here" -B "$work/consumer" -DCMAKE_BUILD_TYPE=Release
quietly "$cmake" --build "$work/consumer"
"$work/moved/bin/tilec" --version
for program in jit_shared jit_static; do
    [ ! -e "$work/consumer/$program" ] || TILE_TEST_DEVICE=cpu "$work/consumer/$program"
done
TILE_LIBCUDA=$fake "$work/consumer/aot"
TILE_LIBCUDA=$fake TILE_CACHE_DIR=off "$work/consumer/both"

# Without the compiler there is none of it, and no LLVM.
if ldd "$work/consumer/aot" | grep -iE 'llvm|libtile'; then
    echo "FAILED: the program compiled ahead of time links the compiler"
    exit 1
fi

# The runtime alone, built alone: small, and enough for what was compiled elsewhere.
quietly "$cmake" -G Ninja -S "$here/../.." -B "$work/alone" -DTILE_JIT=OFF -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF
quietly "$cmake" --build "$work/alone"
quietly "$cmake" --install "$work/alone" --prefix "$work/runtime"
archive=$(find "$work/runtime" -name libtile-runtime.a)
bytes=$(size "$archive" | awk '$1 ~ /^[0-9]+$/ { n += $4 } END { print n }')
echo "libtile-runtime: $bytes bytes"
[ "$bytes" -lt $((200 * 1024)) ] || { echo "FAILED: over 200 KiB"; exit 1; }

# The same through pkg-config.
export PKG_CONFIG_PATH=$(dirname "$archive")/pkgconfig
if command -v pkg-config >/dev/null; then
    quietly c++ -std=c++17 -DTILE_KERNELS_IMPLEMENTATION -I "$work/consumer/aot-kernels" "$here/aot.cpp" \
        $(pkg-config --cflags --libs tile-runtime) -o "$work/by_hand"
    TILE_LIBCUDA=$fake "$work/by_hand"
fi
