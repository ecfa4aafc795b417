/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame speak for its sender only?
 *
 * Theory of operation
 *
 * Three things say who a sender is, beside the source MAC address:
 *
 *   ARP and RARP   sender hardware and protocol address (RFC 826, 903)
 *   ND             source and target link-layer address options, the target of
 *                  an advertisement (RFC 4861)
 *   IP             the source address of any packet
 *
 * The link-layer addresses must be the port's MAC address. The IP addresses
 * must be among those that the table has for it; if it has none at all, they
 * are not checked. A list counts for both families: with IPv4 addresses only,
 * a guest has no IPv6 address but those that are always its own.
 *
 * Always its own are
 *
 *   0.0.0.0 and ::     no address yet: DHCP, ARP probes, duplicate address
 *                      detection, MLD and IGMP reports. They speak for nobody.
 *                      But a probe is a claim (RFC 5227, RFC 4862): who sees
 *                      one for the address that he is probing himself gives it
 *                      up. So what is probed must be the guest's own as well.
 *   fe80::/64 with the interface identifier made from the MAC address
 *                      (modified EUI-64, RFC 4291 appendix A). Others under
 *                      fe80::/10, as RFC 7217 makes them, are nobody's in
 *                      particular and must be in the table.
 *
 * Redirects and router advertisements are checked for their sender, not for
 * what they advertise: whether a guest may be a router is another question
 * (offers.h).
 *
 * A frame that a receiver might read and this file cannot is malformed. Up to
 * two VLAN tags, 802.1Q or 802.1ad, and an LLC/SNAP header are looked through;
 * more tags are too many, and so are more than eight IPv6 extension headers
 * (headers.h).
 * ND in fragments is forbidden (RFC 6980), and a first fragment must have all
 * headers (RFC 7112); where both hold, later fragments cannot become ND, and
 * their source address is enough.
 *
 * Both data paths include this file (see headers.h). The table's addresses are
 * with the one that does: before, it brings a struct hostvlan_own and
 *
 *   bool hostvlan_own_ip4(const struct hostvlan_own *own, uint32_t ip4);
 *   bool hostvlan_own_ip6(const struct hostvlan_own *own,
 *                         const uint32_t ip6[4]);
 *
 * All reads go through hostvlan_read(), which knows where the frame ends.
 */
#ifndef NET_HOSTVLAN_FORGED_H
#define NET_HOSTVLAN_FORGED_H

#include "net/hostvlan/headers.h"

enum {
    HOSTVLAN_TYPE_ARP = 0x0806,
    HOSTVLAN_TYPE_RARP = 0x8035,
};

enum {
    HOSTVLAN_ND_OPTION_SOURCE = 1,
    HOSTVLAN_ND_OPTION_TARGET = 2,
};

/* More options of 8 octets are not in what is looked at. */
#define HOSTVLAN_ND_OPTIONS_MAX (HOSTVLAN_LOOK_LEN / 8)

struct hostvlan_sender {
    struct hostvlan_frame f;    /* its size becomes that of the packet in it */
    uint64_t mac;               /* the frame's source, which is the port's */
    const struct hostvlan_own *own;     /* NULL: not checked */
    uint32_t fixed;             /* octets that no checksum may be written to */
};

/* --- whose address ------------------------------------------------------ */

static inline enum hostvlan_reason
hostvlan_forged_mac(const struct hostvlan_sender *s, const uint8_t *mac)
{
    return hostvlan_mac(mac) == s->mac ? HOSTVLAN_PASSED :
                                         HOSTVLAN_FORGED_ADDRESS;
}

static inline enum hostvlan_reason
hostvlan_forged_ip4(const struct hostvlan_sender *s, uint32_t ip4)
{
    return !s->own || hostvlan_own_ip4(s->own, ip4) ? HOSTVLAN_PASSED :
                                                      HOSTVLAN_FORGED_ADDRESS;
}

/* fe80::/64 and the interface identifier of the MAC address. */
static inline bool hostvlan_is_eui64(const struct hostvlan_sender *s,
                                     const uint32_t ip6[4])
{
    uint64_t mac = s->mac ^ 0x020000000000ull;

    return ip6[0] == 0xfe800000 && ip6[1] == 0 &&
           ip6[2] == (uint32_t)(mac >> 24 << 8 | 0xff) &&
           ip6[3] == (uint32_t)(0xfe000000 | (mac & 0xffffff));
}

