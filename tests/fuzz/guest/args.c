/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "args.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "random.h"

/* Hides from the compiler that this pointer is invalid. */
#define KERNEL_POINTER  ((uint8_t *)0xffff888000000000)

/* --- addresses and ports -------------------------------------------------- */

in_port_t call_port(int fd)
{
    struct sockaddr_in sin = { 0 };
    socklen_t len = sizeof(sin);

    if (getsockname(fd, (struct sockaddr *)&sin, &len)) {
        return 0;
    }
    return ntohs(sin.sin_port);
}

in_port_t call_resolve_port(const struct world *world, uint32_t port)
{
    switch (port) {
    case PORT_ZERO:
        return 0;
    case PORT_FIXED_0 ... PORT_FIXED_3:
        return world->port_base + port - PORT_FIXED_0;
    case PORT_CLOSED:
        return PEER_CLOSED_PORT;
    case PORT_LOW:
        return 80;
    case PORT_SLOT ... PORT_SLOT + SLOTS - 1:
        return call_port(world->fd[port - PORT_SLOT]);
    case PORT_PEER ... PORT_PEER + PEERS - 1:
        return world->peer_port[port - PORT_PEER];
    default:
        return 0;
    }
}

struct in_addr arg_in_addr(uint32_t addr)
{
    struct in_addr in = { 0 };

    switch (addr) {
    case ADDR_ME:
        return addresses.me;
    case ADDR_PEER:
        return addresses.peer;
    case ADDR_PEER2:
        return addresses.peer2;
    case ADDR_LOOPBACK:
        in.s_addr = htonl(INADDR_LOOPBACK);
        break;
    case ADDR_FOREIGN:
        in.s_addr = htonl(0xcb007109);  /* 203.0.113.9 */
        break;
    case ADDR_POOL:
        in.s_addr = htonl(0xc613ff09);  /* 198.19.255.9 */
        break;
    case ADDR_BROADCAST:
        in.s_addr = htonl(INADDR_BROADCAST);
        break;
    case ADDR_MULTICAST:
        in.s_addr = htonl(0xe9fc0009);  /* 233.252.0.9 */
        break;
    }
    return in;
}

static struct in6_addr mapped(struct in_addr addr)
{
    struct in6_addr in6 = { 0 };

    in6.s6_addr16[5] = 0xffff;
    in6.s6_addr32[3] = addr.s_addr;
    return in6;
}

struct in6_addr arg_in6_addr(uint32_t addr)
{
    bool plain = world_family == WORLD_PLAIN;
    struct in6_addr in6 = in6addr_any;

    if (addr == ADDR_OTHER) {
        return plain ? mapped(addresses.peer) : addresses.peer6;
    }
    if (addr == ADDR_ANY || addr > ADDR_MULTICAST) {
        return in6addr_any;
    }
    if (!plain) {
        return mapped(arg_in_addr(addr));
    }
    switch (addr) {
    case ADDR_ME:
        return addresses.me6;
    case ADDR_PEER:
        return addresses.peer6;
    case ADDR_PEER2:
        return addresses.peer26;
    case ADDR_LOOPBACK:
        return in6addr_loopback;
    case ADDR_FOREIGN:
        inet_pton(AF_INET6, "2001:db8:f::9", &in6);
        break;
    case ADDR_POOL:
        inet_pton(AF_INET6, "fe80::9", &in6);
        break;
    default:
        inet_pton(AF_INET6, "ff0e::9", &in6);
    }
    return in6;
}

int arg_family(void)
{
    return world_family == WORLD_INET ? AF_INET : AF_INET6;
}

socklen_t arg_length(socklen_t len)
{
    if (world_family == WORLD_INET) {
        return len;
    }
    /* So that both lengths occur, with either family. */
    return len == sizeof(struct sockaddr_in) ? sizeof(struct sockaddr_in6) :
           len == sizeof(struct sockaddr_in6) ? sizeof(struct sockaddr_in) :
           len;
}

