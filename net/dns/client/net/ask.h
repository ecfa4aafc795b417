/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question, which is sent to the servers until one answers */

#ifndef VMMNET_DNS_CLIENT_ASK_H
#define VMMNET_DNS_CLIENT_ASK_H

#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/asker.h"

/*
 * done is called once, and never during this call.  Returns NULL without
 * memory.
 */
DnscAsk *dnsc_ask(DnscAsker *asker, const DnsQuestion *question,
                  DnscAskFn *done, void *opaque);

/*
 * The same for the whole reply (result->whole): of the outcome, or of the last
 * refusal, which is preferred to a timeout of other servers.  A server that
 * refuses with any RCODE, or is lame, is not asked again.
 */
DnscAsk *dnsc_ask_whole(DnscAsker *asker, const DnscQuery *query,
                        DnscAskFn *done, void *opaque);

/*
 * Is the answer still wanted?  If not, no other server is asked after the
 * current one, unless it is wanted again before that.
 */
void dnsc_ask_set_wanted(DnscAsk *ask, bool wanted);

/* Cancel the question; done is not called. */
void dnsc_ask_cancel(DnscAsk *ask);

#endif
