/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bindings as text, so that they survive the agent
 *
 *     vmmnet-ha-state 1 BOOT-ID
 *     bind HOME CARE-OF SEQUENCE LIFETIME BOOT-TIME WALL-TIME
 *     end HOME
 *
 * The later line about a home address holds. A binding ends at two times in ms:
 * one of CLOCK_BOOTTIME, which holds while the system is the same boot, and one
 * of CLOCK_REALTIME for after it. LIFETIME is in MIP6_LIFETIME_UNIT.
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

/**
 * mip6_ha_state_parse: read bindings
 * @file: its name, for messages
 * @clock: now
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
                                const Mip6HaClock *clock, GPtrArray *damage,
                                GError **errp);

#endif /* NET_MIP6_HA_STATE_H */
