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
 * what they advertise: whether a guest may be a router is another question.
 *
 * What a receiver might read and this file cannot is malformed. Up to two VLAN
 * tags, 802.1Q or 802.1ad, and an LLC/SNAP header are looked through; more tags
 * are too many, and so are more than eight IPv6 extension headers (headers.h).
 * ND in fragments is forbidden (RFC 6980), and a first fragment must have all
 * headers (RFC 7112); where both hold, later fragments cannot become ND, and
 * their source address is enough.
 *
 * All reads go through at() or hostvlan_read(), which know where the frame
 * ends.
 */
#include <string.h>

#include "net/hostvlan/sender.h"

enum {
    TYPE_ARP = 0x0806,
    TYPE_RARP = 0x8035,
};

enum {
    ND_ROUTER_SOLICIT = 133,
    ND_ROUTER_ADVERT = 134,
    ND_SOLICIT = 135,
    ND_ADVERT = 136,
    ND_REDIRECT = 137,
    ND_OPTION_SOURCE = 1,
    ND_OPTION_TARGET = 2,
};

typedef struct Frame {
    const uint8_t *data;
    size_t len;                 /* octets at data */
    size_t end;                 /* of the packet in the frame, <= size */
    uint64_t mac;
    const HostvlanAddresses *own;       /* NULL: not checked */
    size_t fixed;
} Frame;

/* --- octets ------------------------------------------------------------- */

/* @num octets at @offset; NULL if they are not all in the packet, and here. */
static const uint8_t *at(const Frame *f, size_t offset, size_t num)
{
    return offset <= f->end && num <= f->end - offset &&
           offset <= f->len && num <= f->len - offset ? f->data + offset : NULL;
}

static struct hostvlan_frame readable(const Frame *f)
{
    return (struct hostvlan_frame) {
        .data = f->data, .len = f->len, .size = f->end,
    };
}

static bool is_zero(const uint8_t *p, size_t num)
{
    while (num--) {
        if (*p++) {
            return false;
        }
    }
    return true;
}

/* --- whose address ------------------------------------------------------ */

static enum hostvlan_reason own_mac(const Frame *f, const uint8_t *mac)
{
    return hostvlan_mac(mac) == f->mac ? HOSTVLAN_PASSED :
                                         HOSTVLAN_FORGED_ADDRESS;
}

static enum hostvlan_reason own_ip4(const Frame *f, const uint8_t *addr)
{
    uint32_t ip4 = hostvlan_get32(addr);

    if (!f->own) {
        return HOSTVLAN_PASSED;
    }
    for (unsigned i = 0; i < f->own->num_ip4; i++) {
        if (f->own->ip4[i] == ip4) {
            return HOSTVLAN_PASSED;
        }
    }
    return HOSTVLAN_FORGED_ADDRESS;
}

/* fe80::/64 and the interface identifier of the MAC address. */
static bool is_eui64_link_local(const Frame *f, const uint8_t *addr)
{
    uint8_t own[16] = { 0xfe, 0x80 };

    own[8] = (f->mac >> 40 & 0xff) ^ 0x02;
    own[9] = f->mac >> 32 & 0xff;
    own[10] = f->mac >> 24 & 0xff;
    own[11] = 0xff;
    own[12] = 0xfe;
    own[13] = f->mac >> 16 & 0xff;
    own[14] = f->mac >> 8 & 0xff;
    own[15] = f->mac & 0xff;
    return memcmp(own, addr, sizeof(own)) == 0;
}

static enum hostvlan_reason own_ip6(const Frame *f, const uint8_t *addr)
{
    uint32_t ip6[4] = {
        hostvlan_get32(addr), hostvlan_get32(addr + 4),
        hostvlan_get32(addr + 8), hostvlan_get32(addr + 12),
    };

    if (!f->own || is_eui64_link_local(f, addr)) {
        return HOSTVLAN_PASSED;
    }
    for (unsigned i = 0; i < f->own->num_ip6; i++) {
        if (memcmp(f->own->ip6[i], ip6, sizeof(ip6)) == 0) {
            return HOSTVLAN_PASSED;
        }
    }
    return HOSTVLAN_FORGED_ADDRESS;
}

/* --- ARP, RARP ---------------------------------------------------------- */

static enum hostvlan_reason check_arp(Frame *f, size_t offset)
{
    static const uint8_t ethernet_ip4[] = { 0, 1, 0x08, 0x00, 6, 4 };
    const uint8_t *p = at(f, offset, 28);
    enum hostvlan_reason reason;

    if (!p || memcmp(p, ethernet_ip4, sizeof(ethernet_ip4))) {
        return HOSTVLAN_MALFORMED;
    }
    f->fixed = offset + 28;
    reason = own_mac(f, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    if (!is_zero(p + 14, 4)) {
        return own_ip4(f, p + 14);
    }
    /* Who has no address may ask for none (RARP), or probe his own. */
    return is_zero(p + 24, 4) ? HOSTVLAN_PASSED : own_ip4(f, p + 24);
}

/* --- IPv4 --------------------------------------------------------------- */

static enum hostvlan_reason check_ip4(Frame *f, size_t offset)
{
    const uint8_t *p = at(f, offset, 20);

