/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a context */

#ifndef VMMNET_DNS_CLIENT_CONTEXT_H
#define VMMNET_DNS_CLIENT_CONTEXT_H

#include "net/dns/client/face/state.h"

/*
 * A context for callers that block: it has no descriptor of its own, and
 * dnsc_loop_wait() instead.  Otherwise as vmmnet_dns_new().
 */
VmmnetDns *dnsc_context_new_blocking(const VmmnetDnsOptions *options,
                                     const char **mistake);

/*
 * Read files again that have changed, and use them for the next questions.
 * Without memory the old state is kept.
 */
void dnsc_context_refresh(VmmnetDns *dns);

#endif