/* Writes an address that ends at the end of the memory. */
void *arg_address(const struct worker *w, uint32_t arg, socklen_t len)
{
    uint32_t addr = arg & 0xff;
    struct sockaddr_storage ss = { 0 };
    struct sockaddr_in *sin = (struct sockaddr_in *)&ss;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;
    int other = world_family == WORLD_INET ? AF_INET6 : AF_INET;
    socklen_t have = len < sizeof(ss) ? len : sizeof(ss);
    uint8_t *at = w->arena.hole - have;

    switch (addr) {
    case ADDR_NONE:
    case ADDR_NULL:
        return NULL;
    case ADDR_BAD:
        return w->arena.hole;
    }
    sin->sin_family = addr == ADDR_UNSPEC ? AF_UNSPEC :
                      addr == ADDR_INET6 ? other :
                      addr == ADDR_FAMILY ? 77 : arg_family();
    sin->sin_port = htons(call_resolve_port(w->world, arg >> 8));
    if (sin->sin_family == AF_INET6) {
        sin6->sin6_addr = arg_in6_addr(addr);
    } else {
        sin->sin_addr = arg_in_addr(addr);
    }
    memcpy(at, &ss, have);
    return at;
}

/* The IPv4 address that an IPv6 address stands for. */
static struct in_addr meaning_of(const struct in6_addr *in6)
{
    struct in_addr last = { in6->s6_addr32[3] };

    if (IN6_ARE_ADDR_EQUAL(in6, &addresses.me6)) {
        return addresses.me;
    }
    if (IN6_ARE_ADDR_EQUAL(in6, &addresses.peer6)) {
        return addresses.peer;
    }
    if (IN6_ARE_ADDR_EQUAL(in6, &addresses.peer26)) {
        return addresses.peer2;
    }
    return IN6_IS_ADDR_LOOPBACK(in6) ? arg_in_addr(ADDR_LOOPBACK) : last;
}

/*
 * Of WORLD_MAPPED, callers and senders from outside are IPv4-mapped natively,
 * and IPv6 otherwise: the kind of address is compared elsewhere.
 */
static void address6_facts(struct outcome *o, const void *at)
{
    struct sockaddr_in6 sin6;
    struct in_addr in;
    bool ours;

    memcpy(&sin6, at, sizeof(sin6));
    in = meaning_of(&sin6.sin6_addr);
    ours = in.s_addr != addresses.peer.s_addr &&
           in.s_addr != addresses.peer2.s_addr;
    outcome_fact(o, 'x', "address", ntohl(in.s_addr));
    outcome_fact(o, ours ? 'o' : 'p', "port", ntohs(sin6.sin6_port));
    outcome_fact(o, world_family == WORLD_MAPPED && !ours ? 'i' : 'd', "mapped",
                 IN6_IS_ADDR_V4MAPPED(&sin6.sin6_addr));
    outcome_fact(o, 'x', "zero", sin6.sin6_flowinfo | sin6.sin6_scope_id);
}

static void address_facts(struct outcome *o, const void *at, socklen_t len)
{
    struct sockaddr_in sin = { 0 };
    bool ours;

    memcpy(&sin, at, len < sizeof(sin) ? len : sizeof(sin));
    if (len >= sizeof(sin.sin_family)) {
        outcome_fact(o, 'd', "family", sin.sin_family);
    }
    if (sin.sin_family == AF_INET6) {
        if (len >= sizeof(struct sockaddr_in6)) {
            address6_facts(o, at);
        }
        return;
    }
    if (len < sizeof(sin)) {
        return;
    }
    ours = sin.sin_addr.s_addr != addresses.peer.s_addr &&
           sin.sin_addr.s_addr != addresses.peer2.s_addr;
    outcome_fact(o, 'x', "address", ntohl(sin.sin_addr.s_addr));
    outcome_fact(o, ours ? 'o' : 'p', "port", ntohs(sin.sin_port));
    outcome_fact(o, 'x', "zero", memcmp(sin.sin_zero, "\0\0\0\0\0\0\0", 8));
}

/* Room for an address; sets @len, and the pointer to it. */
void *arg_room(const struct worker *w, uint32_t room, socklen_t **len)
{
    uint8_t *small = w->arena.small;

    *len = (socklen_t *)(small + 8);
    memset(small + 64, POISON, 256);
    switch (room) {
    case ROOM_NONE:
        *len = NULL;
        return NULL;
    case ROOM_SHORT:
        **len = 8;
        break;
    case ROOM_ZERO:
        **len = 0;
        break;
    case ROOM_LONG:
        **len = 128;
        break;
    case ROOM_NEGATIVE:
        **len = -1;
        break;
    case ROOM_BAD:
        **len = arg_length(sizeof(struct sockaddr_in));
        return w->arena.hole;
    case ROOM_BAD_LENGTH:
        *len = (socklen_t *)w->arena.hole;
        break;
    default:
        **len = arg_length(sizeof(struct sockaddr_in));
    }
    return small + 64;
}

