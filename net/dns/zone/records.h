/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of records: compression, and names to look up */
#ifndef NET_DNS_ZONE_RECORDS_H
#define NET_DNS_ZONE_RECORDS_H

#include "net/dns/zone/record.h"

#define ZONE_SUFFIXES_MAX   64
#define ZONE_TARGETS_MAX    UINT16_MAX

typedef struct ZoneSuffix {
    const uint8_t *name;
    uint16_t at;                /* in a message; see zone_rrset_base() */
    uint8_t len;
} ZoneSuffix;

/* Names that records of one RRset may be compressed against */
typedef struct ZonePacker {
    unsigned base;
    unsigned count;
    ZoneSuffix suffix[ZONE_SUFFIXES_MAX];
} ZonePacker;

/**
 * zone_packer_begin: begin an RRset of @owner, which must outlive the packer
 */
void zone_packer_begin(ZonePacker *packer, const DnsName *owner);

/**
 * zone_pack: write a record in the form in which it is sent
 * @at: octets of the RRset before it
 * @to: memory for 12 + record->rdlength octets
 *
 * RDATA of the record must outlive the packer.
 *
 * Returns: octets that were written; or -EINVAL if RDATA does not have the
 * shape of its type.
 */
int zone_pack(ZonePacker *packer, const ZoneRecord *record, uint16_t rrclass,
              uint32_t at, uint8_t *to);

/**
 * zone_target_of: the name in RDATA whose addresses are added to a reply (NS,
 * MX, SRV)
 *
 * Returns: its offset in RDATA, or -1 if there is none.
 */
int zone_target_of(const ZoneRecord *record);

/** zone_wire_name: read the name at the start of @len octets; 0 or -EINVAL */
int zone_wire_name(const uint8_t *wire, size_t len, DnsName *name);

#endif /* NET_DNS_ZONE_RECORDS_H */
