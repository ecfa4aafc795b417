/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Things that are due at a time, the next one first
 *
 * A binary heap: to add, to change and to remove cost the logarithm of how many
 * there are, to ask for the next one nothing.
 */
#ifndef NET_MIP6_HA_EXPIRY_H
#define NET_MIP6_HA_EXPIRY_H

#include <glib.h>
#include <stdint.h>

/* To be embedded in what is due. */
typedef struct Mip6Due {
    int64_t at;                 /* ns */
    guint place;                /* in the heap, from 1; 0: it is in none */
} Mip6Due;

typedef struct Mip6Expiry {
    GPtrArray *heap;            /* of Mip6Due */
} Mip6Expiry;

void mip6_expiry_init(Mip6Expiry *e);

/** mip6_expiry_destroy: what is due stays the caller's */
void mip6_expiry_destroy(Mip6Expiry *e);

/** mip6_expiry_set: @due is due at @at; adds it if it is in no heap */
void mip6_expiry_set(Mip6Expiry *e, Mip6Due *due, int64_t at);

/** mip6_expiry_remove: take @due out, if it is in the heap */
void mip6_expiry_remove(Mip6Expiry *e, Mip6Due *due);

/** mip6_expiry_next: the one that is due first; NULL: there is none */
Mip6Due *mip6_expiry_next(const Mip6Expiry *e);

#endif /* NET_MIP6_HA_EXPIRY_H */
