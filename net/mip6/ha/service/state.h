/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bindings, and the numbers of ESP, as text, so that they survive the agent
 *
 *     vmmnet-ha-state 1 BOOT-ID
 *     bind HOME CARE-OF SEQUENCE LIFETIME BOOT-TIME WALL-TIME
 *     end HOME
 *     seen HOME SPI NUMBER
 *
 * The later line about a home address holds. A binding ends at two times in ms:
 * one of CLOCK_BOOTTIME, which holds while the system is the same boot, and one
 * of CLOCK_REALTIME for after it. LIFETIME is in MIP6_LIFETIME_UNIT. Of the
 * signalling that comes for HOME with SPI, all numbers up to NUMBER were seen;
 * the highest one holds.
 */
#ifndef NET_MIP6_HA_STATE_H
#define NET_MIP6_HA_STATE_H

#include "net/mip6/ha/agent/agent.h"

#define MIP6_HA_BOOT_ID_LEN 36u

typedef struct Mip6HaClock {
    int64_t boot, wall;         /* ns, at the same moment */
    char boot_id[MIP6_HA_BOOT_ID_LEN + 1];
} Mip6HaClock;

/** mip6_ha_state_head: append the first line */
void mip6_ha_state_head(GString *out, const Mip6HaClock *clock);

/** mip6_ha_state_bind: append a binding, whose times are of @clock->boot */
void mip6_ha_state_bind(GString *out, const Mip6AgentBinding *b,
                        const Mip6HaClock *clock);

/** mip6_ha_state_end: append the end of a binding */
void mip6_ha_state_end(GString *out, const struct in6_addr *home);

/* A line "seen". */
typedef struct Mip6HaSeen {
    struct in6_addr home;
    uint32_t spi;
    uint64_t number;
} Mip6HaSeen;

/** mip6_ha_state_seen: append the numbers that @keys have seen, if any */
void mip6_ha_state_seen(GString *out, const Mip6Keys *keys);

/**
 * mip6_ha_state_parse: read bindings and numbers
 * @file: its name, for messages
 * @clock: now
 * @seen: of Mip6HaSeen; gets all of them
 * @damage: gets a message for each line that cannot be read, which names file
 *          and line; the other lines hold
 *
 * Those that have ended by now are left out. A last line without its end, as a
 * system that lost power leaves it, is passed over.
 *
 * Returns: Mip6AgentBinding by their home addresses; NULL with @errp set if it
 * is not such a file, of this version
 */
GHashTable *mip6_ha_state_parse(const char *text, size_t len, const char *file,
                                const Mip6HaClock *clock, GArray *seen,
                                GPtrArray *damage, GError **errp);

#endif /* NET_MIP6_HA_STATE_H */
