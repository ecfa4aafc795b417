/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record as a line of a master file */
#ifndef NET_DNS_TEXT_PRINT_H
#define NET_DNS_TEXT_PRINT_H

#include "net/dns/text/rdata.h"

/* A name with its final dot, escapes for all octets, NUL */
#define DNS_PRINT_NAME_MAX      DNS_NAME_TEXT_MAX
#define DNS_PRINT_RECORD_MAX    (DNS_PRINT_NAME_MAX + 40 + DNS_RDATA_TEXT_MAX)

typedef struct DnsPrintRecord {
    const DnsName *owner;
    uint16_t type;
    uint16_t rrclass;
    uint32_t ttl;
    uint16_t rdlength;
    const uint8_t *rdata;       /* uncompressed */
} DnsPrintRecord;

/**
 * dns_print_name: presentation form with the final dot
 *
 * Octets are escaped so that dns_master_read() takes the name for the same
 * one whatever is in it.
 *
 * Returns: the length without the NUL.
 */
size_t dns_print_name(const DnsName *name, char text[DNS_PRINT_NAME_MAX]);

/**
 * dns_print_record: "OWNER TTL CLASS TYPE RDATA", with a NUL, no line end
 * @room: octets at @text; DNS_PRINT_RECORD_MAX is always enough
 *
 * All names are absolute, so a line is good under any $ORIGIN.
 *
 * Returns: the length without the NUL, or -ENOSPC.
 */
int dns_print_record(const DnsPrintRecord *record, char *text, size_t room);

#endif /* NET_DNS_TEXT_PRINT_H */
