/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without a name, for what does not fit into memory */
#ifndef NET_DNS_ZONE_TOOL_SPILL_H
#define NET_DNS_ZONE_TOOL_SPILL_H

#include <stdatomic.h>

#include "net/dns/zone/tool/chunk.h"

typedef struct Spill {
    int fd;                     /* -1: not made yet */
    atomic_uint_least64_t end;
} Spill;

/** spill_open: in the folder @dir.  Returns: 0 or a negative errno. */
int spill_open(Spill *spill, const char *dir);

void spill_close(Spill *spill);

/**
 * spill_chunk: the bundles of a sorted chunk, in order, at the file's end
 *
 * Several threads may.
 *
 * Returns: 0 or a negative errno; the bundles are at *offset, *len octets.
 */
int spill_chunk(Spill *spill, const Chunk *chunk, uint64_t *offset,
                uint64_t *len);

/** spill_read: all of @len octets.  Returns: 0 or a negative errno. */
int spill_read(const Spill *spill, void *to, size_t len, uint64_t offset);

#endif /* NET_DNS_ZONE_TOOL_SPILL_H */
