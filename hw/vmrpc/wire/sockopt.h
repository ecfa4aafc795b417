/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options and ancillary data between an IPv4 guest and its host
 *
 * The guest speaks Linux's generic 64-bit little-endian ABI: option numbers
 * as in asm-generic/socket.h, struct cmsghdr with a 64-bit length and 8-byte
 * alignment. The host side is whatever this program was compiled for. The
 * guest's sockets are IPv4; the host's are IPv6 (translate=on) or IPv4.
 */
#ifndef HW_VMRPC_SOCKOPT_H
#define HW_VMRPC_SOCKOPT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "hw/vmrpc/wire/clock.h"

/* Largest option value, either way. */
#define VMRPC_SOCKOPT_MAX 256

/* The socket on the host. */
typedef struct VmrpcSockKind {
    int family;                 /* AF_INET6 (translated) or AF_INET */
    int type;                   /* SOCK_STREAM or SOCK_DGRAM */
} VmrpcSockKind;

typedef enum VmrpcSockoptDir {
    VMRPC_SOCKOPT_SET,
    VMRPC_SOCKOPT_GET,
} VmrpcSockoptDir;

typedef enum VmrpcSockoptValue {
    VMRPC_SOCKOPT_INT,
    VMRPC_SOCKOPT_BOOL,         /* int, any non-zero is 1 */
    VMRPC_SOCKOPT_LINGER,       /* struct linger */
    VMRPC_SOCKOPT_STRING,       /* at most 16 bytes, TCP_CONGESTION */
    VMRPC_SOCKOPT_INFO,         /* struct tcp_info, a prefix of it */
} VmrpcSockoptValue;

struct VmrpcSockoptRow;

/*
 * One option, ready for the host's setsockopt() or getsockopt():
 *
 *   getsockopt(fd, opt.level, opt.optname, opt.bytes, &opt.len)
 */
typedef struct VmrpcSockopt {
    int level;
    int optname;
    VmrpcSockoptValue value;
    socklen_t len;              /* of the value; for get, the room for it */
    union {
        int i;
        struct linger linger;
        uint64_t align;
        uint8_t bytes[VMRPC_SOCKOPT_MAX];
    };
    const struct VmrpcSockoptRow *row;
    bool translated;
} VmrpcSockopt;

/**
 * vmrpc_sockopt_to_host:
 * @kind: the host's socket
 * @dir: set or get
 * @level: as the guest gave it
 * @optname: as the guest gave it
 * @value: for set, the guest's bytes; ignored for get
 * @len: for set, how many; for get, the guest's room
 * @opt: filled in on success; for get, to be passed through getsockopt()
 *       and vmrpc_sockopt_from_host()
 *
 * Returns: 0; -ENOPROTOOPT for an option that is not in the table, or not
 * for this direction or type of socket; -EPERM for one that would give the
 * guest power over the host; -EINVAL for a value that Linux refuses.
 */
int vmrpc_sockopt_to_host(VmrpcSockKind kind, VmrpcSockoptDir dir,
                          int level, int optname,
                          const void *value, size_t len, VmrpcSockopt *opt);

/**
 * vmrpc_sockopt_from_host:
 * @opt: from vmrpc_sockopt_to_host(), its value and length from getsockopt()
 * @value: room for the guest's bytes
 * @cap: how much; a smaller room gets what Linux would put there
 *
 * Returns: bytes written, at most @cap; -EINVAL if what getsockopt() left is
 * shorter than the type of the option.
 */
ssize_t vmrpc_sockopt_from_host(const VmrpcSockopt *opt, void *value,
                                size_t cap);

/* Largest ancillary data of one message, in the guest's form. */
#define VMRPC_CMSG_MAX 1024

/* In the host's form: IPV6_PKTINFO takes 40 bytes for the guest's 32. */
#define VMRPC_CMSG_HOST_MAX (VMRPC_CMSG_MAX / 4 * 5)

/*
 * How ancillary data meets the device: its addresses and its one interface.
 * The callbacks return false when there is no such address. A missing one
 * counts as one that always says so.
 */
typedef struct VmrpcCmsgOps {
    /* AF_INET6: source address to send from; not called with 0.0.0.0 */
    bool (*to6)(void *opaque, struct in_addr addr4, struct in6_addr *addr6);
    /* AF_INET6: destination of what came in, or sender of an ICMP error */
    bool (*to4)(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4);
    /* AF_INET: whether @addr4 is a source the guest may send from */
    bool (*is_source)(void *opaque, struct in_addr addr4);
    void *opaque;
    uint32_t guest_ifindex;     /* the interface the guest believes in */
    struct in_addr own4;        /* whose destination a group's datagram is */
    /* just seen: moments in place of times; NULL: times as they are */
    const VmrpcClock *clock;
} VmrpcCmsgOps;

/* Received ancillary data that did not reach the guest, by reason. */
typedef struct VmrpcCmsgDrops {
    uint64_t unknown;           /* a type that is not in the table */
    uint64_t malformed;         /* a length that is not that of its type */
    uint64_t no_address;        /* @to4 knew no address */
    uint64_t no_room;           /* the guest's buffer was too small */
} VmrpcCmsgDrops;

/**
 * vmrpc_cmsg_to_host: ancillary data of sendmsg()
 * @family: AF_INET6 or AF_INET, the host's socket
 * @guest: the caller's own copy of the guest's bytes, @guest_len of them
 * @host: room for the host's msg_control, aligned for struct cmsghdr
 * @host_cap: VMRPC_CMSG_HOST_MAX always suffices
 *
 * IP_TTL, IP_TOS, IP_PKTINFO and UDP_SEGMENT exist on this way.
 *
 * Returns: msg_controllen; -EINVAL for a malformed or unknown message, or a
 * source address that is not the guest's; -ENODEV for an interface it does
 * not have; -ENOBUFS if @guest_len exceeds VMRPC_CMSG_MAX or @host is full.
 */
ssize_t vmrpc_cmsg_to_host(int family, const void *guest, size_t guest_len,
                           void *host, size_t host_cap,
                           const VmrpcCmsgOps *ops);

/**
 * vmrpc_cmsg_from_host: ancillary data of recvmsg()
 * @family: AF_INET6 or AF_INET, the host's socket
 * @host: msg_control, @host_len is msg_controllen after recvmsg()
 * @guest: room for the guest's bytes, @guest_cap of them
 * @msg_flags: gets MSG_CTRUNC added if a message did not fit
 * @drops: counters, added to
 *
 * Returns: bytes written, never an error: what cannot be told is left out
 * and counted.
 */
size_t vmrpc_cmsg_from_host(int family, const void *host, size_t host_len,
                            void *guest, size_t guest_cap,
                            const VmrpcCmsgOps *ops, int *msg_flags,
                            VmrpcCmsgDrops *drops);

#endif /* HW_VMRPC_SOCKOPT_H */
