/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context of libunbound: its cache, and how it was set up */
#ifndef NET_DNS_SERVER_RESOLVER_CONTEXT_H
#define NET_DNS_SERVER_RESOLVER_CONTEXT_H

#include "net/dns/server/config/config.h"
#include "net/dns/server/host/sockets.h"
#include "net/dns/unbound/ub-event.h"
#include "net/dns/unbound/unbound.h"

typedef struct DnsdContext DnsdContext;

struct DnsdContext {
    DnscUbBase base;            /* first: libunbound's */
    const DnscUnbound *unbound;
    struct ub_ctx *ctx;
    unsigned asks;              /* that are not answered yet */
    DnsdContext *next;          /* in the list of the thread */
};

/**
 * dnsd_context_new: by its settings
 * @loop: where it will run: of the thread that asks it, which is the only one
 *        that may touch it from then on
 * @share: of how many it is one, by which memory and descriptors are divided
 *
 * Returns: NULL, and @mistake names the key and what would be right.
 */
DnsdContext *dnsd_context_new(const DnsdResolverConfig *config,
                              DnscLoop *loop, unsigned share,
                              DnsdMistake *mistake);

/** dnsd_context_free: not within a callback of it; nobody is called back. */
void dnsd_context_free(DnsdContext *context);

/** dnsd_context_files: descriptors that the contexts of a process may need. */
unsigned dnsd_context_files(const DnsdResolverConfig *config);

#endif /* NET_DNS_SERVER_RESOLVER_CONTEXT_H */
