/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets to and from multicast groups of the home link */
#ifndef NET_MIP6_HA_MULTICAST_H
#define NET_MIP6_HA_MULTICAST_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Mip6HaMulticast {
    int fd;                     /* packets to groups; -1: not open */
    int member_fd;              /* makes the host a member */
    int link_index;
    uint8_t mac[6];             /* of the link's interface */
} Mip6HaMulticast;

/** mip6_ha_multicast_init: not open yet */
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
 * mip6_ha_multicast_join: be a member of @group, or no longer
 *
 * The host reports it to the link's routers and switches.
 *
 * Returns: false with errno set
 */
bool mip6_ha_multicast_join(Mip6HaMulticast *m, const struct in6_addr *group,
                            bool on);

/** mip6_ha_multicast_send: send a packet to its group on the link */
void mip6_ha_multicast_send(Mip6HaMulticast *m, const void *packet, size_t len);

/**
 * mip6_ha_multicast_read: a packet to a group beyond the link's scope, from
 * another node of the link, its checksum complete
 * @buf: @room octets
 *
 * Returns: octets at @buf; 0 if it is to be passed over; -1: there is none
 */
ssize_t mip6_ha_multicast_read(Mip6HaMulticast *m, void *buf, size_t room);

#endif /* NET_MIP6_HA_MULTICAST_H */
