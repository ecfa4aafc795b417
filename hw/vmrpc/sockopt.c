/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options and ancillary data between an IPv4 guest and its host
 *
 * Theory of operation
 *
 * What the guest asks of its IPv4 socket, the host asks of its own, which is
 * an IPv6 socket when the device translates. Each option the device can carry
 * out is one row of a table: the guest's numbers, the host's for both
 * families, the type of the value. An option without a row does not exist
 * (-ENOPROTOOPT): success without effect would be worse.
 *
 * Some values change with the family. IPv6 headers are twenty bytes longer,
 * so that the guest's MTU is the host's less twenty: then the payload the
 * guest computes (MTU - 28 for UDP, MTU - 40 for TCP) is the one that fits.
 * TCP_MAXSEG counts payload and stays as it is. The IPv4 TTL is 1 to 255 or
 * -1, IPv6 also takes 0; IP_TOS is one byte whatever the int holds.
 *
 * Ancillary data goes through two tables, one a direction. The numbers of
 * interfaces never pass: the guest has one interface, and its number on the
 * host would let the guest choose the host's way out. The errno of a queued
 * ICMP error passes as the host's socket reports it, so that the error queue
 * and the call that failed agree; type and code follow RFC 7915, 5.2.
 *
 * Not here: timeouts (SO_RCVTIMEO), which the guest waits for itself, and
 * multicast memberships, which carry addresses and interfaces.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <time.h>
#include <glib.h>
#include <linux/errqueue.h>

#include "hw/vmrpc/sockopt.h"

/*
 * The guest's numbers at level SOL_SOCKET (asm-generic/socket.h): these alone
 * differ between architectures.
 */
enum {
    G_SOL_SOCKET = 1,
    G_SO_DEBUG = 1,
    G_SO_REUSEADDR = 2,
    G_SO_TYPE = 3,
    G_SO_ERROR = 4,
    G_SO_DONTROUTE = 5,
    G_SO_BROADCAST = 6,
    G_SO_SNDBUF = 7,
    G_SO_RCVBUF = 8,
    G_SO_KEEPALIVE = 9,
    G_SO_OOBINLINE = 10,
    G_SO_NO_CHECK = 11,
    G_SO_PRIORITY = 12,
    G_SO_LINGER = 13,
    G_SO_REUSEPORT = 15,
    G_SO_RCVLOWAT = 18,
    G_SO_SNDLOWAT = 19,
    G_SO_BINDTODEVICE = 25,
    G_SO_TIMESTAMP_OLD = 29,
    G_SO_ACCEPTCONN = 30,
    G_SO_SNDBUFFORCE = 32,
    G_SO_RCVBUFFORCE = 33,
    G_SO_TIMESTAMPNS_OLD = 35,
    G_SO_MARK = 36,
    G_SO_PROTOCOL = 38,
    G_SO_DOMAIN = 39,
    G_SO_RXQ_OVFL = 40,
    G_SO_SELECT_ERR_QUEUE = 45,
    G_SO_MAX_PACING_RATE = 47,
    G_SO_BINDTOIFINDEX = 62,
    G_SO_TIMESTAMP_NEW = 63,
    G_SO_TIMESTAMPNS_NEW = 64,
};

/* How much longer an IPv6 header is than an IPv4 header. */
#define HEADER_DIFFERENCE 20

/* A name of a congestion control, with its NUL (TCP_CA_NAME_MAX). */
#define STRING_MAX 16

enum {
    SET = 1 << 0,
    GET = 1 << 1,
    STREAM = 1 << 2,
    DGRAM = 1 << 3,
    /* IPv4 options may be one byte long (do_ip_setsockopt() in Linux) */
    BYTE = 1 << 4,
    /* and most of them none at all, which is 0 */
    EMPTY = 1 << 5,
    /* nobody may set it, whatever the value: -EPERM */
    REFUSED = 1 << 6,
    RW = SET | GET,
    BOTH = STREAM | DGRAM,
};

/* What changes between the families, beside the number. */
typedef enum Twist {
    NONE,
    TWIST_TTL,                  /* 0 is no TTL */
    TWIST_TOS,                  /* the low byte of the int */
    TWIST_MTU,                  /* HEADER_DIFFERENCE less */
    TWIST_DOMAIN,               /* AF_INET6 is the guest's AF_INET */
} Twist;

typedef struct VmrpcSockoptRow {
    int guest_level, guest_name;
    int level4, name4;          /* of an AF_INET socket */
    int level6, name6;          /* of an AF_INET6 socket */
    VmrpcSockoptValue value;
    unsigned flags;
    Twist twist;
    int min, max;               /* of an int, for set; both 0: any */
    int error;                  /* for an int out of range; 0: -EINVAL */
} VmrpcSockoptRow;

