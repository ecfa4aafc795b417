/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Native sockets, and their options by our tables */
#ifndef TESTS_SOCKOPT_FIXTURE_H
#define TESTS_SOCKOPT_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <sys/socket.h>

#include "hw/vmrpc/wire/sockopt.h"

/* Numbers of the guest's ABI; these tests need a host with the same numbers. */
G_STATIC_ASSERT(SOL_SOCKET == 1 && SO_REUSEADDR == 2);

static inline int new_socket(int family, int type)
{
    int fd = socket(family, type, 0);

    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static inline int native_set(int fd, int level, int name, const void *v,
                             size_t len)
{
    return setsockopt(fd, level, name, v, len) < 0 ? -errno : 0;
}

static inline int our_set(int fd, VmrpcSockKind kind, int level, int name,
                          const void *v, size_t len)
{
    VmrpcSockopt opt;
    int ret = vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, level, name, v,
                                    len, &opt);

    return ret ?: native_set(fd, opt.level, opt.optname, opt.bytes, opt.len);
}

static inline struct sockaddr_in6 bound_to_loopback(int fd)
{
    struct sockaddr_in6 sa = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    socklen_t len = sizeof(sa);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sa, &len), ==, 0);
    return sa;
}

#endif
