/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bindings and ESP numbers as text, for the state file
 *
 *     vmmnet-ha-state 1 BOOT-ID
 *     bind HOME CARE-OF SEQUENCE LIFETIME BOOT-TIME WALL-TIME
 *     end HOME
 *     seen HOME SPI NUMBER
 *     sent NUMBER
 *
 * The last "bind" or "end" line of a home address is valid. A binding's end is
 * stored twice, in ms: BOOT-TIME on CLOCK_BOOTTIME, which is used as long as
 * the boot ID is the same, and WALL-TIME on CLOCK_REALTIME, which is used after
 * a reboot. LIFETIME is in MIP6_LIFETIME_UNIT. "seen" means that for inbound
 * signalling of HOME with SPI, all sequence numbers up to NUMBER were seen; the
 * highest NUMBER is valid. "sent" means that outbound signalling may have had
 * all numbers up to NUMBER, and nonces all epochs; the highest one is valid.
 */
#ifndef HA_STATE_H
#define HA_STATE_H

#include "ha/agent/agent.h"

#define MIP6_HA_BOOT_ID_LEN 36u

typedef struct Mip6HaClock {
    int64_t boot, wall;         /* ns, read at the same time */
    char boot_id[MIP6_HA_BOOT_ID_LEN + 1];
} Mip6HaClock;

/** mip6_ha_state_head: append the first line */
void mip6_ha_state_head(GString *out, const Mip6HaClock *clock);

/** mip6_ha_state_bind: append a binding, with times on @clock->boot */
void mip6_ha_state_bind(GString *out, const Mip6AgentBinding *b,
                        const Mip6HaClock *clock);

/** mip6_ha_state_end: append that a binding has ended */
void mip6_ha_state_end(GString *out, const struct in6_addr *home);

/* A "seen" line. */
typedef struct Mip6HaSeen {
    struct in6_addr home;
    uint32_t spi;
    uint64_t number;
} Mip6HaSeen;

/** mip6_ha_state_seen: append the highest number of @keys, if there is one */
void mip6_ha_state_seen(GString *out, const Mip6Keys *keys);

/** mip6_ha_state_sent: append that numbers up to @number may have been sent */
void mip6_ha_state_sent(GString *out, uint32_t number);

/**
 * mip6_ha_state_parse: parse bindings and numbers
 * @file: name of the file, for messages
 * @clock: now
 * @seen: array of Mip6HaSeen; filled in
 * @sent: set to the highest number that may have been sent; 0: none
 * @damage: gets a message for each line that cannot be parsed, with file and
 *          line; the other lines are used
 *
 * Bindings that have ended by now are left out. A last line without newline,
 * which can remain after a power failure, is ignored.
 *
 * Returns: Mip6AgentBinding by home address; NULL with @errp set if it is not a
 * state file of this version
 */
GHashTable *mip6_ha_state_parse(const char *text, size_t len, const char *file,
                                const Mip6HaClock *clock, GArray *seen,
                                uint32_t *sent, GPtrArray *damage,
                                GError **errp);

#endif /* HA_STATE_H */
