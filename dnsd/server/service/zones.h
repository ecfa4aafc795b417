/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zones that are served: mapped images, and other data made from a
 * configuration
 *
 * A server state is made beside the one that is served.  Both share images whose
 * files have not changed.  All functions are for one thread.
 */
#ifndef DNSD_SERVER_SERVICE_ZONES_H
#define DNSD_SERVER_SERVICE_ZONES_H

#include "dnsd/server/core/metrics.h"
#include "dnsd/server/serve/serve.h"
#include "dnsd/server/service/keyring.h"
#include "dnsd/server/service/dynzone.h"

typedef struct DnsdFile DnsdFile;

typedef struct DnsdZone {
    DnsdFile *file;
    DnsdDynZone *dyn;           /* instead of @file; both NULL: SERVFAIL */
    DnsdRules rules;
    bool is_logged;             /* damage was logged */
} DnsdZone;

typedef struct DnsdState {
    DnsdServing serving;        /* must be first: readers use it */
    DnsdConfig *config;
    DnsdZone *zone;             /* parallel to config->zone */
    DnsZoneTable *table;
    DnsdKeyring *keyring;
    DnsdZoneSet *zone_set;
} DnsdState;

/**
 * dnsd_state_new: open images and read secrets
 * @config: taken over on success
 * @before: the one that is served, or NULL.  It shares images; an image that
 * cannot be opened is taken from it.
 * @secret: DNSD_SECRET_LEN random octets, for cookies without a file
 * @zone_set: NULL: ignore journals, and zones do not change
 * @faults: number of zones whose image could not be opened, which is logged
 *
 * Returns: NULL if there is no memory, or secrets or keys cannot be read;
 * @error has the reason.
 */
DnsdState *dnsd_state_new(DnsdConfig *config, const DnsdState *before,
                          const uint8_t *secret, DnsdZoneSet *zone_set,
                          unsigned *faults, char *error,
                          size_t error_len);

/**
 * dnsd_state_again: the same server state, but one zone is opened again
 * @which: its index
 * @faults: 1 if its image could not be opened, which is logged; the one before
 * is in the state then
 *
 * Returns: NULL without memory.
 */
DnsdState *dnsd_state_again(const DnsdState *before, size_t which,
                            unsigned *faults);

/** dnsd_state_writes: has a zone a journal, or may it get one? */
bool dnsd_state_writes(const DnsdConfig *config);

/** dnsd_state_free: no thread may read it any more */
void dnsd_state_free(DnsdState *state);

/** dnsd_state_look: log zones that were found damaged, each once */
void dnsd_state_look(DnsdState *state);

/** dnsd_state_find: the zone of an origin, and its @config; or NULL */
const DnsdZone *dnsd_state_find(const DnsdState *state, uint16_t rrclass,
                                const ZoneKey *origin,
                                const DnsdZoneConfig **config);

/** dnsd_zone_store: the store of a zone that changes; NULL: nothing to serve */
DnsStore *dnsd_zone_store(const DnsdZone *zone);

/** dnsd_zone_state: its state, and its serial if it has an image */
DnsdZoneState dnsd_zone_state(const DnsdZone *zone, uint32_t *serial);

#endif /* DNSD_SERVER_SERVICE_ZONES_H */