void arg_room_facts(struct outcome *o, const struct worker *w,
                    uint32_t room, socklen_t len)
{
    static const socklen_t sizes[ROOMS] = {
        [ROOM_EXACT] = 16, [ROOM_SHORT] = 8, [ROOM_LONG] = 128,
    };
    const uint8_t *at = w->arena.small + 64;
    socklen_t size = arg_length(sizes[room]);
    socklen_t have = size < len ? size : len;

    outcome_fact(o, 'd', "namelen", len);
    address_facts(o, at, have);
    outcome_fact(o, 'd', "overrun", at[have] != POISON);
}

/* --- data ----------------------------------------------------------------- */

static struct iovec *add_piece(struct pieces *p, uint8_t *at, size_t len)
{
    p->iov[p->num] = (struct iovec) { at, len };
    return &p->iov[p->num++];
}

static void split(struct pieces *p, uint8_t *at, size_t size, uint32_t seed)
{
    struct random r = { seed };

    while (p->num < 9 && size) {
        size_t len = random_percent(&r, 20) ? 0 : random_below(&r, size + 1);

        add_piece(p, at, len);
        at += len + random_below(&r, 4);
        size -= len;
    }
    add_piece(p, at, size);
}

/* Most pieces have one byte, the last one has the rest. */
static void split_bytes(struct pieces *p, uint8_t *at, size_t size, int max)
{
    while (p->num < max - 1) {
        size_t len = size ? 1 : 0;

        add_piece(p, at, len);
        at += 2 * len;
        size -= len;
    }
    add_piece(p, at, size);
}

/*
 * Pieces in @at, which has DATA_MAX + DATA_SLACK bytes, for @size bytes of
 * data.  The memory behind it is not mapped.
 */
void arg_pieces(const struct worker *w, uint8_t *at, int layout,
                size_t size, struct pieces *p)
{
    uint8_t *end = at + DATA_MAX + DATA_SLACK;

    memset(p, 0, sizeof(*p));
    p->layout = layout;
    p->iov = w->arena.iov;
    switch (layout) {
    case LAYOUT_EDGE:
        add_piece(p, end - size, size);
        break;
    case LAYOUT_SPLIT:
        split(p, at, size, w->step);
        break;
    case LAYOUT_BYTES:
        split_bytes(p, at, size, 40);
        break;
    case LAYOUT_MOST:
        split_bytes(p, at, size, IOV_MAX);
        break;
    case LAYOUT_TOO_MANY:
        split_bytes(p, at, size, IOV_MAX + 1);
        break;
    case LAYOUT_NULL:
        add_piece(p, NULL, size);
        break;
    case LAYOUT_HOLE:
        add_piece(p, end - size / 2, size);
        break;
    case LAYOUT_BAD_PIECE:
        add_piece(p, at, size / 3);
        add_piece(p, w->arena.hole, size / 3 + 1);
        add_piece(p, at + size, size / 3);
        break;
    case LAYOUT_KERNEL:
        add_piece(p, KERNEL_POINTER, size);
        break;
    case LAYOUT_READONLY:
        add_piece(p, w->arena.readonly, size < 4096 ? size : 4096);
        break;
    case LAYOUT_HUGE:
        add_piece(p, at, size);
        add_piece(p, at + size, SSIZE_MAX);
        add_piece(p, at, SSIZE_MAX);
        break;
    case LAYOUT_NEGATIVE:
        add_piece(p, at, size);
        add_piece(p, at + size, -1);
        break;
    default:
        add_piece(p, at, size);
    }
    if (layout == LAYOUT_BAD_VECTOR) {
        p->iov = (struct iovec *)w->arena.hole;
    }
}

bool arg_pieces_are_good(int layout)
{
    return layout <= LAYOUT_TOO_MANY;
}

