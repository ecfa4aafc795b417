/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a DHCP client speak only for itself?
 *
 * Theory of operation
 *
 * A server knows its client from the message, not from the frame. A guest that
 * names others there takes an address of the server's for each name, or gives
 * back the addresses of its neighbours. So in UDP to port 67 (RFC 2131)
 *
 *   chaddr                 must be the frame's source MAC address
 *   client identifier      the same, where it is one of type 1, a MAC address
 *   ciaddr                 must be 0, or an address of the sender
 *   giaddr                 must be 0: it is not a relay agent's message
 *
 * and in RELEASE and DECLINE, of DHCPv4 and of DHCPv6 (UDP to port 547, RFC
 * 8415), these must be the sender's own, too:
 *
 *   requested address; addresses and prefixes of identity associations
 *   the MAC address in a DUID-LL or DUID-LLT, also in an identifier of RFC 4361
 *
 * In other messages such a DUID passes: it names any NIC that its host had once
 * (RFC 8415, 11), for instance the first of two. What is in other identifiers
 * cannot be checked against a MAC address.
 *
 * Relay agents speak for others, and servers answer them at these ports. Both
 * need the right to be a DHCP server (HOSTVLAN_OFFER_DHCP), and may send all.
 * Without it DHCPv6 messages that contain those of others (RELAY-FORW,
 * RELAY-REPL, DHCPV4-QUERY) are forged.
 *
 * A message that a server could read in another way is malformed: in fragments
 * (as ND, forged.h), with lengths of UDP and IP that differ, with options that
 * break off, or in the fields "sname" and "file" (overload).
 *
 * Both data paths include this file (see forged.h).
 */
#ifndef NET_HOSTVLAN_DHCP_H
#define NET_HOSTVLAN_DHCP_H

#include "net/hostvlan/own.h"

enum {
    HOSTVLAN_PORT_DHCP4_SERVER = 67,
    HOSTVLAN_PORT_DHCP6_SERVER = 547,
};

#define HOSTVLAN_UDP_LEN        8u
#define HOSTVLAN_UDP_CHECKSUM   6u      /* offset */

/* Offsets in a DHCPv4 message. */
enum {
    HOSTVLAN_DHCP4_CIADDR = 12,
    HOSTVLAN_DHCP4_GIADDR = 24,         /* chaddr follows */
    HOSTVLAN_DHCP4_COOKIE = 236,        /* options follow */
};

#define HOSTVLAN_DHCP4_REQUEST  0x010106u       /* op, Ethernet, 6 octets */
#define HOSTVLAN_DHCP4_MAGIC    0x63825363u

enum {
    HOSTVLAN_DHCP4_PAD = 0,
    HOSTVLAN_DHCP4_REQUESTED = 50,
    HOSTVLAN_DHCP4_OVERLOAD = 52,
    HOSTVLAN_DHCP4_TYPE = 53,
    HOSTVLAN_DHCP4_CLIENT = 61,
    HOSTVLAN_DHCP4_END = 255,
};

/* Message types. */
enum {
    HOSTVLAN_DHCP4_DECLINE = 4,
    HOSTVLAN_DHCP4_RELEASE = 7,
    HOSTVLAN_DHCP6_RELEASE = 8,
    HOSTVLAN_DHCP6_DECLINE = 9,
    HOSTVLAN_DHCP6_RELAY_FORW = 12,
    HOSTVLAN_DHCP6_RELAY_REPL = 13,
    HOSTVLAN_DHCP6_DHCPV4_QUERY = 20,   /* RFC 7341 */
};

/* Types of client identifiers of DHCPv4. */
enum {
    HOSTVLAN_CLIENT_ETHERNET = 1,
    HOSTVLAN_CLIENT_DUID = 255,         /* IAID and DUID (RFC 4361) */
};

enum {
    HOSTVLAN_DUID_LLT = 1,
    HOSTVLAN_DUID_LL = 3,
};

