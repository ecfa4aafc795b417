/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options and ancillary data: 16 bytes say which function and with
 * what, the rest is the value or the buffer
 */
#include <errno.h>
#include <string.h>
#include <glib.h>

#include "hw/vmrpc/wire/cmsg.h"
#include "hw/vmrpc/wire/sockopt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    KIND_INET6 = 1,
    KIND_DGRAM = 2,
    KIND_NO_OPS = 4,
    KIND_MOMENTS = 8,
    KIND_PLAIN6 = 16,           /* the guest's socket is one of AF_INET6 */
    KIND_MAPPED = 32,           /* and its peers are IPv4-mapped */
};

typedef struct Input {
    uint8_t function;           /* 0 set, 1 get, 2 to host, 3 from host */
    uint8_t kind;               /* KIND_... */
    uint16_t cap;
    int32_t level, optname;
    uint32_t uptime;            /* ns, of the clock of KIND_MOMENTS */
} Input;

static bool to6(void *opaque, struct in_addr addr4, struct in6_addr *addr6)
{
    g_assert(addr4.s_addr != INADDR_ANY);
    memset(addr6, 0xfd, sizeof(*addr6));
    return addr4.s_addr & 1;
}

static bool to4(void *opaque, const struct in6_addr *addr6,
                struct in_addr *addr4)
{
    addr4->s_addr = addr6->s6_addr32[3];
    return addr6->s6_addr[0] & 1;
}

static bool is_source(void *opaque, struct in_addr addr4)
{
    return addr4.s_addr & 1;
}

static bool source6(void *opaque, const struct in6_addr *named,
                    struct in6_addr *addr6)
{
    g_assert(!IN6_IS_ADDR_UNSPECIFIED(named));
    memset(addr6, 0xfd, sizeof(*addr6));
    return named->s6_addr[15] & 1;
}

static void fuzz_option(const Input *in, const uint8_t *data, size_t size)
{
    VmrpcSockKind kind = { in->kind & KIND_INET6 ? AF_INET6 : AF_INET,
                           in->kind & KIND_DGRAM ? SOCK_DGRAM : SOCK_STREAM,
                           in->kind & KIND_INET6 && in->kind & KIND_PLAIN6,
                           in->kind & KIND_MAPPED };
    g_autofree uint8_t *out = g_malloc(in->cap + 1);
    VmrpcSockopt opt;
    ssize_t n;

    if (in->function == 0) {
        if (vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_SET, in->level,
                                  in->optname, data, size, &opt) == 0) {
            g_assert(opt.len > 0 && opt.len <= VMRPC_SOCKOPT_MAX);
        }
        if (vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_UNSET, in->level,
                                  in->optname, NULL, 0, &opt) == 0) {
            g_assert(opt.len == sizeof(int));
        }
        return;
    }
    if (vmrpc_sockopt_to_host(kind, VMRPC_SOCKOPT_GET, in->level, in->optname,
                              NULL, in->cap, &opt) < 0) {
        return;
    }
    g_assert(opt.len > 0 && opt.len <= VMRPC_SOCKOPT_MAX);
    opt.len = MIN(opt.len, size);
    memcpy(opt.bytes, data, opt.len);
    n = vmrpc_sockopt_from_host(&opt, out, in->cap);
    g_assert(n == -EINVAL || (n >= 0 && n <= in->cap));
}

/* Data for the host's kernel must be well-formed. */
static void check_host(const void *host, size_t len)
{
    struct msghdr msg = { .msg_control = (void *)host,
                          .msg_controllen = len };
    struct cmsghdr *cmsg;
    size_t sum = 0;

    for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
        sum += CMSG_ALIGN(cmsg->cmsg_len);
    }
    g_assert(sum == len);
}

/* Data for the guest must be well-formed, too. */
static void check_guest(const uint8_t *guest, size_t len)
{
    while (len > 0) {
        uint64_t n;

        g_assert(len >= 16);
        memcpy(&n, guest, sizeof(n));
        n = GUINT64_FROM_LE(n);
        g_assert(n > 16 && n <= len);
        n = MIN((n + 7) & ~7ULL, len);
        guest += n;
        len -= n;
    }
}

static void fuzz_cmsg(const Input *in, const uint8_t *data, size_t size)
{
    VmrpcCmsgOps ops = { .to6 = to6, .to4 = to4, .is_source = is_source,
                         .source6 = source6 };
    int family = in->kind & KIND_MAPPED ? VMRPC_CMSG_MAPPED6 :
                 in->kind & KIND_PLAIN6 ? VMRPC_CMSG_PLAIN6 :
                 in->kind & KIND_INET6 ? AF_INET6 : AF_INET, flags = 0;
    size_t cap = MIN(in->cap, VMRPC_CMSG_HOST_MAX);
    g_autofree uint8_t *out = g_malloc(cap + 1);
    VmrpcCmsgDrops drops = { 0 };
    VmrpcClock clock = { };
    ssize_t n;

    if (in->kind & KIND_MAPPED) {
        ops.own6.s6_addr16[5] = 0xffff;
    }
    if (in->kind & KIND_MOMENTS) {
        vmrpc_clock_see(&clock, INT64_C(1700000000000000000), in->uptime + 1);
        vmrpc_clock_see(&clock, INT64_C(1600000000000000000) + in->optname,
                        in->uptime + INT64_C(1000000000));
        ops.clock = &clock;
    }
    if (in->kind & KIND_NO_OPS) {
        ops.to6 = NULL;
        ops.to4 = NULL;
        ops.is_source = NULL;
        ops.source6 = NULL;
    }
    if (in->function == 2) {
        n = vmrpc_cmsg_to_host(family, data, size, out, cap, &ops);
        g_assert(n <= (ssize_t)cap);
        if (n > 0) {
            check_host(out, n);
        }
        g_assert(cap < VMRPC_CMSG_HOST_MAX || size > VMRPC_CMSG_MAX ||
                 n != -ENOBUFS);
    } else {
        n = vmrpc_cmsg_from_host(family, data, size, out, cap, &ops, &flags,
                                 &drops);
        g_assert(n <= (ssize_t)cap);
        check_guest(out, n);
        g_assert(!drops.no_room == !(flags & MSG_CTRUNC));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in;

    if (size < sizeof(in)) {
        return 0;
    }
    memcpy(&in, data, sizeof(in));
    in.function %= 4;
    if (in.function < 2) {
        fuzz_option(&in, data + sizeof(in), size - sizeof(in));
    } else {
        fuzz_cmsg(&in, data + sizeof(in), size - sizeof(in));
    }
    return 0;
}
