/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options, ioctl(), fcntl()
 */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "args.h"

#define COUNT(array)    (sizeof(array) / sizeof((array)[0]))

static const char *const text_values[] = {
    "reno", "cubic", "nonsense", "", "tls", "lo", "eth7", "vmrpc0",
};

static bool is_text(int level, int name)
{
    return (level == SOL_TCP &&
            (name == TCP_CONGESTION || name == TCP_ULP)) ||
           (level == SOL_SOCKET && name == SO_BINDTODEVICE);
}

static bool is_time(int level, int name)
{
    return level == SOL_SOCKET &&
           (name == SO_RCVTIMEO || name == SO_SNDTIMEO ||
            name == 66 || name == 67);
}

/* Writes a value that the option may have, in 512 bytes. */
static void put_value(uint8_t *to, int level, int name, uint32_t value)
{
    static const struct timeval times[] = {
        { 0, 0 }, { 0, 1000 }, { 0, 50000 }, { 0, 1000001 }, { -1, 0 },
        { 0, -1 },
    };
    struct linger linger = { value & 1, value >> 1 & 1 };
    struct ip_mreqn mreq = {
        .imr_multiaddr = arg_in_addr(ADDR_MULTICAST),
        .imr_address = addresses.me,
    };
    struct ipv6_mreq mreq6 = {
        .ipv6mr_multiaddr = arg_in6_addr(ADDR_MULTICAST),
    };

    memset(to, 0, 512);
    /* Bound to a missing interface, the native side receives nothing. */
    if (level != SOL_SOCKET || name != SO_BINDTOIFINDEX) {
        memcpy(to, &value, sizeof(value));
    }
    if (is_text(level, name)) {
        strcpy((char *)to, text_values[value % COUNT(text_values)]);
    } else if (is_time(level, name)) {
        memcpy(to, &times[value % COUNT(times)], sizeof(times[0]));
    } else if (level == SOL_SOCKET && name == SO_LINGER) {
        memcpy(to, &linger, sizeof(linger));
    } else if (level == SOL_IP && (name == IP_ADD_MEMBERSHIP ||
                                   name == IP_DROP_MEMBERSHIP ||
                                   name == IP_MULTICAST_IF)) {
        memcpy(to, &mreq, sizeof(mreq));
    } else if (level == SOL_IPV6 && (name == IPV6_ADD_MEMBERSHIP ||
                                     name == IPV6_DROP_MEMBERSHIP)) {
        memcpy(to, &mreq6, sizeof(mreq6));
    }
}

void call_set(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t len = arg[4];
    uint8_t *at = w->arena.small;
    uint8_t value[512];

    put_value(value, arg[1], arg[2], arg[3]);
    switch (arg[5]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_EDGE:
        at = w->arena.hole - (len < 512 ? len : 512);
        memcpy(at, value, len < 512 ? len : 512);
        break;
    case PTR_BAD:
        at = w->arena.hole;
        break;
    default:
        memcpy(at, value, sizeof(value));
    }
    call_result(o, setsockopt(w->world->fd[arg[0]], arg[1], arg[2], at, len));
}

/* Options with unpredictable values. */
static bool is_unpredictable(int level, int name)
{
    static const struct {
        int level, name;
    } some[] = {
        { SOL_SOCKET, SO_INCOMING_CPU }, { SOL_SOCKET, SO_INCOMING_NAPI_ID },
        { SOL_SOCKET, SO_COOKIE }, { SOL_SOCKET, SO_MEMINFO },
        { SOL_SOCKET, SO_PEERNAME }, { SOL_SOCKET, 71 }, /* SO_NETNS_COOKIE */
        { SOL_IP, 52 },         /* IP_PROTOCOL: of Linux, the port */
        { SOL_TCP, TCP_CONGESTION },
        { SOL_TCP, TCP_CC_INFO }, { SOL_TCP, TCP_TIMESTAMP },
        { SOL_TCP, TCP_INFO }, { SOL_TCP, TCP_QUICKACK },
        { SOL_TCP, TCP_ZEROCOPY_RECEIVE }, { SOL_TCP, TCP_SAVED_SYN },
        { SOL_TCP, TCP_WINDOW_CLAMP },
    };
    size_t i;

    for (i = 0; i < COUNT(some); i++) {
        if (some[i].level == level && some[i].name == name) {
            return true;
        }
    }
    return false;
}

