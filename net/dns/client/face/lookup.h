/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups: from the name that a program gives to the answer */

#ifndef VMMNET_DNS_CLIENT_LOOKUP_H
#define VMMNET_DNS_CLIENT_LOOKUP_H

#include "net/dns/client/face/state.h"

/*
 * Make a look-up.  The caller sets type or families, and the name or the local
 * answer.  Returns NULL with errno set.
 */
DnscLookup *dnsc_lookup_new(VmmnetDns *dns, const char *text, unsigned flags,
                            VmmnetDnsAnswerFn *told, void *opaque);

/* Begin the look-up; the context owns it from here on. */
VmmnetDnsId dnsc_lookup_begin(DnscLookup *l);

void dnsc_lookup_cancel_all(VmmnetDns *dns);

/* Free a look-up, which is in no list. */
void dnsc_lookup_free(DnscLookup *l);

#endif
