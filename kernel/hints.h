/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies the operator's hints (`braid hint`) into the view: by a subflow's local address, else by the interface of its
 * outgoing packets.
 *
 * Hints are looked up when a subflow enters the view, when its interface changes, and when user space has changed
 * hints, shown by a new generation. The generation is 0 until the first hint, and an event then costs one load and one branch.
 * The maps are pinned once for all loaded algorithms, so hints outlive these.
 *
 * The work is in global functions, which the verifier checks once per program, independent of the calls.
 */
#ifndef BRAID_HINTS_H
#define BRAID_HINTS_H

enum braid_hint_kind {
	BRAID_HINT_ADDRESS = 1,
	BRAID_HINT_INTERFACE = 2,
};

/* Mirrored by `Key` in crates/braid-kernel. Interfaces are identified by name, so that a hint survives replugging a
 * modem. */
struct braid_hint_key {
	u64 netns; /* the network namespace's cookie */
	u64 kind;  /* enum braid_hint_kind */
	/* In memory order: an IPv6 address, an IPv4 address as ::ffff:a.b.c.d, or a name and zeros. */
	u64 words[2];
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, 1024);
	MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
	MAP_TYPE(key, struct braid_hint_key);
	MAP_TYPE(value, u32);
} braid_hints SEC(".maps");

/* In its own section and so a map of its own. */
volatile u32 braid_hint_generation SEC(".data.hints");

/* The hints of a socket's view and the keys of their lookup, by subflow. */
struct braid_hinted {
	/* The subflow being looked up, in memory because the verifier forbids pointers as arguments of global
	 * functions: its socket, and its entry in the connection's list; 0: self is alone. */
	u64 socket;
	u64 entry;
	u32 generation;
	struct braid_hinted_subflow {
		u32 id;        /* 0: none */
		u32 interface; /* its number; 0: unknown */
		u32 hint;
		u32 reserved;
	} subflow[BRAID_MAX_SUBFLOWS];
};

braid_inline u32 braid_stated(const struct braid_hint_key *key)
{
	const u32 *hint = bpf_map_lookup_elem(&braid_hints, key);

	return hint ? *hint : 0;
}

/* Clears the bytes after the first zero byte: when an interface gets a shorter name, the kernel leaves the rest of the
 * longer one there. Returns whether there is a zero byte. Byte order is the machine's, which is little-endian for all
 * BPF programs here. */
braid_inline u32 braid_end_name(u64 *word)
{
	u64 ends = (*word - 0x0101010101010101ull) & ~*word & 0x8080808080808080ull;

	*word &= ((ends & (0 - ends)) >> 7) - 1;
	return braid_below(0, ends);
}

/* The device of the socket's outgoing packets, if known: reads through it yield 0 otherwise. */
braid_inline const struct net_device *braid_device(const struct sock *sk)
{
	return BRAID_CAST(BRAID_CAST(sk->sk_dst_cache, struct dst_entry)->dev, struct net_device);
}

/* The hint for hinted->socket; 0: none. */
__attribute__((noinline)) u32 braid_hint_of(const struct braid_hinted *hinted)
{
	const struct net_device *device;
	struct braid_hint_key key;
	const struct sock *sk;
	const u64 *words;
	u32 hint;

	if (!hinted)
		return 0;
	sk = BRAID_CAST((void *)hinted->socket, struct sock);
	key.netns = BRAID_CAST(sk->__sk_common.skc_net.net, struct net)->net_cookie;
	key.kind = BRAID_HINT_ADDRESS;
	key.words[0] = 0;
	key.words[1] = (u64)sk->__sk_common.skc_rcv_saddr << 32 | 0xffff0000;
	if (sk->__sk_common.skc_family == AF_INET6 &&
	    __builtin_preserve_field_info(sk->__sk_common.skc_v6_rcv_saddr, 2)) {
		words = BRAID_WORDS(sk, __sk_common.skc_v6_rcv_saddr);
		key.words[0] = words[0];
		key.words[1] = words[1];
	}
	hint = braid_stated(&key);
	if (hint)
		return hint;
	device = braid_device(sk);
	words = BRAID_WORDS(device, name);
	key.kind = BRAID_HINT_INTERFACE;
	key.words[0] = words[0];
	key.words[1] = words[1];
	if (braid_end_name(&key.words[0]))
		key.words[1] = 0;
	else
		braid_end_name(&key.words[1]);
	return braid_stated(&key);
}

/* The hint of a subflow of the view, looked up again if its key has changed; then advances to the next entry. */
__attribute__((noinline)) int braid_look_up_hint(struct braid_subflow *subflow, struct braid_hinted *hinted, u32 place)
{
	struct braid_hinted_subflow *known;
	u32 id, interface;

	if (!subflow || !hinted)
		return 0;
	known = &hinted->subflow[place & (BRAID_MAX_SUBFLOWS - 1)];
	id = subflow->id;
	if (hinted->entry) {
		const struct mptcp_subflow_context *context = braid_context((const void *)hinted->entry);

		hinted->entry = (u64)context->node.next;
		hinted->socket = (u64)context->tcp_sock;
		/* The list changed since the view was filled in: the next event sees the new list. */
		if (context->subflow_id != id) {
			known->id = 0;
			return 0;
		}
	}
	interface = braid_device(BRAID_CAST((void *)hinted->socket, struct sock))->ifindex;
	if (id == known->id) {
		/* Between two routes there is no interface for a short time. */
		if (!interface || interface == known->interface) {
			subflow->hint = known->hint;
			return 0;
		}
	}
	known->id = id;
	known->interface = interface;
	known->hint = braid_hint_of(hinted);
	subflow->hint = known->hint;
	return 0;
}

/* The hints of the view's subflows; hinted->socket is that of self. */
__attribute__((noinline)) int braid_look_up_hints(struct braid_view *view, struct braid_hinted *hinted, u32 generation)
{
	const struct tcp_sock *tp;
	u32 i;

	if (!view || !hinted)
		return 0;
	if (generation != hinted->generation)
		__builtin_memset(hinted->subflow, 0, sizeof(hinted->subflow));
	hinted->generation = generation;
	tp = BRAID_CAST((void *)hinted->socket, struct tcp_sock);
	hinted->entry = 0;
	/* A single subflow is self, also for plain TCP. */
	if (view->n > 1) {
		const struct mptcp_subflow_context *context = BRAID_CAST(tp->inet_conn.icsk_ulp_data,
									 struct mptcp_subflow_context);

		hinted->entry = (u64)BRAID_CAST(context->conn, struct mptcp_sock)->conn_list.next;
	}
	for (i = 0; i < BRAID_MAX_SUBFLOWS && i < view->n; i++)
		braid_look_up_hint(&view->subflow[i], hinted, i);
	return 0;
}

braid_inline void braid_hint(struct braid_view *view, struct braid_hinted *hinted, const struct tcp_sock *tp)
{
	u32 generation = braid_hint_generation;

	if (!generation)
		return;
	hinted->socket = (u64)tp;
	braid_look_up_hints(view, hinted, generation);
}

#endif
