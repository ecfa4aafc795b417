/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's ABI: numbers of socket options, access to integers
 */
#ifndef HW_VMRPC_GUEST_NUMBERS_H
#define HW_VMRPC_GUEST_NUMBERS_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "base/octets.h"

/* Bytes that an IPv6 header has more than an IPv4 header */
#define VMRPC_HEADER_DIFFERENCE 20

/* Address families */
enum {
    G_AF_INET = 2,
    G_AF_INET6 = 10,
};

/*
 * The guest's numbers at level SOL_SOCKET (asm-generic/socket.h).  Those of
 * other levels are the same on all architectures.
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
    G_SO_TIMESTAMPING_OLD = 37,
    G_SO_PROTOCOL = 38,
    G_SO_DOMAIN = 39,
    G_SO_RXQ_OVFL = 40,
    G_SO_PEEK_OFF = 42,
    G_SO_SELECT_ERR_QUEUE = 45,
    G_SO_MAX_PACING_RATE = 47,
    G_SO_BINDTOIFINDEX = 62,
    G_SO_TIMESTAMP_NEW = 63,
    G_SO_TIMESTAMPNS_NEW = 64,
    G_SO_TIMESTAMPING_NEW = 65,
};

/* Linux's numbers that the C library has no names for */
#define IPV6_FLOWINFO 11
#define IPV6_FLOWINFO_SEND 33

/* The guest's MTU for one of the host, in bytes */
static inline uint32_t vmrpc_guest_mtu(uint32_t mtu)
{
    return mtu > VMRPC_HEADER_DIFFERENCE ? mtu - VMRPC_HEADER_DIFFERENCE : 0;
}

#endif /* HW_VMRPC_GUEST_NUMBERS_H */
