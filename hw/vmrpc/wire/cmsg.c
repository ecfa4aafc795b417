/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ancillary data between a guest and its host
 *
 * Theory of operation
 *
 * Each direction has a table of the types that it converts.  The number of an
 * interface never passes: the guest has one interface, whose number is 0 here,
 * and a number of the host would let the guest choose the host's interface.  A
 * queued ICMPv6 error becomes one of ICMP, in type, code and errno
 * (icmp-error.h).
 *
 * The host's clock makes timestamps.  A guest that understands moments
 * (VMRPC_F_MOMENTS) gets them instead.
 *
 * Sizes and offsets describe the guest's form of each payload, the host's own
 * structs the host's.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <glib.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#include "hw/vmrpc/wire/cmsg.h"
#include "hw/vmrpc/wire/guest-numbers.h"
#include "hw/vmrpc/wire/icmp-error.h"
#include "vmmnet/vmrpc.h"

/* @len is bounded before. */
#define G_CMSG_ROUND(len) (((size_t)(len) + 7) & ~(size_t)7)

enum {
    G_CMSG_HEADER = 16,         /* u64 length, s32 level, s32 type */
    G_PKTINFO = 12,             /* s32 ifindex, spec_dst, addr */
    G_PKTINFO6 = 20,            /* address, s32 ifindex */
    G_EXTENDED_ERR = 16,        /* struct sock_extended_err */
    G_RECVERR = 32,             /* the same, and a struct sockaddr_in */
    G_RECVERR6 = 44,            /* and a struct sockaddr_in6 */
    G_TIME = 16,                /* s64 seconds, s64 micro- or nanoseconds */
    G_TIMES = 3 * G_TIME,       /* of software, unused, of the card */
};

typedef struct RecvErr4 {
    struct sock_extended_err ee;
    struct sockaddr_in offender;
} RecvErr4;

typedef struct RecvErr6 {
    struct sock_extended_err ee;
    struct sockaddr_in6 offender;
} RecvErr6;

/* The families of the callers, as sets */
enum {
    HOST4 = 1 << 0,             /* AF_INET */
    HOST6 = 1 << 1,             /* AF_INET6 */
    PLAIN = 1 << 2,             /* VMRPC_CMSG_PLAIN6 */
    MAPPED = 1 << 3,            /* VMRPC_CMSG_MAPPED6 */
    GUEST6 = PLAIN | MAPPED,
    ANY = HOST4 | HOST6 | GUEST6,
};

/*
 * A type of message, on the side that it comes from and on the other.  @convert
 * reads from_size bytes and writes to_size bytes, at any alignment; it returns
 * 0 or a negative errno.
 */
typedef struct Conversion {
    unsigned families;          /* of these sockets */
    int from_level, from_type;
    size_t from_size;
    int to_level, to_type;
    size_t to_size;
    int (*convert)(const uint8_t *from, uint8_t *to, const VmrpcCmsgOps *ops);
} Conversion;

/* The largest size in both tables */
#define PAYLOAD_MAX 64

static int ttl_to_host(const uint8_t *from, uint8_t *to,
                       const VmrpcCmsgOps *ops)
{
    int ttl = (int)get_le32(from);

    if (ttl < 1 || ttl > 255) {
        return -EINVAL;
    }
    memcpy(to, &ttl, sizeof(ttl));
    return 0;
}

static int tos_to_host(const uint8_t *from, uint8_t *to,
                       const VmrpcCmsgOps *ops)
{
    int tos = (int)get_le32(from);

    if (tos < 0 || tos > 255) {
        return -EINVAL;
    }
    memcpy(to, &tos, sizeof(tos));
    return 0;
}

/* IPV6_HOPLIMIT, IPV6_TCLASS: -1 is the socket's own */
static int octet6_to_host(const uint8_t *from, uint8_t *to,
                          const VmrpcCmsgOps *ops)
{
    int value = (int)get_le32(from);

    if (value < -1 || value > 255) {
        return -EINVAL;
    }
    memcpy(to, &value, sizeof(value));
    return 0;
}

