/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sequences from seeds
 *
 * Calls on random sockets with random arguments end in EBADF and EINVAL, so
 * most choices are sensible: a model remembers what each socket should be by
 * now, and steps choose sockets and arguments that make something happen.  The
 * rest is anything.  The model may be wrong; nothing depends on it.
 */
#include "generate.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "random.h"
#include "world.h"

enum what {
    NOTHING, CLOSED, BOUND, LISTENER, STREAM, UDP, UDP_BOUND, UDP_CONNECTED,
};

struct model {
    struct random r;
    struct op *ops;
    unsigned num, max;
    enum what ours[SLOTS], theirs[PEERS];
    int link[SLOTS];            /* the peer's end of a stream; -1: unknown */
    bool waiting[SLOTS];        /* there is something to be received */
};

/* --- choosing ------------------------------------------------------------- */

static uint32_t below(struct model *m, uint32_t bound)
{
    return random_below(&m->r, bound);
}

static bool percent(struct model *m, unsigned p)
{
    return random_percent(&m->r, p);
}

static struct op *emit(struct model *m, enum op_kind kind)
{
    static struct op nowhere;
    struct op *op = m->num < m->max ? &m->ops[m->num++] : &nowhere;

    memset(op, 0, sizeof(*op));
    op->kind = kind;
    op->thread = percent(m, 80) ? 0 : below(m, THREADS);
    return op;
}

static uint32_t slot_of(struct model *m, unsigned wanted)
{
    uint32_t start = below(m, SLOTS), i;

    for (i = 0; i < SLOTS && percent(m, 97); i++) {
        uint32_t slot = (start + i) % SLOTS;

        if (wanted & 1u << m->ours[slot]) {
            return slot;
        }
    }
    return start;
}

static uint32_t peer_of(struct model *m, unsigned wanted)
{
    uint32_t start = below(m, PEERS), i;

    for (i = 0; i < PEERS && percent(m, 97); i++) {
        uint32_t peer = (start + i) % PEERS;

        if (wanted & 1u << m->theirs[peer]) {
            return peer;
        }
    }
    return start;
}

#define ANY_STREAM  (1u << CLOSED | 1u << BOUND | 1u << LISTENER | \
                     1u << STREAM)
#define ANY_UDP     (1u << UDP | 1u << UDP_BOUND | 1u << UDP_CONNECTED)
#define TALKING     (1u << STREAM | ANY_UDP)

static uint32_t address(uint32_t addr, uint32_t port)
{
    return addr | port << 8;
}

static uint32_t any_port(struct model *m)
{
    static const uint8_t some[] = {
        PORT_ZERO, PORT_FIXED_0, PORT_FIXED_1, PORT_FIXED_2, PORT_CLOSED,
        PORT_LOW,
    };

    switch (below(m, 3)) {
    case 0:
        return PORT_SLOT + below(m, SLOTS);
    case 1:
        return PORT_PEER + below(m, PEERS);
    default:
        return random_of(&m->r, some);
    }
}

static uint32_t any_size(struct model *m)
{
    static const uint32_t some[] = {
        0, 1, 2, 7, 100, 1000, 1024, 1025, 1460, 4095, 4096, 4097, 8192,
        16384, 65507, 65536, 100000, 262144,
    };

    return percent(m, 70) ? 1 + below(m, 300)
                          : some[below(m, percent(m, 80) ? 14 : 18)];
}

static uint32_t any_flags(struct model *m, bool receive)
{
    static const uint32_t sent[] = {
        MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_NOSIGNAL, MSG_CONFIRM, MSG_EOR,
        MSG_DONTROUTE, MSG_ZEROCOPY, MSG_FASTOPEN, 0x10000, 0x80000000,
    };
    static const uint32_t got[] = {
        MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB,
        MSG_ERRQUEUE, MSG_CMSG_CLOEXEC, MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL,
        0x10000, MSG_CTRUNC,
    };
    uint32_t flags = 0;

    while (percent(m, 40)) {
        flags |= receive ? random_of(&m->r, got) : random_of(&m->r, sent);
    }
    return flags;
}

