/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context of libunbound: its cache and its settings */
#ifndef DNSD_SERVER_RESOLVER_CONTEXT_H
#define DNSD_SERVER_RESOLVER_CONTEXT_H

#include "dnsd/server/config/config.h"
#include "dnsd/server/host/sockets.h"
#include "net/dns/unbound/ub-event.h"
#include "net/dns/unbound/unbound.h"

typedef struct DnsdContext DnsdContext;

struct DnsdContext {
    DnscUbBase base;            /* must be first: libunbound points to it */
    const DnscUnbound *unbound;
    struct ub_ctx *ctx;
    unsigned asks;              /* without an answer yet */
    DnsdContext *next;          /* in the list of its thread */
};

/**
 * dnsd_context_new: make a context from the settings
 * @loop: the loop of the only thread that uses the context
 * @share: the number of contexts; memory and descriptors are divided by it
 *
 * Returns: NULL, and @error has the key and what would be right.
 */
DnsdContext *dnsd_context_new(const DnsdResolverConfig *config,
                              DnscLoop *loop, unsigned share,
                              DnsdError *error);

/** dnsd_context_free: not within its callbacks; none is called any more */
void dnsd_context_free(DnsdContext *context);

/** dnsd_context_files: descriptors that all contexts of a process may need */
unsigned dnsd_context_files(const DnsdResolverConfig *config);

#endif /* DNSD_SERVER_RESOLVER_CONTEXT_H */
