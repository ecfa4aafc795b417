/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Circumstances that change the result of a call
 *
 * A difference that is known is mostly one under some circumstances only: a
 * buffer is full, several tasks read.  By naming them known.txt can say so, and
 * the same difference without them is a finding.
 */
#include "circumstance.h"

#include <asm/sockios.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Size of streams' buffers in bytes, with overhead. */
#define BUFFER_MAX      65536
/* Bytes of a stream that are sent without waiting for the peer: ten packets. */
#define FIRST_WINDOW    14280
/* Bytes of a datagram that fit into a packet, without the headers. */
#define ETHERNET_PAYLOAD    1472

const char *circumstance_of(const struct op *op)
{
    unsigned i;

    /* read() and readv() have no flags. */
    if (op->kind == OP_RECV && op->arg[2] & MSG_ERRQUEUE &&
        op->arg[3] != FORM_FILE && op->arg[3] != FORM_FILE_VECTOR) {
        return " errors";
    }
    for (i = 0; i < OP_ARGS; i++) {
        if (op_arg_type(op->kind, i) == 'A' &&
            (op->arg[i] & 0xff) == ADDR_BROADCAST) {
            return " to all";
        }
    }
    return "";
}

/* Whether a buffer may have no more room in one of the worlds, or in both. */
static bool fills(const struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;

    if (run->ops[step].kind == OP_FILL) {
        return run->step[step].progress != SKIPPED;
    }
    if (run->ops[step].kind == OP_SET && run->ops[step].arg[1] == SOL_SOCKET &&
        (run->ops[step].arg[2] == SO_RCVBUF ||
         run->ops[step].arg[2] == SO_RCVBUFFORCE ||
         run->ops[step].arg[2] == SO_SNDBUF ||
         run->ops[step].arg[2] == SO_SNDBUFFORCE)) {
        return true;
    }
    if (run->ops[step].kind == OP_SEND &&
        run->step[step].progress != SKIPPED &&
        (run->ops[step].arg[1] > BUFFER_MAX ||
         run->ops[step].arg[3] == FORM_MMSG)) {
        return true;
    }
    return op_sends(run->ops[step].kind) && o[NATIVE].ret > 0 &&
           o[OURS].ret > 0 &&
           (o[NATIVE].ret != o[OURS].ret || o[OURS].ret > BUFFER_MAX);
}

/* Whether data are held back because of MSG_MORE or the like. */
static bool corks(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    switch (op->kind) {
    case OP_SEND:
        return op->arg[2] & MSG_MORE;
    case OP_SPLICE_OUT:
    case OP_VMSPLICE:
        return op->arg[2] & SPLICE_F_MORE;
    default:
        return false;
    }
}

/* Whether a stream is closed that may hold something back. */
static bool cuts_off(const struct run *run, unsigned step)
{
    unsigned i;

    for (i = 0; i < step && run->ops[step].kind == OP_CLOSE; i++) {
        if (run->step[i].type == SOCK_STREAM && corks(run, i)) {
            return true;
        }
    }
    return false;
}

/* Whether the socket has a broadcast or multicast address. */
static bool binds_to_all(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    return op->kind == OP_BIND && ((op->arg[1] & 0xff) == ADDR_BROADCAST ||
                                   (op->arg[1] & 0xff) == ADDR_MULTICAST);
}

/* Whether a socket communicates with one of the guest itself. */
static bool speaks_inside(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    unsigned i;

    if (op->kind != OP_CONNECT &&
        (op->kind != OP_SEND || run->step[step].type != SOCK_DGRAM)) {
        return false;
    }
    for (i = 0; i < OP_ARGS; i++) {
        if (op_arg_type(op->kind, i) == 'A' &&
            ((op->arg[i] & 0xff) == ADDR_LOOPBACK ||
             (op->arg[i] & 0xff) == ADDR_ANY ||
             /* Not an address to connect to, but one to send to: 0.0.0.0. */
             (op->kind == OP_SEND && (op->arg[i] & 0xff) == ADDR_UNSPEC) ||
             (op->arg[i] & 0xff) == ADDR_ME)) {
            return true;
        }
    }
    return false;
}

