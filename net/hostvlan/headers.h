/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing a frame's headers: VLAN tags, LLC/SNAP, IPv6 extension headers
 *
 * Both data paths use this code, so they see the same headers in a frame:
 * QEMU's port includes it, and bpf/hostvlan.bpf.c includes it with its own
 * struct hostvlan_frame (which also has a size), its own hostvlan_read() and
 * its own loops.
 *
 * All reads use hostvlan_read(), which knows where the frame ends. It may have
 * only the first HOSTVLAN_LOOK_LEN octets of the frame.
 */
#ifndef NET_HOSTVLAN_HEADERS_H
#define NET_HOSTVLAN_HEADERS_H

#include <stdbool.h>

#include "base/octets.h"
#include "vmmnet/hostvlan.h"

/*
 * The number of octets at the start of a frame that a check may read. The
 * octets after these are payload; a frame with relevant headers there does not
 * pass.
 */
#define HOSTVLAN_LOOK_LEN       1536u

#define HOSTVLAN_ETH_LEN        14u     /* the Ethernet header */
#define HOSTVLAN_TAGS_MAX       2
#define HOSTVLAN_EXTENSIONS_MAX 8

/*
 * A type in SNAP has the OUI 00:00:00 (RFC 1042), or 00:00:f8 if a bridge has
 * converted the frame (IEEE 802.1H).
 */
#define HOSTVLAN_OUI_BRIDGE     0x00f8u

#ifdef __bpf__
typedef __UINT16_TYPE__ uint16_t;
#else
#include <stddef.h>
#include <string.h>

struct hostvlan_frame {
    const uint8_t *data;        /* from the destination address on */
    size_t len;                 /* number of octets at data */
    size_t size;                /* length of the whole frame */
};

/**
 * hostvlan_read: copy octets of a frame
 * @offset: of the first octet
 * @to: filled in
 * @num: number of octets, at most HOSTVLAN_LOOK_LEN
 *
 * Returns: false if the frame does not have all of them
 */
static inline bool hostvlan_read(const struct hostvlan_frame *f,
                                 uint32_t offset, void *to, uint32_t num)
{
    size_t end = f->len < f->size ? f->len : f->size;

    if (offset > HOSTVLAN_LOOK_LEN - num || end < num || offset > end - num) {
        return false;
    }
    memcpy(to, f->data + offset, num);
    return true;
}
#endif

enum {
    HOSTVLAN_TYPE_IP4 = 0x0800,
    HOSTVLAN_TYPE_VLAN = 0x8100,
    HOSTVLAN_TYPE_IP6 = 0x86dd,
    HOSTVLAN_TYPE_QINQ = 0x88a8,        /* 802.1ad */
    HOSTVLAN_TYPE_QINQ_OLD = 0x9100,    /* before 802.1ad */
    HOSTVLAN_TYPE_MIN = 0x0600,         /* lower: a length; LLC follows */
};

enum {
    HOSTVLAN_PROTO_HOP_BY_HOP = 0,
    HOSTVLAN_PROTO_IGMP = 2,
    HOSTVLAN_PROTO_UDP = 17,
    HOSTVLAN_PROTO_ROUTING = 43,
    HOSTVLAN_PROTO_FRAGMENT = 44,
    HOSTVLAN_PROTO_AUTH = 51,
    HOSTVLAN_PROTO_ICMP6 = 58,
    HOSTVLAN_PROTO_DEST_OPTIONS = 60,
    HOSTVLAN_PROTO_MOBILITY = 135,
    HOSTVLAN_PROTO_HIP = 139,
    HOSTVLAN_PROTO_SHIM6 = 140,
};

/* ICMPv6 types of neighbour discovery (RFC 4861). */
enum {
    HOSTVLAN_ND_ROUTER_SOLICIT = 133,
    HOSTVLAN_ND_ROUTER_ADVERT = 134,
    HOSTVLAN_ND_SOLICIT = 135,
    HOSTVLAN_ND_ADVERT = 136,
    HOSTVLAN_ND_REDIRECT = 137,
};

/* The network-layer packet in a frame. */
struct hostvlan_packet {
    uint32_t offset;
    uint16_t type;
    bool snap;                  /* it follows LLC/SNAP */
};

/* The upper-layer header in an IPv6 packet. */
struct hostvlan_upper {
    uint32_t offset;
    uint8_t proto;
    bool fragment;
    bool later_fragment;        /* there is no header at the offset */
};

/* Limits the frame to the packet's own length; 0: unlimited. */
static inline void hostvlan_end_at(struct hostvlan_frame *f, uint32_t offset,
                                   uint32_t length)
{
    if (length && f->size > offset && length < f->size - offset) {
        f->size = offset + length;
    }
}

static inline bool hostvlan_is_tag(uint16_t type)
{
    return type == HOSTVLAN_TYPE_VLAN || type == HOSTVLAN_TYPE_QINQ ||
           type == HOSTVLAN_TYPE_QINQ_OLD;
}

