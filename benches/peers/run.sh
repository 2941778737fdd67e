#!/bin/sh
# Builds every engine, runs them in turn on one core and prints the table of ratios, and in each round a
# whole world of ours. Settings: CUSTOMERS (Rust), SIMPY, CIW (their customers), WORLD (virtual time),
# ROUNDS, CORE, LINGUA (our binary).
set -eu
cd "$(dirname "$0")"
customers=${CUSTOMERS:-10000000}
rounds=${ROUNDS:-5}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT TERM
: >"$temp/worlds"

cargo build --release --locked
bin=${CARGO_TARGET_DIR:-target}/release

python=python3
if python3 -m venv "$temp/venv" && "$temp/venv/bin/pip" -q install -r requirements.txt; then
    python=$temp/venv/bin/python
    scripted=yes
else
    echo "skipped: simpy and ciw (no Python environment)" >&2
    scripted=
fi

if [ -z "${LINGUA:-}" ]; then
    cargo build --release --locked --manifest-path ../../Cargo.toml || true
    LINGUA=${CARGO_TARGET_DIR:-../../target}/release/lingua
fi
ours=yes
if ! "$LINGUA" engine-bench --help >"$temp/help" 2>&1; then
    echo "skipped: lingua (no command engine-bench in $LINGUA)" >&2
    ours=
fi

# One core for all, so that no engine gains from a second thread.
pin=
if command -v taskset >/dev/null; then pin="taskset -c ${CORE:-0}"; fi

failed=
try() {
    # A peer that misses theory has said so on stderr; its speed stays in the table.
    if ! $pin "$@" >>"$temp/lines"; then failed=yes; fi
}

round=1
while [ "$round" -le "$rounds" ]; do
    echo "round $round of $rounds" >&2
    for peer in hand_loop simcore desru nexosim; do
        try "$bin/$peer" "$customers" "$round"
    done
    if [ -n "$ours" ]; then
        try "$LINGUA" engine-bench --customers "$customers" --seed "$round"
        if $pin "$LINGUA" sim ../../scenarios/nodes-1000.toml --set duration="${WORLD:-3m}" \
            --out "$temp/world" >/dev/null; then
            cat "$temp/world/machine.json" >>"$temp/worlds"
        else
            echo "nodes-1000.toml did not end well" >&2
            failed=yes
        fi
    fi
    if [ -n "$scripted" ]; then
        try "$python" -B simpy_mmc.py "${SIMPY:-1000000}" "$round"
        try "$python" -B ciw_mmc.py "${CIW:-200000}" "$round"
    fi
    round=$((round + 1))
done

"$python" -B table.py "$temp/worlds" <"$temp/lines"
if [ -n "$failed" ]; then
    echo "at least one run failed or missed theory, see above" >&2
    exit 1
fi