/* Whether another task may wait in the same kind of call already. */
static bool contends(const struct run *run, unsigned step)
{
    enum op_kind kind = run->ops[step].kind;
    unsigned i;

    if (kind != OP_ACCEPT && kind != OP_RECV && kind != OP_SPLICE_IN) {
        return false;
    }
    for (i = 0; i < step; i++) {
        if ((run->ops[i].kind == OP_ACCEPT) == (kind == OP_ACCEPT) &&
            (kind == OP_ACCEPT || run->ops[i].kind == OP_RECV ||
             run->ops[i].kind == OP_SPLICE_IN) &&
            run->ops[i].thread != run->ops[step].thread) {
            return true;
        }
    }
    return false;
}

/* Whether another task may be looking for the data that this one takes. */
static bool reads_beside_poll(const struct run *run, unsigned step)
{
    enum op_kind kind = run->ops[step].kind;
    unsigned i;

    if (kind != OP_RECV && kind != OP_SPLICE_IN) {
        return false;
    }
    for (i = 0; i < step; i++) {
        if ((run->ops[i].kind == OP_POLL || run->ops[i].kind == OP_SELECT ||
             run->ops[i].kind == OP_EPWAIT) &&
            run->ops[i].thread != run->ops[step].thread) {
            return true;
        }
    }
    return false;
}

/* Whether so much is sent that some of it may still be in flight. */
static bool sends_much(const struct run *run, unsigned step)
{
    return op_sends(run->ops[step].kind) &&
           run->step[step].type == SOCK_STREAM &&
           run->step[step].outcome[NATIVE].ret > FIRST_WINDOW;
}

/* Whether another task sends by the same socket, perhaps at the same time. */
static bool sends_beside(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    unsigned i;

    for (i = 0; i < run->num && op_sends(op->kind); i++) {
        if (op_sends(run->ops[i].kind) &&
            run->ops[i].thread != op->thread &&
            run->ops[i].arg[0] == op->arg[0]) {
            return true;
        }
    }
    return false;
}

/* Whether the socket sends its signals to somebody. */
static bool has_owner(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    return (op->kind == OP_IOCTL && (op->arg[1] == FIOSETOWN ||
                                     op->arg[1] == SIOCSPGRP)) ||
           (op->kind == OP_FCNTL && (op->arg[1] == F_SETOWN ||
                                     op->arg[1] == F_SETOWN_EX));
}

/* Whether the call reads 0 bytes. */
static bool reads_nothing(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_RECV && !run->ops[step].arg[1];
}

/* Whether a peer begins another connection, and thereby ends its old one. */
static bool connects_again(const struct run *run, unsigned step)
{
    unsigned i;

    for (i = 0; i < step && run->ops[step].kind == OP_PEER_CONNECT; i++) {
        if (run->ops[i].kind == OP_PEER_CONNECT &&
            run->ops[i].arg[0] == run->ops[step].arg[0]) {
            return true;
        }
    }
    return false;
}

/* Whether listen() is called on a socket that may have been shut down. */
static bool listens_again(const struct run *run, unsigned step)
{
    unsigned i;

    for (i = 0; i < step && run->ops[step].kind == OP_LISTEN; i++) {
        if (run->ops[i].kind == OP_SHUTDOWN) {
            return true;
        }
    }
    return false;
}

/* Whether the call dissolves a connection (AF_UNSPEC). */
static bool dissolves(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    return op->kind == OP_CONNECT && (op->arg[1] & 0xff) == ADDR_UNSPEC;
}

/* Whether a peer for datagrams was refused. */
static bool fails_to_connect(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_CONNECT &&
           run->step[step].type == SOCK_DGRAM &&
           run->step[step].progress == DONE &&
           run->step[step].outcome[NATIVE].ret < 0;
}

/* Whether urgent data are sent: the next such make them data like others. */
static bool sends_urgently(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_SEND && (run->ops[step].arg[2] & MSG_OOB);
}

static bool sets(const struct run *run, unsigned step, uint32_t level,
                 uint32_t name)
{
    const struct op *op = &run->ops[step];

    return op->kind == OP_SET && op->arg[1] == level && op->arg[2] == name;
}

/* Whether datagrams go without a checksum, which IPv6 always has. */
static bool leaves_out_sums(const struct run *run, unsigned step)
{
    return sets(run, step, SOL_SOCKET, SO_NO_CHECK);
}

