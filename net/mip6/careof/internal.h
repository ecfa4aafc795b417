/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the host on the foreign link, for its files
 *
 * careof.c stands on address.c, that on neighbour.c, and each on send.c.
 */
#ifndef NET_MIP6_CAREOF_INTERNAL_H
#define NET_MIP6_CAREOF_INTERNAL_H

#include "net/mip6/careof/careof.h"
#include "net/packet/ip6.h"

#define SECOND  1000000000ll
#define MS      1000000ll

#define MIP6_CAREOF_FRAME_MAX   (PACKET_ETH_LEN + PACKET_ND_SHORT_MAX)

static inline int64_t mip6_careof_min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* @now + @seconds as a lifetime has them. */
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
 * A packet of @packet_len octets, behind room for an Ethernet header. @mac is
 * NULL: to that of the group @dst.
 */
void mip6_careof_transmit(Mip6CareOf *c, uint8_t *frame, size_t packet_len,
                          const struct in6_addr *dst, const uint8_t *mac);

/*
 * A router solicitation; a probe for duplicates; a solicitation of @n, false if
 * no address of ours is valid yet.
 */
void mip6_careof_send_rs(Mip6CareOf *c);
void mip6_careof_send_probe(Mip6CareOf *c, const struct in6_addr *addr);
bool mip6_careof_send_ns(Mip6CareOf *c, const Mip6Neighbour *n);

/* The next step of an address that is not valid yet; INT64_MAX: there is none. */
int64_t mip6_careof_source_at(const Mip6CareOf *c);

/* --- neighbour.c ---------------------------------------------------------- */

/* A prefix is on the link, if its advertisement says so (section 6.3.4). */
void mip6_neighbour_prefix(Mip6CareOf *c, int64_t now,
                           const PacketNdPrefix *p);

/* The entry of @addr; NULL: there is none. */
Mip6Neighbour *mip6_neighbour_find(Mip6CareOf *c, const struct in6_addr *addr);

void mip6_neighbour_enter(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                          Mip6Reach reach);
void mip6_neighbour_set_mac(Mip6CareOf *c, int64_t now, Mip6Neighbour *n,
                            const uint8_t *mac);
void mip6_neighbour_tick(Mip6CareOf *c, int64_t now, Mip6Neighbour *n);

/* The default router to use; NULL: there is none. */
Mip6Neighbour *mip6_neighbour_router(Mip6CareOf *c, int64_t now);

/* Without a default router, one is looked for. */
void mip6_neighbour_miss_router(Mip6CareOf *c, int64_t now);

/* A router has advertised itself. */
void mip6_neighbour_take_router(Mip6CareOf *c, int64_t now,
                                const PacketNd *nd);

/* --- address.c ------------------------------------------------------------ */

/* Begin duplicate address detection for @addr. */
void mip6_address_begin(Mip6CareOf *c, int64_t now, Mip6Address *a,
                        const struct in6_addr *addr, int64_t preferred,
                        int64_t valid);
void mip6_address_tick(Mip6CareOf *c, int64_t now, Mip6Address *a);
int64_t mip6_address_deadline(const Mip6Address *a, int64_t now);

/* That of ours which is @addr, tentative or not; NULL: none is. */
Mip6Address *mip6_address_find(Mip6CareOf *c, const struct in6_addr *addr);

/* Somebody else has it, or wants it at the same time. */
void mip6_address_duplicate(Mip6CareOf *c, int64_t now, Mip6Address *a);

/* @router offers a prefix to make an address from (RFC 4862 section 5.5.3). */
void mip6_address_prefix(Mip6CareOf *c, int64_t now, const PacketNdPrefix *p,
                         const struct in6_addr *router);

#endif /* NET_MIP6_CAREOF_INTERNAL_H */