/**
 * hostvlan_find_packet: skip VLAN tags and LLC/SNAP
 *
 * Returns: false if there are more than HOSTVLAN_TAGS_MAX tags, or the frame
 * ends within one
 */
static inline bool hostvlan_find_packet(const struct hostvlan_frame *f,
                                        struct hostvlan_packet *p)
{
    uint8_t o[8];

    p->snap = false;
    p->offset = HOSTVLAN_ETH_LEN;
    if (!hostvlan_read(f, HOSTVLAN_ETH_LEN - 2, o, 2)) {
        return false;
    }
    p->type = get_be16(o);
    for (unsigned tags = 0; tags < HOSTVLAN_TAGS_MAX; tags++) {
        if (!hostvlan_is_tag(p->type)) {
            break;
        }
        if (!hostvlan_read(f, p->offset, o, 4)) {
            return false;
        }
        p->type = get_be16(o + 2);
        p->offset += 4;
    }
    if (p->type < HOSTVLAN_TYPE_MIN && hostvlan_read(f, p->offset, o, 8) &&
        get_be32(o) == 0xaaaa0300 &&
        (get_be16(o + 4) == 0 ||
         get_be16(o + 4) == HOSTVLAN_OUI_BRIDGE)) {
        p->snap = true;
        p->type = get_be16(o + 6);
        p->offset += 8;
    }
    return !hostvlan_is_tag(p->type);
}

static inline bool hostvlan_is_extension(uint8_t proto)
{
    return proto == HOSTVLAN_PROTO_HOP_BY_HOP ||
           proto == HOSTVLAN_PROTO_ROUTING ||
           proto == HOSTVLAN_PROTO_FRAGMENT ||
           proto == HOSTVLAN_PROTO_AUTH ||
           proto == HOSTVLAN_PROTO_DEST_OPTIONS ||
           proto == HOSTVLAN_PROTO_MOBILITY ||
           proto == HOSTVLAN_PROTO_HIP || proto == HOSTVLAN_PROTO_SHIM6;
}

/* @p: the first octets of the header. */
static inline uint32_t hostvlan_extension_len(uint8_t proto, const uint8_t *p)
{
    if (proto == HOSTVLAN_PROTO_FRAGMENT) {
        return 8;
    }
    return proto == HOSTVLAN_PROTO_AUTH ? (p[1] + 2) * 4 : (p[1] + 1) * 8;
}

/* Iterates over extension headers. */
struct hostvlan_extensions {
    struct hostvlan_frame f;
    struct hostvlan_upper upper;
    bool breaks_off;            /* the frame ends in a header */
};

/*
 * Returns: false after the last one. @f: the frame with the extension headers.
 */
static inline bool hostvlan_next_extension(struct hostvlan_extensions *e,
                                           const struct hostvlan_frame *f)
{
    struct hostvlan_upper *upper = &e->upper;
    uint8_t o[8];

    if (!hostvlan_is_extension(upper->proto) || upper->later_fragment) {
        return false;
    }
    if (!hostvlan_read(f, upper->offset, o, sizeof(o))) {
        e->breaks_off = true;
        return false;
    }
    if (upper->proto == HOSTVLAN_PROTO_FRAGMENT) {
        upper->fragment = true;
        upper->later_fragment = (get_be16(o + 2) & 0xfff8) != 0;
    }
    upper->offset += hostvlan_extension_len(upper->proto, o);
    upper->proto = o[0];
    return true;
}

/*
 * Calls hostvlan_next_extension() until it returns false, at most
 * HOSTVLAN_EXTENSIONS_MAX times. In eBPF a helper function does it: the
 * verifier would check every path through the loop.
 */
static inline void hostvlan_all_extensions(struct hostvlan_extensions *e)
#ifdef __bpf__
;
#else
{
    for (unsigned n = 0; n < HOSTVLAN_EXTENSIONS_MAX; n++) {
        if (!hostvlan_next_extension(e, &e->f)) {
            break;
        }
    }
}
#endif

/**
 * hostvlan_find_upper: skip IPv6 extension headers
 * @upper: contains offset and protocol of the first header after the fixed
 *         header; updated to those of the header after the extension headers
 *
 * It stops at a fragment other than the first: RFC 7112 requires all headers in
 * the first fragment.
 *
 * Returns: false if there are more than HOSTVLAN_EXTENSIONS_MAX, or the frame
 * ends within one
 */
static inline bool hostvlan_find_upper(const struct hostvlan_frame *f,
                                       struct hostvlan_upper *upper)
{
    struct hostvlan_extensions e = { .f = *f, .upper = *upper };

    if (!hostvlan_is_extension(upper->proto)) {
        return true;
    }
    hostvlan_all_extensions(&e);
    *upper = e.upper;
    return !e.breaks_off &&
           (!hostvlan_is_extension(upper->proto) || upper->later_fragment);
}

#endif /* NET_HOSTVLAN_HEADERS_H */
