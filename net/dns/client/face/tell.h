/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups: the answer that a program gets */

#ifndef VMMNET_DNS_CLIENT_TELL_H
#define VMMNET_DNS_CLIENT_TELL_H

#include "net/dns/client/face/state.h"

/*
 * Append the addresses of a part, which has a result, to addrs; there is room
 * for DNSC_ADDRESSES_MAX.
 */
void dnsc_lookup_addresses(const DnscPart *part, DnscFamily family,
                           VmmnetDnsAddress *addrs, size_t *count);

/*
 * Report what the parts have and what was not reported before, or the local
 * answer.  If more is false, the look-up is freed before the callback.
 */
void dnsc_lookup_tell(DnscLookup *l, bool more);

#endif
