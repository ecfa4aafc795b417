/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options between a guest and its host
 *
 * Theory of operation
 *
 * The guest sets options of an IPv4 socket.  The host sets the same options on
 * its own socket, which is IPv6 if the device translates.  An IPv6 socket of the
 * guest's has IPv6 options, which are the same on the host.  A table has one row
 * for each option that the device can carry out: the guest's numbers, the
 * host's for both families, the type of the value.  An option without a row
 * does not exist (-ENOPROTOOPT): success without effect would be worse.
 *
 * Some values change with the family.  An IPv6 header is 20 bytes longer, so
 * the guest's MTU is the host's less 20.  Then the payload that the guest
 * computes (MTU - 28 for UDP, MTU - 40 for TCP) is the one that fits.
 * TCP_MAXSEG counts payload and stays.  The IPv4 TTL is 1 to 255 or -1; IPv6
 * also accepts 0.  IP_TOS is one byte, whatever the int holds.
 *
 * A socket of AF_INET6 of the guest's has both an IPv4 and an IPv6 set, and one
 * socket on the host.  That has the values of the set in force.  When the kind
 * of its peers changes, those of the other set are unset
 * (VmrpcSockoptRow.unset).
 *
 * Not in the table: timeouts (SO_RCVTIMEO) and IPV6_V6ONLY, which the guest
 * implements, and multicast memberships, which carry addresses and interfaces
 * (groups.c).
 * IP_MULTICAST_ALL would let the guest receive groups that others have joined.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <time.h>
#include <glib.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/icmp-error.h"
#include "hw/vmrpc/wire/sockopt.h"

/* Bytes of the name of a congestion control, with a NUL (TCP_CA_NAME_MAX) */
#define STRING_MAX 16

enum {
    SET = 1 << 0,
    GET = 1 << 1,
    STREAM = 1 << 2,
    DGRAM = 1 << 3,
    /* IPv4 options may be one byte long (do_ip_setsockopt() in Linux) */
    BYTE = 1 << 4,
    /* and most of them empty, which means 0 */
    EMPTY = 1 << 5,
    /* never set, whatever the value: -EPERM */
    REFUSED = 1 << 6,
    /* of the guest's AF_INET6 sockets alone */
    ONLY6 = 1 << 7,
    /* of those, in force only with IPv4-mapped peers, or only with others */
    MAPPED = 1 << 8,
    PLAIN = 1 << 9,
    RW = SET | GET,
    BOTH = STREAM | DGRAM,
};

/* How a value changes between the families */
typedef enum Twist {
    NONE,
    TWIST_TTL,                  /* 0 is no valid TTL */
    TWIST_TOS,                  /* the low byte of the int */
    TWIST_MTU,                  /* less VMRPC_HEADER_DIFFERENCE */
    TWIST_DOMAIN,               /* AF_INET instead of AF_INET6 */
    TWIST_STAMPS,               /* see host_stamps() */
    TWIST_ERROR,                /* ICMP's instead of ICMPv6's: icmp-error.h */
} Twist;

typedef struct VmrpcSockoptRow {
    int guest_level, guest_name;
    int level4, name4;          /* of an AF_INET socket */
    int level6, name6;          /* of an AF_INET6 socket */
    VmrpcSockoptValue value;
    unsigned flags;
    Twist twist;
    int min, max;               /* of an int, for set; both 0: no limit */
    int error;                  /* for an int out of range; 0: -EINVAL */
    int unset;                  /* MAPPED, PLAIN: the value of a new socket */
} VmrpcSockoptRow;