static uint32_t any_layout(struct model *m)
{
    if (percent(m, 60)) {
        return LAYOUT_PLAIN;
    }
    return percent(m, 60) ? below(m, LAYOUT_MOST + 1) : below(m, LAYOUTS);
}

static uint32_t any_room(struct model *m)
{
    return percent(m, 60) ? ROOM_EXACT : below(m, ROOMS);
}

static uint32_t any_len(struct model *m)
{
    static const uint32_t some[] = { 0, 1, 2, 8, 15, 17, 28, 128, 129, -1 };

    return percent(m, 85) ? 16 : random_of(&m->r, some);
}

static uint32_t any_events(struct model *m)
{
    static const uint32_t some[] = {
        EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT, EPOLLIN | EPOLLRDHUP,
        EPOLLPRI, EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP, 0,
    };

    return random_of(&m->r, some);
}

/* --- sockets that steps are about ----------------------------------------- */

static uint32_t make_socket(struct model *m, uint32_t slot, int type)
{
    static const uint32_t protocols[] = { 0, 6, 17, 1, 255, -1, 300 };
    struct op *op = emit(m, OP_SOCKET);

    op->arg[0] = slot;
    op->arg[1] = type | (percent(m, 20) ? SOCK_NONBLOCK : 0) |
                 (percent(m, 10) ? SOCK_CLOEXEC : 0);
    if (percent(m, 3)) {
        op->arg[1] = below(m, 12);
    }
    if (percent(m, 5)) {
        op->arg[2] = random_of(&m->r, protocols);
    }
    m->ours[slot] = type == SOCK_STREAM ? CLOSED : UDP;
    m->link[slot] = -1;
    m->waiting[slot] = false;
    return slot;
}

/* @second: at its second address */
static uint32_t peer_listens(struct model *m, bool second)
{
    uint32_t peer = below(m, PEERS);
    struct op *op = emit(m, OP_PEER_LISTEN);

    op->arg[0] = peer;
    op->arg[1] = 8;
    op->arg[2] = second;
    m->theirs[peer] = LISTENER;
    return peer;
}

static void connect_to(struct model *m, uint32_t slot, uint32_t addr,
                       uint32_t port)
{
    struct op *op = emit(m, OP_CONNECT);

    op->arg[0] = slot;
    op->arg[1] = address(addr, port);
    op->arg[2] = 16;
}

static void bind_to(struct model *m, uint32_t slot, uint32_t addr,
                    uint32_t port)
{
    struct op *op = emit(m, OP_BIND);

    op->arg[0] = slot;
    op->arg[1] = address(addr, port);
    op->arg[2] = 16;
}

static void begin_client(struct model *m)
{
    bool second = percent(m, 15);
    uint32_t listener = peer_listens(m, second);
    uint32_t end = (listener + 1 + below(m, PEERS - 1)) % PEERS;
    uint32_t slot = make_socket(m, below(m, SLOTS), SOCK_STREAM);
    struct op *op;

    connect_to(m, slot, second ? ADDR_PEER2 : ADDR_PEER,
               PORT_PEER + listener);
    op = emit(m, OP_PEER_ACCEPT);
    op->arg[0] = listener;
    op->arg[1] = end;
    m->theirs[end] = STREAM;
    m->ours[slot] = STREAM;
    m->link[slot] = end;
}

static uint32_t begin_listener(struct model *m)
{
    uint32_t slot = make_socket(m, below(m, SLOTS), SOCK_STREAM);
    struct op *op;

    if (percent(m, 80)) {
        bind_to(m, slot, percent(m, 70) ? ADDR_ANY : ADDR_ME,
                percent(m, 50) ? PORT_ZERO : PORT_FIXED_0 + below(m, 4));
    }
    op = emit(m, OP_LISTEN);
    op->arg[0] = slot;
    op->arg[1] = percent(m, 80) ? 5 : below(m, 4);
    m->ours[slot] = LISTENER;
    return slot;
}