    if (!p || p[0] >> 4 != 4 || (p[0] & 0xf) < 5) {
        return HOSTVLAN_MALFORMED;
    }
    f->fixed = offset + 20;
    return is_zero(p + 12, 4) ? HOSTVLAN_PASSED : own_ip4(f, p + 12);
}

/* --- neighbour discovery ------------------------------------------------ */

static bool is_nd(uint8_t type)
{
    return type >= ND_ROUTER_SOLICIT && type <= ND_REDIRECT;
}

/* Octets before the options; the largest is the redirect's. */
static size_t nd_header_len(uint8_t type)
{
    static const uint8_t len[] = { 8, 16, 24, 24, 40 };

    return len[type - ND_ROUTER_SOLICIT];
}

/*
 * Both options say the sender's address, but in a redirect, where the second
 * one says that of the better router.
 */
static bool is_own_option(uint8_t type, uint8_t option)
{
    return option == ND_OPTION_SOURCE ||
           (option == ND_OPTION_TARGET && type != ND_REDIRECT);
}

static enum hostvlan_reason check_nd_options(const Frame *f, uint8_t type,
                                             size_t offset)
{
    while (offset < f->end) {
        const uint8_t *p = at(f, offset, 8);

        if (!p || p[1] == 0 || !at(f, offset, p[1] * 8)) {
            return HOSTVLAN_MALFORMED;
        }
        if (is_own_option(type, p[0])) {
            if (p[1] != 1) {
                return HOSTVLAN_MALFORMED;
            }
            if (own_mac(f, p + 2) != HOSTVLAN_PASSED) {
                return HOSTVLAN_FORGED_ADDRESS;
            }
        }
        offset += p[1] * 8;
    }
    return HOSTVLAN_PASSED;
}

static enum hostvlan_reason check_nd(Frame *f, size_t offset, uint8_t type,
                                     bool unspecified)
{
    const uint8_t *p = at(f, offset, nd_header_len(type));

    if (!p) {
        return HOSTVLAN_MALFORMED;
    }
    f->fixed = f->end;
    if ((type == ND_ADVERT || (type == ND_SOLICIT && unspecified)) &&
        own_ip6(f, p + 8) != HOSTVLAN_PASSED) {
        return HOSTVLAN_FORGED_ADDRESS;
    }
    return check_nd_options(f, type, offset + nd_header_len(type));
}

/* --- IPv6 --------------------------------------------------------------- */

static enum hostvlan_reason check_icmp6(Frame *f,
                                        const struct hostvlan_upper *upper,
                                        bool unspecified)
{
    const uint8_t *p = at(f, upper->offset, 1);

    if (!p) {
        /* No type: nothing a receiver could act on, unless in fragments. */
        return HOSTVLAN_MALFORMED;
    }
    if (!is_nd(p[0])) {
        return HOSTVLAN_PASSED;
    }
    return upper->fragment ? HOSTVLAN_MALFORMED :
                             check_nd(f, upper->offset, p[0], unspecified);
}

static enum hostvlan_reason check_ip6(Frame *f, size_t offset)
{
    const uint8_t *p = at(f, offset, 40);
    enum hostvlan_reason reason;
    struct hostvlan_upper upper;
    struct hostvlan_frame frame;
    bool unspecified;
    size_t payload;

    if (!p || p[0] >> 4 != 6) {
        return HOSTVLAN_MALFORMED;
    }
    f->fixed = offset + 40;
    unspecified = is_zero(p + 8, 16);
    reason = unspecified ? HOSTVLAN_PASSED : own_ip6(f, p + 8);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    upper = (struct hostvlan_upper) { .offset = offset + 40, .proto = p[6] };
    /* Padding is no option. A length of 0 is a jumbogram's or a segment's. */
    payload = hostvlan_get16(p + 4);
    if (payload && payload < f->end - upper.offset) {
        f->end = upper.offset + payload;
    }
    frame = readable(f);
    if (!hostvlan_find_upper(&frame, &upper)) {
        return HOSTVLAN_MALFORMED;
    }
    return upper.proto == HOSTVLAN_PROTO_ICMP6 && !upper.later_fragment ?
           check_icmp6(f, &upper, unspecified) : HOSTVLAN_PASSED;
}

/* --- Ethernet ----------------------------------------------------------- */

static enum hostvlan_reason check(Frame *f)
{
    struct hostvlan_frame frame = readable(f);
    struct hostvlan_packet packet;

    if (!at(f, 0, HOSTVLAN_ETH_LEN) || !hostvlan_find_packet(&frame, &packet)) {
        return HOSTVLAN_MALFORMED;
    }
    f->fixed = packet.offset;
    switch (packet.type) {
    case TYPE_ARP:
    case TYPE_RARP:
        return check_arp(f, packet.offset);
    case HOSTVLAN_TYPE_IP4:
        return check_ip4(f, packet.offset);
    case HOSTVLAN_TYPE_IP6:
        return check_ip6(f, packet.offset);
    default:
        return HOSTVLAN_PASSED;
    }
}

enum hostvlan_reason hostvlan_sender_check(const uint8_t *frame, size_t len,
                                           size_t size, uint64_t mac,
                                           const HostvlanAddresses *own,
                                           size_t *fixed)
{
    Frame f = {
        .data = frame,
        .len = len,
        .end = size,
        .mac = mac,
        .own = own && (own->num_ip4 || own->num_ip6) ? own : NULL,
    };
    enum hostvlan_reason reason = check(&f);

    *fixed = f.fixed;
    return reason;
}

bool hostvlan_sender_offload(const uint8_t *vnet, size_t fixed)
{
    /* struct virtio_net_hdr: flags, gso_type, then four numbers of 16 bits */
    const uint8_t *start = vnet + 6, *offset = vnet + 8;
    unsigned little = (start[1] << 8 | start[0]) + (offset[1] << 8 | offset[0]);
    unsigned big = hostvlan_get16(start) + hostvlan_get16(offset);

    /*
     * Only a guest without VIRTIO_F_VERSION_1 may be big-endian, but no frame
     * that anybody means has an offset that is so small in the other order.
     */
    return !(vnet[0] & 1) ||    /* VIRTIO_NET_HDR_F_NEEDS_CSUM */
           (little >= fixed && big >= fixed);
}
