#!/usr/bin/env bash
# Unmodified programs on Braid's algorithms: iperf3 under mptcpize, curl from nginx, sockets from Python; chosen by
# namespace, by route and by socket. For each, `braid top` and `braid status` must agree with `ss`. Exit code 0 if they
# do.
#
#	sudo bench/kernel/clients.sh [BRAID]        BRAID: the program, target/debug/braid by default
#
# Needs root, iperf3, nginx, curl, mptcpize and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
. bench/kernel/network.sh
braid=${1-target/debug/braid}

network 2 200mbit
folder=$(mktemp -d)
finish() {
	local name pids
	for name in $client $server; do
		pids=$(ip netns pids "$name" 2>/dev/null || true)
		# shellcheck disable=SC2086 # one word per process
		[[ -z $pids ]] || kill $pids 2>/dev/null || true
	done
	network_down
	for name in ns rt so; do
		"$braid" unload "c_$name" --force 2>/dev/null || true
	done
	rm -rf "$folder"
}
trap finish EXIT

in_client() {
	ip netns exec "$client" "$@"
}

# Waits until the server accepts connections on a port.
listening() {
	local deadline=$((SECONDS + 20))
	until [[ -n $(ip netns exec "$server" ss -ltnH "sport = :$1") ]]; do
		[[ $SECONDS -lt $deadline ]] || {
			echo "FAILED: nothing listens on port $1 after 20 s" >&2
			exit 1
		}
		sleep 0.1
	done
}

# expect WHAT NAMESPACE PORT KERNEL_NAME SUBFLOWS: checks by all three programs that the sockets to or from that port
# run this algorithm.
expect() {
	local what=$1 namespace=$2 port=$3 name=$4 subflows=$5 from_ss deadline=$((SECONDS + 10))
	while :; do
		# Connections that carry data, without listeners and newly accepted sockets.
		from_ss=$(ip netns exec "$namespace" ss -tniH state established "( sport = :$port or dport = :$port )" |
			{ grep -o "braid_[a-z_]*\|cubic\|reno\|bbr" || true; } | sort | uniq -c | sort -rn | awk '{ print $2 "=" $1 }' | tr '\n' ' ')
		"$braid" top --once --json --all >"$folder/top"
		"$braid" status --json >"$folder/status" 2>/dev/null
		if python3 - "$folder" "$namespace" "$port" "$name" "$subflows" "$from_ss" <<'PYTHON'; then
import json
import sys
from collections import Counter

folder, namespace, port, name, subflows, from_ss = sys.argv[1:]
top = json.load(open(f"{folder}/top"))
status = json.load(open(f"{folder}/status"))


def is_it(flow):
    return port in (flow["local"].rsplit(":", 1)[1], flow["remote"].rsplit(":", 1)[1])


flows = [
    flow
    for connection in top["connections"]
    if connection["namespace"] == namespace
    for flow in connection["subflows"]
    if is_it(flow)
]
seen = Counter(flow["algorithm"] for flow in flows)
ss = Counter({pair.split("=")[0]: int(pair.split("=")[1]) for pair in from_ss.split()})
users = [entry for entry in status["loaded"] if entry["kernel_name"] == name]
users = [socket for entry in users for socket in entry["sockets"] if is_it(socket)]
sys.exit(not (seen == ss and seen[name] >= int(subflows) and len(users) >= int(subflows)))
PYTHON
			echo "ok: $what: $from_ss"
			return
		fi
		if [[ $SECONDS -ge $deadline ]]; then
			echo "FAILED: $what: expected $name on $subflows sockets; ss: $from_ss" >&2
			python3 -m json.tool "$folder/top" >&2
			exit 1
		fi
		sleep 0.2
	done
}

"$braid" load olia --as c_ns
"$braid" load lia --as c_so
"$braid" load balia --as c_rt

# By namespace: iperf3, which does not support MPTCP.
"$braid" default c_ns --netns "$client" >/dev/null
"$braid" default c_ns --netns "$server" >/dev/null
mptcpize run ip netns exec "$server" iperf3 -s -p 5201 >/dev/null 2>&1 &
listening 5201
mptcpize run ip netns exec "$client" iperf3 -c 10.1.0.2 -p 5201 -t 8 >"$folder/iperf" 2>&1 &
iperf=$!
expect "mptcpize run iperf3, by namespace" "$client" 5201 braid_c_ns 2
wait $iperf
grep -q receiver "$folder/iperf"

# By socket: Python.
ip netns exec "$server" python3 bench/kernel/traffic.py serve 5202 &
listening 5202
in_client python3 bench/kernel/traffic.py send 10.1.0.2 5202 6 --mptcp --cc braid_c_so --subflows 2 >/dev/null &
python=$!
expect "a Python program, by TCP_CONGESTION" "$client" 5202 braid_c_so 2
wait $python

# By route: nginx sends, curl receives.
for path in 1 2; do
	ip -n "$server" route replace "10.$path.0.0/24" dev "p$path" src "10.$path.0.2" congctl braid_c_rt
done
head -c 60000000 /dev/zero >"$folder/file"
chmod 755 "$folder"
cat >"$folder/nginx.conf" <<CONF
daemon off;
pid $folder/pid;
error_log stderr;
events {}
http {
	access_log off;
	server {
		listen 5203;
		root $folder;
	}
}
CONF
mptcpize run ip netns exec "$server" nginx -c "$folder/nginx.conf" 2>/dev/null &
listening 5203
mptcpize run ip netns exec "$client" curl -s --limit-rate 10M -o "$folder/got" http://10.1.0.2:5203/file &
curl=$!
expect "mptcpize run nginx to curl, by route" "$server" 5203 braid_c_rt 2
wait $curl
cmp "$folder/file" "$folder/got"
echo "all programs ran on what was chosen, and top and status said so"