enum {
    HOSTVLAN_DHCP6_CLIENT = 1,
    HOSTVLAN_DHCP6_IA_NA = 3,
    HOSTVLAN_DHCP6_IA_TA = 4,
    HOSTVLAN_DHCP6_IA_ADDRESS = 5,
    HOSTVLAN_DHCP6_IA_PD = 25,
    HOSTVLAN_DHCP6_IA_PREFIX = 26,
};

/*
 * Iterates over the options of a message.
 *
 * The verifier of eBPF follows the values of members at multiples of 8 octets,
 * and would check the loop for each value that there can be; hence the gaps.
 */
struct hostvlan_dhcp {
    struct hostvlan_frame f;
    uint64_t mac;
    const struct hostvlan_own *own;
    struct {
        uint8_t gap;
        bool withdraws;         /* RELEASE, DECLINE */
        bool others;            /* it names another, which those must not */
        uint32_t reason;        /* enum hostvlan_reason */
        uint32_t gap2;
        uint32_t offset;        /* of the next option */
        uint32_t gap3;
        uint32_t inner_end;     /* of the identity association; 0: in none */
    };
};

static inline struct hostvlan_sender
hostvlan_sender_of(const struct hostvlan_dhcp *d)
{
    return (struct hostvlan_sender) { .mac = d->mac, .own = d->own };
}

/* Does the DUID of @len octets contain another's MAC address? */
static inline bool hostvlan_is_others_duid(const struct hostvlan_dhcp *d,
                                           const struct hostvlan_frame *f,
                                           uint32_t offset, uint32_t len)
{
    uint32_t type, at;
    uint8_t p[6];

    if (len < 4) {
        return false;
    }
    if (!hostvlan_read(f, offset, p, 4)) {
        return true;
    }
    type = get_be16(p);
    if ((type != HOSTVLAN_DUID_LLT && type != HOSTVLAN_DUID_LL) ||
        get_be16(p + 2) != 1) {
        return false;
    }
    at = type == HOSTVLAN_DUID_LLT ? 8 : 4;
    return len != at + 6 || !hostvlan_read(f, offset + at, p, 6) ||
           hostvlan_mac(p) != d->mac;
}

/* --- DHCPv4 -------------------------------------------------------------- */

/* The value of an option, of @len octets. */
static inline enum hostvlan_reason
hostvlan_dhcp4_option(struct hostvlan_dhcp *d, const struct hostvlan_frame *f,
                      uint8_t option, uint32_t offset, uint32_t len)
{
    const struct hostvlan_sender s = hostvlan_sender_of(d);
    uint8_t p[6];

    switch (option) {
    case HOSTVLAN_DHCP4_OVERLOAD:
        return HOSTVLAN_MALFORMED;
    case HOSTVLAN_DHCP4_TYPE:
        if (len != 1 || !hostvlan_read(f, offset, p, 1)) {
            return HOSTVLAN_MALFORMED;
        }
        d->withdraws |= p[0] == HOSTVLAN_DHCP4_DECLINE ||
                        p[0] == HOSTVLAN_DHCP4_RELEASE;
        return HOSTVLAN_PASSED;
    case HOSTVLAN_DHCP4_REQUESTED:
        if (len != 4 || !hostvlan_read(f, offset, p, 4)) {
            return HOSTVLAN_MALFORMED;
        }
        d->others |= hostvlan_forged_ip4(&s, get_be32(p)) !=
                     HOSTVLAN_PASSED;
        return HOSTVLAN_PASSED;
    case HOSTVLAN_DHCP4_CLIENT:
        if (len < 2 || !hostvlan_read(f, offset, p, 1)) {
            return HOSTVLAN_MALFORMED;
        }
        if (p[0] == HOSTVLAN_CLIENT_ETHERNET) {
            return len == 7 && hostvlan_read(f, offset + 1, p, 6) ?
                   hostvlan_forged_mac(&s, p) : HOSTVLAN_FORGED_ADDRESS;
        }
        if (p[0] == HOSTVLAN_CLIENT_DUID && len > 5) {
            d->others |= hostvlan_is_others_duid(d, f, offset + 5, len - 5);
        }
        return HOSTVLAN_PASSED;
    default:
        return HOSTVLAN_PASSED;
    }
}

