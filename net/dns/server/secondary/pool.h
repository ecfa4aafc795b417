/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that fetch zones
 *
 * An image of a large zone takes long to sort and to write, so the control
 * thread cannot; and whoever sends slowly has one thread of a few, not all:
 * an address has at most a quarter of them.
 */
#ifndef NET_DNS_SERVER_SECONDARY_POOL_H
#define NET_DNS_SERVER_SECONDARY_POOL_H

#include "net/dns/server/secondary/fetch.h"

#define DNSD_POOL_THREADS   16
#define DNSD_POOL_PRIMARY   4       /* at a time, from one address */

typedef struct DnsdPool DnsdPool;

/** dnsd_pool_new: starts the threads; NULL, and errno. */
DnsdPool *dnsd_pool_new(void);

/** dnsd_pool_free: ends what runs; all fetches are the caller's. */
void dnsd_pool_free(DnsdPool *pool);

/** dnsd_pool_fd: when it is readable, something has ended. */
int dnsd_pool_fd(const DnsdPool *pool);

/**
 * dnsd_pool_heard, dnsd_pool_wake: it is not readable any more, until
 * something ends; it is, as there is more to take
 */
void dnsd_pool_heard(DnsdPool *pool);
void dnsd_pool_wake(DnsdPool *pool);

/** dnsd_pool_add: the pool has it until dnsd_pool_take(). */
void dnsd_pool_add(DnsdPool *pool, DnsdFetch *fetch);

/** dnsd_pool_take: one that has ended, or NULL */
DnsdFetch *dnsd_pool_take(DnsdPool *pool);

#endif /* NET_DNS_SERVER_SECONDARY_POOL_H */