/* An option of IPv4 and its IPv6 counterpart */
#define ROW_IP(name, name_of_6, value_, flags_, ...) \
    { .guest_level = SOL_IP, .guest_name = name, \
      .level4 = SOL_IP, .name4 = name, \
      .level6 = SOL_IPV6, .name6 = name_of_6, \
      .value = VMRPC_SOCKOPT_ ## value_, .flags = (flags_) | BYTE | MAPPED, \
      ## __VA_ARGS__ }
/* An option that has the same numbers for both families */
#define ROW_SAME(level, name, value_, flags_, ...) \
    { .guest_level = level, .guest_name = name, \
      .level4 = level, .name4 = name, .level6 = level, .name6 = name, \
      .value = VMRPC_SOCKOPT_ ## value_, .flags = (flags_), ## __VA_ARGS__ }
#define ROW_IPV6(name, value_, flags_, ...) \
    ROW_SAME(SOL_IPV6, name, value_, (flags_) | ONLY6 | PLAIN, ## __VA_ARGS__)
#define ROW_TCP(name, value_, flags_) \
    ROW_SAME(SOL_TCP, name, value_, (flags_) | STREAM)
#define ROW_UDP(name, value_, ...) \
    ROW_SAME(SOL_UDP, name, value_, RW | DGRAM, ## __VA_ARGS__)
/* The same at level SOL_SOCKET: guest and host may have other numbers. */
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
    ROW_SOCKET(ERROR, INT, GET, .twist = TWIST_ERROR),
    ROW_SOCKET(DONTROUTE, BOOL, RW),
    ROW_SOCKET(BROADCAST, BOOL, RW),
    ROW_SOCKET(SNDBUF, INT, RW),
    ROW_SOCKET(RCVBUF, INT, RW),
    ROW_SOCKET(KEEPALIVE, BOOL, RW),
    ROW_SOCKET(OOBINLINE, BOOL, RW),
    ROW_SOCKET(NO_CHECK, BOOL, RW),
    /* more than 6 needs CAP_NET_ADMIN on the host */
    ROW_SOCKET(PRIORITY, INT, RW, .min = 0, .max = 6, .error = -EPERM),
    ROW_SOCKET(LINGER, LINGER, RW),
    ROW_SOCKET(REUSEPORT, BOOL, RW),
    ROW_SOCKET(RCVLOWAT, INT, RW),
    ROW_SOCKET(SNDLOWAT, INT, GET),
    ROW_SOCKET(TIMESTAMP_OLD, BOOL, RW),
    ROW_SOCKET(TIMESTAMPNS_OLD, BOOL, RW),
    ROW_SOCKET(TIMESTAMP_NEW, BOOL, RW),
    ROW_SOCKET(TIMESTAMPNS_NEW, BOOL, RW),
    ROW_SOCKET(TIMESTAMPING_OLD, INT, SET, .twist = TWIST_STAMPS),
    ROW_SOCKET(TIMESTAMPING_NEW, INT, SET, .twist = TWIST_STAMPS),
    /* not for streams: it would move the gateways' MSG_PEEK */
    { .guest_level = G_SOL_SOCKET, .guest_name = G_SO_PEEK_OFF,
      .level4 = SOL_SOCKET, .name4 = SO_PEEK_OFF,
      .level6 = SOL_SOCKET, .name6 = SO_PEEK_OFF,
      .value = VMRPC_SOCKOPT_INT, .flags = RW | DGRAM },
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
           .twist = TWIST_TTL, .min = -1, .max = 255, .unset = -1),
    /* of AF_INET6, the guest has one for both: IPV6_RECVPKTINFO */
    ROW_IP(IP_PKTINFO, IPV6_RECVPKTINFO, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVTTL, IPV6_RECVHOPLIMIT, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVTOS, IPV6_RECVTCLASS, BOOL, RW | BOTH | EMPTY),
    ROW_IP(IP_RECVERR, IPV6_RECVERR, BOOL, RW | BOTH | EMPTY),
    /* IP_PMTUDISC_* and IPV6_PMTUDISC_* have the same values, 0 to 5 */
    ROW_IP(IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, INT, RW | BOTH | EMPTY,
           .min = IP_PMTUDISC_DONT, .max = IP_PMTUDISC_OMIT,
           .unset = IP_PMTUDISC_WANT),
    ROW_IP(IP_MTU, IPV6_MTU, INT, GET | BOTH, .twist = TWIST_MTU),
    ROW_IP(IP_MINTTL, IPV6_MINHOPCOUNT, INT, RW | BOTH, .min = 0, .max = 255),
    ROW_IP(IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, INT, RW | DGRAM,
           .min = -1, .max = 255, .unset = 1),
    ROW_IP(IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, BOOL, RW | BOTH, .unset = 1),
    ROW_SAME(SOL_IP, IP_BIND_ADDRESS_NO_PORT, BOOL, RW | BOTH | BYTE | EMPTY),
    /* the host decides on the use of foreign addresses */
    ROW_SAME(SOL_IP, IP_FREEBIND, INT, SET | BOTH | REFUSED),
    ROW_SAME(SOL_IP, IP_TRANSPARENT, INT, SET | BOTH | REFUSED),

    ROW_IPV6(IPV6_UNICAST_HOPS, INT, RW | BOTH, .min = -1, .max = 255,
             .unset = -1),
    ROW_IPV6(IPV6_TCLASS, INT, RW | BOTH, .min = -1, .max = 255),
    ROW_SAME(SOL_IPV6, IPV6_RECVPKTINFO, BOOL, RW | BOTH | ONLY6),
    ROW_IPV6(IPV6_RECVHOPLIMIT, BOOL, RW | BOTH),
    ROW_IPV6(IPV6_RECVTCLASS, BOOL, RW | BOTH),
    ROW_IPV6(IPV6_RECVERR, BOOL, RW | BOTH),
    ROW_IPV6(IPV6_MTU_DISCOVER, INT, RW | BOTH, .min = IPV6_PMTUDISC_DONT,
             .max = IPV6_PMTUDISC_OMIT, .unset = IPV6_PMTUDISC_WANT),
    ROW_IPV6(IPV6_DONTFRAG, BOOL, RW | BOTH),
    ROW_IPV6(IPV6_MTU, INT, RW | BOTH, .twist = TWIST_MTU,
             .min = 0, .max = UINT16_MAX),
    ROW_IPV6(IPV6_MINHOPCOUNT, INT, RW | BOTH, .min = 0, .max = 255),
    ROW_IPV6(IPV6_MULTICAST_HOPS, INT, RW | DGRAM, .min = -1, .max = 255,
             .unset = 1),
    ROW_IPV6(IPV6_MULTICAST_LOOP, BOOL, RW | BOTH, .unset = 1),
    ROW_IPV6(IPV6_FLOWINFO, BOOL, RW | BOTH),
    ROW_IPV6(IPV6_FLOWINFO_SEND, BOOL, RW | BOTH),
    ROW_SAME(SOL_IPV6, IPV6_AUTOFLOWLABEL, BOOL, RW | BOTH | ONLY6),
    ROW_SAME(SOL_IPV6, IPV6_FREEBIND, INT, SET | BOTH | REFUSED | ONLY6),
    ROW_SAME(SOL_IPV6, IPV6_TRANSPARENT, INT, SET | BOTH | REFUSED | ONLY6),

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
    /* the host's means to move connections; its keys */
    ROW_TCP(TCP_REPAIR, INT, SET | REFUSED),
    ROW_TCP(TCP_TIMESTAMP, INT, SET | REFUSED),
    ROW_TCP(TCP_MD5SIG, INT, SET | REFUSED),

    ROW_UDP(UDP_CORK, BOOL),
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

/*
 * The guest gets timestamps of software only, none of the host's network
 * cards.  It does not get the packets that were sent, as their headers are
 * IPv6.  The guest's kernel has checked the flags.
 */
static int host_stamps(int flags)
{
    const int sent = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
                     SOF_TIMESTAMPING_TX_ACK;

    flags &= sent | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
             SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_CMSG |
             SOF_TIMESTAMPING_OPT_TSONLY;
    return flags ? flags | SOF_TIMESTAMPING_OPT_TSONLY : 0;
}

static int set_int(const VmrpcSockoptRow *row, const void *value, size_t len,
                   VmrpcSockopt *opt)
{
    int v;

    if (row->flags & REFUSED) {
        return -EPERM;
    }
    if (len >= sizeof(uint32_t)) {
        v = (int)get_le32(value);
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
    } else if (row->twist == TWIST_STAMPS) {
        v = host_stamps(v);
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
    opt->linger.l_onoff = get_le32(value);
    opt->linger.l_linger = get_le32((const uint8_t *)value + 4);
    opt->len = sizeof(opt->linger);
    return 0;
}

/* Like Linux, truncates the name, and appends a NUL. */
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

/* Room for getsockopt(): the whole value, whatever room the guest has */
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
    unsigned need = (dir == VMRPC_SOCKOPT_GET ? GET : SET) |
                    (kind.type == SOCK_STREAM ? STREAM : DGRAM);

    if (!row || (row->flags & need) != need ||
        (row->flags & ONLY6 && !kind.guest6)) {
        return -ENOPROTOOPT;
    }
    opt->row = row;
    opt->value = row->value;
    opt->guest6 = kind.guest6;
    opt->translated = kind.family == AF_INET6 && (!kind.guest6 || kind.mapped);
    opt->idle = kind.guest6 && row->flags & (kind.mapped ? PLAIN : MAPPED);
    opt->level = kind.family == AF_INET6 ? row->level6 : row->level4;
    opt->optname = kind.family == AF_INET6 ? row->name6 : row->name4;
    if (dir == VMRPC_SOCKOPT_GET) {
        /* its fields have many sizes, so it cannot be byte-swapped */
        if (row->value == VMRPC_SOCKOPT_INFO &&
            G_BYTE_ORDER != G_LITTLE_ENDIAN) {
            return -ENOPROTOOPT;
        }
        memset(opt->bytes, 0, sizeof(opt->bytes));
        opt->len = room_for(row->value);
        return 0;
    }
    if (dir == VMRPC_SOCKOPT_UNSET) {
        opt->i = row->unset;
        opt->len = sizeof(opt->i);
        return row->flags & (MAPPED | PLAIN) ? 0 : -ENOPROTOOPT;
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
        v = vmrpc_guest_mtu(v);
    } else if (opt->translated && opt->row->twist == TWIST_ERROR) {
        v = vmrpc_icmp_pending(v);
    } else if (opt->row->twist == TWIST_DOMAIN) {
        v = opt->guest6 ? G_AF_INET6 : G_AF_INET;
    }
    if (opt->row->flags & BYTE && cap > 0 && cap < sizeof(wire) &&
        v >= 0 && v <= UINT8_MAX) {
        value[0] = v;
        return 1;
    }
    put_le32(wire, v);
    memcpy(value, wire, MIN(cap, sizeof(wire)));
    return MIN(cap, sizeof(wire));
}

static ssize_t get_linger(const VmrpcSockopt *opt, uint8_t *value, size_t cap)
{
    uint8_t wire[2 * sizeof(uint32_t)];

    if (opt->len < sizeof(opt->linger)) {
        return -EINVAL;
    }
    put_le32(wire, opt->linger.l_onoff);
    put_le32(wire + 4, opt->linger.l_linger);
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

        put_le32(pmtu, vmrpc_guest_mtu(get_le32(pmtu)));
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
