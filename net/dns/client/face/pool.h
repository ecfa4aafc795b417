/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts for the blocking faces: one a thread that is in a call, kept for
 * the next call with what they remember
 */

#ifndef VMMNET_DNS_CLIENT_POOL_H
#define VMMNET_DNS_CLIENT_POOL_H

#include "vmmnet/dns.h"

/*
 * A context of this process: what came across fork() is thrown away.
 * Returns NULL with errno set.
 */
VmmnetDns *dnsc_pool_get(void);

/* No look-up is out on it. */
void dnsc_pool_put(VmmnetDns *dns);

/* Handle what comes until *done */
void dnsc_pool_wait(VmmnetDns *dns, const bool *done);

#endif