/* Returns which of the peer's sockets it is. */
static uint32_t peer_calls(struct model *m, uint32_t listener)
{
    uint32_t peer = below(m, PEERS);
    struct op *op = emit(m, OP_PEER_CONNECT);

    op->arg[0] = peer;
    op->arg[1] = PORT_SLOT + listener;
    m->theirs[peer] = STREAM;
    m->waiting[listener] = true;
    return peer;
}

static void accept_from(struct model *m, uint32_t listener, int link)
{
    uint32_t to = (listener + 1 + below(m, SLOTS - 1)) % SLOTS;
    struct op *op = emit(m, OP_ACCEPT);

    op->arg[0] = listener;
    op->arg[1] = to;
    op->arg[2] = percent(m, 30) ? SOCK_NONBLOCK :
                 percent(m, 10) ? 1u << below(m, 32) : 0;
    op->arg[3] = any_room(m);
    m->ours[to] = STREAM;
    m->link[to] = link;
    m->waiting[listener] = false;
}

static void begin_server(struct model *m)
{
    uint32_t listener = begin_listener(m);

    accept_from(m, listener, peer_calls(m, listener));
}

static void begin_udp(struct model *m)
{
    uint32_t slot = make_socket(m, below(m, SLOTS), SOCK_DGRAM);
    uint32_t peer = below(m, PEERS);
    struct op *op = emit(m, OP_PEER_OPEN);

    op->arg[0] = peer;
    op->arg[1] = percent(m, 20);
    m->theirs[peer] = UDP;
    if (percent(m, 50)) {
        connect_to(m, slot, op->arg[1] ? ADDR_PEER2 : ADDR_PEER,
                   PORT_PEER + peer);
        m->ours[slot] = UDP_CONNECTED;
    } else {
        bind_to(m, slot, percent(m, 70) ? ADDR_ANY : ADDR_ME,
                percent(m, 50) ? PORT_ZERO : PORT_FIXED_0 + below(m, 4));
        m->ours[slot] = UDP_BOUND;
    }
    m->link[slot] = peer;
}

/* Two sockets of ours that talk to each other. */
static void begin_inside(struct model *m)
{
    uint32_t listener = begin_listener(m);
    uint32_t slot = (listener + 1) % SLOTS;

    make_socket(m, slot, SOCK_STREAM);
    connect_to(m, slot, percent(m, 50) ? ADDR_ME : ADDR_LOOPBACK,
               PORT_SLOT + listener);
    m->ours[slot] = STREAM;
    accept_from(m, listener, -1);
}

static void begin(struct model *m)
{
    switch (below(m, 10)) {
    case 0 ... 2:
        begin_client(m);
        break;
    case 3 ... 4:
        begin_server(m);
        break;
    case 5 ... 6:
        begin_udp(m);
        break;
    case 7:
        begin_inside(m);
        break;
    case 8:
        begin_listener(m);
        break;
    default:
        make_socket(m, below(m, SLOTS),
                    percent(m, 50) ? SOCK_STREAM : SOCK_DGRAM);
    }
}

/* --- steps, each with its own chance -------------------------------------- */

static void step_bind(struct model *m)
{
    struct op *op = emit(m, OP_BIND);

    op->arg[0] = slot_of(m, 1u << CLOSED | 1u << UDP);
    op->arg[1] = address(percent(m, 60) ? ADDR_ANY + below(m, 2)
                                        : below(m, ADDRS),
                         percent(m, 60) ? below(m, 5) : any_port(m));
    op->arg[2] = any_len(m);
    if (m->ours[op->arg[0]] == CLOSED) {
        m->ours[op->arg[0]] = BOUND;
    }
}

