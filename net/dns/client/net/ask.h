/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One question, asked of the servers until one answers
 */

#ifndef VMMNET_DNS_CLIENT_ASK_H
#define VMMNET_DNS_CLIENT_ASK_H

#include "net/dns/client/core/result.h"
#include "net/dns/client/core/servers.h"
#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/port.h"
#include "net/dns/client/net/turns.h"

/*
 * State that all questions of a context share.  On the heap, and kept by its
 * questions: a change of the servers makes another one.
 */
typedef struct DnscAsker {
    unsigned refs;
    DnscLoop *loop;
    DnscPorts ports;            /* of that loop */
    DnscTurns tcp;              /* connections */
    DnscServers servers;
    VmmnetDnsCounters *counters;
    int64_t timeout;            /* of a try, at most; microseconds */
    unsigned attempts;          /* of each server */
    bool random_case;
    bool use_vc;                /* TCP only */
    bool rotate;
    bool trust_ad;              /* ask for AD, and pass it on */
} DnscAsker;

DnscAsker *dnsc_asker_ref(DnscAsker *asker);
void dnsc_asker_unref(DnscAsker *asker);        /* NULL is allowed */

typedef struct DnscAsk DnscAsk;

/* The result is the callee's; the question has been freed. */
typedef void DnscAskFn(void *opaque, DnscResult *result);

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
