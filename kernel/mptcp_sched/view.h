/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A scheduler's view of a connection. */
#ifndef BRAID_MODULE_VIEW_H
#define BRAID_MODULE_VIEW_H

#include "connection.h"

struct mptcp_subflow_context;

/* Fills the view except for the segment, and delivers new paths and RTTs to the scheduler. */
void braid_view_refresh(struct braid_connection *own, struct mptcp_sock *msk);
/* Delivers an event to the scheduler; its decision is in `own->choice`. */
void braid_view_deliver(struct braid_connection *own, enum braid_scheduler_event event, u32 self);

/* End of the real receive window. */
u64 braid_view_window_end(const struct braid_connection *own, const struct mptcp_sock *msk);

#endif
