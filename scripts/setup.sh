#!/usr/bin/env bash
# Installs what building and testing need: Debian 12 or 13 (tested), Ubuntu 24.04 (package names
# known, untested). Does nothing if all is there. Runs as root, or through sudo. `scripts/setup.sh
# fuzz` installs what fuzzing needs as well: the clang of LLVM's version, with its libFuzzer.
set -euo pipefail

if [ ! -r /etc/os-release ] || ! command -v apt-get >/dev/null; then
    echo "setup.sh: this script knows Debian and Ubuntu only; see README.md for the list of packages" >&2
    exit 1
fi
. /etc/os-release

# The newest LLVM that the system has, 19 to 22.
newest_llvm() {
    apt-cache --names-only search '^llvm-(19|20|21|22)-dev$' | sed 's/llvm-\([0-9]*\)-dev.*/\1/' |
        sort -rn | head -n 1
}

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# g++ and the two compression libraries are for LLVM's static archives; ld.lld links those.
need=()
for package in gcc g++ cmake ninja-build flex bison lld zlib1g-dev libzstd-dev libxxhash-dev \
    libcmocka-dev libjansson-dev libdlpack-dev; do
    installed $package || need+=($package)
done
llvm=
for version in 22 21 20 19; do
    if installed llvm-$version-dev && installed llvm-$version-tools; then
        llvm=$version
        break
    fi
done
purpose=${1:-}
need_clang() {
    local package
    [ "$purpose" = fuzz ] || return 0
    for package in "clang-$llvm" "libclang-rt-$llvm-dev"; do
        installed "$package" || need+=("$package")
    done
}
[ -z "$llvm" ] || need_clang
if [ -z "$llvm" ] || [ ${#need[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || {
            echo "setup.sh: run as root, or install sudo" >&2
            exit 1
        }
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq
    if [ -z "$llvm" ]; then
        llvm=$(newest_llvm)
        if [ -z "$llvm" ]; then
            echo "setup.sh: no LLVM 19 to 22 in the packages of $PRETTY_NAME; are its security updates" \
                "among apt's sources?" >&2
            exit 1
        fi
        need+=("llvm-$llvm-dev" "llvm-$llvm-tools")
        need_clang
    fi
    echo "setup: installing ${need[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${need[@]}" >/dev/null
fi
echo "setup: LLVM $llvm, $(cmake --version | head -n 1), $(bison --version | head -n 1)"
