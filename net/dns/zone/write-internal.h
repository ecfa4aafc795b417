/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the writer */
#ifndef NET_DNS_ZONE_WRITE_INTERNAL_H
#define NET_DNS_ZONE_WRITE_INTERNAL_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/index.h"
#include "net/dns/zone/record.h"

typedef struct ZoneWriter ZoneWriter;

struct ZoneWriter {
    ZoneAbout about;
    ZoneOut *out;
    uint64_t end;               /* in the file, of the octets written */
    uint64_t nodes;
    ZoneHashed *names;          /* of all nodes */
    uint64_t names_room;
    uint64_t rrsets;
    uint64_t records;
    uint32_t flags;
    uint32_t serial;
    bool has_soa;
    uint8_t labels_max;
    DnsName last;
    /* The nodes of the last name and of its ancestors, indexed by labels */
    uint32_t ref[DNS_LABELS_MAX + 1];
    uint32_t buckets;
    ZoneSpan section[ZONE_SECTIONS];
};

static inline uint64_t zone_align_up(uint64_t len, uint64_t to)
{
    return (len + to - 1) & ~(to - 1);
}

/* The records of one RRset, and the RRSIG records that cover it */
typedef struct ZoneGroup {
    const ZoneRecord *records;
    size_t count;
    const ZoneRecord *sigs;
    size_t sigs_count;
} ZoneGroup;

/* The address of the next octet */
static inline uint8_t *zone_writer_here(const ZoneWriter *w)
{
    return w->out->base + w->end;
}

/*
 * Ensure memory for @len octets behind the end.  Returns 0, or grow()'s error.
 */
int zone_writer_room(ZoneWriter *w, uint64_t len);

/* Write an RRset of @owner behind the end.  Returns 0 or a negative errno. */
int zone_writer_rrset(ZoneWriter *w, const DnsName *owner,
                      const ZoneGroup *group);

#endif /* NET_DNS_ZONE_WRITE_INTERNAL_H */
