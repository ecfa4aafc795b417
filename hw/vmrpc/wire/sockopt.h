/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options between a guest and its host
 *
 * The guest uses Linux's generic 64-bit little-endian ABI: option numbers as
 * in asm-generic/socket.h.  The host uses the ABI for which this program was
 * compiled.  The guest's sockets are IPv4 or IPv6; the host's are IPv6
 * (translate=on), or IPv4 if the guest's are.
 *
 * A socket of AF_INET6 has two sets of options: that of SOL_IP is in force with
 * IPv4-mapped peers, that of SOL_IPV6 with others.
 */
#ifndef HW_VMRPC_SOCKOPT_H
#define HW_VMRPC_SOCKOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Bytes of the largest value that getsockopt() gives */
#define VMRPC_SOCKOPT_MAX 512

/* The socket on the host */
typedef struct VmrpcSockKind {
    int family;                 /* AF_INET6 or AF_INET */
    int type;                   /* SOCK_STREAM or SOCK_DGRAM */
    bool guest6;                /* the guest's is one of AF_INET6, too */
    bool mapped;                /* guest6: its peers are IPv4-mapped */
} VmrpcSockKind;

typedef enum VmrpcSockoptDir {
    VMRPC_SOCKOPT_SET,
    VMRPC_SOCKOPT_GET,
    VMRPC_SOCKOPT_UNSET,        /* set to what it is if the guest never did */
} VmrpcSockoptDir;

typedef enum VmrpcSockoptValue {
    VMRPC_SOCKOPT_INT,
    VMRPC_SOCKOPT_BOOL,         /* int; any value but 0 becomes 1 */
    VMRPC_SOCKOPT_LINGER,       /* struct linger */
    VMRPC_SOCKOPT_STRING,       /* TCP_CONGESTION: at most 16 bytes */
    VMRPC_SOCKOPT_INFO,         /* a prefix of struct tcp_info */
} VmrpcSockoptValue;

struct VmrpcSockoptRow;

/*
 * An option for the host's setsockopt() or getsockopt():
 *
 *   getsockopt(fd, opt.level, opt.optname, opt.bytes, &opt.len)
 */
typedef struct VmrpcSockopt {
    int level;
    int optname;
    VmrpcSockoptValue value;
    socklen_t len;              /* of the value; for get, of the room */
    union {
        int i;
        struct linger linger;
        uint64_t align;
        uint8_t bytes[VMRPC_SOCKOPT_MAX];
    };
    const struct VmrpcSockoptRow *row;
    bool translated;            /* to the guest, the packets are IPv4 */
    bool guest6;
    bool idle;                  /* set: not in force with such peers */
} VmrpcSockopt;

/**
 * vmrpc_sockopt_to_host: an option of the guest, for the host
 * @kind: the host's socket
 * @dir: what to do
 * @level: as the guest gave it
 * @optname: as the guest gave it
 * @value: for set, the guest's bytes; else ignored
 * @len: for set, their number
 * @opt: filled in on success; for get, pass it to getsockopt() and then to
 *       vmrpc_sockopt_from_host()
 *
 * Returns: 0; -ENOPROTOOPT for an option that is not in the table, or not for
 * this direction or type of socket; -EPERM for an option that would give the
 * guest power over the host; -EINVAL for a value that Linux refuses.
 */
int vmrpc_sockopt_to_host(VmrpcSockKind kind, VmrpcSockoptDir dir,
                          int level, int optname,
                          const void *value, size_t len, VmrpcSockopt *opt);

/**
 * vmrpc_sockopt_from_host: the value of an option, for the guest
 * @opt: from vmrpc_sockopt_to_host(), with value and length of getsockopt()
 * @value: room for the guest's bytes
 * @cap: bytes of that room; a small room gets the same bytes as on Linux
 *
 * Returns: bytes written, at most @cap; -EINVAL if getsockopt() left less than
 * the option's type needs.
 */
ssize_t vmrpc_sockopt_from_host(const VmrpcSockopt *opt, void *value,
                                size_t cap);

#endif /* HW_VMRPC_SOCKOPT_H */
