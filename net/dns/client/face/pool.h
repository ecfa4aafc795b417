/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts for the blocking interfaces: one for each thread that is in a call,
 * kept with its cache for the next call
 */

#ifndef VMMNET_DNS_CLIENT_POOL_H
#define VMMNET_DNS_CLIENT_POOL_H

#include "vmmnet/dns.h"

/*
 * A context of this process; contexts from before fork() are freed.  Returns
 * NULL with errno set.
 */
VmmnetDns *dnsc_pool_get(void);

/* Return a context, which has no look-up under way. */
void dnsc_pool_put(VmmnetDns *dns);

/* Handle events until *done is set. */
void dnsc_pool_wait(VmmnetDns *dns, const bool *done);

#endif
