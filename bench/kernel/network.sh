# shellcheck shell=bash
# Sourced: a client and a server namespace joined by veth pairs, one path each; removed when the script ends.
#
#	network PATHS [RATE]    $client and $server are their names; path i is 10.i.0.1 - 10.i.0.2, fd0i::1 - fd0i::2
#
# New connections use the first path, and subflows join over the others. With RATE, in tc's notation, the client's end
# of each path passes through a router with that rate and a queue of 100 packets.

client=braid-$$-c
server=braid-$$-s
router=braid-$$-r

network_down() {
	local name
	for name in $client $server $router; do
		ip netns del "$name" 2>/dev/null || true
	done
}

network() {
	local paths=$1 rate=${2-} i end name
	trap network_down EXIT
	for name in $client $server ${rate:+$router}; do
		ip netns add "$name"
		ip -n "$name" link set lo up
		ip netns exec "$name" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
	done
	for ((i = 1; i <= paths; i++)); do
		if [[ -z $rate ]]; then
			ip -n $client link add "p$i" type veth peer name "p$i" netns $server
		else
			# A bridge puts both ends into one subnet.
			ip -n $client link add "p$i" type veth peer name "c$i" netns $router
			ip -n $server link add "p$i" type veth peer name "s$i" netns $router
			ip -n $router link add "b$i" type bridge
			for end in c s; do
				ip -n $router link set "$end$i" master "b$i"
				ip -n $router link set "$end$i" up
			done
			ip -n $router link set "b$i" up
			ip netns exec $router tc qdisc add dev "s$i" root tbf rate "$rate" burst 10000 limit 150000
		fi
		end=1
		for name in $client $server; do
			ip -n "$name" addr add "10.$i.0.$end/24" dev "p$i"
			ip -n "$name" addr add "fd0$i::$end/64" dev "p$i" nodad
			ip -n "$name" link set "p$i" up
			end=2
		done
		[[ $i -eq 1 ]] || ip -n $server mptcp endpoint add "10.$i.0.2" dev "p$i" signal
	done
	for name in $client $server; do
		ip -n "$name" mptcp limits set subflows 8 add_addr_accepted 8
	done
}