/* Puts the step's data into the pieces, and other bytes between them. */
void arg_fill(const struct worker *w, const struct pieces *p,
              uint8_t *at, size_t size)
{
    size_t offset = 0;
    int i;

    if (p->layout == LAYOUT_HOLE) {
        peer_pattern(p->iov[0].iov_base, size / 2, w->step, 0);
        return;
    }
    if (!arg_pieces_are_good(p->layout)) {
        peer_pattern(at, size, w->step, 0);
        return;
    }
    for (i = 0; i < p->num; i++) {
        peer_pattern(p->iov[i].iov_base, p->iov[i].iov_len, w->step, offset);
        offset += p->iov[i].iov_len;
    }
}

/*
 * Collects the received bytes, and checks that no others were written.  The
 * memory of the pieces was poisoned before.
 */
void arg_take(struct outcome *o, const struct worker *w,
              const struct pieces *p, size_t got)
{
    size_t used = 0;
    bool overrun = false;
    int i;

    if (!arg_pieces_are_good(p->layout)) {
        return;
    }
    for (i = 0; i < p->num; i++) {
        const uint8_t *from = p->iov[i].iov_base;
        size_t len = p->iov[i].iov_len;
        size_t part = got - used < len ? got - used : len;

        memcpy(w->arena.out + used, from, part);
        used += part;
        if (part < len && from[part] != POISON) {
            overrun = true;
        }
    }
    o->data = w->arena.out;
    o->len = used;
    outcome_fact(o, 'd', "overrun", overrun);
}

/* --- ancillary data ------------------------------------------------------- */

struct cmsghdr *arg_put_control(struct msghdr *msg, int level, int type,
                                const void *data, size_t len)
{
    struct cmsghdr *c;

    c = (struct cmsghdr *)((uint8_t *)msg->msg_control + msg->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), data, len);
    msg->msg_controllen += CMSG_SPACE(len);
    return c;
}

/* A message of IPv4, or of IPv6 where the addresses are its own. */
static struct cmsghdr *put_ip(struct msghdr *msg, int type, const void *data,
                              size_t len)
{
    if (world_family != WORLD_PLAIN) {
        return arg_put_control(msg, SOL_IP, type, data, len);
    }
    return arg_put_control(msg, SOL_IPV6, type == IP_TTL ? IPV6_HOPLIMIT
                                                         : IPV6_TCLASS,
                           data, len);
}

