#!/bin/sh
# The test of NAME: at one bottleneck both subflows together take about as much as the TCP flow beside them (RFC 6356, goal 2).
set -eu
cd "$(dirname "$0")"
${BRAID:-braid} run NAME.toml --algorithm NAME.c --cc NAME --seeds 3 --format csv --quiet | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ sum[$column["connection"]] += $column["throughput_bps"] }
	END {
		share = sum["mp0"] / (sum["mp0"] + sum["tcp0"])
		printf "NAME takes %.0f %% of the link; expected: 35 to 65 %%\n", 100 * share
		exit !(share > 0.35 && share < 0.65)
	}'
