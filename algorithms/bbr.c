// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* BBR, version 1, on each subflow by itself: see bbr.h. */
#include "bbr.h"

struct bbr_public {
};

struct bbr_private {
	struct bbr_state state;
};

static void bbr_begin(struct braid_view *view, struct bbr_private *priv, const struct bbr_params *params,
		      const struct braid_event *event)
{
	bbr_init(view, &priv->state, params, event);
}

static void bbr_ack(struct braid_view *view, struct bbr_private *priv, const struct bbr_params *params,
		    const struct braid_event *event)
{
	bbr_update(view, &priv->state, params, event);
	bbr_control(braid_self(view), &priv->state, params, event, bbr_bw(&priv->state));
}

static void bbr_loss(struct braid_view *view, struct bbr_private *priv, const struct bbr_params *params,
		     const struct braid_event *event)
{
	bbr_on_loss(view, &priv->state, params, event);
}

static void bbr_recovered(struct braid_view *view, struct bbr_private *priv, const struct bbr_params *params,
			  const struct braid_event *event)
{
	bbr_on_recovered(view, &priv->state, event);
}

static void bbr_restart(struct braid_view *view, struct bbr_private *priv, const struct bbr_params *params,
			const struct braid_event *event)
{
	bbr_on_idle_restart(view, &priv->state, params, event);
}

BRAID_ALGORITHM(bbr, BBR_PARAMS, BRAID_WANTS_RATE | BRAID_OWNS_CWND | BRAID_UNCOUPLED, bbr_begin, BRAID_IGNORE, bbr_ack,
		bbr_loss, bbr_recovered, bbr_restart)