static void step_listen(struct model *m)
{
    static const uint32_t some[] = { 0, 1, 2, 5, 128, INT_MAX, -1 };
    struct op *op = emit(m, OP_LISTEN);

    op->arg[0] = slot_of(m, 1u << BOUND | 1u << LISTENER | 1u << CLOSED);
    op->arg[1] = random_of(&m->r, some);
    m->ours[op->arg[0]] = LISTENER;
}

static void step_connect(struct model *m)
{
    uint32_t addr = percent(m, 70) ? ADDR_PEER : below(m, ADDRS);
    uint32_t port = percent(m, 70) ? PORT_PEER + peer_of(m, 1u << LISTENER)
                                   : any_port(m);
    struct op *op = emit(m, OP_CONNECT);

    op->arg[0] = slot_of(m, 1u << CLOSED | 1u << BOUND | ANY_UDP);
    op->arg[1] = address(addr, port);
    op->arg[2] = any_len(m);
    if (m->ours[op->arg[0]] >= UDP) {
        m->ours[op->arg[0]] = UDP_CONNECTED;
    }
}

static void step_accept(struct model *m)
{
    accept_from(m, slot_of(m, 1u << LISTENER), -1);
}

static void step_shutdown(struct model *m)
{
    struct op *op = emit(m, OP_SHUTDOWN);

    op->arg[0] = slot_of(m, 1u << STREAM | 1u << UDP_CONNECTED |
                         1u << LISTENER);
    op->arg[1] = percent(m, 90) ? below(m, 3) : below(m, 6) - 2;
    op->fork = percent(m, 10);
}

static void step_close(struct model *m)
{
    struct op *op = emit(m, OP_CLOSE);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->fork = percent(m, 10);
    if (!op->fork) {
        m->ours[op->arg[0]] = NOTHING;
    }
}

static void step_dup(struct model *m)
{
    struct op *op = emit(m, percent(m, 60) ? OP_DUP : OP_PASS);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->arg[1] = below(m, SLOTS);
    m->ours[op->arg[1]] = m->ours[op->arg[0]];
    m->link[op->arg[1]] = m->link[op->arg[0]];
}

static void step_name(struct model *m)
{
    struct op *op = emit(m, OP_NAME);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->arg[1] = below(m, 2);
    op->arg[2] = any_room(m);
    op->fork = percent(m, 5);
}

static void step_send(struct model *m)
{
    struct op *op = emit(m, OP_SEND);
    uint32_t slot = slot_of(m, TALKING);

    op->arg[0] = slot;
    op->arg[1] = any_size(m);
    op->arg[2] = any_flags(m, false);
    op->arg[3] = below(m, FORMS);
    op->arg[4] = any_layout(m);
    op->arg[5] = address(ADDR_NONE, 0);
    if (m->ours[slot] == UDP_BOUND || m->ours[slot] == UDP ||
        percent(m, 10)) {
        op->arg[3] = FORM_NAME + below(m, 3);
        op->arg[5] = percent(m, 75)
                     ? address(ADDR_PEER, PORT_PEER + peer_of(m, 1u << UDP))
                     : address(below(m, ADDRS), any_port(m));
    }
    op->arg[6] = percent(m, 70) ? CONTROL_NONE : below(m, CONTROLS);
    op->fork = percent(m, 5);
}

static void step_recv(struct model *m)
{
    struct op *op = emit(m, OP_RECV);
    uint32_t slot = slot_of(m, TALKING);

    op->arg[0] = slot;
    op->arg[1] = any_size(m);
    op->arg[2] = any_flags(m, true);
    op->arg[3] = below(m, FORMS);
    op->arg[4] = any_layout(m);
    op->arg[5] = any_room(m);
    op->arg[6] = percent(m, 50) ? 0 : percent(m, 80) ? 256 : below(m, 64);
    op->fork = percent(m, 5);
    if (!m->waiting[slot] && percent(m, 75)) {
        /* Reads without flags wait; these need not. */
        op->arg[3] = FORM_NAME + below(m, 3);
        op->arg[2] |= MSG_DONTWAIT;
    }
    m->waiting[slot] = false;
}

