// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPCubic (Le, Haw, Hong, Lee 2012): CUBIC with a smaller C, so that all subflows together take as much as one CUBIC on
 * the best path.
 *
 *	x = w/rtt
 *	delta=total:     delta   = (max_k x_k / sum_k x_k)^4
 *	delta=balanced:  delta_r = min(w_r max_k(w_k^3/rtt_k^4) / (sum_k x_k)^4, 1)
 *	delta=squared:   delta_r = min(w_r^2 max_k(w_k^2/rtt_k^4) / (sum_k x_k)^4, 1)
 *	W(t) = origin + delta C (t - K)^3,  K = cbrt((W_max - w) / (delta C)),  the rest as CUBIC
 *	Reno-friendly:  W_est += a min(max_k(w_k/rtt_k^2) / (sum_k x_k)^2, 1/w_r),  a LIA with CUBIC's decrease
 *
 * multipath_fast_recovery: on the first ACK after two timeouts in a row, ssthresh = beta w and W_max = w with the window
 * w before them.
 */
#include "mpcubic.h"

struct mpcubic_public {
};

struct mpcubic_private {
	struct mpcubic mpcubic;
};

static void mpcubic_begin(struct braid_view *view, struct mpcubic_private *priv, const struct mpcubic_params *params,
			  const struct braid_event *event)
{
	mpcubic_init(view, &priv->mpcubic, event);
}

static void mpcubic_ack(struct braid_view *view, struct mpcubic_private *priv, const struct mpcubic_params *params,
			const struct braid_event *event)
{
	mpcubic_on_ack(view, &priv->mpcubic, params, event, braid_eligible(view));
}

static void mpcubic_lose(struct braid_view *view, struct mpcubic_private *priv, const struct mpcubic_params *params,
			 const struct braid_event *event)
{
	mpcubic_on_loss(view, &priv->mpcubic, params, event);
}

static void mpcubic_recover(struct braid_view *view, struct mpcubic_private *priv, const struct mpcubic_params *params,
			    const struct braid_event *event)
{
	mpcubic_on_recovered(&priv->mpcubic, event);
}

static void mpcubic_restart(struct braid_view *view, struct mpcubic_private *priv, const struct mpcubic_params *params,
			    const struct braid_event *event)
{
	mpcubic_on_idle_restart(&priv->mpcubic, event);
}

BRAID_ALGORITHM(mpcubic, MPCUBIC_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
		mpcubic_begin, BRAID_IGNORE, mpcubic_ack, mpcubic_lose, mpcubic_recover, mpcubic_restart)