/* IPV6_DONTFRAG */
static int switch6_to_host(const uint8_t *from, uint8_t *to,
                           const VmrpcCmsgOps *ops)
{
    int value = (int)get_le32(from);

    if (value != 0 && value != 1) {
        return -EINVAL;
    }
    memcpy(to, &value, sizeof(value));
    return 0;
}

/* IPV6_FLOWINFO, in network byte order, in both directions */
static int flowinfo(const uint8_t *from, uint8_t *to, const VmrpcCmsgOps *ops)
{
    memcpy(to, from, sizeof(uint32_t));
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

/* Which timestamps of this message the guest wants: host_stamps(), sockopt.c */
static int stamps_to_host(const uint8_t *from, uint8_t *to,
                          const VmrpcCmsgOps *ops)
{
    uint32_t flags = get_le32(from) & (SOF_TIMESTAMPING_TX_SOFTWARE |
                                       SOF_TIMESTAMPING_TX_SCHED |
                                       SOF_TIMESTAMPING_TX_ACK);

    memcpy(to, &flags, sizeof(flags));
    return 0;
}

/* The source of the guest's in_pktinfo, which must not name an interface. */
static int read_pktinfo(const uint8_t *from, struct in_addr *source)
{
    if (get_le32(from)) {
        return -ENODEV;
    }
    memcpy(source, from + 4, sizeof(*source));
    return 0;
}

static int pktinfo_to_host4(const uint8_t *from, uint8_t *to,
                            const VmrpcCmsgOps *ops)
{
    struct in_pktinfo info = { 0 };
    int ret = read_pktinfo(from, &info.ipi_spec_dst);

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
    int ret = read_pktinfo(from, &source);

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

static int pktinfo6_to_host(const uint8_t *from, uint8_t *to,
                            const VmrpcCmsgOps *ops)
{
    struct in6_pktinfo info = { 0 };
    struct in6_addr source;

    memcpy(&source, from, sizeof(source));
    if (get_le32(from + sizeof(source))) {
        return -ENODEV;
    }
    if (!IN6_IS_ADDR_UNSPECIFIED(&source) &&
        (!ops->source6 ||
         !ops->source6(ops->opaque, &source, &info.ipi6_addr))) {
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
    put_le32(to, v);
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

/* @unit: nanoseconds in one unit of the second number */
static void write_time(const uint8_t *from, uint8_t *to, int64_t unit,
                       const VmrpcClock *clock)
{
    int64_t v[2];

    memcpy(v, from, sizeof(v));
    if (clock) {
        int64_t ns = CLAMP(v[1], 0, 999999999 / unit) * unit;

        put_le64(to + offsetof(struct vmrpc_moment, ns),
                 vmrpc_clock_moment(clock, v[0], ns));
        put_le64(to + offsetof(struct vmrpc_moment, now), clock->seen);
    } else {
        put_le64(to, v[0]);
        put_le64(to + 8, v[1]);
    }
}

static int timeval_from_host(const uint8_t *from, uint8_t *to,
                             const VmrpcCmsgOps *ops)
{
    write_time(from, to, 1000, ops->clock);
    return 0;
}

static int timespec_from_host(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    write_time(from, to, 1, ops->clock);
    return 0;
}

static int times_from_host(const uint8_t *from, uint8_t *to,
                           const VmrpcCmsgOps *ops)
{
    static const uint8_t none[G_TIME];
    bool known = memcmp(from, none, G_TIME) != 0;

    write_time(from, to, 1, known ? ops->clock : NULL);
    /* The card has a clock of its own. */
    for (int i = G_TIME; i < G_TIMES; i += G_TIME) {
        write_time(from + i, to + i, 1, NULL);
    }
    return 0;
}

static void write_pktinfo(uint8_t *to, struct in_addr source,
                          struct in_addr destination)
{
    put_le32(to, 0);
    memcpy(to + 4, &source, sizeof(source));
    memcpy(to + 8, &destination, sizeof(destination));
}

static int pktinfo_from_host4(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    struct in_pktinfo info;

    memcpy(&info, from, sizeof(info));
    write_pktinfo(to, info.ipi_spec_dst, info.ipi_addr);
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
    write_pktinfo(to, IN_MULTICAST(ntohl(addr.s_addr)) ? ops->own4 : addr,
                  addr);
    return 0;
}

static struct in6_addr map4(struct in_addr addr4)
{
    struct in6_addr mapped = { { { [10] = 0xff, [11] = 0xff } } };

    memcpy(&mapped.s6_addr[12], &addr4, sizeof(addr4));
    return mapped;
}

static int pktinfo6_from_host(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    struct in6_pktinfo info;
    struct in_addr group;

    memcpy(&info, from, sizeof(info));
    if (!IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) {
        info.ipi6_addr = ops->own6;
    } else if (IN6_IS_ADDR_V4MAPPED(&ops->own6) && ops->to4 &&
               ops->to4(ops->opaque, &info.ipi6_addr, &group)) {
        info.ipi6_addr = map4(group);
    }
    memcpy(to, &info.ipi6_addr, sizeof(info.ipi6_addr));
    put_le32(to + sizeof(info.ipi6_addr), 0);
    return 0;
}

static void write_extended_err(uint8_t *to, const struct sock_extended_err *ee)
{
    put_le32(to, ee->ee_errno);
    to[4] = ee->ee_origin;
    to[5] = ee->ee_type;
    to[6] = ee->ee_code;
    to[7] = 0;
    put_le32(to + 8, ee->ee_info);
    put_le32(to + 12, ee->ee_data);
}

static void write_recverr6(uint8_t *to, const RecvErr6 *err)
{
    memset(to, 0, G_RECVERR6);
    write_extended_err(to, &err->ee);
    if (err->offender.sin6_family == AF_INET6) {
        put_le16(to + G_EXTENDED_ERR, G_AF_INET6);
        memcpy(to + G_EXTENDED_ERR + 2, &err->offender.sin6_port,
               sizeof(err->offender.sin6_port));
        memcpy(to + G_EXTENDED_ERR + 8, &err->offender.sin6_addr,
               sizeof(err->offender.sin6_addr));
    }
}

static int recverr6_from_host(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    RecvErr6 err;

    memcpy(&err, from, sizeof(err));
    write_recverr6(to, &err);
    return 0;
}

static void write_recverr(uint8_t *to, const struct sock_extended_err *ee,
                          const struct in_addr *offender, in_port_t port)
{
    memset(to, 0, G_RECVERR);
    write_extended_err(to, ee);
    if (offender) {
        put_le16(to + G_EXTENDED_ERR, G_AF_INET);
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

static void icmp6_to_icmp(struct sock_extended_err *ee)
{
    VmrpcIcmpError error = vmrpc_icmp_error(ee->ee_type, ee->ee_code);

    if (error.error == EMSGSIZE) {
        ee->ee_info = vmrpc_guest_mtu(ee->ee_info);
    }
    ee->ee_origin = SO_EE_ORIGIN_ICMP;
    ee->ee_type = error.type;
    ee->ee_code = error.code;
    ee->ee_errno = error.error;
}

/* The error as ICMP has it; returns whether the offender's address is @addr. */
static bool read_recverr6(const uint8_t *from, const VmrpcCmsgOps *ops,
                          RecvErr6 *err, struct in_addr *addr)
{
    memcpy(err, from, sizeof(*err));
    if (err->ee.ee_origin == SO_EE_ORIGIN_ICMP6) {
        icmp6_to_icmp(&err->ee);
    } else if (err->ee.ee_origin == SO_EE_ORIGIN_LOCAL &&
               err->ee.ee_errno == EMSGSIZE) {
        err->ee.ee_info = vmrpc_guest_mtu(err->ee.ee_info);
    }
    return err->offender.sin6_family == AF_INET6 && ops->to4 &&
           ops->to4(ops->opaque, &err->offender.sin6_addr, addr);
}

static int recverr_from_host6(const uint8_t *from, uint8_t *to,
                              const VmrpcCmsgOps *ops)
{
    RecvErr6 err;
    struct in_addr addr;
    bool known = read_recverr6(from, ops, &err, &addr);

    write_recverr(to, &err.ee, known ? &addr : NULL, err.offender.sin6_port);
    return 0;
}

static int recverr_mapped_from_host(const uint8_t *from, uint8_t *to,
                                    const VmrpcCmsgOps *ops)
{
    RecvErr6 err;
    struct in_addr addr;

    if (read_recverr6(from, ops, &err, &addr)) {
        err.offender.sin6_addr = map4(addr);
    } else {
        err.offender.sin6_family = AF_UNSPEC;
    }
    write_recverr6(to, &err);
    return 0;
}

/* from the guest */
static const Conversion to_host[] = {
    { HOST4, SOL_IP, IP_TTL, 4, SOL_IP, IP_TTL, sizeof(int), ttl_to_host },
    { HOST4, SOL_IP, IP_TOS, 4, SOL_IP, IP_TOS, sizeof(int), tos_to_host },
    { HOST4, SOL_IP, IP_TOS, 1,
      SOL_IP, IP_TOS, sizeof(int), tos_byte_to_host },
    { HOST4, SOL_IP, IP_PKTINFO, G_PKTINFO,
      SOL_IP, IP_PKTINFO, sizeof(struct in_pktinfo), pktinfo_to_host4 },
    { HOST6 | GUEST6, SOL_IP, IP_TTL, 4,
      SOL_IPV6, IPV6_HOPLIMIT, sizeof(int), ttl_to_host },
    { HOST6 | GUEST6, SOL_IP, IP_TOS, 4,
      SOL_IPV6, IPV6_TCLASS, sizeof(int), tos_to_host },
    { HOST6 | GUEST6, SOL_IP, IP_TOS, 1,
      SOL_IPV6, IPV6_TCLASS, sizeof(int), tos_byte_to_host },
    { HOST6 | GUEST6, SOL_IP, IP_PKTINFO, G_PKTINFO,
      SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo), pktinfo_to_host6 },
    { GUEST6, SOL_IPV6, IPV6_HOPLIMIT, 4,
      SOL_IPV6, IPV6_HOPLIMIT, sizeof(int), octet6_to_host },
    { GUEST6, SOL_IPV6, IPV6_TCLASS, 4,
      SOL_IPV6, IPV6_TCLASS, sizeof(int), octet6_to_host },
    { GUEST6, SOL_IPV6, IPV6_FLOWINFO, 4,
      SOL_IPV6, IPV6_FLOWINFO, sizeof(uint32_t), flowinfo },
    { GUEST6, SOL_IPV6, IPV6_DONTFRAG, 4,
      SOL_IPV6, IPV6_DONTFRAG, sizeof(int), switch6_to_host },
    { GUEST6, SOL_IPV6, IPV6_PKTINFO, G_PKTINFO6,
      SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo), pktinfo6_to_host },
    { ANY, SOL_UDP, UDP_SEGMENT, 2,
      SOL_UDP, UDP_SEGMENT, sizeof(uint16_t), segment_to_host },
    { ANY, G_SOL_SOCKET, G_SO_TIMESTAMPING_OLD, 4,
      SOL_SOCKET, SO_TIMESTAMPING_OLD, sizeof(uint32_t), stamps_to_host },
};

/* from the host */
static const Conversion from_host[] = {
    { HOST4, SOL_IP, IP_TTL, sizeof(int), SOL_IP, IP_TTL, 4, int_from_host },
    { HOST4, SOL_IP, IP_TOS, 1, SOL_IP, IP_TOS, 1, byte_from_host },
    { HOST4, SOL_IP, IP_PKTINFO, sizeof(struct in_pktinfo),
      SOL_IP, IP_PKTINFO, G_PKTINFO, pktinfo_from_host4 },
    { HOST4, SOL_IP, IP_RECVERR, sizeof(RecvErr4),
      SOL_IP, IP_RECVERR, G_RECVERR, recverr_from_host4 },
    { HOST6 | MAPPED, SOL_IPV6, IPV6_HOPLIMIT, sizeof(int),
      SOL_IP, IP_TTL, 4, int_from_host },
    { HOST6 | MAPPED, SOL_IPV6, IPV6_TCLASS, sizeof(int),
      SOL_IP, IP_TOS, 1, int_to_byte_from_host },
    { HOST6, SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo),
      SOL_IP, IP_PKTINFO, G_PKTINFO, pktinfo_from_host6 },
    { HOST6, SOL_IPV6, IPV6_RECVERR, sizeof(RecvErr6),
      SOL_IP, IP_RECVERR, G_RECVERR, recverr_from_host6 },
    { PLAIN, SOL_IPV6, IPV6_HOPLIMIT, sizeof(int),
      SOL_IPV6, IPV6_HOPLIMIT, 4, int_from_host },
    { PLAIN, SOL_IPV6, IPV6_TCLASS, sizeof(int),
      SOL_IPV6, IPV6_TCLASS, 4, int_from_host },
    { PLAIN, SOL_IPV6, IPV6_FLOWINFO, sizeof(uint32_t),
      SOL_IPV6, IPV6_FLOWINFO, 4, flowinfo },
    { GUEST6, SOL_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo),
      SOL_IPV6, IPV6_PKTINFO, G_PKTINFO6, pktinfo6_from_host },
    { PLAIN, SOL_IPV6, IPV6_RECVERR, sizeof(RecvErr6),
      SOL_IPV6, IPV6_RECVERR, G_RECVERR6, recverr6_from_host },
    { MAPPED, SOL_IPV6, IPV6_RECVERR, sizeof(RecvErr6),
      SOL_IPV6, IPV6_RECVERR, G_RECVERR6, recverr_mapped_from_host },
    { ANY, SOL_UDP, UDP_GRO, sizeof(int), SOL_UDP, UDP_GRO, 4, int_from_host },
    { ANY, SOL_TCP, TCP_CM_INQ, sizeof(int),
      SOL_TCP, TCP_CM_INQ, 4, int_from_host },
    { ANY, SOL_SOCKET, SO_RXQ_OVFL, sizeof(uint32_t),
      G_SOL_SOCKET, G_SO_RXQ_OVFL, 4, int_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMP_OLD, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMP_OLD, G_TIME, timeval_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMPNS_OLD, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMPNS_OLD, G_TIME, timespec_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMP_NEW, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMP_NEW, G_TIME, timeval_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMPNS_NEW, G_TIME,
      G_SOL_SOCKET, G_SO_TIMESTAMPNS_NEW, G_TIME, timespec_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMPING_OLD, G_TIMES,
      G_SOL_SOCKET, G_SO_TIMESTAMPING_OLD, G_TIMES, times_from_host },
    { ANY, SOL_SOCKET, SO_TIMESTAMPING_NEW, G_TIMES,
      G_SOL_SOCKET, G_SO_TIMESTAMPING_NEW, G_TIMES, times_from_host },
};

static unsigned family_set(int family)
{
    switch (family) {
    case VMRPC_CMSG_PLAIN6:
        return PLAIN;
    case VMRPC_CMSG_MAPPED6:
        return MAPPED;
    default:
        return family == AF_INET6 ? HOST6 : HOST4;
    }
}

/* @known: the table has this type, perhaps with another size */
static const Conversion *find_conversion(const Conversion *table, size_t n,
                                         int family, int level, int type,
                                         size_t size, bool *known)
{
    unsigned set = family_set(family);
    size_t i;

    *known = false;
    for (i = 0; i < n; i++) {
        if (table[i].families & set &&
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
    /* Linux, too, ignores a rest that is too short for a header. */
    while (left >= G_CMSG_HEADER) {
        uint64_t len = get_le64(from);
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
                              (int)get_le32(from + 8),
                              (int)get_le32(from + 12),
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
    put_le64(to, len);
    put_le32(to + 8, row->to_level);
    put_le32(to + 12, row->to_type);
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