static void step_pipe(struct model *m)
{
    static const enum op_kind kinds[] = {
        OP_SPLICE_IN, OP_SPLICE_OUT, OP_SENDFILE, OP_VMSPLICE,
    };
    enum op_kind kind = random_of(&m->r, kinds);
    struct op *op = emit(m, kind);

    op->arg[0] = slot_of(m, 1u << STREAM | 1u << UDP_CONNECTED);
    op->arg[1] = any_size(m);
    if (kind == OP_SENDFILE) {
        op->arg[2] = percent(m, 60) ? 0 : percent(m, 90) ? below(m, 5000) : -1u;
    } else {
        op->arg[2] = percent(m, 50) ? 0 : 1u << below(m, 5);
    }
    if (kind == OP_SPLICE_IN) {
        op->arg[3] = percent(m, 30);
        if (!m->waiting[op->arg[0]]) {
            op->arg[2] |= 2;    /* SPLICE_F_NONBLOCK */
        }
        m->waiting[op->arg[0]] = false;
    }
}

static void step_fill(struct model *m)
{
    static const uint32_t some[] = { 1000, 4096, 5000, 65536, 200000 };
    struct op *op = emit(m, OP_FILL);

    op->arg[0] = slot_of(m, 1u << STREAM);
    op->arg[1] = random_of(&m->r, some);
}

static void step_poll(struct model *m)
{
    struct op *op;

    if (percent(m, 60)) {
        op = emit(m, OP_POLL);
        op->arg[0] = below(m, 1u << SLOTS);
        op->arg[1] = any_events(m);
        op->arg[2] = percent(m, 80) ? 0 : percent(m, 50) ? 30 : -1;
        op->fork = percent(m, 5);
    } else {
        op = emit(m, OP_SELECT);
        op->arg[0] = below(m, 1u << SLOTS);
        op->arg[1] = percent(m, 80) ? 0 : percent(m, 50) ? 30 : -1;
    }
}

static void step_epoll(struct model *m)
{
    static const uint32_t modes[] = {
        0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT, EPOLLEXCLUSIVE,
        EPOLLET | EPOLLEXCLUSIVE,
    };
    struct op *op;

    if (percent(m, 50)) {
        op = emit(m, OP_EPCTL);
        op->arg[0] = below(m, EPOLLS);
        op->arg[1] = percent(m, 60) ? EPOLL_CTL_ADD : below(m, 5);
        op->arg[2] = slot_of(m, ANY_STREAM | ANY_UDP);
        op->arg[3] = any_events(m) | random_of(&m->r, modes);
    } else {
        op = emit(m, OP_EPWAIT);
        op->arg[0] = below(m, EPOLLS);
        op->arg[1] = percent(m, 90) ? 16 : below(m, 4) - 1;
        op->arg[2] = percent(m, 85) ? 0 : percent(m, 50) ? 30 : -1;
    }
}

static uint32_t any_value(struct model *m)
{
    static const uint32_t some[] = {
        0, 1, 2, 3, 6, 7, 10, 64, 100, 255, 256, 1000, 1500, 4096, 65535,
        65536, INT_MAX, INT_MIN, -1, -2,
    };

    return percent(m, 50) ? below(m, 3) : random_of(&m->r, some);
}

static void any_option(struct model *m, uint32_t *level, uint32_t *name)
{
    static const uint32_t levels[] = {
        SOL_SOCKET, SOL_IP, SOL_TCP, SOL_UDP, SOL_IPV6, 255, -1,
    };
    const struct option_row *row = &option_rows[below(m, option_rows_num)];

    *level = row->level;
    *name = row->name;
    if (percent(m, 10)) {
        *level = random_of(&m->r, levels);
        *name = below(m, 130);
    }
}