/* An option of IPv4 and the one of IPv6 that does the same. */
#define ROW_IP(name, name_of_6, value_, flags_, ...) \
    { .guest_level = SOL_IP, .guest_name = name, \
      .level4 = SOL_IP, .name4 = name, \
      .level6 = SOL_IPV6, .name6 = name_of_6, \
      .value = VMRPC_SOCKOPT_ ## value_, .flags = (flags_) | BYTE, \
      ## __VA_ARGS__ }
/* An option that sockets of both families have under the same number. */
#define ROW_SAME(level, name, value_, flags_, ...) \
    { .guest_level = level, .guest_name = name, \
      .level4 = level, .name4 = name, .level6 = level, .name6 = name, \
      .value = VMRPC_SOCKOPT_ ## value_, .flags = (flags_), ## __VA_ARGS__ }
#define ROW_TCP(name, value_, flags_) \
    ROW_SAME(SOL_TCP, name, value_, (flags_) | STREAM)
#define ROW_UDP(name, value_, ...) \
    ROW_SAME(SOL_UDP, name, value_, RW | DGRAM, ## __VA_ARGS__)
/* The same, where the numbers of guest and host may differ. */
#define ROW_SOCKET(name, value_, flags_, ...) \
    { .guest_level = G_SOL_SOCKET, .guest_name = G_SO_ ## name, \
      .level4 = SOL_SOCKET, .name4 = SO_ ## name, \
      .level6 = SOL_SOCKET, .name6 = SO_ ## name, \
      .value = VMRPC_SOCKOPT_ ## value_, .flags = (flags_) | BOTH, \
      ## __VA_ARGS__ }

static const VmrpcSockoptRow rows[] = {
    ROW_SOCKET(DEBUG, BOOL, RW),
    ROW_SOCKET(REUSEADDR, BOOL, RW),
    ROW_SOCKET(TYPE, INT, GET),
    ROW_SOCKET(ERROR, INT, GET),
    ROW_SOCKET(DONTROUTE, BOOL, RW),
    ROW_SOCKET(BROADCAST, BOOL, RW),
    ROW_SOCKET(SNDBUF, INT, RW),
    ROW_SOCKET(RCVBUF, INT, RW),
    ROW_SOCKET(KEEPALIVE, BOOL, RW),
    ROW_SOCKET(OOBINLINE, BOOL, RW),
    ROW_SOCKET(NO_CHECK, BOOL, RW),
    /* above 6 takes CAP_NET_ADMIN, which is the host's */
    ROW_SOCKET(PRIORITY, INT, RW, .min = 0, .max = 6, .error = -EPERM),
    ROW_SOCKET(LINGER, LINGER, RW),
    ROW_SOCKET(REUSEPORT, BOOL, RW),
    ROW_SOCKET(RCVLOWAT, INT, RW),
    ROW_SOCKET(SNDLOWAT, INT, GET),
    ROW_SOCKET(TIMESTAMP_OLD, BOOL, RW),
    ROW_SOCKET(TIMESTAMPNS_OLD, BOOL, RW),
    ROW_SOCKET(TIMESTAMP_NEW, BOOL, RW),
    ROW_SOCKET(TIMESTAMPNS_NEW, BOOL, RW),
    ROW_SOCKET(ACCEPTCONN, INT, GET),
    ROW_SOCKET(PROTOCOL, INT, GET),
    ROW_SOCKET(DOMAIN, INT, GET, .twist = TWIST_DOMAIN),
    ROW_SOCKET(RXQ_OVFL, BOOL, RW),
    ROW_SOCKET(SELECT_ERR_QUEUE, BOOL, RW),
    ROW_SOCKET(MAX_PACING_RATE, INT, RW),
    ROW_SOCKET(BINDTODEVICE, INT, SET | REFUSED),
    ROW_SOCKET(BINDTOIFINDEX, INT, SET | REFUSED),
    ROW_SOCKET(MARK, INT, SET | REFUSED),
    ROW_SOCKET(SNDBUFFORCE, INT, SET | REFUSED),
    ROW_SOCKET(RCVBUFFORCE, INT, SET | REFUSED),

    ROW_IP(IP_TOS, IPV6_TCLASS, INT, RW | BOTH | EMPTY, .twist = TWIST_TOS),
    ROW_IP(IP_TTL, IPV6_UNICAST_HOPS, INT, RW | BOTH,
           .twist = TWIST_TTL, .min = -1, .max = 255),
    ROW_IP(IP_PKTINFO, IPV6_RECVPKTINFO, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVTTL, IPV6_RECVHOPLIMIT, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVTOS, IPV6_RECVTCLASS, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVERR, IPV6_RECVERR, BOOL, RW | BOTH | EMPTY),
    /* IP_PMTUDISC_* and IPV6_PMTUDISC_* are the same numbers, 0 to 5 */
    ROW_IP(IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, INT, RW | BOTH | EMPTY,
           .min = IP_PMTUDISC_DONT, .max = IP_PMTUDISC_OMIT),
    ROW_IP(IP_MTU, IPV6_MTU, INT, GET | BOTH, .twist = TWIST_MTU),
    ROW_IP(IP_MINTTL, IPV6_MINHOPCOUNT, INT, RW | BOTH, .min = 0, .max = 255),
    ROW_IP(IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, INT, RW | DGRAM,
           .min = -1, .max = 255),
    ROW_IP(IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, BOOL, RW | BOTH),
    ROW_IP(IP_MULTICAST_ALL, IPV6_MULTICAST_ALL, INT, RW | BOTH,
           .min = 0, .max = 1),
    ROW_SAME(SOL_IP, IP_BIND_ADDRESS_NO_PORT, BOOL,
             RW | BOTH | BYTE | EMPTY),
    /* to use addresses that are not one's own is up to the host */
    ROW_SAME(SOL_IP, IP_FREEBIND, INT, SET | BOTH | REFUSED),
    ROW_SAME(SOL_IP, IP_TRANSPARENT, INT, SET | BOTH | REFUSED),

    ROW_TCP(TCP_NODELAY, BOOL, RW),
    ROW_TCP(TCP_MAXSEG, INT, RW),
    ROW_TCP(TCP_CORK, BOOL, RW),
    ROW_TCP(TCP_KEEPIDLE, INT, RW),
    ROW_TCP(TCP_KEEPINTVL, INT, RW),
    ROW_TCP(TCP_KEEPCNT, INT, RW),
    ROW_TCP(TCP_SYNCNT, INT, RW),
    ROW_TCP(TCP_LINGER2, INT, RW),
    ROW_TCP(TCP_DEFER_ACCEPT, INT, RW),
    ROW_TCP(TCP_WINDOW_CLAMP, INT, RW),
    ROW_TCP(TCP_INFO, INFO, GET),
    ROW_TCP(TCP_QUICKACK, INT, RW),
    ROW_TCP(TCP_CONGESTION, STRING, RW),
    ROW_TCP(TCP_THIN_LINEAR_TIMEOUTS, INT, RW),
    ROW_TCP(TCP_THIN_DUPACK, INT, RW),
    ROW_TCP(TCP_USER_TIMEOUT, INT, RW),
    ROW_TCP(TCP_FASTOPEN, INT, RW),
    ROW_TCP(TCP_FASTOPEN_CONNECT, INT, RW),
    ROW_TCP(TCP_NOTSENT_LOWAT, INT, RW),
    ROW_TCP(TCP_INQ, INT, RW),
    /* the host's own tools for moving connections; its keys */
    ROW_TCP(TCP_REPAIR, INT, SET | REFUSED),
    ROW_TCP(TCP_TIMESTAMP, INT, SET | REFUSED),
    ROW_TCP(TCP_MD5SIG, INT, SET | REFUSED),

    ROW_UDP(UDP_CORK, BOOL),
    ROW_UDP(UDP_NO_CHECK6_TX, BOOL),
    ROW_UDP(UDP_NO_CHECK6_RX, BOOL),
    ROW_UDP(UDP_SEGMENT, INT, .min = 0, .max = UINT16_MAX),
    ROW_UDP(UDP_GRO, BOOL),
};

static const VmrpcSockoptRow *find_row(int level, int optname)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].guest_level == level && rows[i].guest_name == optname) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Little-endian numbers of the guest, at any alignment. */

static uint32_t get32(const void *from)
{
    uint32_t v;

    memcpy(&v, from, sizeof(v));
    return GUINT32_FROM_LE(v);
}

static uint64_t get64(const void *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof(v));
    return GUINT64_FROM_LE(v);
}

static void put16(void *to, uint16_t v)
{
    v = GUINT16_TO_LE(v);
    memcpy(to, &v, sizeof(v));
}

static void put32(void *to, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    memcpy(to, &v, sizeof(v));
}

static void put64(void *to, uint64_t v)
{
    v = GUINT64_TO_LE(v);
    memcpy(to, &v, sizeof(v));
}

/* The guest's MTU, from the host's. */
static uint32_t guest_mtu(uint32_t mtu)
{
    return mtu > HEADER_DIFFERENCE ? mtu - HEADER_DIFFERENCE : 0;
}

static int set_int(const VmrpcSockoptRow *row, const void *value, size_t len,
                   VmrpcSockopt *opt)
{
    int v;

    if (row->flags & REFUSED) {
        return -EPERM;
    }
    if (len >= sizeof(uint32_t)) {
        v = (int)get32(value);
    } else if (len >= 1 && row->flags & BYTE) {
        v = *(const uint8_t *)value;
    } else if (len == 0 && row->flags & EMPTY) {
        v = 0;
    } else {
        return -EINVAL;
    }
    if (row->value == VMRPC_SOCKOPT_BOOL) {
        v = v != 0;
    } else if (row->twist == TWIST_TOS) {
        v &= 0xff;
    } else if (((row->min || row->max) && (v < row->min || v > row->max)) ||
               (row->twist == TWIST_TTL && v == 0)) {
        return row->error ?: -EINVAL;
    }
    opt->i = v;
    opt->len = sizeof(opt->i);
    return 0;
}

static int set_linger(const void *value, size_t len, VmrpcSockopt *opt)
{
    if (len < 2 * sizeof(uint32_t)) {
        return -EINVAL;
    }
    opt->linger.l_onoff = get32(value);
    opt->linger.l_linger = get32((const uint8_t *)value + 4);
    opt->len = sizeof(opt->linger);
    return 0;
}

/* Linux cuts the name, and so do we; it must end in a NUL all the same. */
static int set_string(const void *value, size_t len, VmrpcSockopt *opt)
{
    if (len < 1) {
        return -EINVAL;
    }
    memset(opt->bytes, 0, STRING_MAX);
    memcpy(opt->bytes, value, MIN(len, STRING_MAX - 1));
    opt->len = STRING_MAX;
    return 0;
}

/* Room for getsockopt(): the whole value, whatever the guest has room for. */
static socklen_t room_for(VmrpcSockoptValue value)
{
    switch (value) {
    case VMRPC_SOCKOPT_LINGER:
        return sizeof(struct linger);
    case VMRPC_SOCKOPT_STRING:
        return STRING_MAX;
    case VMRPC_SOCKOPT_INFO:
        return VMRPC_SOCKOPT_MAX;
    default:
        return sizeof(int);
    }
}

int vmrpc_sockopt_to_host(VmrpcSockKind kind, VmrpcSockoptDir dir,
                          int level, int optname,
                          const void *value, size_t len, VmrpcSockopt *opt)
{
    const VmrpcSockoptRow *row = find_row(level, optname);
    unsigned need = (dir == VMRPC_SOCKOPT_SET ? SET : GET) |
                    (kind.type == SOCK_STREAM ? STREAM : DGRAM);

    if (!row || (row->flags & need) != need) {
        return -ENOPROTOOPT;
    }
    opt->row = row;
    opt->value = row->value;
    opt->translated = kind.family == AF_INET6;
    opt->level = opt->translated ? row->level6 : row->level4;
    opt->optname = opt->translated ? row->name6 : row->name4;
    if (dir == VMRPC_SOCKOPT_GET) {
        /* its fields have many sizes; it cannot be swapped */
        if (row->value == VMRPC_SOCKOPT_INFO &&
            G_BYTE_ORDER != G_LITTLE_ENDIAN) {
            return -ENOPROTOOPT;
        }
        memset(opt->bytes, 0, sizeof(opt->bytes));
        opt->len = room_for(row->value);
        return 0;
    }
    switch (row->value) {
    case VMRPC_SOCKOPT_LINGER:
        return set_linger(value, len, opt);
    case VMRPC_SOCKOPT_STRING:
        return set_string(value, len, opt);
    default:
        return set_int(row, value, len, opt);
    }
}

static ssize_t get_int(const VmrpcSockopt *opt, uint8_t *value, size_t cap)
{
    uint8_t wire[sizeof(uint32_t)];
    int v = opt->i;

    if (opt->len < sizeof(opt->i)) {
        return -EINVAL;
    }
    if (opt->translated && opt->row->twist == TWIST_MTU) {
        v = guest_mtu(v);
    } else if (opt->row->twist == TWIST_DOMAIN) {
        v = AF_INET;
    }
    if (opt->row->flags & BYTE && cap > 0 && cap < sizeof(wire) &&
        v >= 0 && v <= UINT8_MAX) {
        value[0] = v;
        return 1;
    }
    put32(wire, v);
    memcpy(value, wire, MIN(cap, sizeof(wire)));
    return MIN(cap, sizeof(wire));
}

static ssize_t get_linger(const VmrpcSockopt *opt, uint8_t *value, size_t cap)
{
    uint8_t wire[2 * sizeof(uint32_t)];

    if (opt->len < sizeof(opt->linger)) {
        return -EINVAL;
    }
    put32(wire, opt->linger.l_onoff);
    put32(wire + 4, opt->linger.l_linger);
    memcpy(value, wire, MIN(cap, sizeof(wire)));
    return MIN(cap, sizeof(wire));
}

static ssize_t get_bytes(const VmrpcSockopt *opt, uint8_t *value, size_t cap)
{
    size_t len = MIN(opt->len, room_for(opt->value));
    size_t pmtu_end = offsetof(struct tcp_info, tcpi_pmtu) + sizeof(uint32_t);
    size_t n = MIN(cap, len);

    memcpy(value, opt->bytes, n);
    if (opt->value == VMRPC_SOCKOPT_INFO && opt->translated &&
        n >= pmtu_end) {
        uint8_t *pmtu = value + pmtu_end - sizeof(uint32_t);

        put32(pmtu, guest_mtu(get32(pmtu)));
    }
    return n;
}

ssize_t vmrpc_sockopt_from_host(const VmrpcSockopt *opt, void *value,
                                size_t cap)
{
    switch (opt->value) {
    case VMRPC_SOCKOPT_LINGER:
        return get_linger(opt, value, cap);
    case VMRPC_SOCKOPT_STRING:
    case VMRPC_SOCKOPT_INFO:
        return get_bytes(opt, value, cap);
    default:
        return get_int(opt, value, cap);
    }
}

/*
 * Ancillary data. The guest's form of each payload is spelled out in sizes
 * and offsets, the host's is its own structs.
 */

#define G_AF_INET 2

/* Lengths are bounded before they are rounded. */
#define G_CMSG_ROUND(len) (((size_t)(len) + 7) & ~(size_t)7)

enum {
    G_CMSG_HEADER = 16,         /* u64 length, s32 level, s32 type */
    G_PKTINFO = 12,             /* s32 ifindex, spec_dst, addr */
    G_EXTENDED_ERR = 16,        /* struct sock_extended_err */
    G_RECVERR = 32,             /* that, and a struct sockaddr_in */
    G_TIME = 16,                /* s64 seconds, s64 of their parts */
};

typedef struct RecvErr4 {
    struct sock_extended_err ee;
    struct sockaddr_in offender;
} RecvErr4;

typedef struct RecvErr6 {
    struct sock_extended_err ee;
    struct sockaddr_in6 offender;
} RecvErr6;

/*
 * One type of message: how it is known on one side, what it is on the other.
 * @convert reads from_size bytes and writes to_size bytes, at any alignment;
 * it returns 0 or a negative errno.
 */
typedef struct Conversion {
    int family;                 /* of the host's socket; 0: any */
    int from_level, from_type;
    size_t from_size;
    int to_level, to_type;
    size_t to_size;
    int (*convert)(const uint8_t *from, uint8_t *to, const VmrpcCmsgOps *ops);
} Conversion;

/* Of both tables. */
#define PAYLOAD_MAX 64

static int ttl_to_host(const uint8_t *from, uint8_t *to,
                       const VmrpcCmsgOps *ops)
{
    int ttl = (int)get32(from);

    if (ttl < 1 || ttl > 255) {
        return -EINVAL;
    }
    memcpy(to, &ttl, sizeof(ttl));
    return 0;
}

static int tos_to_host(const uint8_t *from, uint8_t *to,
                       const VmrpcCmsgOps *ops)
{
    int tos = (int)get32(from);

    if (tos < 0 || tos > 255) {
        return -EINVAL;
    }
    memcpy(to, &tos, sizeof(tos));
    return 0;
}

static int tos_byte_to_host(const uint8_t *from, uint8_t *to,
                            const VmrpcCmsgOps *ops)
{
    int tos = from[0];

    memcpy(to, &tos, sizeof(tos));
    return 0;
}

static int segment_to_host(const uint8_t *from, uint8_t *to,
                           const VmrpcCmsgOps *ops)
{
    uint16_t size = from[0] | from[1] << 8;

    memcpy(to, &size, sizeof(size));
    return 0;
}

/* The source address of the guest's in_pktinfo, once its interface is ours. */
static int read_pktinfo(const uint8_t *from, const VmrpcCmsgOps *ops,
                        struct in_addr *source)
{
    uint32_t ifindex = get32(from);

    if (ifindex && ifindex != ops->guest_ifindex) {
        return -ENODEV;
    }
    memcpy(source, from + 4, sizeof(*source));
    return 0;
}

static int pktinfo_to_host4(const uint8_t *from, uint8_t *to,
                            const VmrpcCmsgOps *ops)
{
    struct in_pktinfo info = { 0 };
    int ret = read_pktinfo(from, ops, &info.ipi_spec_dst);

    if (ret < 0) {
        return ret;
    }
    if (info.ipi_spec_dst.s_addr != INADDR_ANY &&
        (!ops->is_source || !ops->is_source(ops->opaque, info.ipi_spec_dst))) {
        return -EINVAL;
    }
    memcpy(to, &info, sizeof(info));
    return 0;
}

static int pktinfo_to_host6(const uint8_t *from, uint8_t *to,
                            const VmrpcCmsgOps *ops)
{
    struct in6_pktinfo info = { 0 };
    struct in_addr source;
    int ret = read_pktinfo(from, ops, &source);

    if (ret < 0) {
        return ret;
    }
    if (source.s_addr != INADDR_ANY &&
        (!ops->to6 || !ops->to6(ops->opaque, source, &info.ipi6_addr))) {
        return -EINVAL;
    }
    memcpy(to, &info, sizeof(info));
    return 0;
}

static int byte_from_host(const uint8_t *from, uint8_t *to,
                          const VmrpcCmsgOps *ops)
{
    to[0] = from[0];
    return 0;
}

static int int_from_host(const uint8_t *from, uint8_t *to,
                         const VmrpcCmsgOps *ops)
{
    uint32_t v;

    memcpy(&v, from, sizeof(v));
    put32(to, v);
    return 0;
}

static int int_to_byte_from_host(const uint8_t *from, uint8_t *to,
                                 const VmrpcCmsgOps *ops)
{
    int v;

    memcpy(&v, from, sizeof(v));
    to[0] = v;
    return 0;
}

static int time_from_host(const uint8_t *from, uint8_t *to,
                          const VmrpcCmsgOps *ops)
{
    uint64_t v[2];

    memcpy(v, from, sizeof(v));
    put64(to, v[0]);
    put64(to + 8, v[1]);
    return 0;
}

static void write_pktinfo(uint8_t *to, uint32_t ifindex,
                          struct in_addr source, struct in_addr destination)
{
    put32(to, ifindex);
    memcpy(to + 4, &source, sizeof(source));
    memcpy(to + 8, &destination, sizeof(destination));
}

static int pktinfo_from_host4(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    struct in_pktinfo info;

    memcpy(&info, from, sizeof(info));
    write_pktinfo(to, ops->guest_ifindex, info.ipi_spec_dst, info.ipi_addr);
    return 0;
}

static int pktinfo_from_host6(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    struct in6_pktinfo info;
    struct in_addr addr;

    memcpy(&info, from, sizeof(info));
    if (!ops->to4 || !ops->to4(ops->opaque, &info.ipi6_addr, &addr)) {
        return -ENOENT;
    }
    write_pktinfo(to, ops->guest_ifindex, addr, addr);
    return 0;
}

static void write_recverr(uint8_t *to, const struct sock_extended_err *ee,
                          const struct in_addr *offender, in_port_t port)
{
    memset(to, 0, G_RECVERR);
    put32(to, ee->ee_errno);
    to[4] = ee->ee_origin;
    to[5] = ee->ee_type;
    to[6] = ee->ee_code;
    put32(to + 8, ee->ee_info);
    put32(to + 12, ee->ee_data);
    if (offender) {
        put16(to + G_EXTENDED_ERR, G_AF_INET);
        memcpy(to + G_EXTENDED_ERR + 2, &port, sizeof(port));
        memcpy(to + G_EXTENDED_ERR + 4, offender, sizeof(*offender));
    }
}

static int recverr_from_host4(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    RecvErr4 err;

    memcpy(&err, from, sizeof(err));
    write_recverr(to, &err.ee,
                  err.offender.sin_family == AF_INET ? &err.offender.sin_addr
                                                     : NULL,
                  err.offender.sin_port);
    return 0;
}

/*
 * ICMPv6 type and code to ICMP's (RFC 7915, 5.2). What a translator would
 * drop there cannot be dropped here, the error has happened: it becomes the
 * nearest general one.
 */
static void icmp6_to_icmp(struct sock_extended_err *ee)
{
    enum { UNREACH = 3, EXCEEDED = 11, PROBLEM = 12 };
    static const uint8_t unreach[] = { 1, 10, 1, 1, 3, 10, 10 };
    uint8_t type = PROBLEM, code = 0;

    switch (ee->ee_type) {
    case 1:                     /* destination unreachable */
        type = UNREACH;
        code = ee->ee_code < sizeof(unreach) ? unreach[ee->ee_code] : 1;
        break;
    case 2:                     /* packet too big */
        type = UNREACH;
        code = 4;
        ee->ee_info = guest_mtu(ee->ee_info);
        break;
    case 3:                     /* time exceeded */
        type = EXCEEDED;
        code = ee->ee_code;
        break;
    case 4:                     /* parameter problem */
        if (ee->ee_code == 1) { /* unknown next header: no such protocol */
            type = UNREACH;
            code = 2;
        }
        break;
    }
    ee->ee_origin = SO_EE_ORIGIN_ICMP;
    ee->ee_type = type;
    ee->ee_code = code;
}

static int recverr_from_host6(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    RecvErr6 err;
    struct in_addr addr;
    bool known;

    memcpy(&err, from, sizeof(err));
    if (err.ee.ee_origin == SO_EE_ORIGIN_ICMP6) {
        icmp6_to_icmp(&err.ee);
    } else if (err.ee.ee_origin == SO_EE_ORIGIN_LOCAL &&
               err.ee.ee_errno == EMSGSIZE) {
        err.ee.ee_info = guest_mtu(err.ee.ee_info);
    }
    known = err.offender.sin6_family == AF_INET6 && ops->to4 &&
            ops->to4(ops->opaque, &err.offender.sin6_addr, &addr);
    write_recverr(to, &err.ee, known ? &addr : NULL, err.offender.sin6_port);
    return 0;
}

/* from the guest */
static const Conversion to_host[] = {
    { AF_INET, SOL_IP, IP_TTL, 4, SOL_IP, IP_TTL, sizeof(int), ttl_to_host },
    { AF_INET, SOL_IP, IP_TOS, 4, SOL_IP, IP_TOS, sizeof(int), tos_to_host },
    { AF_INET, SOL_IP, IP_TOS, 1,
      SOL_IP, IP_TOS, sizeof(int), tos_byte_to_host },
    { AF_INET, SOL_IP, IP_PKTINFO, G_PKTINFO,
      SOL_IP, IP_PKTINFO, sizeof(struct in_pktinfo), pktinfo_to_host4 },
    { AF_INET6, SOL_IP, IP_TTL, 4,
      SOL_IPV6, IPV6_HOPLIMIT, sizeof(int), ttl_to_host },
    { AF_INET6, SOL_IP, IP_TOS, 4,
      SOL_IPV6, IPV6_TCLASS, sizeof(int), tos_to_host },
    { AF_INET6, SOL_IP, IP_TOS, 1,
      SOL_IPV6, IPV6_TCLASS, sizeof(int), tos_byte_to_host },
    { AF_INET6, SOL_IP, IP_PKTINFO, G_PKTINFO,
      SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo), pktinfo_to_host6 },
    { 0, SOL_UDP, UDP_SEGMENT, 2,
      SOL_UDP, UDP_SEGMENT, sizeof(uint16_t), segment_to_host },
};

