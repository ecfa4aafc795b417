/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that transfer zones
 *
 * To sort and write an image of a large zone takes long, so this is not work
 * for the control thread.  A slow primary occupies one thread: an address has
 * at most a quarter of them.
 */
#ifndef DNSD_SERVER_SECONDARY_POOL_H
#define DNSD_SERVER_SECONDARY_POOL_H

#include "dnsd/server/secondary/fetch.h"

#define DNSD_POOL_THREADS   16
#define DNSD_POOL_PRIMARY   4       /* transfers at a time from one address */

typedef struct DnsdPool DnsdPool;

/** dnsd_pool_new: start the threads; NULL, and errno is set */
DnsdPool *dnsd_pool_new(void);

/** dnsd_pool_free: stop all; the caller keeps the fetches */
void dnsd_pool_free(DnsdPool *pool);

/** dnsd_pool_fd: readable when a fetch has ended */
int dnsd_pool_fd(const DnsdPool *pool);

/**
 * dnsd_pool_heard, dnsd_pool_wake: make the descriptor unreadable until another
 * fetch ends; make it readable, as more results wait
 */
void dnsd_pool_heard(DnsdPool *pool);
void dnsd_pool_wake(DnsdPool *pool);

/** dnsd_pool_add: the pool uses the fetch until dnsd_pool_take() */
void dnsd_pool_add(DnsdPool *pool, DnsdFetch *fetch);

/** dnsd_pool_take: a fetch that has ended, or NULL */
DnsdFetch *dnsd_pool_take(DnsdPool *pool);

#endif /* DNSD_SERVER_SECONDARY_POOL_H */
