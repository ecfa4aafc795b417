/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame use only its sender's addresses?
 *
 * Theory of operation
 *
 * Three things identify a sender, besides the source MAC address:
 *
 *   ARP and RARP   sender hardware and protocol address (RFC 826, 903)
 *   ND             source and target link-layer address options, the target of
 *                  an advertisement (RFC 4861)
 *   IP             the source address of any packet
 *
 * For DHCP clients see dhcp.h.
 *
 * The link-layer addresses must be the port's MAC address. The IP addresses
 * must be among those in the port's table entry; if the entry has no IP
 * addresses, they are not checked. The entry applies to both families: if it
 * has only IPv4 addresses, the guest may use no IPv6 addresses except for the
 * ones below.
 *
 * A guest may always use
 *
 *   0.0.0.0 and ::     no address yet: DHCP, ARP probes, duplicate address
 *                      detection, MLD and IGMP reports. They identify nobody.
 *                      But a probe is a claim (RFC 5227, RFC 4862): a host that
 *                      receives a probe for the address that it probes itself
 *                      gives the address up. So the probed address must also be
 *                      the guest's own.
 *   fe80::/64 with the interface identifier made from the MAC address
 *                      (modified EUI-64, RFC 4291 appendix A). Other addresses
 *                      in fe80::/10, such as those of RFC 7217, cannot be
 *                      derived from the MAC address and must be in the table.
 *
 * For redirects and router advertisements only the sender is checked here, not
 * the contents: offers.h decides if a guest may be a router.
 *
 * A frame that a receiver could parse and this file cannot is malformed. Up to
 * two VLAN tags (802.1Q or 802.1ad) and an LLC/SNAP header are skipped; more
 * tags, or more than eight IPv6 extension headers, are malformed (headers.h).
 * ND in fragments is forbidden (RFC 6980), and a first fragment must have all
 * headers (RFC 7112). With both rules, later fragments cannot be part of an ND
 * message, so a check of their source address is enough.
 *
 * Both data paths include this file (see headers.h). The including file must
 * first define a struct hostvlan_own with the table's addresses, and
 *
 *   bool hostvlan_own_ip4(const struct hostvlan_own *own, uint32_t ip4);
 *   bool hostvlan_own_ip6(const struct hostvlan_own *own,
 *                         const uint32_t ip6[4]);
 *
 * All reads use hostvlan_read(), which knows where the frame ends.
 */
#ifndef NET_HOSTVLAN_FORGED_H
#define NET_HOSTVLAN_FORGED_H

#include "net/hostvlan/own.h"

enum {
    HOSTVLAN_TYPE_ARP = 0x0806,
    HOSTVLAN_TYPE_RARP = 0x8035,
};

enum {
    HOSTVLAN_ND_OPTION_SOURCE = 1,
    HOSTVLAN_ND_OPTION_TARGET = 2,
};

/* More options, of 8 octets at least, do not fit into HOSTVLAN_LOOK_LEN. */
#define HOSTVLAN_ND_OPTIONS_MAX (HOSTVLAN_LOOK_LEN / 8)

/* --- ARP, RARP ---------------------------------------------------------- */