/* from the host */
static const Conversion from_host[] = {
    { AF_INET, SOL_IP, IP_TTL, sizeof(int), SOL_IP, IP_TTL, 4, int_from_host },
    { AF_INET, SOL_IP, IP_TOS, 1, SOL_IP, IP_TOS, 1, byte_from_host },
    { AF_INET, SOL_IP, IP_PKTINFO, sizeof(struct in_pktinfo),
      SOL_IP, IP_PKTINFO, G_PKTINFO, pktinfo_from_host4 },
    { AF_INET, SOL_IP, IP_RECVERR, sizeof(RecvErr4),
      SOL_IP, IP_RECVERR, G_RECVERR, recverr_from_host4 },
    { AF_INET6, SOL_IPV6, IPV6_HOPLIMIT, sizeof(int),
      SOL_IP, IP_TTL, 4, int_from_host },
    { AF_INET6, SOL_IPV6, IPV6_TCLASS, sizeof(int),
      SOL_IP, IP_TOS, 1, int_to_byte_from_host },
    { AF_INET6, SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo),
      SOL_IP, IP_PKTINFO, G_PKTINFO, pktinfo_from_host6 },
    { AF_INET6, SOL_IPV6, IPV6_RECVERR, sizeof(RecvErr6),
      SOL_IP, IP_RECVERR, G_RECVERR, recverr_from_host6 },
    { 0, SOL_UDP, UDP_GRO, sizeof(int), SOL_UDP, UDP_GRO, 4, int_from_host },
    { 0, SOL_TCP, TCP_CM_INQ, sizeof(int),
      SOL_TCP, TCP_CM_INQ, 4, int_from_host },
    { 0, SOL_SOCKET, SO_RXQ_OVFL, sizeof(uint32_t),
      G_SOL_SOCKET, G_SO_RXQ_OVFL, 4, int_from_host },
    { 0, SOL_SOCKET, SO_TIMESTAMP_OLD, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMP_OLD, G_TIME, time_from_host },
    { 0, SOL_SOCKET, SO_TIMESTAMPNS_OLD, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMPNS_OLD, G_TIME, time_from_host },
    { 0, SOL_SOCKET, SO_TIMESTAMP_NEW, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMP_NEW, G_TIME, time_from_host },
    { 0, SOL_SOCKET, SO_TIMESTAMPNS_NEW, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMPNS_NEW, G_TIME, time_from_host },
};

