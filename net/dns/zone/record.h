/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records for an image, and the memory that becomes it */
#ifndef NET_DNS_ZONE_RECORD_H
#define NET_DNS_ZONE_RECORD_H

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
    unsigned threads;           /* to finish a large image; 0 means 1 */
} ZoneAbout;

/* The memory that becomes the file */
typedef struct ZoneOut {
    uint8_t *base;              /* NULL at first */
    uint64_t room;
    /*
     * Enlarge the memory to @room octets or more; new octets are 0, and @base
     * may move.  Returns 0; or a negative errno, and nothing has changed.
     */
    int (*grow)(struct ZoneOut *out, uint64_t room);
    /*
     * Octets that will not change, so that they can go to the disk meanwhile;
     * several threads call it.  NULL: nobody wants to know.
     */
    void (*settled)(struct ZoneOut *out, uint64_t offset, uint64_t len);
} ZoneOut;

#endif /* NET_DNS_ZONE_RECORD_H */