static void step_set(struct model *m)
{
    static const uint32_t lens[] = {
        0, 1, 2, 3, 5, 8, 16, 256, 257, 65536, -1,
    };
    struct op *op = emit(m, OP_SET);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    any_option(m, &op->arg[1], &op->arg[2]);
    op->arg[3] = any_value(m);
    op->arg[4] = percent(m, 85) ? 4 : random_of(&m->r, lens);
    if (op->arg[1] == SOL_SOCKET && percent(m, 90) &&
        (op->arg[2] == SO_LINGER || op->arg[2] == SO_RCVTIMEO ||
         op->arg[2] == SO_SNDTIMEO)) {
        op->arg[4] = op->arg[2] == SO_LINGER ? 8 : 16;
    }
    op->arg[5] = percent(m, 90) ? PTR_GOOD : below(m, PTR_BAD + 1);
    op->fork = percent(m, 5);
}

static void step_get(struct model *m)
{
    static const uint32_t lens[] = { 0, 1, 2, 3, 5, 8, 16, 256, 512, -1 };
    struct op *op = emit(m, OP_GET);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    any_option(m, &op->arg[1], &op->arg[2]);
    op->arg[3] = percent(m, 70) ? 4 : random_of(&m->r, lens);
    op->arg[4] = percent(m, 90) ? PTR_GOOD : below(m, PTRS);
    op->fork = percent(m, 5);
}

static void step_ioctl(struct model *m)
{
    static const uint32_t some[] = {
        SIOCINQ, SIOCINQ, SIOCATMARK, FIONBIO, FIOASYNC, SIOCOUTQ,
        SIOCOUTQNSD, FIOSETOWN, FIOGETOWN, SIOCSPGRP, SIOCGPGRP,
        SIOCGSTAMP_OLD, SIOCGSTAMPNS_OLD, 0x5401, 0x12345678,
    };
    struct op *op = emit(m, OP_IOCTL);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->arg[1] = random_of(&m->r, some);
    op->arg[2] = percent(m, 80) ? below(m, 2) : any_value(m);
    op->arg[3] = percent(m, 90) ? PTR_GOOD
                                : percent(m, 50) ? PTR_NULL : PTR_BAD;
    op->fork = percent(m, 5);
}

static void step_fcntl(struct model *m)
{
    static const uint32_t some[] = {
        F_GETFL, F_SETFL, F_SETFL, F_SETFL, F_SETOWN, F_GETOWN, F_SETSIG,
        F_GETSIG, F_GETFD, F_GETLK, F_SETLK, F_GETLEASE, F_GETPIPE_SZ,
        F_GET_SEALS,
    };
    static const uint32_t flags[] = {
        0, O_NONBLOCK, O_NONBLOCK, O_NONBLOCK | O_ASYNC, O_ASYNC, O_APPEND,
        O_DIRECT, O_NOATIME,
    };
    struct op *op = emit(m, OP_FCNTL);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->arg[1] = random_of(&m->r, some);
    op->arg[2] = op->arg[1] == F_SETFL ? random_of(&m->r, flags) :
                 op->arg[1] == F_SETSIG ? 0 : below(m, 3);
}

static void step_odd(struct model *m)
{
    struct op *op = emit(m, OP_ODD);

    op->arg[0] = slot_of(m, ANY_STREAM | ANY_UDP);
    op->arg[1] = below(m, 10);
}

static void step_interrupt(struct model *m)
{
    struct op *op = emit(m, OP_INTERRUPT);

    op->arg[0] = below(m, THREADS);
    op->arg[1] = percent(m, 30);
}

