#!/usr/bin/env bash
# Installs what building and testing need: Debian 12 or 13 (tested), Ubuntu 24.04 (package names
# known, untested). Does nothing if all is there. Runs as root, or through sudo.
set -euo pipefail

if [ ! -r /etc/os-release ] || ! command -v apt-get >/dev/null; then
    echo "setup.sh: this script knows Debian and Ubuntu only; see README.md for the list of packages" >&2
    exit 1
fi
. /etc/os-release

# The newest LLVM that the system has, 19 or later.
llvm_candidates() { apt-cache --names-only search '^llvm-(19|20|21|22)-dev$' | sed 's/llvm-\([0-9]*\)-dev.*/\1/' | sort -rn; }

common=(gcc g++ cmake ninja-build flex bison lld pkg-config zlib1g-dev libzstd-dev libcmocka-dev libxxhash-dev
    uthash-dev libdlpack-dev libjansson-dev)
[ "${ID:-}" = ubuntu ] && common=("${common[@]/libdlpack-dev/}") # not packaged there

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

need=()
for p in "${common[@]}"; do
    [ -n "$p" ] && ! installed "$p" && need+=("$p")
done
llvm=
for v in 22 21 20 19; do
    if installed "llvm-$v-dev" && installed "llvm-$v-tools"; then llvm=$v; break; fi
done
if [ -z "$llvm" ] || [ ${#need[@]} -gt 0 ]; then
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup.sh: run as root, or install sudo" >&2; exit 1; }
        sudo=sudo
    fi
    $sudo apt-get update -qq
    if [ -z "$llvm" ]; then
        llvm=$(llvm_candidates | head -n 1)
        [ -n "$llvm" ] || { echo "setup.sh: no LLVM 19 or later in this system's packages" >&2; exit 1; }
        need+=("llvm-$llvm-dev" "llvm-$llvm-tools")
    fi
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi
echo "setup: LLVM $llvm, $(cmake --version | head -n 1), $(bison --version | head -n 1)"
