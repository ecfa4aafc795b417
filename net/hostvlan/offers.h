/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame offer a service that needs a right: routes, IP addresses?
 *
 * Theory of operation
 *
 * A sender of router advertisements becomes the router of all hosts that
 * receive them, and a sender of DHCP replies gives clients addresses, routers
 * and name servers. Such frames are (RFC 6105, RFC 7610)
 *
 *   ICMPv6 of type 134     a router advertisement, from any source
 *   UDP to port 68         to a DHCPv4 client
 *   UDP to port 546        to a DHCPv6 client
 *
 * Messages to servers and relay agents, ports 67 and 547, are not offers.
 *
 * A receiver skips extension headers and reassembles fragments. This file does
 * the same, as RFC 7113 requires: the whole header chain must be in the frame,
 * also in a first fragment, and within the packet's own length; otherwise the
 * frame is malformed. Later fragments have no headers, and are useless without
 * the first. VLAN tags and LLC/SNAP are skipped.
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

/* The source and destination ports of UDP. */
#define HOSTVLAN_PORTS_LEN      4

/* UDP at @offset; @client is the port of the clients. */
static inline enum hostvlan_reason
hostvlan_offered_udp(const struct hostvlan_frame *f, uint32_t offset,
                     uint16_t client, uint32_t *fixed)
{
    uint8_t ports[HOSTVLAN_PORTS_LEN];

    if (!hostvlan_read(f, offset, ports, sizeof(ports))) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = offset + sizeof(ports);
    return get_be16(ports + 2) == client ? HOSTVLAN_DHCP_GUARD :
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
    hostvlan_end_at(f, offset, get_be16(p + 2));
    *fixed = offset + header;
    return p[9] == HOSTVLAN_PROTO_UDP && !(get_be16(p + 6) & 0x1fff) ?
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
    hostvlan_end_at(f, offset + 40, get_be16(p + 4));
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
 * hostvlan_offered: does a frame offer a guarded service?
 * @f: at least HOSTVLAN_LOOK_LEN octets of it, or all; its size is reduced to
 *     that of the packet
 * @guards: HOSTVLAN_OFFER_..., at least one
 * @fixed: if the frame passes, set to the number of octets that the verdict
 *         depends on; no checksum offload may write to them
 *
 * Returns: HOSTVLAN_PASSED if not, HOSTVLAN_RA_GUARD or HOSTVLAN_DHCP_GUARD if
 * so, HOSTVLAN_MALFORMED if the frame cannot be parsed far enough
 */
static inline enum hostvlan_reason
hostvlan_offered(struct hostvlan_frame *f, uint32_t guards, uint32_t *fixed)
{
    struct hostvlan_packet p;

    if (!hostvlan_find_packet(f, &p)) {
        return HOSTVLAN_MALFORMED;
    }
    /*
     * After a length field, include the octets of a possible LLC/SNAP header.
     */
    *fixed = p.type < HOSTVLAN_TYPE_MIN ? p.offset + 8 : p.offset;
    if (p.type == HOSTVLAN_TYPE_IP4 && guards & HOSTVLAN_OFFER_DHCP) {
        return hostvlan_offered4(f, p.offset, fixed);
    }
    return p.type == HOSTVLAN_TYPE_IP6 ?
           hostvlan_offered6(f, p.offset, guards, fixed) : HOSTVLAN_PASSED;
}

/**
 * hostvlan_offer_needed: the right that a port needs to send a frame
 * @reason: result of hostvlan_offered() with the same @guards, other than
 *          HOSTVLAN_PASSED
 *
 * Returns: HOSTVLAN_OFFER_...; all of @guards if the frame is malformed
 */
static inline uint32_t hostvlan_offer_needed(enum hostvlan_reason reason,
                                             uint32_t guards)
{
    return reason == HOSTVLAN_RA_GUARD ? HOSTVLAN_OFFER_ROUTER :
           reason == HOSTVLAN_DHCP_GUARD ? HOSTVLAN_OFFER_DHCP : guards;
}

#endif /* NET_HOSTVLAN_OFFERS_H */
