/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets to and from multicast groups of the home link */
#ifndef HA_MULTICAST_H
#define HA_MULTICAST_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Mip6HaMulticast {
    int fd;                     /* receives multicast; -1: not open */
    int member_fd;              /* joins the groups */
    int link_index;
    uint8_t mac[6];             /* of the link's interface */
} Mip6HaMulticast;

/** mip6_ha_multicast_init: initialize, not open */
void mip6_ha_multicast_init(Mip6HaMulticast *m);

/**
 * mip6_ha_multicast_open: listen on interface @name
 * @mac: its MAC address
 *
 * Needs CAP_NET_RAW.
 */
bool mip6_ha_multicast_open(Mip6HaMulticast *m, const char *name,
                            const uint8_t mac[6], GError **errp);
void mip6_ha_multicast_close(Mip6HaMulticast *m);

/**
 * mip6_ha_multicast_join: join or leave @group
 *
 * The kernel sends the report to the link's routers and switches.
 *
 * Returns: false with errno set
 */
bool mip6_ha_multicast_join(Mip6HaMulticast *m, const struct in6_addr *group,
                            bool on);

/** mip6_ha_multicast_send: send a packet to its group on the link */
void mip6_ha_multicast_send(Mip6HaMulticast *m, const void *packet, size_t len);

/**
 * mip6_ha_multicast_read: receive a packet from another node of the link to a
 * group with more than link-local scope; its checksum is complete
 * @buf: @room octets
 *
 * Returns: octets at @buf; 0: a packet was skipped; -1: there is none
 */
ssize_t mip6_ha_multicast_read(Mip6HaMulticast *m, void *buf, size_t room);

#endif /* HA_MULTICAST_H */