/* Whether the call asks for the rest in the queue. */
static bool asks_what_is_left(const struct run *run, unsigned step)
{
    return sets(run, step, IPPROTO_TCP, TCP_INQ);
}

/* Whether the destination address of datagrams is requested. */
static bool asks_for_address(const struct run *run, unsigned step)
{
    return sets(run, step, IPPROTO_IP, IP_PKTINFO);
}

/* Whether the amount of unsent data is limited. */
static bool limits_unsent(const struct run *run, unsigned step)
{
    return sets(run, step, IPPROTO_TCP, TCP_NOTSENT_LOWAT);
}

/* Whether data stay in the buffer for a time. */
static bool slows_down(const struct run *run, unsigned step)
{
    return sets(run, step, SOL_SOCKET, SO_MAX_PACING_RATE);
}

/* Whether timestamps of packets are requested. */
static bool asks_for_stamps(const struct run *run, unsigned step)
{
    return sets(run, step, SOL_SOCKET, SO_TIMESTAMP_OLD) ||
           sets(run, step, SOL_SOCKET, SO_TIMESTAMP_NEW) ||
           sets(run, step, SOL_SOCKET, SO_TIMESTAMPNS_OLD) ||
           sets(run, step, SOL_SOCKET, SO_TIMESTAMPNS_NEW) ||
           sets(run, step, SOL_SOCKET, SO_TIMESTAMPING_OLD) ||
           sets(run, step, SOL_SOCKET, SO_TIMESTAMPING_NEW);
}

/* Whether a socket for datagrams takes no more, and so is readable. */
static bool turns_deaf(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_SHUTDOWN &&
           run->step[step].type == SOCK_DGRAM &&
           run->ops[step].arg[1] != SHUT_WR;
}

static bool closes(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_CLOSE;
}

/* Whether later data cause a reset. */
static bool takes_no_more(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_SHUTDOWN &&
           run->ops[step].arg[1] == SHUT_RDWR;
}

/* Whether a datagram of a file's or a pipe's pages goes in fragments. */
static bool sends_fragments(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    return (op->kind == OP_SENDFILE || op->kind == OP_SPLICE_OUT ||
            op->kind == OP_VMSPLICE) &&
           run->step[step].type == SOCK_DGRAM &&
           run->step[step].outcome[NATIVE].ret > ETHERNET_PAYLOAD;
}

/* Before or at @step, or since, if that is a call that has waited. */
static bool has_been(const struct run *run, unsigned step,
                     bool (*is)(const struct run *run, unsigned step))
{
    unsigned i;

    for (i = 0; i < run->num; i++) {
        if ((i <= step || run->step[i].progress != NOT_YET) && is(run, i)) {
            return true;
        }
    }
    return false;
}

/* Earlier events that change the result of a call. */
static const struct {
    const char *name;
    bool (*is)(const struct run *run, unsigned step);
} pasts[] = {
    { " full", fills },
    { " corked", corks },
    { " cut off", cuts_off },
    { " from all", binds_to_all },
    { " inside", speaks_inside },
    { " contended", contends },
    { " polled", reads_beside_poll },
    { " on its way", sends_much },
    { " beside another", sends_beside },
    { " owned", has_owner },
    { " of nothing", reads_nothing },
    { " again", connects_again },
    { " relistened", listens_again },
    { " dissolved", dissolves },
    { " refused", fails_to_connect },
    { " urgent", sends_urgently },
    { " without sums", leaves_out_sums },
    { " with TCP_INQ", asks_what_is_left },
    { " with TCP_NOTSENT_LOWAT", limits_unsent },
    { " with IP_PKTINFO", asks_for_address },
    { " with stamps", asks_for_stamps },
    { " paced", slows_down },
    { " shut", takes_no_more },
    { " deaf", turns_deaf },
    { " closed", closes },
    { " after fragments", sends_fragments },
};

const char *circumstance_past(const struct run *run, unsigned step, unsigned i,
                              bool *was)
{
    if (i >= sizeof(pasts) / sizeof(pasts[0])) {
        return NULL;
    }
    /* Datagrams that there is no room for are lost natively, too. */
    *was = has_been(run, step, pasts[i].is) &&
           !(run->step[step].type == SOCK_DGRAM && pasts[i].is == fills);
    return pasts[i].name;
}
