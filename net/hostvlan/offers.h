/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame offer what only some may: routes, IP addresses?
 *
 * Theory of operation
 *
 * Who sends router advertisements is the router of all who hear them, and who
 * answers as a DHCP server gives them addresses, routers and name servers. The
 * frames that do so are (RFC 6105, RFC 7610)
 *
 *   ICMPv6 of type 134     a router advertisement, whatever its source
 *   UDP to port 68         to a client of DHCPv4
 *   UDP to port 546        to a client of DHCPv6
 *
 * Messages to servers and relay agents, ports 67 and 547, are no offers.
 *
 * A receiver looks through extension headers, and puts fragments together. So
 * does this file, as RFC 7113 wants it: the whole chain of headers must be in
 * the frame, of a first fragment too, and within the length that the packet
 * says; what is not so is malformed. Later fragments have no headers, and are
 * of no use without the first. VLAN tags and LLC/SNAP are looked through.
 *
 * Both data paths include this file (see headers.h).
 */
#ifndef NET_HOSTVLAN_OFFERS_H
#define NET_HOSTVLAN_OFFERS_H

#include "net/hostvlan/headers.h"

enum {
    HOSTVLAN_PORT_DHCP4 = 68,
    HOSTVLAN_PORT_DHCP6 = 546,
};

/* The source and the destination port of UDP. */
#define HOSTVLAN_PORTS_LEN      4

/* The packet ends where it says, not where the frame does; 0: it does not. */
static inline void hostvlan_end_at(struct hostvlan_frame *f, uint32_t offset,
                                   uint32_t length)
{
    if (length && f->size > offset && length < f->size - offset) {
        f->size = offset + length;
    }
}

/* UDP at @offset, of which @client is the port that offers go to. */
static inline enum hostvlan_reason
hostvlan_offered_udp(const struct hostvlan_frame *f, uint32_t offset,
                     uint16_t client, uint32_t *fixed)
{
    uint8_t ports[HOSTVLAN_PORTS_LEN];

    if (!hostvlan_read(f, offset, ports, sizeof(ports))) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = offset + sizeof(ports);
    return hostvlan_get16(ports + 2) == client ? HOSTVLAN_DHCP_GUARD :
                                                 HOSTVLAN_PASSED;
}

static inline enum hostvlan_reason
hostvlan_offered4(struct hostvlan_frame *f, uint32_t offset, uint32_t *fixed)
{
    uint8_t p[20];
    uint32_t header;

    if (!hostvlan_read(f, offset, p, sizeof(p)) || p[0] >> 4 != 4 ||
        (p[0] & 0xf) < 5) {
        return HOSTVLAN_MALFORMED;
    }
    header = (p[0] & 0xf) * 4;
    hostvlan_end_at(f, offset, hostvlan_get16(p + 2));
    *fixed = offset + header;
    return p[9] == HOSTVLAN_PROTO_UDP && !(hostvlan_get16(p + 6) & 0x1fff) ?
           hostvlan_offered_udp(f, offset + header, HOSTVLAN_PORT_DHCP4,
                                fixed) : HOSTVLAN_PASSED;
}

static inline enum hostvlan_reason
hostvlan_offered_icmp6(const struct hostvlan_frame *f, uint32_t offset,
                       uint32_t *fixed)
{
    uint8_t type;

    if (!hostvlan_read(f, offset, &type, 1)) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = offset + 1;
    return type == HOSTVLAN_ND_ROUTER_ADVERT ? HOSTVLAN_RA_GUARD :
                                               HOSTVLAN_PASSED;
}

static inline enum hostvlan_reason
hostvlan_offered6(struct hostvlan_frame *f, uint32_t offset, uint32_t guards,
                  uint32_t *fixed)
{
    struct hostvlan_upper upper = { .offset = offset + 40 };
    uint8_t p[8];

    if (!hostvlan_read(f, offset, p, sizeof(p)) || p[0] >> 4 != 6) {
        return HOSTVLAN_MALFORMED;
    }
    hostvlan_end_at(f, offset + 40, hostvlan_get16(p + 4));
    upper.proto = p[6];
    if (!hostvlan_find_upper(f, &upper)) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = upper.offset;
    if (upper.later_fragment) {
        return HOSTVLAN_PASSED;
    }
    if (upper.proto == HOSTVLAN_PROTO_ICMP6 &&
        guards & HOSTVLAN_OFFER_ROUTER) {
        return hostvlan_offered_icmp6(f, upper.offset, fixed);
    }
    return upper.proto == HOSTVLAN_PROTO_UDP && guards & HOSTVLAN_OFFER_DHCP ?
           hostvlan_offered_udp(f, upper.offset, HOSTVLAN_PORT_DHCP6, fixed) :
           HOSTVLAN_PASSED;
}

/**
 * hostvlan_offered: does a frame offer what is guarded?
 * @f: at least HOSTVLAN_LOOK_LEN octets of it, or all; its size becomes that of
 *     the packet in it
 * @guards: HOSTVLAN_OFFER_..., one at least
 * @fixed: filled in when it passes: its first octets that were looked at, and
 *         that no checksum offload may write to
 *
 * Returns: HOSTVLAN_PASSED if not, HOSTVLAN_RA_GUARD or HOSTVLAN_DHCP_GUARD if
 * so, HOSTVLAN_MALFORMED if that cannot be found out
 */
static inline enum hostvlan_reason
hostvlan_offered(struct hostvlan_frame *f, uint32_t guards, uint32_t *fixed)
{
    struct hostvlan_packet p;

    if (!hostvlan_find_packet(f, &p)) {
        return HOSTVLAN_MALFORMED;
    }
    /* Behind a length, what would be LLC/SNAP. */
    *fixed = p.type < HOSTVLAN_TYPE_MIN ? p.offset + 8 : p.offset;
    if (p.type == HOSTVLAN_TYPE_IP4 && guards & HOSTVLAN_OFFER_DHCP) {
        return hostvlan_offered4(f, p.offset, fixed);
    }
    return p.type == HOSTVLAN_TYPE_IP6 ?
           hostvlan_offered6(f, p.offset, guards, fixed) : HOSTVLAN_PASSED;
}

/**
 * hostvlan_offer_needed: what a port must be allowed to, to send a frame
 * @reason: of hostvlan_offered(), that with the same @guards was not
 *          HOSTVLAN_PASSED
 *
 * Returns: HOSTVLAN_OFFER_...; of what cannot be read, all that is guarded
 */
static inline uint32_t hostvlan_offer_needed(enum hostvlan_reason reason,
                                             uint32_t guards)
{
    return reason == HOSTVLAN_RA_GUARD ? HOSTVLAN_OFFER_ROUTER :
           reason == HOSTVLAN_DHCP_GUARD ? HOSTVLAN_OFFER_DHCP : guards;
}

#endif /* NET_HOSTVLAN_OFFERS_H */
