/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap of deadlines, the earliest first
 *
 * A binary heap: adding, changing and removing take logarithmic time, getting
 * the earliest one constant time.
 */
#ifndef HA_EXPIRY_H
#define HA_EXPIRY_H

#include <glib.h>
#include <stdint.h>

/* Embed it in a structure that has a deadline. */
typedef struct Mip6Due {
    int64_t at;                 /* ns */
    guint place;                /* in the heap, from 1; 0: not in a heap */
} Mip6Due;

typedef struct Mip6Expiry {
    GPtrArray *heap;            /* of Mip6Due */
} Mip6Expiry;

void mip6_expiry_init(Mip6Expiry *e);

/** mip6_expiry_destroy: the entries still belong to the caller */
void mip6_expiry_destroy(Mip6Expiry *e);

/** mip6_expiry_set: set the deadline; adds @due if it is in no heap */
void mip6_expiry_set(Mip6Expiry *e, Mip6Due *due, int64_t at);

/** mip6_expiry_remove: remove @due, if it is in the heap */
void mip6_expiry_remove(Mip6Expiry *e, Mip6Due *due);

/** mip6_expiry_next: the earliest entry; NULL: the heap is empty */
Mip6Due *mip6_expiry_next(const Mip6Expiry *e);

#endif /* HA_EXPIRY_H */
