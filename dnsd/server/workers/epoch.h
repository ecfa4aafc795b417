/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that all threads read and one thread replaces
 *
 * Each thread marks when it begins and ends to read, in words of its own, so
 * readers write nothing that they share.  The replacing thread waits until each
 * reader has begun again, or does not read.
 *
 * Memory order.  A reader stores its mark, then loads the pointer.  The
 * replacing thread stores the pointer, then loads the marks.  Release and
 * acquire let both loads come first, and the data would be freed under the
 * reader.  So these accesses are sequentially consistent, also those of data
 * that readers find by themselves (DnsServedZone.live, the VRFs).
 * dnsd_epoch_end() releases: the reader's loads come before its data are
 * freed.
 */
#ifndef DNSD_SERVER_WORKERS_EPOCH_H
#define DNSD_SERVER_WORKERS_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DNSD_LINE   64          /* octets of a cache line */

typedef struct DnsdReaderMark {
    _Alignas(DNSD_LINE) atomic_uint_least64_t seen;     /* 0: not reading */
} DnsdReaderMark;

typedef struct DnsdEpoch {
    _Alignas(DNSD_LINE) atomic_uint_least64_t number;   /* starts at 1 */
    _Atomic(const void *) current;
} DnsdEpoch;

static inline void dnsd_epoch_init(DnsdEpoch *e, const void *first)
{
    atomic_init(&e->number, 1);
    atomic_init(&e->current, first);
}

/** dnsd_epoch_begin: get the data, which is valid until dnsd_epoch_end() */
static inline const void *dnsd_epoch_begin(DnsdEpoch *e, DnsdReaderMark *mark)
{
    /*
     * Sequentially consistent: either the replacing thread sees this mark, or
     * this thread sees the new data.
     */
    atomic_store(&mark->seen, atomic_load(&e->number));
    return atomic_load(&e->current);
}

static inline void dnsd_epoch_end(DnsdReaderMark *mark)
{
    atomic_store_explicit(&mark->seen, 0, memory_order_release);
}

/**
 * dnsd_epoch_advance: data that readers find by themselves, such as a view, was
 * replaced
 *
 * Returns: a number for dnsd_epoch_is_past(): when that is true, no thread
 * reads the old data.
 */
static inline uint64_t dnsd_epoch_advance(DnsdEpoch *e)
{
    return atomic_fetch_add(&e->number, 1) + 1;
}

static inline bool dnsd_epoch_is_past(uint64_t number,
                                      const DnsdReaderMark *mark)
{
    uint64_t seen = atomic_load(&mark->seen);

    return !seen || seen >= number;
}

/** dnsd_epoch_replace: returns the old data, which no thread reads any more */
static inline const void *dnsd_epoch_replace(DnsdEpoch *e, const void *next,
                                             DnsdReaderMark *const *marks,
                                             unsigned count)
{
    const struct timespec moment = { .tv_nsec = 200000 };
    const void *old = atomic_exchange(&e->current, next);
    uint64_t number = atomic_fetch_add(&e->number, 1) + 1;

    for (unsigned i = 0; i < count; i++) {
        uint64_t seen = atomic_load(&marks[i]->seen);

        while (seen && seen < number) {
            nanosleep(&moment, NULL);
            seen = atomic_load(&marks[i]->seen);
        }
    }
    return old;
}

#endif /* DNSD_SERVER_WORKERS_EPOCH_H */
