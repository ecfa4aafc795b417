/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zone images made in memory from a few lines */
#ifndef ZONE_FIXTURE_H
#define ZONE_FIXTURE_H

#include "net/dns/zone/find.h"
#include "net/dns/zone/write.h"

typedef struct ZoneLine {
    const char *owner;
    uint16_t type;
    const char *rdata;          /* a name; or an address; or "hex:" octets */
} ZoneLine;

typedef struct ZoneMade {
    uint8_t *file;
    uint64_t len;
} ZoneMade;

/* The lines are in canonical order; those of one owner in that of types. */
ZoneMade zone_make(const char *origin, const ZoneLine *lines, size_t count);

/* The same as a delta; a line without RDATA says that the name is gone. */
ZoneMade zone_make_delta(const char *origin, const ZoneLine *lines,
                         size_t count);

/* What zone_writer_node() or zone_writer_finish() says of such lines */
int zone_try(const char *origin, const ZoneLine *lines, size_t count);

DnsName zone_name(const char *text);
ZoneImage *zone_open(const ZoneMade *made);

#endif /* ZONE_FIXTURE_H */
