/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State that all questions of a context share: servers and settings */

#ifndef VMMNET_DNS_CLIENT_ASKER_H
#define VMMNET_DNS_CLIENT_ASKER_H

#include "net/dns/client/core/result.h"
#include "net/dns/client/core/servers.h"
#include "net/dns/client/net/port.h"
#include "net/dns/client/net/turns.h"

/*
 * Allocated, with a reference for each question: a change of the servers makes
 * another one.
 */
typedef struct DnscAsker {
    unsigned refs;
    DnscLoop *loop;
    DnscPorts ports;            /* of the same loop */
    DnscTurns tcp;              /* TCP connections */
    DnscServers servers;
    VmmnetDnsCounters *counters;
    int64_t timeout;            /* limit for one try, microseconds */
    unsigned attempts;          /* for each server */
    bool random_case;
    bool use_vc;                /* TCP only */
    bool rotate;
    bool trust_ad;              /* ask for AD, and report it */
} DnscAsker;

DnscAsker *dnsc_asker_ref(DnscAsker *asker);
void dnsc_asker_unref(DnscAsker *asker);        /* NULL is allowed */

typedef struct DnscAsk DnscAsk;

/* The callee owns the result.  The question has been freed. */
typedef void DnscAskFn(void *opaque, DnscResult *result);

#endif