static inline enum hostvlan_reason
hostvlan_forged_arp(struct hostvlan_sender *s, uint32_t offset)
{
    uint8_t p[28];
    enum hostvlan_reason reason;

    /* The only supported address types are Ethernet and IPv4. */
    if (!hostvlan_read(&s->f, offset, p, sizeof(p)) ||
        get_be32(p) != 0x00010800 || get_be16(p + 4) != 0x0604) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = offset + sizeof(p);
    reason = hostvlan_forged_mac(s, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    if (get_be32(p + 14)) {
        return hostvlan_forged_ip4(s, get_be32(p + 14));
    }
    /*
     * A sender address of 0: it asks for an address (RARP), or it is a probe.
     */
    return get_be32(p + 24) ?
           hostvlan_forged_ip4(s, get_be32(p + 24)) : HOSTVLAN_PASSED;
}

/* --- IPv4 --------------------------------------------------------------- */

static inline enum hostvlan_reason
hostvlan_forged_packet4(struct hostvlan_sender *s, uint32_t offset)
{
    uint8_t p[20];

    if (!hostvlan_read(&s->f, offset, p, sizeof(p)) || p[0] >> 4 != 4 ||
        (p[0] & 0xf) < 5) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = offset + sizeof(p);
    return get_be32(p + 12) ?
           hostvlan_forged_ip4(s, get_be32(p + 12)) : HOSTVLAN_PASSED;
}

/* --- neighbour discovery ------------------------------------------------ */

static inline bool hostvlan_is_nd(uint8_t type)
{
    return type >= HOSTVLAN_ND_ROUTER_SOLICIT && type <= HOSTVLAN_ND_REDIRECT;
}

/* Octets before the options; a redirect has the most. */
static inline uint32_t hostvlan_nd_header_len(uint8_t type)
{
    return type == HOSTVLAN_ND_ROUTER_SOLICIT ? 8 :
           type == HOSTVLAN_ND_ROUTER_ADVERT ? 16 :
           type == HOSTVLAN_ND_REDIRECT ? 40 : 24;
}

/*
 * Both options contain the sender's address, except in a redirect: there, the
 * target link-layer address belongs to the better router.
 */
static inline bool hostvlan_is_own_option(uint8_t type, uint8_t option)
{
    return option == HOSTVLAN_ND_OPTION_SOURCE ||
           (option == HOSTVLAN_ND_OPTION_TARGET &&
            type != HOSTVLAN_ND_REDIRECT);
}

/* Are @num octets, at least 1, in the frame and in HOSTVLAN_LOOK_LEN? */
static inline bool hostvlan_is_there(const struct hostvlan_frame *f,
                                     uint32_t offset, uint32_t num)
{
    return num && num <= HOSTVLAN_LOOK_LEN &&
           offset <= HOSTVLAN_LOOK_LEN - num && offset + num <= f->size;
}

/* Iterates over the options of an ND message. */
struct hostvlan_options {
    struct hostvlan_frame f;
    uint64_t mac;
    uint32_t offset;            /* of the next option */
    uint8_t type;               /* of the ND message */
    enum hostvlan_reason reason;
};

/* Returns: false if the verdict is known. @f: the frame of the options. */
static inline bool hostvlan_next_option(struct hostvlan_options *o,
                                        const struct hostvlan_frame *f)
{
    uint8_t p[8];

    o->reason = HOSTVLAN_PASSED;
    if (o->offset >= f->size) {
        return false;
    }
    o->reason = HOSTVLAN_MALFORMED;
    if (!hostvlan_read(f, o->offset, p, sizeof(p)) ||
        !hostvlan_is_there(f, o->offset, p[1] * 8)) {
        return false;
    }
    if (hostvlan_is_own_option(o->type, p[0])) {
        if (p[1] != 1) {
            return false;
        }
        if (hostvlan_mac(p + 2) != o->mac) {
            o->reason = HOSTVLAN_FORGED_ADDRESS;
            return false;
        }
    }
    o->offset += p[1] * 8;
    return true;
}

/*
 * Calls hostvlan_next_option() until it returns false, at most
 * HOSTVLAN_ND_OPTIONS_MAX times. In eBPF a helper function does it.
 */
static inline void hostvlan_all_options(struct hostvlan_options *o)
#ifdef __bpf__
;
#else
{
    for (unsigned n = 0; n < HOSTVLAN_ND_OPTIONS_MAX; n++) {
        if (!hostvlan_next_option(o, &o->f)) {
            break;
        }
    }
}
#endif

static inline enum hostvlan_reason
hostvlan_forged_options(const struct hostvlan_sender *s, uint8_t type,
                        uint32_t offset)
{
    struct hostvlan_options o = {
        .f = s->f, .mac = s->mac, .offset = offset, .type = type,
    };

    hostvlan_all_options(&o);
    return o.reason;
}

static inline enum hostvlan_reason
hostvlan_forged_nd(struct hostvlan_sender *s, uint32_t offset, uint8_t type,
                   bool unspecified)
{
    bool claims = type == HOSTVLAN_ND_ADVERT ||
                  (type == HOSTVLAN_ND_SOLICIT && unspecified);
    uint32_t header = hostvlan_nd_header_len(type);
    uint8_t target[16];

    if (!hostvlan_is_there(&s->f, offset, header)) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = s->f.size;
    if (claims) {
        if (!hostvlan_read(&s->f, offset + 8, target, sizeof(target))) {
            return HOSTVLAN_MALFORMED;
        }
        if (hostvlan_forged_ip6(s, target) != HOSTVLAN_PASSED) {
            return HOSTVLAN_FORGED_ADDRESS;
        }
    }
    return hostvlan_forged_options(s, type, offset + header);
}

/* --- IPv6 --------------------------------------------------------------- */

static inline enum hostvlan_reason
hostvlan_forged_icmp6(struct hostvlan_sender *s,
                      const struct hostvlan_upper *upper, bool unspecified)
{
    uint8_t type;

    if (!hostvlan_read(&s->f, upper->offset, &type, 1)) {
        /* No type: no receiver can use it, except when reassembled. */
        return HOSTVLAN_MALFORMED;
    }
    if (!hostvlan_is_nd(type)) {
        return HOSTVLAN_PASSED;
    }
    return upper->fragment ? HOSTVLAN_MALFORMED :
           hostvlan_forged_nd(s, upper->offset, type, unspecified);
}

static inline enum hostvlan_reason
hostvlan_forged_packet6(struct hostvlan_sender *s, uint32_t offset)
{
    uint8_t p[40];
    struct hostvlan_upper upper = { .offset = offset + sizeof(p) };
    enum hostvlan_reason reason;
    bool unspecified;
    uint32_t payload;

    if (!hostvlan_read(&s->f, offset, p, sizeof(p)) || p[0] >> 4 != 6) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = upper.offset;
    unspecified = !(get_be32(p + 8) | get_be32(p + 12) |
                    get_be32(p + 16) | get_be32(p + 20));
    reason = unspecified ? HOSTVLAN_PASSED : hostvlan_forged_ip6(s, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    /*
     * Octets after the payload are padding, not options. Length 0: jumbogram,
     * TSO.
     */
    payload = get_be16(p + 4);
    if (payload && payload < s->f.size - upper.offset) {
        s->f.size = upper.offset + payload;
    }
    upper.proto = p[6];
    if (!hostvlan_find_upper(&s->f, &upper)) {
        return HOSTVLAN_MALFORMED;
    }
    return upper.proto == HOSTVLAN_PROTO_ICMP6 && !upper.later_fragment ?
           hostvlan_forged_icmp6(s, &upper, unspecified) : HOSTVLAN_PASSED;
}

/* --- Ethernet ----------------------------------------------------------- */

/**
 * hostvlan_forged: check a frame's sender addresses
 * @s: the frame, with all of its octets or at least HOSTVLAN_LOOK_LEN; if it
 *     passes, @fixed is set to the number of octets that the verdict depends on
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS, or HOSTVLAN_MALFORMED if
 * the frame cannot be parsed far enough.
 */
static inline enum hostvlan_reason hostvlan_forged(struct hostvlan_sender *s)
{
    struct hostvlan_packet packet;

    if (s->f.size < HOSTVLAN_ETH_LEN || !hostvlan_find_packet(&s->f, &packet)) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = packet.offset;
    switch (packet.type) {
    case HOSTVLAN_TYPE_ARP:
    case HOSTVLAN_TYPE_RARP:
        return hostvlan_forged_arp(s, packet.offset);
    case HOSTVLAN_TYPE_IP4:
        return hostvlan_forged_packet4(s, packet.offset);
    case HOSTVLAN_TYPE_IP6:
        return hostvlan_forged_packet6(s, packet.offset);
    default:
        return HOSTVLAN_PASSED;
    }
}

#endif /* NET_HOSTVLAN_FORGED_H */
