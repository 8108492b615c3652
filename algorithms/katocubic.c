// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mpCUBIC for two subflows, a RECONSTRUCTION: only the outline of the published algorithm (Kato, Haruyama, Yamamoto,
 * Ohzahata 2020) is known to us.
 *
 *	delta = (max(x_1, x_2) / (x_1 + x_2))^4,  x = w/rtt
 *	W(t) = origin + delta C (t - K)^3,  K = cbrt((W_max - w) / (delta C)),  the rest as CUBIC
 *
 * over the first two usable subflows by creation; any other keeps a window of one packet until one of the two is gone.
 */
#include "mpcubic.h"

#define KATOCUBIC_PARAMS(P) CUBIC_LAW_PARAMS(P)

BRAID_PARAMS(katocubic, KATOCUBIC_PARAMS);

struct katocubic_public {
};

struct katocubic_private {
	struct mpcubic mpcubic;
};

/* MPCubic's settings: its defaults, with the given CUBIC parameters. */
static void katocubic_settings(const struct katocubic_params *params, struct mpcubic_params *settings)
{
	*settings = (struct mpcubic_params){ MPCUBIC_PARAMS(BRAID_PARAM_INITIAL) };
	settings->c = params->c;
	settings->beta = params->beta;
	settings->fast_convergence = params->fast_convergence;
	settings->friendly = params->friendly;
	settings->alpha = params->alpha;
	settings->hystart = params->hystart;
}

static u32 katocubic_first(u32 set)
{
	return set & (0 - set);
}

/* The two subflows in use, as a set. Self counts even before its first RTT sample. */
static u32 katocubic_pair(const struct braid_view *view)
{
	u32 set = braid_eligible(view) | 1u << (view->self & (BRAID_MAX_SUBFLOWS - 1));
	u32 first = katocubic_first(set);

	return first | katocubic_first(set ^ first);
}

/* Whether self is one of them. If not, sets its window to one packet. */
static u32 katocubic_is_used(struct braid_view *view, u32 pair)
{
	if (pair >> (view->self & (BRAID_MAX_SUBFLOWS - 1)) & 1)
		return 1;
	braid_self(view)->cwnd = 1;
	return 0;
}

static void katocubic_init(struct braid_view *view, struct katocubic_private *priv,
			   const struct katocubic_params *params, const struct braid_event *event)
{
	mpcubic_init(view, &priv->mpcubic, event);
	katocubic_is_used(view, katocubic_pair(view));
}

static void katocubic_on_ack(struct braid_view *view, struct katocubic_private *priv,
			     const struct katocubic_params *params, const struct braid_event *event)
{
	struct mpcubic_params settings;
	u32 pair = katocubic_pair(view);

	if (!katocubic_is_used(view, pair))
		return;
	katocubic_settings(params, &settings);
	mpcubic_on_ack(view, &priv->mpcubic, &settings, event, pair & braid_eligible(view));
}

static void katocubic_on_loss(struct braid_view *view, struct katocubic_private *priv,
			      const struct katocubic_params *params, const struct braid_event *event)
{
	struct mpcubic_params settings;

	katocubic_settings(params, &settings);
	mpcubic_on_loss(view, &priv->mpcubic, &settings, event);
}

static void katocubic_on_recovered(struct braid_view *view, struct katocubic_private *priv,
				   const struct katocubic_params *params, const struct braid_event *event)
{
	mpcubic_on_recovered(&priv->mpcubic, event);
}

static void katocubic_on_idle_restart(struct braid_view *view, struct katocubic_private *priv,
				      const struct katocubic_params *params, const struct braid_event *event)
{
	mpcubic_on_idle_restart(&priv->mpcubic, event);
}

BRAID_ALGORITHM(katocubic, KATOCUBIC_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
		katocubic_init, BRAID_IGNORE, katocubic_on_ack, katocubic_on_loss, katocubic_on_recovered,
		katocubic_on_idle_restart)