static void step_peer_send(struct model *m)
{
    uint32_t peer = peer_of(m, 1u << STREAM), i;
    struct op *op = emit(m, OP_PEER_SEND);

    op->arg[0] = peer;
    op->arg[1] = any_size(m) % 60000;
    op->arg[2] = percent(m, 10) ? MSG_OOB : 0;
    for (i = 0; i < SLOTS; i++) {
        if (m->link[i] == (int)peer) {
            m->waiting[i] = true;
        }
    }
}

static void step_peer_recv(struct model *m)
{
    struct op *op = emit(m, OP_PEER_RECV);

    op->arg[0] = peer_of(m, 1u << STREAM);
    op->arg[1] = percent(m, 50) ? PEER_DATA_MAX : any_size(m);
    op->arg[2] = percent(m, 5) ? MSG_OOB : 0;
}

static void step_peer_datagram(struct model *m)
{
    uint32_t slot = slot_of(m, ANY_UDP);
    struct op *op;

    if (percent(m, 50)) {
        op = emit(m, OP_PEER_SENDTO);
        op->arg[0] = peer_of(m, 1u << UDP);
        op->arg[1] = PORT_SLOT + slot;
        op->arg[2] = any_size(m) % 9000;
        op->arg[3] = percent(m, 30) ? 0x20 : 0;
        m->waiting[slot] = true;
    } else {
        op = emit(m, OP_PEER_RECVFROM);
        op->arg[0] = peer_of(m, 1u << UDP);
    }
}

static void step_peer_end(struct model *m)
{
    static const enum op_kind kinds[] = {
        OP_PEER_SHUTDOWN, OP_PEER_SHUTDOWN, OP_PEER_CLOSE, OP_PEER_RESET,
    };
    struct op *op = emit(m, random_of(&m->r, kinds));

    op->arg[0] = peer_of(m, 1u << STREAM);
    op->arg[1] = op->kind == OP_PEER_SHUTDOWN ? below(m, 3) : 0;
    if (op->kind != OP_PEER_SHUTDOWN) {
        m->theirs[op->arg[0]] = NOTHING;
    }
}

static void step_peer_calls(struct model *m)
{
    peer_calls(m, slot_of(m, 1u << LISTENER));
}

static void step_peer_accepts(struct model *m)
{
    struct op *op = emit(m, OP_PEER_ACCEPT);

    op->arg[0] = peer_of(m, 1u << LISTENER);
    op->arg[1] = below(m, PEERS);
    m->theirs[op->arg[1]] = STREAM;
}

static const struct {
    unsigned weight;
    void (*make)(struct model *m);
} steps[] = {
    { 3, step_bind }, { 3, step_listen }, { 7, step_connect },
    { 6, step_accept }, { 4, step_shutdown }, { 5, step_close },
    { 3, step_dup }, { 5, step_name }, { 16, step_send }, { 18, step_recv },
    { 4, step_pipe }, { 1, step_fill }, { 6, step_poll }, { 9, step_epoll },
    { 12, step_set }, { 10, step_get }, { 5, step_ioctl }, { 4, step_fcntl },
    { 1, step_odd }, { 3, step_interrupt }, { 14, step_peer_send },
    { 7, step_peer_recv }, { 8, step_peer_datagram }, { 4, step_peer_end },
    { 4, step_peer_calls }, { 2, step_peer_accepts }, { 2, begin },
};

static void step(struct model *m)
{
    unsigned total = 0, i, at;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        total += steps[i].weight;
    }
    at = below(m, total);
    for (i = 0; at >= steps[i].weight; i++) {
        at -= steps[i].weight;
    }
    steps[i].make(m);
}

unsigned generate(uint64_t seed, unsigned num, struct op *ops)
{
    struct model m = {
        .r = { seed },
        .ops = ops,
        .max = num < OPS_MAX ? num : OPS_MAX,
    };

    memset(m.link, -1, sizeof(m.link));
    begin(&m);
    if (percent(&m, 50)) {
        begin(&m);
    }
    while (m.num < m.max) {
        step(&m);
    }
    return m.num;
}