static void value_facts(struct outcome *o, int level, int name,
                        const uint8_t *value, socklen_t len)
{
    struct tcp_info info = { 0 };
    int32_t number = 0;

    if (level == SOL_TCP && name == TCP_INFO) {
        memcpy(&info, value, len < sizeof(info) ? len : sizeof(info));
        outcome_fact(o, 'd', "tcpi_state", info.tcpi_state);
        return;
    }
    if (is_unpredictable(level, name)) {
        return;
    }
    outcome_fact(o, 'd', "optlen", len);
    memcpy(&number, value, len < 4 ? len : 4);
    /* The kernel enlarges these itself. */
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF)) {
        outcome_fact(o, 'i', "value", number);
    } else {
        outcome_fact(o, 'd', "value", number);
    }
}

void call_get(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t *len = (socklen_t *)(w->arena.small + 8);
    uint8_t *at = w->arena.small + 64;
    socklen_t room = arg[3] < 512 ? arg[3] : 512;

    memset(at, POISON, 1024);
    *len = arg[3];
    switch (arg[4]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_EDGE:
        at = w->arena.hole - room;
        memset(at, POISON, room);
        break;
    case PTR_BAD:
        at = w->arena.hole;
        break;
    case PTR_BAD_LENGTH:
        len = (socklen_t *)w->arena.hole;
        break;
    }
    call_result(o, getsockopt(w->world->fd[arg[0]], arg[1], arg[2], at, len));
    if (o->ret < 0 || !at || at == w->arena.hole ||
        (uint8_t *)len == w->arena.hole) {
        return;
    }
    value_facts(o, arg[1], arg[2], at, *len < room ? *len : room);
    if (arg[4] == PTR_GOOD) {
        outcome_fact(o, 'd', "overrun",
                     at[*len < room ? *len : room] != POISON);
    }
}

/*
 * Signals go to a thread of this world.  Both worlds share a process, and a
 * second pending signal to the process would be lost.
 */
static int own_signals(struct worker *w, int fd)
{
    struct f_owner_ex owner = { F_OWNER_TID, w->world->worker[0].tid };

    return fcntl(fd, F_SETOWN_EX, &owner);
}

void call_ioctl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int32_t *at = (int32_t *)(w->arena.hole - 64), value = arg[2];

    memset(at, 0, 64);
    *at = value;
    switch (arg[3]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_BAD:
        at = (int32_t *)w->arena.hole;
        break;
    }
    if (arg[1] == FIOSETOWN || arg[1] == SIOCSPGRP) {
        value = w->world->worker[0].tid;
        memcpy(w->arena.hole - 64, &value, sizeof(value));
    }
    call_result(o, ioctl(w->world->fd[arg[0]], arg[1], at));
    if (o->ret < 0 || !at || at == (int32_t *)w->arena.hole) {
        return;
    }
    switch (arg[1]) {
    case FIOSETOWN:
    case SIOCSPGRP:
        own_signals(w, w->world->fd[arg[0]]);
        break;
    case SIOCINQ:
    case SIOCATMARK:
        outcome_fact(o, 'd', "value", *at);
        break;
    case FIOGETOWN:
    case SIOCGPGRP:
        outcome_fact(o, 'd', "owned", *at != 0);
        break;
    }
}

void call_fcntl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = w->world->fd[arg[0]];
    struct f_owner_ex owner = { };
    struct flock lock = { .l_type = F_RDLCK };

    switch (arg[1]) {
    case F_SETOWN:
    case F_SETOWN_EX:
        call_result(o, own_signals(w, fd));
        break;
    case F_GETOWN_EX:
    case F_GETOWN:
        call_result(o, fcntl(fd, F_GETOWN_EX, &owner));
        outcome_fact(o, 'd', "owned", owner.pid != 0);
        break;
    case F_GETLK:
    case F_SETLK:
        call_result(o, fcntl(fd, arg[1], &lock));
        break;
    default:
        call_result(o, fcntl(fd, arg[1], (long)(int)arg[2]));
    }
}