/* @known: whether there is one for this type, if not for this size */
static const Conversion *find_conversion(const Conversion *table, size_t n,
                                         int family, int level, int type,
                                         size_t size, bool *known)
{
    size_t i;

    *known = false;
    for (i = 0; i < n; i++) {
        if ((!table[i].family || table[i].family == family) &&
            table[i].from_level == level && table[i].from_type == type) {
            *known = true;
            if (table[i].from_size == size) {
                return &table[i];
            }
        }
    }
    return NULL;
}

ssize_t vmrpc_cmsg_to_host(int family, const void *guest, size_t guest_len,
                           void *host, size_t host_cap,
                           const VmrpcCmsgOps *ops)
{
    const uint8_t *from = guest;
    size_t left = guest_len, used = 0;

    if (guest_len > VMRPC_CMSG_MAX) {
        return -ENOBUFS;
    }
    /* like Linux, overlook what is too short to be a header */
    while (left >= G_CMSG_HEADER) {
        uint64_t len = get64(from);
        const Conversion *row;
        struct cmsghdr header;
        uint8_t payload[PAYLOAD_MAX];
        size_t step;
        bool known;
        int ret;

        if (len < G_CMSG_HEADER || len > left) {
            return -EINVAL;
        }
        row = find_conversion(to_host, G_N_ELEMENTS(to_host), family,
                              (int)get32(from + 8), (int)get32(from + 12),
                              len - G_CMSG_HEADER, &known);
        if (!row) {
            return -EINVAL;
        }
        ret = row->convert(from + G_CMSG_HEADER, payload, ops);
        if (ret < 0) {
            return ret;
        }
        if (CMSG_SPACE(row->to_size) > host_cap - used) {
            return -ENOBUFS;
        }
        header = (struct cmsghdr) {
            .cmsg_len = CMSG_LEN(row->to_size),
            .cmsg_level = row->to_level,
            .cmsg_type = row->to_type,
        };
        memset((uint8_t *)host + used, 0, CMSG_SPACE(row->to_size));
        memcpy((uint8_t *)host + used, &header, sizeof(header));
        memcpy((uint8_t *)host + used + CMSG_LEN(0), payload, row->to_size);
        used += CMSG_SPACE(row->to_size);
        step = MIN(G_CMSG_ROUND(len), left);
        from += step;
        left -= step;
    }
    return used;
}

