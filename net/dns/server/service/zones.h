/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones as they are served: images that are mapped, and what is made of a
 * configuration
 *
 * A world is made beside the one that is served.  Images whose file has not
 * changed are in both.  All functions are for one thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_ZONES_H
#define NET_DNS_SERVER_SERVICE_ZONES_H

#include "net/dns/server/core/metrics.h"
#include "net/dns/server/serve/serve.h"
#include "net/dns/server/service/keyring.h"
#include "net/dns/server/service/live.h"

typedef struct DnsdFile DnsdFile;

typedef struct DnsdZone {
    DnsdFile *file;
    DnsdLive *live;             /* in its place; both NULL: SERVFAIL */
    DnsdRules rules;
    bool is_told;               /* that it is damaged */
} DnsdZone;

typedef struct DnsdWorld {
    DnsdServing serving;        /* first: what readers have */
    DnsdConfig *config;
    DnsdZone *zone;             /* as config->zone */
    DnsZoneTable *table;
    DnsdKeyring *keyring;
    DnsdLives *lives;
} DnsdWorld;

/**
 * dnsd_world_new: open images, read secrets
 * @config: taken over with success
 * @before: what is served now, or NULL: images are shared with it, and an
 *          image that cannot be opened is taken from it
 * @secret: DNSD_SECRET_LEN random octets, for cookies without a file
 * @lives: NULL: journals are not looked at, and zones do not change
 * @faults: zones whose image could not be opened, which is logged
 *
 * Returns: NULL if there is no memory, or the secrets or keys cannot be read;
 * that is in @mistake.
 */
DnsdWorld *dnsd_world_new(DnsdConfig *config, const DnsdWorld *before,
                          const uint8_t *secret, DnsdLives *lives,
                          unsigned *faults, char *mistake,
                          size_t mistake_len);

/** dnsd_world_writes: has a zone of it a journal, or may have one? */
bool dnsd_world_writes(const DnsdConfig *config);

/** dnsd_world_free: when nobody reads it. */
void dnsd_world_free(DnsdWorld *world);

/** dnsd_world_look: log zones that have become damaged, once each. */
void dnsd_world_look(DnsdWorld *world);

/** dnsd_world_find: the zone of an origin, and its @config; or NULL. */
const DnsdZone *dnsd_world_find(const DnsdWorld *world, uint16_t rrclass,
                                const ZoneKey *origin,
                                const DnsdZoneConfig **config);

/** dnsd_zone_store: of a zone that changes; NULL: there is none to serve. */
DnsStore *dnsd_zone_store(const DnsdZone *zone);

/** dnsd_zone_state: and its serial, if it has an image. */
DnsdZoneState dnsd_zone_state(const DnsdZone *zone, uint32_t *serial);

#endif /* NET_DNS_SERVER_SERVICE_ZONES_H */
