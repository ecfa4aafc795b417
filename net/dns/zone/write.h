/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a zone image, node by node in canonical order
 *
 * The caller has sorted and checked the records; the writer makes the empty
 * non-terminals, the indexes and the checksums.
 */
#ifndef NET_DNS_ZONE_WRITE_H
#define NET_DNS_ZONE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"

typedef struct ZoneRecord {
    uint16_t type;
    uint16_t rdlength;
    uint32_t ttl;
    const uint8_t *rdata;       /* its names are not compressed */
} ZoneRecord;

typedef struct ZoneAbout {
    DnsName origin;
    uint16_t rrclass;
    bool is_delta;
    uint64_t identity;          /* random */
    uint64_t made;              /* seconds since 1970 */
    uint64_t seed;              /* of the hash; random */
    unsigned threads;           /* that finish a big image; 0 is 1 */
} ZoneAbout;

/* The memory that becomes the file */
typedef struct ZoneOut {
    uint8_t *base;              /* NULL at first */
    uint64_t room;
    /*
     * Make @room octets or more of it, what is new as zeros; @base may move.
     * Returns 0 or a negative errno, and then nothing has changed.
     */
    int (*grow)(struct ZoneOut *out, uint64_t room);
} ZoneOut;

typedef struct ZoneWriter ZoneWriter;

/** zone_writer_new: @about is copied, @out must outlive the writer. */
ZoneWriter *zone_writer_new(const ZoneAbout *about, ZoneOut *out);

void zone_writer_free(ZoneWriter *writer);

/**
 * zone_writer_node: all records of one owner name, no two the same
 *
 * Names come in canonical order (RFC 4034 section 6.1), the origin first, and
 * records in the order of their types; RRSIG records in that of the types that
 * they cover, for each of which there are others.  Without records the name is
 * an empty non-terminal.
 *
 * Returns: 0; -EINVAL if that is not so, or a RDATA is not one of its type;
 * -EFBIG where the format's numbers end; or what grow() returns.
 */
int zone_writer_node(ZoneWriter *writer, const DnsName *owner,
                     const ZoneRecord *records, size_t count);

/**
 * zone_writer_wildcard: the last node has a child "*"
 *
 * For deltas, where that may be in the image below; in others the writer sees
 * it by itself.
 */
void zone_writer_wildcard(ZoneWriter *writer);

/** zone_writer_gone: in a delta, a name that the zone no longer has. */
int zone_writer_gone(ZoneWriter *writer, const DnsName *owner);

/**
 * zone_writer_finish: the indexes, the checksums, the header
 * @len: how much of @out is the file
 *
 * Returns: 0; -EINVAL without a SOA record at the origin, unless it is a
 * delta; or as above.
 */
int zone_writer_finish(ZoneWriter *writer, uint64_t *len);

#endif /* NET_DNS_ZONE_WRITE_H */
