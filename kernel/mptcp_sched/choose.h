/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A scheduler's choice, carried out. */
#ifndef BRAID_MODULE_CHOOSE_H
#define BRAID_MODULE_CHOOSE_H

struct braid_connection;
struct mptcp_sock;

/* Who is to send next: 0 and the subflow is marked as scheduled, or an error: nobody, for now. With the socket's lock. */
int braid_choose_send(struct braid_connection *own, struct mptcp_sock *msk);
/* What the last choice has sent is noted, and the kernel's receive window and place are as they would be without us. */
void braid_choose_settle(struct braid_connection *own, struct mptcp_sock *msk);
/* What wants a process's context: new windows of paths, and copies of the last data. With the socket's lock. */
void braid_choose_before_push(struct braid_connection *own);

#endif
