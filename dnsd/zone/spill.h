/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without a name, for data that memory has no room for */
#ifndef DNSD_ZONE_SPILL_H
#define DNSD_ZONE_SPILL_H

#include <stdatomic.h>

#include "dnsd/zone/chunk.h"

typedef struct Spill {
    int fd;                     /* -1: not created yet */
    atomic_uint_least64_t end;
} Spill;

/** spill_open: use the folder @dir.  Returns: 0 or a negative errno. */
int spill_open(Spill *spill, const char *dir);

void spill_close(Spill *spill);

/**
 * spill_chunk: append the bundles of a sorted chunk in order
 *
 * Several threads may call it at the same time.
 *
 * Returns: 0 or a negative errno.  The bundles are at *offset, *len octets.
 */
int spill_chunk(Spill *spill, const Chunk *chunk, uint64_t *offset,
                uint64_t *len);

/** spill_read: read exactly @len octets.  Returns: 0 or a negative errno. */
int spill_read(const Spill *spill, void *to, size_t len, uint64_t offset);

#endif /* DNSD_ZONE_SPILL_H */