/* Returns: false if there are no more options, or the verdict is known. */
static inline bool hostvlan_next_dhcp4(struct hostvlan_dhcp *d,
                                       const struct hostvlan_frame *f)
{
    uint32_t offset = d->offset;
    uint8_t option, len;

    d->reason = HOSTVLAN_PASSED;
    if (offset >= f->size) {
        return false;
    }
    d->reason = HOSTVLAN_MALFORMED;
    if (!hostvlan_read(f, offset, &option, 1)) {
        return false;
    }
    if (option == HOSTVLAN_DHCP4_PAD) {
        d->offset++;
        return true;
    }
    if (option == HOSTVLAN_DHCP4_END) {
        d->offset++;
        d->reason = HOSTVLAN_PASSED;
        return false;
    }
    if (!hostvlan_read(f, offset + 1, &len, 1) ||
        len > f->size - offset - 2) {
        return false;
    }
    d->offset = offset + 2 + len;
    d->reason = hostvlan_dhcp4_option(d, f, option, offset + 2, len);
    return d->reason == HOSTVLAN_PASSED;
}

/* --- DHCPv6 -------------------------------------------------------------- */

/* Octets before the options in an identity association; 0: it is none. */
static inline uint32_t hostvlan_ia_len(uint16_t option)
{
    return option == HOSTVLAN_DHCP6_IA_NA || option == HOSTVLAN_DHCP6_IA_PD ?
           12 : option == HOSTVLAN_DHCP6_IA_TA ? 4 : 0;
}

/* The value of an option, of @len octets. */
static inline enum hostvlan_reason
hostvlan_dhcp6_option(struct hostvlan_dhcp *d, const struct hostvlan_frame *f,
                      uint16_t option, uint32_t offset, uint32_t len)
{
    /* Lifetimes and length are before the prefix, but after the address. */
    uint32_t at = option == HOSTVLAN_DHCP6_IA_PREFIX ? 9 : 0;
    const struct hostvlan_sender s = hostvlan_sender_of(d);
    uint8_t p[16];

    if (option == HOSTVLAN_DHCP6_CLIENT) {
        d->others |= hostvlan_is_others_duid(d, f, offset, len);
    }
    if (option != HOSTVLAN_DHCP6_IA_ADDRESS &&
        option != HOSTVLAN_DHCP6_IA_PREFIX) {
        return HOSTVLAN_PASSED;
    }
    if (len < at + sizeof(p) ||
        !hostvlan_read(f, offset + at, p, sizeof(p))) {
        return HOSTVLAN_MALFORMED;
    }
    d->others |= hostvlan_forged_ip6(&s, p) != HOSTVLAN_PASSED;
    return HOSTVLAN_PASSED;
}

/* Returns: false if there are no more options, or the verdict is known. */
static inline bool hostvlan_next_dhcp6(struct hostvlan_dhcp *d,
                                       const struct hostvlan_frame *f)
{
    uint32_t end = d->inner_end ? d->inner_end : f->size;
    uint32_t value = d->offset + 4, option, len, ia;
    uint8_t p[4];

    d->reason = HOSTVLAN_PASSED;
    if (d->offset >= f->size) {
        return false;
    }
    d->reason = HOSTVLAN_MALFORMED;
    if (!hostvlan_read(f, d->offset, p, sizeof(p))) {
        return false;
    }
    option = get_be16(p);
    len = get_be16(p + 2);
    ia = d->inner_end ? 0 : hostvlan_ia_len(option);
    if (value + len > end || len < ia) {
        return false;
    }
    if (ia) {
        d->inner_end = value + len;
        d->offset = value + ia;
        d->reason = HOSTVLAN_PASSED;
    } else {
        d->offset = value + len;
        d->reason = hostvlan_dhcp6_option(d, f, option, value, len);
    }
    if (d->offset == d->inner_end) {
        d->inner_end = 0;
    }
    return d->reason == HOSTVLAN_PASSED;
}

