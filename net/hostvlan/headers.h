/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers of a frame: VLAN tags, LLC/SNAP, IPv6 extension headers
 *
 * One code for both data paths, so that they see the same in a frame: QEMU's
 * port includes it, and bpf/hostvlan.bpf.c, which brings a struct
 * hostvlan_frame, with a size as well, a hostvlan_read() and loops of its own.
 *
 * All reads go through hostvlan_read(), which knows where the frame ends, and
 * which has only the first HOSTVLAN_LOOK_LEN octets of it.
 */
#ifndef NET_HOSTVLAN_HEADERS_H
#define NET_HOSTVLAN_HEADERS_H

#include <stdbool.h>

#include "vmmnet/hostvlan.h"

/*
 * Octets of a frame's beginning that a check may want. What lies behind is
 * data; a frame that hides something to be checked there does not pass.
 */
#define HOSTVLAN_LOOK_LEN       1536u

#define HOSTVLAN_ETH_LEN        14u     /* the Ethernet header */
#define HOSTVLAN_TAGS_MAX       2
#define HOSTVLAN_EXTENSIONS_MAX 8

/*
 * A type in SNAP has the OUI 00:00:00 (RFC 1042), or 00:00:f8 where a bridge
 * has translated the frame (IEEE 802.1H).
 */
#define HOSTVLAN_OUI_BRIDGE     0x00f8u

#ifdef __bpf__
typedef __UINT16_TYPE__ uint16_t;
#else
#include <stddef.h>
#include <string.h>

struct hostvlan_frame {
    const uint8_t *data;        /* from the destination address on */
    size_t len;                 /* octets at data */
    size_t size;                /* of the whole frame */
};

/**
 * hostvlan_read: copy octets of a frame
 * @offset: of the first one
 * @to: filled in
 * @num: how many, at most HOSTVLAN_LOOK_LEN
 *
 * Returns: false if they are not all there
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
    HOSTVLAN_TYPE_MIN = 0x0600,         /* below: a length, and LLC follows */
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

/* Types of ICMPv6, of neighbour discovery (RFC 4861). */
enum {
    HOSTVLAN_ND_ROUTER_SOLICIT = 133,
    HOSTVLAN_ND_ROUTER_ADVERT = 134,
    HOSTVLAN_ND_SOLICIT = 135,
    HOSTVLAN_ND_ADVERT = 136,
    HOSTVLAN_ND_REDIRECT = 137,
};

/* The contents of a frame. */
struct hostvlan_packet {
    uint32_t offset;
    uint16_t type;
    bool snap;                  /* behind LLC/SNAP */
};

/* The contents of an IPv6 packet. */
struct hostvlan_upper {
    uint32_t offset;
    uint8_t proto;
    bool fragment;
    bool later_fragment;        /* what is at the offset is no header */
};

static inline uint16_t hostvlan_get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static inline uint32_t hostvlan_get32(const uint8_t *p)
{
    return (uint32_t)hostvlan_get16(p) << 16 | hostvlan_get16(p + 2);
}

static inline bool hostvlan_is_tag(uint16_t type)
{
    return type == HOSTVLAN_TYPE_VLAN || type == HOSTVLAN_TYPE_QINQ ||
           type == HOSTVLAN_TYPE_QINQ_OLD;
}

/**
 * hostvlan_find_packet: look through VLAN tags and LLC/SNAP
 *
 * Returns: false if there are more than HOSTVLAN_TAGS_MAX tags, or the frame
 * ends in one
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
    p->type = hostvlan_get16(o);
    for (unsigned tags = 0; tags < HOSTVLAN_TAGS_MAX; tags++) {
        if (!hostvlan_is_tag(p->type)) {
            break;
        }
        if (!hostvlan_read(f, p->offset, o, 4)) {
            return false;
        }
        p->type = hostvlan_get16(o + 2);
        p->offset += 4;
    }
    if (p->type < HOSTVLAN_TYPE_MIN && hostvlan_read(f, p->offset, o, 8) &&
        hostvlan_get32(o) == 0xaaaa0300 &&
        (hostvlan_get16(o + 4) == 0 ||
         hostvlan_get16(o + 4) == HOSTVLAN_OUI_BRIDGE)) {
        p->snap = true;
        p->type = hostvlan_get16(o + 6);
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

/* Extension headers, of which one is looked at after the other. */
struct hostvlan_extensions {
    struct hostvlan_frame f;
    struct hostvlan_upper upper;
    bool breaks_off;            /* the frame ends in one */
};

/* False: there are no more. @f: that of the extension headers. */
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
        upper->later_fragment = (hostvlan_get16(o + 2) & 0xfff8) != 0;
    }
    upper->offset += hostvlan_extension_len(upper->proto, o);
    upper->proto = o[0];
    return true;
}

/*
 * hostvlan_next_extension() until it is false, or HOSTVLAN_EXTENSIONS_MAX
 * times. In eBPF a helper does it: the verifier would follow each of the ways
 * through all of them.
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
 * hostvlan_find_upper: look through IPv6 extension headers
 * @upper: offset and protocol of the first header behind the fixed one; those
 *         of what follows the extension headers are filled in
 *
 * Stops at a fragment other than the first: RFC 7112 has all headers there.
 *
 * Returns: false if there are more than HOSTVLAN_EXTENSIONS_MAX, or the frame
 * ends in one
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
