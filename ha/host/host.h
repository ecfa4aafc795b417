/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's host: a TUN device, routes, the home link */
#ifndef HA_HOST_H
#define HA_HOST_H

#include <stdbool.h>

#include "base/rtnl.h"
#include "ha/host/announce.h"
#include "ha/host/solicited.h"
#include "net/packet/nd.h"

/* Settings of the kernel without which nothing passes. */
typedef enum Mip6HaSetting {
    MIP6_HA_FORWARDING,
    MIP6_HA_LINK_IPV6,
    MIP6_HA_TUN_IPV6,
    MIP6_HA_SETTINGS
} Mip6HaSetting;

/* How long the routes, after others removed some, have stayed. */
typedef enum Mip6HaRest {
    MIP6_HA_AT_REST,            /* long enough, or none was removed */
    MIP6_HA_PUT_BACK,           /* not long */
    MIP6_HA_FOUGHT_OVER,        /* some were removed soon after */
} Mip6HaRest;

typedef struct Mip6HaHost {
    int tun_fd;                 /* packets from and to the host's router */
    int link_fd;                /* the home link: neighbour discovery */
    Rtnl netlink;
    int tun_index, link_index;
    uint8_t mac[6];             /* of the home link's interface */
    bool tun_up, link_up, link_running;     /* as far as this agent was told */
    char link_name[IF_NAMESIZE];            /* the same */
    bool is_wrong[MIP6_HA_SETTINGS];    /* when last looked at */
    RtnlWatch watch;            /* of interfaces and routes */
    GHashTable *homes;          /* struct in6_addr: proxied addresses */
    GHashTable *missed;         /* those of @homes whose routes are gone */
    Mip6HaRest rest;
    unsigned rest_s;            /* seconds until MIP6_HA_AT_REST */
    bool is_refused;            /* a route of @missed, and the log has it */
    Mip6HaSolicited solicited;  /* the groups of @homes */
    Mip6Announce announce;      /* of @homes; its deadline is separate */
} Mip6HaHost;

/**
 * mip6_ha_host_has: is @addr an address of the host itself?
 * @name: of the interface that has it; IF_NAMESIZE octets
 */
bool mip6_ha_host_has(const struct in6_addr *addr, char *name);

/**
 * mip6_ha_host_open: create the TUN device and listen on the home link
 * @interface, @tun: names
 *
 * Waits, without end, until the interface exists; a line of the log says so.
 *
 * Needs CAP_NET_ADMIN and CAP_NET_RAW.
 */
bool mip6_ha_host_open(Mip6HaHost *h, const char *interface, const char *tun,
                       GError **errp);

/**
 * mip6_ha_host_close: the routes disappear with the TUN device, if that does
 */
void mip6_ha_host_close(Mip6HaHost *h);

/**
 * mip6_ha_host_changed: read what the kernel says of interfaces and routes
 *
 * Call it when @h->watch.fd is readable.  Routes into the TUN device that are
 * removed or replaced are put back, or, if some were a moment ago, by the next
 * mip6_ha_host_tick(); another MAC address of the home link's interface is
 * announced.  Each change is logged.
 *
 * Returns: false with @errp set if the TUN device or the home link's interface
 * is gone: another agent has to begin anew
 */
bool mip6_ha_host_changed(Mip6HaHost *h, int64_t now, GError **errp);

/**
 * mip6_ha_host_settings: look whether others have changed settings that the
 * tunnels need, and log what has changed
 *
 * The kernel tells nobody of all of them: call it once a second.  Routes that a
 * setting has removed are put back when it is right again.
 */
void mip6_ha_host_settings(Mip6HaHost *h);

/** mip6_ha_host_tick: put back routes that wait; call it once a second */
void mip6_ha_host_tick(Mip6HaHost *h);

/**
 * mip6_ha_host_keep: keep the TUN device and its routes for the next agent when
 * this one ends, or not
 */
bool mip6_ha_host_keep(Mip6HaHost *h, bool on);

/**
 * mip6_ha_host_sweep: remove routes of an earlier agent that are not used now
 */
bool mip6_ha_host_sweep(Mip6HaHost *h);

/**
 * mip6_ha_host_proxy: start or stop to be the proxy of @home and to receive its
 * packets
 * @announcements: number of announcements at the start; at most
 *                 MIP6_ANNOUNCE_TIMES; if there is more than one, the first is
 *                 sent at once
 *
 * Returns: false with errno set if the host refuses the route
 */
bool mip6_ha_host_proxy(Mip6HaHost *h, int64_t now,
                        const struct in6_addr *home,
                        bool on, unsigned announcements);

/**
 * mip6_ha_host_listen: start or stop to receive what is sent to the
 * solicited-node group of @home, behind switches that snoop, too
 */
void mip6_ha_host_listen(Mip6HaHost *h, const struct in6_addr *home, bool on);

/** mip6_ha_host_probe: send a DAD probe for @home (RFC 4862 section 5.4.2) */
void mip6_ha_host_probe(Mip6HaHost *h, const struct in6_addr *home);

/**
 * mip6_ha_host_link: receive a frame from the home link, and answer it
 * @nd: the message, if the agent needs it
 */
typedef enum Mip6HaEvent {
    MIP6_HA_NOTHING,
    MIP6_HA_CLAIM,              /* a node has, or probes, @nd->target */
    MIP6_HA_ROUTER,             /* a router advertisement */
} Mip6HaEvent;

Mip6HaEvent mip6_ha_host_link(Mip6HaHost *h, PacketNd *nd);

#endif /* HA_HOST_H */