/* --- both ---------------------------------------------------------------- */

/*
 * Call the functions above until they return false: before HOSTVLAN_LOOK_LEN
 * options, as none is empty. In eBPF a helper function does it.
 */
static inline void hostvlan_all_dhcp4(struct hostvlan_dhcp *d)
#ifdef __bpf__
;
#else
{
    while (hostvlan_next_dhcp4(d, &d->f)) {
    }
}
#endif

static inline void hostvlan_all_dhcp6(struct hostvlan_dhcp *d)
#ifdef __bpf__
;
#else
{
    while (hostvlan_next_dhcp6(d, &d->f)) {
    }
}
#endif

/* After the options. */
static inline enum hostvlan_reason
hostvlan_end_dhcp(struct hostvlan_sender *s, const struct hostvlan_dhcp *d)
{
    s->fixed = d->offset;
    return d->reason == HOSTVLAN_PASSED && d->withdraws && d->others ?
           HOSTVLAN_FORGED_ADDRESS : d->reason;
}

/* The message at @offset, to a server. */
static inline enum hostvlan_reason
hostvlan_forged_dhcp4(struct hostvlan_sender *s, uint32_t offset)
{
    struct hostvlan_dhcp d = {
        .f = s->f, .mac = s->mac, .own = s->own,
        .offset = offset + HOSTVLAN_DHCP4_COOKIE + 4,
    };
    uint8_t p[10];

    if (!hostvlan_read(&s->f, offset + HOSTVLAN_DHCP4_COOKIE, p, 4) ||
        get_be32(p) != HOSTVLAN_DHCP4_MAGIC ||
        !hostvlan_read(&s->f, offset, p, 4)) {
        return HOSTVLAN_MALFORMED;
    }
    if (get_be32(p) >> 8 != HOSTVLAN_DHCP4_REQUEST ||
        !hostvlan_read(&s->f, offset + HOSTVLAN_DHCP4_GIADDR, p, 10) ||
        get_be32(p) || hostvlan_mac(p + 4) != s->mac ||
        !hostvlan_read(&s->f, offset + HOSTVLAN_DHCP4_CIADDR, p, 4)) {
        return HOSTVLAN_FORGED_ADDRESS;
    }
    if (get_be32(p) &&
        hostvlan_forged_ip4(s, get_be32(p)) != HOSTVLAN_PASSED) {
        return HOSTVLAN_FORGED_ADDRESS;
    }
    hostvlan_all_dhcp4(&d);
    return hostvlan_end_dhcp(s, &d);
}

static inline enum hostvlan_reason
hostvlan_forged_dhcp6(struct hostvlan_sender *s, uint32_t offset)
{
    struct hostvlan_dhcp d = {
        .f = s->f, .mac = s->mac, .own = s->own, .offset = offset + 4,
        .withdraws = true,
    };
    uint8_t type;

    if (!hostvlan_read(&s->f, offset, &type, 1)) {
        return HOSTVLAN_MALFORMED;
    }
    s->fixed = offset + 1;
    switch (type) {
    case HOSTVLAN_DHCP6_RELAY_FORW:
    case HOSTVLAN_DHCP6_RELAY_REPL:
    case HOSTVLAN_DHCP6_DHCPV4_QUERY:
        return HOSTVLAN_FORGED_ADDRESS;
    case HOSTVLAN_DHCP6_RELEASE:
    case HOSTVLAN_DHCP6_DECLINE:
        hostvlan_all_dhcp6(&d);
        return hostvlan_end_dhcp(s, &d);
    default:
        return HOSTVLAN_PASSED;
    }
}

/* --- UDP ----------------------------------------------------------------- */

