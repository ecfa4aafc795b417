/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that the questions of a context share: servers and settings
 */

#ifndef VMMNET_DNS_CLIENT_ASKER_H
#define VMMNET_DNS_CLIENT_ASKER_H

#include "net/dns/client/core/result.h"
#include "net/dns/client/core/servers.h"
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

#endif
