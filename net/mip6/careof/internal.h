/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the host on the foreign link, for its files
 *
 * careof.c uses lease.c and address.c, lease.c uses address.c, address.c uses
 * neighbour.c, and all use send.c.
 */
#ifndef NET_MIP6_CAREOF_INTERNAL_H
#define NET_MIP6_CAREOF_INTERNAL_H

#include "base/units.h"
#include "net/mip6/careof/careof.h"
#include "net/packet/ip6.h"

#define MIP6_CAREOF_FRAME_MAX   (PACKET_ETH_LEN + PACKET_ND_SHORT_MAX)

static inline int64_t mip6_careof_min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns: @now + @seconds; a lifetime of all ones is infinite */
static inline int64_t mip6_careof_until(int64_t now, uint32_t seconds)
{
    return seconds == PACKET_ND_INFINITE ? INT64_MAX : now + seconds * SECOND;
}

static inline void mip6_careof_tell(Mip6CareOf *c)
{
    c->ops->changed(c->opaque);
}

/* --- send.c --------------------------------------------------------------- */

/*
 * Sends a packet of @packet_len octets, which has space for an Ethernet header
 * before it. @mac NULL: multicast address of the group @dst.
 */
void mip6_careof_transmit(Mip6CareOf *c, uint8_t *frame, size_t packet_len,
                          const struct in6_addr *dst, const uint8_t *mac);

/*
 * Send a router solicitation, a DAD probe, or a neighbour solicitation for @n;
 * the latter returns false if no own address is valid yet.
 */
void mip6_careof_send_rs(Mip6CareOf *c);
void mip6_careof_send_probe(Mip6CareOf *c, const struct in6_addr *addr);
bool mip6_careof_send_ns(Mip6CareOf *c, const Mip6Neighbour *n);

/*
 * Report the solicited-node group of @addr, which is new, or those of all own
 * addresses (RFC 3810).
 */
void mip6_careof_join(Mip6CareOf *c, int64_t now, const struct in6_addr *addr);
void mip6_careof_report(Mip6CareOf *c, int64_t now);

/* Send a message to all DHCPv6 servers, from the link-local address. */
void mip6_careof_send_dhcp6(Mip6CareOf *c, const void *message, size_t len);

/* Returns: does an own address, tentative or not, listen to the group? */
bool mip6_careof_listens(const Mip6CareOf *c, const struct in6_addr *group);

/* Returns: time when a tentative address may get valid; INT64_MAX: none. */
int64_t mip6_careof_source_at(const Mip6CareOf *c);

/* --- neighbour.c ---------------------------------------------------------- */

/* Processes the L flag of a prefix (section 6.3.4). */
void mip6_neighbour_prefix(Mip6CareOf *c, int64_t now,
                           const PacketNdPrefix *p);

/* Returns: the entry of @addr; NULL: none */
Mip6Neighbour *mip6_neighbour_find(Mip6CareOf *c, const struct in6_addr *addr);

void mip6_neighbour_enter(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                          Mip6Reach reach);
void mip6_neighbour_set_mac(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                            const uint8_t *mac);
void mip6_neighbour_tick(Mip6CareOf *c, int64_t now, Mip6Neighbour *n);

/* Returns: the default router to use; NULL: none */
Mip6Neighbour *mip6_neighbour_router(Mip6CareOf *c, int64_t now);

/* If there is no default router, starts to solicit routers. */
void mip6_neighbour_miss_router(Mip6CareOf *c, int64_t now);

/* Processes a router advertisement's router lifetime and preference. */
void mip6_neighbour_take_router(Mip6CareOf *c, int64_t now,
                                const PacketNd *nd);

/* --- address.c ------------------------------------------------------------ */

/* Starts duplicate address detection for @addr. */
void mip6_address_begin(Mip6CareOf *c, int64_t now, Mip6Address *a,
                        const struct in6_addr *addr, int64_t preferred,
                        int64_t valid);
void mip6_address_tick(Mip6CareOf *c, int64_t now, Mip6Address *a);
int64_t mip6_address_deadline(const Mip6Address *a, int64_t now);

/* Returns: the own address @addr, tentative or not; NULL: not an own address */
Mip6Address *mip6_address_find(Mip6CareOf *c, const struct in6_addr *addr);

/* Returns: an unused entry; NULL: none */
Mip6Address *mip6_address_free(Mip6CareOf *c);

/* Does the router that it depends on not answer, or is it none any more? */
bool mip6_address_is_orphan(const Mip6CareOf *c, int64_t now,
                            const Mip6Address *a);

/* Another node has the address, or probes it at the same time. */
void mip6_address_duplicate(Mip6CareOf *c, int64_t now, Mip6Address *a);

/* Makes or updates the address of a prefix (RFC 4862 section 5.5.3). */
void mip6_address_prefix(Mip6CareOf *c, int64_t now, const PacketNdPrefix *p,
                         const struct in6_addr *router);

/* --- lease.c -------------------------------------------------------------- */

void mip6_lease_init(Mip6CareOf *c);

/* A router has advertised: with M? */
void mip6_lease_take_router(Mip6CareOf *c, int64_t now, const PacketNd *nd);

/* Asks for an address, if there is none. */
void mip6_lease_seek(Mip6CareOf *c, int64_t now);

/* Another node has the leased address. */
void mip6_lease_duplicate(Mip6CareOf *c, int64_t now);

int64_t mip6_lease_deadline(const Mip6CareOf *c);
void mip6_lease_tick(Mip6CareOf *c, int64_t now);

#endif /* NET_MIP6_CAREOF_INTERNAL_H */