static inline enum hostvlan_reason
hostvlan_forged_ip6(const struct hostvlan_sender *s, const uint8_t *addr)
{
    uint32_t ip6[4] = {
        hostvlan_get32(addr), hostvlan_get32(addr + 4),
        hostvlan_get32(addr + 8), hostvlan_get32(addr + 12),
    };

    return !s->own || hostvlan_is_eui64(s, ip6) ||
           hostvlan_own_ip6(s->own, ip6) ? HOSTVLAN_PASSED :
                                           HOSTVLAN_FORGED_ADDRESS;
}

/* --- ARP, RARP ---------------------------------------------------------- */

static inline enum hostvlan_reason
hostvlan_forged_arp(struct hostvlan_sender *s, uint32_t offset)
{
    uint8_t p[28];
    enum hostvlan_reason reason;

    /* Ethernet and IPv4. */
    if (!hostvlan_read(&s->f, offset, p, sizeof(p)) ||
        hostvlan_get32(p) != 0x00010800 || hostvlan_get16(p + 4) != 0x0604) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = offset + sizeof(p);
    reason = hostvlan_forged_mac(s, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    if (hostvlan_get32(p + 14)) {
        return hostvlan_forged_ip4(s, hostvlan_get32(p + 14));
    }
    /* A sender without an address asks for one (RARP), or probes its own. */
    return hostvlan_get32(p + 24) ?
           hostvlan_forged_ip4(s, hostvlan_get32(p + 24)) : HOSTVLAN_PASSED;
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
    return hostvlan_get32(p + 12) ?
           hostvlan_forged_ip4(s, hostvlan_get32(p + 12)) : HOSTVLAN_PASSED;
}

/* --- neighbour discovery ------------------------------------------------ */

static inline bool hostvlan_is_nd(uint8_t type)
{
    return type >= HOSTVLAN_ND_ROUTER_SOLICIT && type <= HOSTVLAN_ND_REDIRECT;
}

/* Octets before the options; the largest is the redirect's. */
static inline uint32_t hostvlan_nd_header_len(uint8_t type)
{
    return type == HOSTVLAN_ND_ROUTER_SOLICIT ? 8 :
           type == HOSTVLAN_ND_ROUTER_ADVERT ? 16 :
           type == HOSTVLAN_ND_REDIRECT ? 40 : 24;
}

/*
 * Both options say the sender's address, but in a redirect, where the second
 * one says that of the better router.
 */
static inline bool hostvlan_is_own_option(uint8_t type, uint8_t option)
{
    return option == HOSTVLAN_ND_OPTION_SOURCE ||
           (option == HOSTVLAN_ND_OPTION_TARGET &&
            type != HOSTVLAN_ND_REDIRECT);
}

/* Are so many octets, 1 at least, in the frame and in what is looked at? */
static inline bool hostvlan_is_there(const struct hostvlan_frame *f,
                                     uint32_t offset, uint32_t num)
{
    return num && num <= HOSTVLAN_LOOK_LEN &&
           offset <= HOSTVLAN_LOOK_LEN - num && offset + num <= f->size;
}

/* The options of an ND message, of which one is looked at after the other. */
struct hostvlan_options {
    struct hostvlan_frame f;
    uint64_t mac;
    uint32_t offset;            /* of the next one */
    uint8_t type;               /* of the message */
    enum hostvlan_reason reason;
};

/* False: the reason is known. @f: that of the options. */
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
 * hostvlan_next_option() until it is false, or HOSTVLAN_ND_OPTIONS_MAX times,
 * as there are no more. In eBPF a helper does it.
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
        /* No type: nothing a receiver could act on, unless in fragments. */
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
    unspecified = !(hostvlan_get32(p + 8) | hostvlan_get32(p + 12) |
                    hostvlan_get32(p + 16) | hostvlan_get32(p + 20));
    reason = unspecified ? HOSTVLAN_PASSED : hostvlan_forged_ip6(s, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    /* Padding is no option. A length of 0 is a jumbogram's or a segment's. */
    payload = hostvlan_get16(p + 4);
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
 * hostvlan_forged: may this leave, as far as addresses are concerned?
 * @s: the frame, with at least HOSTVLAN_LOOK_LEN octets of it or all; @fixed is
 *     filled in when it passes: its first octets that were looked at
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS, or HOSTVLAN_MALFORMED for
 * what cannot be read as far as is needed.
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