/* Reads the IP header of @packet, whose addresses have been checked. */
static inline bool hostvlan_find_udp(struct hostvlan_frame *f,
                                     const struct hostvlan_packet *packet,
                                     struct hostvlan_upper *upper)
{
    uint32_t offset = packet->offset;
    uint8_t p[10];

    if (!hostvlan_read(f, offset, p, sizeof(p))) {
        return false;
    }
    if (packet->type == HOSTVLAN_TYPE_IP4) {
        uint16_t fragment = get_be16(p + 6);

        hostvlan_end_at(f, offset, get_be16(p + 2));
        upper->offset = offset + (p[0] & 0xf) * 4;
        upper->proto = p[9];
        upper->fragment = fragment & 0x3fff;
        upper->later_fragment = fragment & 0x1fff;
    } else {
        upper->offset = offset + 40;
        upper->proto = p[6];
        hostvlan_end_at(f, upper->offset, get_be16(p + 4));
        if (!hostvlan_find_upper(f, upper)) {
            return false;
        }
    }
    return upper->proto == HOSTVLAN_PROTO_UDP && !upper->later_fragment;
}

/* What hostvlan_find_dhcp() adds to the offset of what is malformed. */
#define HOSTVLAN_DHCP_MALFORMED 0x10000u

/**
 * hostvlan_find_dhcp: is a frame for DHCP servers?
 * @f: has passed hostvlan_forged(); its size is reduced to that of the packet
 *
 * Returns: the offset of the UDP header, plus HOSTVLAN_DHCP_MALFORMED if it
 * cannot be checked; 0: the frame is for others
 */
static inline uint32_t hostvlan_find_dhcp(struct hostvlan_frame *f)
{
    struct hostvlan_upper upper = { .offset = 0 };
    struct hostvlan_packet packet;
    uint8_t p[6];
    bool whole;

    if (!hostvlan_find_packet(f, &packet) ||
        (packet.type != HOSTVLAN_TYPE_IP4 &&
         packet.type != HOSTVLAN_TYPE_IP6) ||
        !hostvlan_find_udp(f, &packet, &upper)) {
        return 0;
    }
    if (!hostvlan_read(f, upper.offset, p, 4)) {
        return upper.offset + HOSTVLAN_DHCP_MALFORMED;
    }
    if (get_be16(p + 2) != (packet.type == HOSTVLAN_TYPE_IP4 ?
                                  HOSTVLAN_PORT_DHCP4_SERVER :
                                  HOSTVLAN_PORT_DHCP6_SERVER)) {
        return 0;
    }
    whole = !upper.fragment && hostvlan_read(f, upper.offset, p, 6) &&
            get_be16(p + 4) == f->size - upper.offset;
    return upper.offset + (whole ? 0 : HOSTVLAN_DHCP_MALFORMED);
}

/**
 * hostvlan_forged_dhcp: check a message to a DHCP server, of one that is none
 * @s: has passed hostvlan_forged()
 * @found: from hostvlan_find_dhcp(), not 0
 *
 * If it passes, @s->fixed is set to the number of octets that the verdict
 * depends on. UDP's checksum is among them, but may change.
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_FORGED_ADDRESS or HOSTVLAN_MALFORMED
 */
static inline enum hostvlan_reason
hostvlan_forged_dhcp(struct hostvlan_sender *s, uint32_t found)
{
    uint8_t p[6];

    if (found >= HOSTVLAN_DHCP_MALFORMED ||
        !hostvlan_read(&s->f, found, p, sizeof(p))) {
        return HOSTVLAN_MALFORMED;
    }
    s->f.size = found + get_be16(p + 4);
    found += HOSTVLAN_UDP_LEN;
    return get_be16(p + 2) == HOSTVLAN_PORT_DHCP4_SERVER ?
           hostvlan_forged_dhcp4(s, found) : hostvlan_forged_dhcp6(s, found);
}

#endif /* NET_HOSTVLAN_DHCP_H */
