/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a zone image, node by node in canonical order
 *
 * The caller has sorted and checked the records.  The writer makes the empty
 * non-terminals, the indexes and the checksums.
 */
#ifndef NET_DNS_ZONE_WRITE_H
#define NET_DNS_ZONE_WRITE_H

#include "net/dns/zone/record.h"

typedef struct ZoneWriter ZoneWriter;

/** zone_writer_new: @about is copied; @out must outlive the writer */
ZoneWriter *zone_writer_new(const ZoneAbout *about, ZoneOut *out);

void zone_writer_free(ZoneWriter *writer);

/**
 * zone_writer_node: write all records of one owner name; all must differ
 *
 * Names come in canonical order (RFC 4034 section 6.1), the origin first.
 * Records come in the order of their types.  RRSIG records come in the order of
 * the types that they cover; of each such type there are records.  A name
 * without records is an empty non-terminal.
 *
 * Returns: 0; -EINVAL if the order is wrong or RDATA does not have the shape of
 * its type; -EFBIG if the format's limits are exceeded; or grow()'s error.
 */
int zone_writer_node(ZoneWriter *writer, const DnsName *owner,
                     const ZoneRecord *records, size_t count);

/** zone_writer_next: the reference that the next node gets */
uint32_t zone_writer_next(const ZoneWriter *writer);

/** zone_writer_end: the octets of the image that are written */
uint64_t zone_writer_end(const ZoneWriter *writer);

/**
 * zone_writer_wildcard: note that the last node has a child "*"
 *
 * This is for deltas, where the child may be in the image below.  In other
 * images the writer notes it by itself.
 */
void zone_writer_wildcard(ZoneWriter *writer);

/** zone_writer_gone: in a delta, a name that the zone does not have any more */
int zone_writer_gone(ZoneWriter *writer, const DnsName *owner);

/**
 * zone_writer_finish: write the indexes, the checksums and the header
 * @len: set to the octets of @out that are the file
 *
 * Returns: 0; -EINVAL if the origin has no SOA record, except in a delta; or as
 * zone_writer_node().
 */
int zone_writer_finish(ZoneWriter *writer, uint64_t *len);

#endif /* NET_DNS_ZONE_WRITE_H */
