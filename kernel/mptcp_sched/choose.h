/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Carries out a scheduler's decision. */
#ifndef BRAID_MODULE_CHOOSE_H
#define BRAID_MODULE_CHOOSE_H

struct braid_connection;
struct mptcp_sock;

/* Chooses the next subflow: 0 if one is marked as scheduled, or an error if none can send now. With the socket's
 * lock. */
int braid_choose_send(struct braid_connection *own, struct mptcp_sock *msk);
/* Records the data sent by the last decision, and restores the kernel's receive window and position. */
void braid_choose_settle(struct braid_connection *own, struct mptcp_sock *msk);
/* Work that needs process context: new windows of paths, and copies of the last data. With the socket's lock. */
void braid_choose_before_push(struct braid_connection *own);

#endif
