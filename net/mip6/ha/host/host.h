/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's host: a TUN device, routes, the home link */
#ifndef NET_MIP6_HA_HOST_H
#define NET_MIP6_HA_HOST_H

#include <stdbool.h>

#include "net/mip6/ha/host/announce.h"
#include "net/packet/nd.h"

typedef struct Mip6HaHost {
    int tun_fd;                 /* packets that the host forwards, both ways */
    int link_fd;                /* the home link: neighbour discovery */
    int netlink_fd;
    int tun_index, link_index;
    uint8_t mac[6];             /* of the home link's interface */
    GHashTable *homes;          /* struct in6_addr that are answered for */
    Mip6Announce announce;      /* of them; the caller has its deadline */
    uint32_t serial;            /* of netlink requests */
} Mip6HaHost;

/**
 * mip6_ha_host_open: make the TUN device and listen on the home link
 * @interface, @tun: names
 *
 * Needs CAP_NET_ADMIN and CAP_NET_RAW.
 */
bool mip6_ha_host_open(Mip6HaHost *h, const char *interface, const char *tun,
                       GError **errp);

/** mip6_ha_host_close: the routes go with the TUN device, if that does */
void mip6_ha_host_close(Mip6HaHost *h);

/**
 * mip6_ha_host_keep: let the TUN device and its routes be there when the agent
 * has ended, for the next one; or no longer
 */
bool mip6_ha_host_keep(Mip6HaHost *h, bool on);

/**
 * mip6_ha_host_sweep: remove the routes of an earlier agent that this one has
 * not asked for
 */
bool mip6_ha_host_sweep(Mip6HaHost *h);

/**
 * mip6_ha_host_proxy: begin or end to answer for @home and take its packets
 *
 * @announcements: to the home link's nodes, when it begins; at most
 *                 MIP6_ANNOUNCE_TIMES; of more than one the first goes at once
 *
 * Returns: false with errno set if the host has refused the route
 */
bool mip6_ha_host_proxy(Mip6HaHost *h, int64_t now,
                        const struct in6_addr *home,
                        bool on, unsigned announcements);

/** mip6_ha_host_probe: ask who has @home (RFC 4862 section 5.4.2) */
void mip6_ha_host_probe(Mip6HaHost *h, const struct in6_addr *home);

/**
 * mip6_ha_host_link: read a frame of the home link, and answer it
 * @nd: the message, if it is for the agent
 */
typedef enum Mip6HaHeard {
    MIP6_HA_NOTHING,
    MIP6_HA_CLAIM,              /* a node has, or wants, @nd->target */
    MIP6_HA_ROUTER,             /* a router advertisement */
} Mip6HaHeard;

Mip6HaHeard mip6_ha_host_link(Mip6HaHost *h, PacketNd *nd);

#endif /* NET_MIP6_HA_HOST_H */
