/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All files of schedulers/, by name. A test compares. */
#define BRAID_SCHEDULERS(S) \
	S(blest)            \
	S(daps)             \
	S(ecf)              \
	S(hsr)              \
	S(linux)            \
	S(llbm)             \
	S(llrp)             \
	S(minrtt)           \
	S(otias)            \
	S(redundant)        \
	S(rr)               \
	S(sttf)             \
	S(wrr)