static void put_pktinfo(struct msghdr *msg, uint32_t addr)
{
    struct in_pktinfo info = { .ipi_spec_dst = arg_in_addr(addr) };
    struct in6_pktinfo info6 = { .ipi6_addr = arg_in6_addr(addr) };

    if (world_family == WORLD_PLAIN) {
        arg_put_control(msg, SOL_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
    } else {
        arg_put_control(msg, SOL_IP, IP_PKTINFO, &info, sizeof(info));
    }
}

void arg_control(const struct worker *w, struct msghdr *msg,
                 uint32_t control)
{
    uint32_t stamps = 1 << 4;   /* SOF_TIMESTAMPING_SOFTWARE */
    int ttl = 7, tos = 0x28, zero = 0;
    uint8_t tos_byte = 0x28;
    uint16_t segment = 500;
    struct cmsghdr *c;

    msg->msg_control = w->arena.small + 1024;
    msg->msg_controllen = 0;
    memset(msg->msg_control, 0, 256);
    switch (control) {
    case CONTROL_TTL:
        put_ip(msg, IP_TTL, &ttl, sizeof(ttl));
        break;
    case CONTROL_TOS:
        put_ip(msg, IP_TOS, &tos, sizeof(tos));
        break;
    case CONTROL_TOS_BYTE:
        put_ip(msg, IP_TOS, &tos_byte, sizeof(tos_byte));
        break;
    case CONTROL_TTL_ZERO:
        put_ip(msg, IP_TTL, &zero, sizeof(zero));
        break;
    case CONTROL_PKTINFO_FOREIGN:
        put_pktinfo(msg, ADDR_FOREIGN);
        break;
    case CONTROL_PKTINFO:
        put_pktinfo(msg, ADDR_ME);
        break;
    case CONTROL_SEGMENT:
        arg_put_control(msg, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
        break;
    case CONTROL_TWO:
        put_ip(msg, IP_TTL, &ttl, sizeof(ttl));
        put_ip(msg, IP_TOS, &tos, sizeof(tos));
        break;
    case CONTROL_SHORT:
        c = put_ip(msg, IP_TTL, &ttl, sizeof(ttl));
        c->cmsg_len = 8;
        break;
    case CONTROL_LONG:
        c = put_ip(msg, IP_TTL, &ttl, sizeof(ttl));
        c->cmsg_len = 200;
        break;
    case CONTROL_LEVEL:
        arg_put_control(msg, 1234, 1, &ttl, sizeof(ttl));
        break;
    case CONTROL_RIGHTS:
        arg_put_control(msg, SOL_SOCKET, SCM_RIGHTS, &zero, sizeof(zero));
        break;
    case CONTROL_TIMESTAMP:
        arg_put_control(msg, SOL_SOCKET, SO_TIMESTAMPING, &stamps,
                        sizeof(stamps));
        break;
    case CONTROL_BAD:
        msg->msg_control = w->arena.hole;
        msg->msg_controllen = 32;
        break;
    case CONTROL_HUGE:
        put_ip(msg, IP_TTL, &ttl, sizeof(ttl));
        msg->msg_controllen = INT_MAX;
        break;
    default:
        msg->msg_control = NULL;
    }
}

static void pktinfo_facts(struct outcome *o, const uint8_t *data)
{
    struct in_pktinfo info;

    memcpy(&info, data, sizeof(info));
    outcome_fact(o, 'd', "pktinfo.interface", info.ipi_ifindex != 0);
    outcome_fact(o, 'x', "pktinfo.spec_dst", ntohl(info.ipi_spec_dst.s_addr));
    outcome_fact(o, 'x', "pktinfo.addr", ntohl(info.ipi_addr.s_addr));
}

static void pktinfo6_facts(struct outcome *o, const uint8_t *data)
{
    struct in6_pktinfo info;

    memcpy(&info, data, sizeof(info));
    outcome_fact(o, 'd', "pktinfo.interface", info.ipi6_ifindex != 0);
    outcome_fact(o, 'x', "pktinfo.addr",
                 ntohl(meaning_of(&info.ipi6_addr).s_addr));
}

static void recverr_facts(struct outcome *o, const uint8_t *data, size_t len)
{
    struct sock_extended_err ee;

    memcpy(&ee, data, sizeof(ee));
    outcome_fact(o, 'd', "recverr.errno", ee.ee_errno);
    outcome_fact(o, 'd', "recverr.origin", ee.ee_origin);
    outcome_fact(o, 'd', "recverr.type", ee.ee_type);
    outcome_fact(o, 'd', "recverr.code", ee.ee_code);
    outcome_fact(o, 'd', "recverr.info", ee.ee_info);
    if (len >= sizeof(ee) + sizeof(struct sockaddr_in)) {
        address_facts(o, data + sizeof(ee), len - sizeof(ee));
    }
}

void arg_control_facts(struct outcome *o, struct msghdr *msg)
{
    struct cmsghdr *c;
    int32_t value;

    outcome_fact(o, 'd', "controllen", msg->msg_controllen);
    for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        size_t len = c->cmsg_len - CMSG_LEN(0);
        const uint8_t *data = CMSG_DATA(c);

        outcome_fact(o, 'd', "cmsg.level", c->cmsg_level);
        outcome_fact(o, 'd', "cmsg.type", c->cmsg_type);
        outcome_fact(o, 'd', "cmsg.len", len);
        if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_PKTINFO &&
            len >= sizeof(struct in_pktinfo)) {
            pktinfo_facts(o, data);
        } else if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR &&
                   len >= sizeof(struct sock_extended_err)) {
            recverr_facts(o, data, len);
        } else if (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_PKTINFO &&
                   len >= sizeof(struct in6_pktinfo)) {
            pktinfo6_facts(o, data);
        } else if (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR &&
                   len >= sizeof(struct sock_extended_err)) {
            recverr_facts(o, data, len);
        } else if (len == sizeof(value)) {
            memcpy(&value, data, sizeof(value));
            outcome_fact(o, 'd', "cmsg.value", value);
        } else if (len == 1) {
            outcome_fact(o, 'd', "cmsg.value", *data);
        }
        /* Longer data are times. */
    }
}