/* Returns the bytes used, 0 if the message does not fit. */
static size_t write_guest(uint8_t *to, size_t room, const Conversion *row,
                          const uint8_t *payload)
{
    size_t len = G_CMSG_HEADER + row->to_size;
    size_t space = MIN(G_CMSG_ROUND(len), room);

    if (len > room) {
        return 0;
    }
    memset(to, 0, space);
    put64(to, len);
    put32(to + 8, row->to_level);
    put32(to + 12, row->to_type);
    memcpy(to + G_CMSG_HEADER, payload, row->to_size);
    return space;
}

size_t vmrpc_cmsg_from_host(int family, const void *host, size_t host_len,
                            void *guest, size_t guest_cap,
                            const VmrpcCmsgOps *ops, int *msg_flags,
                            VmrpcCmsgDrops *drops)
{
    const uint8_t *from = host;
    size_t left = host_len, used = 0, step, n;
    bool known;

    for (; left >= sizeof(struct cmsghdr); from += step, left -= step) {
        const Conversion *row;
        struct cmsghdr header;
        uint8_t payload[PAYLOAD_MAX];

        memcpy(&header, from, sizeof(header));
        if (header.cmsg_len < CMSG_LEN(0) || header.cmsg_len > left) {
            drops->malformed++;
            break;
        }
        step = MIN(CMSG_ALIGN(header.cmsg_len), left);
        row = find_conversion(from_host, G_N_ELEMENTS(from_host), family,
                              header.cmsg_level, header.cmsg_type,
                              header.cmsg_len - CMSG_LEN(0), &known);
        if (!row) {
            if (known) {
                drops->malformed++;
            } else {
                drops->unknown++;
            }
            continue;
        }
        if (row->convert(from + CMSG_LEN(0), payload, ops) < 0) {
            drops->no_address++;
            continue;
        }
        n = write_guest((uint8_t *)guest + used, guest_cap - used, row,
                        payload);
        if (!n) {
            drops->no_room++;
            *msg_flags |= MSG_CTRUNC;
        }
        used += n;
    }
    return used;
}
