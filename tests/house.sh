#!/usr/bin/env bash
# The rules of the house that a machine can check: small files, nothing generated in the repository,
# and includes that go one way only (CONTRIBUTING.md).
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

complain() {
    echo "house: $*"
    failed=1
}

# allow FILES... : FOLDERS...  Quoted includes of the files must lie in one of the folders or headers.
allow() {
    local files=() line file header from
    while [ "$1" != : ]; do
        [ -e "$1" ] && files+=("$1")
        shift
    done
    shift
    while IFS=: read -r file line header; do
        header=${header#*\"}
        header=${header%%\"*}
        for from in "$@" ""; do
            [[ -n $from && $header == "$from"* ]] && break
        done
        [ -n "$from" ] || complain "$file:$line includes $header: see CONTRIBUTING.md for who may include whom"
    done < <(grep -nE '^#[[:space:]]*include "' /dev/null "${files[@]}")
}

runtime=()
for file in runtime/*.[ch]; do
    [ "$file" = runtime/compile.c ] || runtime+=("$file")
done
allow support/*.[ch] : support/
allow ir/*.[chy] : ir/ support/
allow frontend/*.[chly] : frontend/ ir/ support/ lexer.h parser.h stdlib.inc libdevice.inc
allow codegen/*.[ch] : codegen/ ir/ support/
allow runtime/compile.c : runtime/ codegen/ frontend/ ir/ support/
allow "${runtime[@]}" : runtime/ tile.h codegen/host_exec.h ir/dtype.h support/
allow tilec/*.[ch] : tilec/ runtime/tile.h codegen/codegen.h frontend/frontend.h ir/ support/
allow examples/*.[ch] : common.h rows.h tile.h

for file in $(grep -lE '^#include <llvm' support/* ir/* frontend/* runtime/* tilec/* || true); do
    complain "$file includes LLVM, which is codegen's alone"
done

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    files=$(git ls-files)
    for file in $(grep -E '(^|/)(parser|lexer)\.[ch]$|\.(inc|o|a|so|pyc|ptx|cubin|ll|bc)$|^build/' <<<"$files" || true); do
        complain "$file is generated and does not belong into the repository"
    done
else
    files=$(find . \( -path ./build -o -path ./.git \) -prune -o -type f -print)
fi
while read -r lines file; do
    [ "$file" = total ] || [ "$lines" -le 900 ] || complain "$file has $lines lines; 900 is the limit"
done < <(grep -E '\.(c|h|l|y|def|tile|py|sh|cmake)$' <<<"$files" | grep -v '/lit/' | while read -r f; do [ -f "$f" ] && echo "$f"; done | xargs wc -l)

# Other versions of clang-format lay some lines out differently.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    while read -r file; do
        complain "$file is not formatted: clang-format -i $file"
    done < <(grep -E '\.[ch]$' <<<"$files" | while read -r f; do [ -f "$f" ] && echo "$f"; done |
        xargs clang-format --dry-run 2>&1 | sed -n 's/^\([^ ]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u)
fi

[ $failed -eq 0 ] && echo "house: $(wc -w <<<"$files") files in order"
exit $failed
