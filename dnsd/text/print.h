/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print a record as a line of a master file */
#ifndef DNSD_TEXT_PRINT_H
#define DNSD_TEXT_PRINT_H

#include "dnsd/text/rdata.h"

/* A name with its final dot, every octet escaped, and NUL */
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
 * dns_print_name: print a name with its final dot
 *
 * Octets are escaped so that dns_master_read() reads the same name.
 *
 * Returns: the length without the NUL.
 */
size_t dns_print_name(const DnsName *name, char text[DNS_PRINT_NAME_MAX]);

/**
 * dns_print_record: print "OWNER TTL CLASS TYPE RDATA" and a NUL, without a
 * line end
 * @room: octets at @text; DNS_PRINT_RECORD_MAX always suffices
 *
 * All names are absolute, so the line is valid with any $ORIGIN.
 *
 * Returns: the length without the NUL, or -ENOSPC.
 */
int dns_print_record(const DnsPrintRecord *record, char *text, size_t room);

#endif /* DNSD_TEXT_PRINT_H */
