/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ancillary data between a guest and its host
 *
 * The guest uses struct cmsghdr of Linux's generic 64-bit little-endian ABI,
 * with a 64-bit length and an alignment of 8 bytes.  The host uses the ABI for
 * which this program was compiled.
 */
#ifndef HW_VMRPC_CMSG_H
#define HW_VMRPC_CMSG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hw/vmrpc/wire/clock.h"

/* Bytes of the largest ancillary data of one message, in the guest's form */
#define VMRPC_CMSG_MAX 1024

/* In the host's form: IPV6_PKTINFO takes 40 bytes for the guest's 32. */
#define VMRPC_CMSG_HOST_MAX (VMRPC_CMSG_MAX / 4 * 5)

/*
 * Families beside AF_INET6 and AF_INET, which are the host's for a socket of
 * AF_INET of the guest's: both sockets are of AF_INET6, and the guest's has to
 * do with IPv4-mapped peers, or with others.
 */
#define VMRPC_CMSG_PLAIN6 0x10000
#define VMRPC_CMSG_MAPPED6 0x10001

/*
 * The addresses and the clock of the device.  Each callback returns false if
 * there is no such address; NULL stands for a callback that always does.
 */
typedef struct VmrpcCmsgOps {
    /* not AF_INET: the host's source address for @addr4, not 0.0.0.0 */
    bool (*to6)(void *opaque, struct in_addr addr4, struct in6_addr *addr6);
    /* not AF_INET: destination of a datagram, or sender of an ICMPv6 error */
    bool (*to4)(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4);
    /* AF_INET: may the guest send from @addr4? */
    bool (*is_source)(void *opaque, struct in_addr addr4);
    /* PLAIN6, MAPPED6: the host's source address for @named, not :: */
    bool (*source6)(void *opaque, const struct in6_addr *named,
                    struct in6_addr *addr6);
    void *opaque;
    struct in_addr own4;        /* the local address of a multicast datagram */
    /* PLAIN6, MAPPED6: the local address of any other, named as its peers */
    struct in6_addr own6;
    /* give moments instead of times; has just been seen; NULL: give times */
    const VmrpcClock *clock;
} VmrpcCmsgOps;

/* Received ancillary data that did not reach the guest, by reason */
typedef struct VmrpcCmsgDrops {
    uint64_t unknown;           /* the type is not in the table */
    uint64_t malformed;         /* the length does not match the type */
    uint64_t no_address;        /* @to4 returned false */
    uint64_t no_room;           /* the guest's buffer was too small */
} VmrpcCmsgDrops;

/**
 * vmrpc_cmsg_to_host: ancillary data of sendmsg()
 * @family: AF_INET6 or AF_INET, the host's socket; or VMRPC_CMSG_PLAIN6 or
 *          VMRPC_CMSG_MAPPED6
 * @guest: a private copy of the guest's bytes, @guest_len of them
 * @host: room for the host's msg_control, aligned for struct cmsghdr
 * @host_cap: its bytes; VMRPC_CMSG_HOST_MAX always suffices
 *
 * IP_TTL, IP_TOS, IP_PKTINFO, UDP_SEGMENT and SO_TIMESTAMPING exist in this
 * direction; with PLAIN6 and MAPPED6 also IPV6_HOPLIMIT, IPV6_TCLASS,
 * IPV6_PKTINFO, IPV6_DONTFRAG, IPV6_FLOWINFO.
 *
 * Returns: msg_controllen; -EINVAL for a malformed or unknown message, or for
 * a source address that is not the guest's; -ENODEV for the number of an
 * interface; -ENOBUFS if @guest_len exceeds VMRPC_CMSG_MAX or @host is full.
 */
ssize_t vmrpc_cmsg_to_host(int family, const void *guest, size_t guest_len,
                           void *host, size_t host_cap,
                           const VmrpcCmsgOps *ops);

/**
 * vmrpc_cmsg_from_host: ancillary data of recvmsg()
 * @family: as for vmrpc_cmsg_to_host()
 * @host: msg_control; @host_len is msg_controllen after recvmsg()
 * @guest: room for the guest's bytes, @guest_cap of them
 * @msg_flags: MSG_CTRUNC is added if a message did not fit
 * @drops: counters, added to
 *
 * Returns: bytes written, never an error: a message that cannot be converted
 * is left out and counted.
 */
size_t vmrpc_cmsg_from_host(int family, const void *host, size_t host_len,
                            void *guest, size_t guest_cap,
                            const VmrpcCmsgOps *ops, int *msg_flags,
                            VmrpcCmsgDrops *drops);

#endif /* HW_VMRPC_CMSG_H */
