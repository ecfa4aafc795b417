/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Membership of the solicited-node groups of proxied addresses
 *
 * Switches that snoop (RFC 4541) deliver a neighbour solicitation only to ports
 * behind which a node has reported the group.  The kernel sends the reports, as
 * long as a socket of this process is a member.
 */
#ifndef HA_SOLICITED_H
#define HA_SOLICITED_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

typedef struct Mip6HaSolicited {
    GHashTable *groups;         /* by struct in6_addr: members of each */
    GArray *fds;                /* a socket has a limited number of groups */
} Mip6HaSolicited;

void mip6_ha_solicited_init(Mip6HaSolicited *s);
void mip6_ha_solicited_destroy(Mip6HaSolicited *s);

/**
 * mip6_ha_solicited_join: join the group of @addr on the interface @index
 *
 * Addresses with the same last 24 bits share a group.
 *
 * Returns: false with errno set; the address counts nevertheless
 */
bool mip6_ha_solicited_join(Mip6HaSolicited *s, int index,
                            const struct in6_addr *addr);

/** mip6_ha_solicited_leave: undo one mip6_ha_solicited_join() */
void mip6_ha_solicited_leave(Mip6HaSolicited *s, int index,
                             const struct in6_addr *addr);

#endif /* HA_SOLICITED_H */
