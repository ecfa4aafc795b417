/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One question, asked of the servers until one answers
 */

#ifndef VMMNET_DNS_CLIENT_ASK_H
#define VMMNET_DNS_CLIENT_ASK_H

#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/asker.h"

/* done comes once, never from within.  Returns NULL when out of memory. */
DnscAsk *dnsc_ask(DnscAsker *asker, const DnsQuestion *question,
                  DnscAskFn *done, void *opaque);

/*
 * The same, for the whole reply (result->whole): of the outcome, or of the last
 * refusal, which is worth more than the silence of others.  A server that
 * refuses, by whatever RCODE, or is lame is not asked again.
 */
DnscAsk *dnsc_ask_whole(DnscAsker *asker, const DnscQuery *query,
                        DnscAskFn *done, void *opaque);

/*
 * Does anybody wait for it?  If not, the server that has it is the last, unless
 * somebody does again until then.
 */
void dnsc_ask_set_wanted(DnscAsk *ask, bool wanted);

/* Without calling back */
void dnsc_ask_cancel(DnscAsk *ask);

#endif
