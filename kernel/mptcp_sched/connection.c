// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The connections with our schedulers. The kernel has no memory for a scheduler, so they are in a table. */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "choose.h"
#include "connection.h"
#include "kernel.h"

static DEFINE_HASHTABLE(connections, 10);
static DEFINE_SPINLOCK(connections_lock);
static struct workqueue_struct *workers;

static void put(struct braid_connection *own)
{
	if (refcount_dec_and_test(&own->users))
		kfree_rcu(own, rcu);
}

struct braid_connection *braid_connection_find(struct mptcp_sock *msk)
{
	struct braid_connection *own, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(connections, own, node, (unsigned long)msk)
	{
		if (own->sk == (struct sock *)msk) {
			found = own;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

void braid_connection_work(struct braid_connection *own)
{
	refcount_inc(&own->users);
	sock_hold(own->sk);
	if (!queue_work(workers, &own->work)) {
		/* It is queued already. */
		sock_put(own->sk);
		put(own);
	}
}

static enum hrtimer_restart wake(struct hrtimer *timer)
{
	braid_connection_work(container_of(timer, struct braid_connection, timer));
	return HRTIMER_NORESTART;
}

void braid_connection_wake(struct braid_connection *own, u32 wake_us)
{
	ktime_t due = ktime_add_us(ktime_get(), max(wake_us, 1u));

	if (hrtimer_is_queued(&own->timer) && !ktime_before(due, hrtimer_get_expires(&own->timer)))
		return;
	hrtimer_start(&own->timer, due, HRTIMER_MODE_ABS_SOFT);
}

static void work(struct work_struct *item)
{
	struct braid_connection *own = container_of(item, struct braid_connection, work);
	struct sock *sk = own->sk;

	lock_sock(sk);
	if (!own->is_gone && (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT | TCPF_FIN_WAIT1)) {
		braid_choose_before_push(own);
		braid_kernel.push_pending(sk, 0);
	}
	release_sock(sk);
	sock_put(sk);
	put(own);
}

struct braid_connection *braid_connection_new(struct mptcp_sock *msk, const struct braid_scheduler *scheduler,
					      const u32 *params)
{
	struct braid_connection *own = kzalloc(sizeof(*own), GFP_ATOMIC | __GFP_NOWARN);

	if (!own)
		return NULL;
	own->sk = (struct sock *)msk;
	own->scheduler = scheduler;
	own->params = params;
	refcount_set(&own->users, 1);
	INIT_WORK(&own->work, work);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&own->timer, wake, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(&own->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	own->timer.function = wake;
#endif
	spin_lock_bh(&connections_lock);
	hash_add_rcu(connections, &own->node, (unsigned long)msk);
	spin_unlock_bh(&connections_lock);
	return own;
}

void braid_connection_release(struct mptcp_sock *msk)
{
	struct braid_connection *own = braid_connection_find(msk);

	if (!own)
		return;
	own->is_gone = true;
	spin_lock_bh(&connections_lock);
	hash_del_rcu(&own->node);
	spin_unlock_bh(&connections_lock);
	/* Pending work has its own reference and finds the connection gone. */
	hrtimer_cancel(&own->timer);
	put(own);
}

int braid_connections_begin(void)
{
	workers = alloc_workqueue("braid_sched", WQ_HIGHPRI | WQ_UNBOUND, 0);
	return workers ? 0 : -ENOMEM;
}

/* No connection has a scheduler of this module any more. */
void braid_connections_end(void)
{
	destroy_workqueue(workers);
	/* Waits for pending frees. */
	rcu_barrier();
}
