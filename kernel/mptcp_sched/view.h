/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection as its scheduler sees it. */
#ifndef BRAID_MODULE_VIEW_H
#define BRAID_MODULE_VIEW_H

#include "connection.h"

struct mptcp_subflow_context;

/* Fills the view but for what is about the segment in question, and tells the scheduler of new paths and RTTs. */
void braid_view_refresh(struct braid_connection *own, struct mptcp_sock *msk);
/* Tells the scheduler of an event; what it chooses is in `own->choice`. */
void braid_view_deliver(struct braid_connection *own, enum braid_scheduler_event event, u32 self);

/* End of the receive window, whatever the kernel sees for now. */
u64 braid_view_window_end(const struct braid_connection *own, const struct mptcp_sock *msk);

#endif
