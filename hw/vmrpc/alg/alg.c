/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: streams
 *
 * Theory of operation
 * ===================
 *
 * The guest's sockets are IPv4, the host's IPv6, and the server translates
 * the addresses of socket calls.  FTP and SIP carry addresses in their data,
 * too.  A gateway sits on such a socket and rewrites them (the paper's future
 * work; RFC 6384 does the same in the other direction).  Goals, in this order:
 *
 *  1. A gateway never disturbs.  Data that it does not understand pass
 *     unchanged, as does the rest of a stream that it has lost track of.  It
 *     sends nothing of its own and answers nobody.  Each line becomes one
 *     line, each message one message, in the same place.  So it stays in step
 *     with TCP, and needs no timer.
 *  2. Passing data are not copied: the host's kernel reads and writes the
 *     guest's memory.  A filter that is not blind looks at data of the host
 *     before, with MSG_PEEK, at most PEEK_SIZE bytes at a time.  The first
 *     bytes of a line tell that it is of no interest.
 *  3. The constants of alg-internal.h bound memory and work, whatever guest
 *     and network send.
 *
 * A gateway is no part of the VM's isolation.  The policy decides on each
 * destination and each port when the guest uses it.  Text opens no port here,
 * as it does in a NAT, so nobody gains by misleading a gateway.
 *
 * Passing and taking.  A filter, one for each protocol, has three functions
 * to look at a stream.  blind() tells how many bytes pass whatever they are.
 * scan() tells how many of the given bytes pass.  take() keeps bytes that may
 * have to change in the flow's held, until their line or message is complete.
 * Then they move to the flow's out, changed or not, which is delivered before
 * anything else.  passed() tells the filter which bytes were delivered, so
 * nothing must be undone when the other side takes fewer bytes than it was
 * offered.  A filter decides by the bytes alone, never by how they arrive; the
 * tests cut every session at every byte.
 *
 * The guest's memory may change while it is read.  scan() and passed() read
 * it in place, and it only steers them; the parsers read the copy in held.
 *
 * Back-pressure.  The host socket, or the guest's buffer, may take only a part
 * of out, and somebody must come back for the rest.  So the last of the bytes
 * that out replaces is not reported as taken until all of out is delivered
 * (owing).  Towards the host, the guest sends that byte again; towards the
 * guest, the byte is still in the host's receive queue.  Thus the readiness of
 * both sides is right without further means, and nothing waits for a buffer
 * of the gateway.
 *
 * Receiving.  While the filter is blind, bytes go from the host directly into
 * the guest's memory, where the filter sees them.  Otherwise the gateway peeks
 * and filters: passing bytes then go to the guest directly as well, and taken
 * bytes are dropped from the host's queue.  So a gateway never holds more than
 * one line or message.
 *
 * MSG_PEEK.  A peek shows the same bytes as the next recv, up to the first
 * change: its receiver looks at bytes and takes none.  The beginning of a line
 * that may change is held all the same.
 *
 * Differences that a program can notice: SIOCINQ counts bytes before they are
 * rewritten; a recv can give EAGAIN after a poll reported "readable", if only
 * half a line has come; the urgent mark is lost if its byte is held.
 */
#include "hw/vmrpc/alg/alg-flow.h"
#include "hw/vmrpc/alg/alg-ftp.h"
#include "hw/vmrpc/alg/alg-sip.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define PORT_FTP        21
#define PORT_SIP        5060

/* Bytes to scan before the host is offered them. */
#define SCAN_MAX        65536

/* Bytes of one peek, and peeks of one receive. */
#define PEEK_SIZE       2048
#define PEEK_ROUNDS     16

/* A receiver of bytes: returns how many it took, > 0, or a negative errno. */
typedef ssize_t Sink(void *opaque, const void *data, size_t len);

/* The receivers of one direction */
typedef struct Way {
    Sink *out;                  /* of bytes that were held, changed or not */
    Sink *pass;                 /* of bytes that pass */
    void *opaque;
} Way;

VmrpcAlgProto vmrpc_alg_proto(int type, uint16_t port)
{
    if (type == SOCK_STREAM && port == PORT_FTP) {
        return VMRPC_ALG_FTP;
    }
    return VMRPC_HAS_SIP && port == PORT_SIP ? VMRPC_ALG_SIP : VMRPC_ALG_NONE;
}

VmrpcAlg *vmrpc_alg_new(const VmrpcAlgConfig *config, const VmrpcAlgOps *ops)
{
    VmrpcAlg *alg = g_new0(VmrpcAlg, 1);

    alg->config = *config;
    alg->ops = ops;
    alg->filter = config->proto == VMRPC_ALG_FTP ? &vmrpc_alg_ftp_filter
                                                 : &vmrpc_alg_sip_filter;
    alg->filter->init(alg);
    return alg;
}

void vmrpc_alg_free(VmrpcAlg *alg)
{
    if (!alg) {
        return;
    }
    for (int dir = 0; dir < VMRPC_ALG_DIRS; dir++) {
        g_clear_pointer(&alg->flow[dir].held, g_byte_array_unref);
        g_clear_pointer(&alg->flow[dir].out, g_byte_array_unref);
    }
    g_free(alg);
}

bool vmrpc_alg_done(const VmrpcAlg *alg)
{
    for (int dir = 0; dir < VMRPC_ALG_DIRS; dir++) {
        const VmrpcAlgFlow *flow = &alg->flow[dir];

        if (!flow->opaque || flow->held || flow->out || flow->owing) {
            return false;
        }
    }
    return true;
}

GByteArray *vmrpc_alg_datagram(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                               const void *data, size_t len)
{
    return vmrpc_sip_datagram(ops, dir, data, len);
}

/* --- one direction -------------------------------------------------------- */

/* How many of the next bytes pass before the filter sees them? */
static size_t blind(const VmrpcAlg *alg, VmrpcAlgDir dir)
{
    const VmrpcAlgFlow *flow = &alg->flow[dir];

    if (flow->held || flow->out || flow->owing) {
        return 0;
    }
    return flow->opaque ? SIZE_MAX : alg->filter->blind(alg, dir);
}

/* How many of these bytes pass? */
static size_t passing(const VmrpcAlg *alg, VmrpcAlgDir dir,
                      const uint8_t *data, size_t len)
{
    size_t n = blind(alg, dir);

    if (n == 0 && !alg->flow[dir].held) {
        n = alg->filter->scan(alg, dir, data, MIN(len, SCAN_MAX));
    }
    return MIN(n, len);
}

static void passed(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                   size_t len)
{
    if (!alg->flow[dir].opaque) {
        alg->filter->passed(alg, dir, data, len);
    }
}

/* Delivers out.  Returns 0 when all is delivered, or a negative errno. */
static ssize_t drain(VmrpcAlgFlow *flow, const Way *way)
{
    while (flow->out) {
        ssize_t n = way->out(way->opaque, flow->out->data + flow->out_done,
                             flow->out->len - flow->out_done);

        if (n < 0) {
            return n;
        }
        flow->out_done += n;
        if (flow->out_done == flow->out->len) {
            g_clear_pointer(&flow->out, g_byte_array_unref);
        }
    }
    return 0;
}

/*
 * Sends bytes in one direction.  Returns how many were taken; if none, the
 * negative errno of @way, or 0 if there were no bytes.
 */
static ssize_t push(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                    size_t len, const Way *way)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t done = 0;
    ssize_t ret;

    if (flow->opaque && flow->held) {
        vmrpc_alg_release(flow);        /* as the other direction decided */
    }
    while ((ret = drain(flow, way)) == 0 && done < len) {
        size_t n;

        if (flow->owing) {
            flow->owing = false;
            /* The guest may send another byte in its place. */
            done += data[done] == flow->owed;
            continue;
        }
        n = passing(alg, dir, data + done, len - done);
        if (n == 0) {
            done += alg->filter->take(alg, dir, data + done, len - done);
            continue;
        }
        ret = way->pass(way->opaque, data + done, n);
        if (ret < 0) {
            break;
        }
        passed(alg, dir, data + done, ret);
        done += ret;
    }
    if (flow->out && done > 0) {
        flow->owed = data[--done];
        flow->owing = true;
    }
    return done > 0 ? (ssize_t)done : ret;
}

/* --- sending -------------------------------------------------------------- */

static ssize_t to_host(void *opaque, const void *data, size_t len)
{
    const VmrpcAlgIo *io = opaque;

    return io->send(io->opaque, data, len);
}

ssize_t vmrpc_alg_send(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       const VmrpcAlgIo *io)
{
    Way way = { to_host, to_host, (void *)io };
    ssize_t total = 0;

    for (unsigned i = 0; i < num; i++) {
        ssize_t n = push(alg, VMRPC_ALG_TO_HOST, iov[i].iov_base,
                         iov[i].iov_len, &way);

        if (n < 0) {
            return total > 0 ? total : n;
        }
        total += n;
        if ((size_t)n < iov[i].iov_len) {
            break;
        }
    }
    return total;
}

void vmrpc_alg_finish(VmrpcAlg *alg, const VmrpcAlgIo *io)
{
    VmrpcAlgFlow *flow = &alg->flow[VMRPC_ALG_TO_HOST];
    Way way = { to_host, to_host, (void *)io };

    if (drain(flow, &way) == 0 && flow->held) {
        vmrpc_alg_release(flow);
        drain(flow, &way);
    }
}

/* --- receiving ------------------------------------------------------------ */

/* The guest's buffer, partly filled */
typedef struct Room {
    const struct iovec *iov;
    unsigned num;
    size_t offset;              /* in the first vector */
    size_t filled;
    const VmrpcAlgIo *io;
    const uint8_t *peeked;      /* bytes of the host's queue */
    size_t fetched;             /* how many of these have left the queue */
} Room;

/* The next free part, at most @len bytes; empty if there is none. */
static struct iovec room_next(Room *room, size_t len)
{
    while (room->num > 0 && room->offset == room->iov->iov_len) {
        room->iov++;
        room->num--;
        room->offset = 0;
    }
    if (room->num == 0) {
        return (struct iovec) { };
    }
    return (struct iovec) {
        .iov_base = (char *)room->iov->iov_base + room->offset,
        .iov_len = MIN(len, room->iov->iov_len - room->offset),
    };
}

static void room_fill(Room *room, size_t len)
{
    room->offset += len;
    room->filled += len;
}

static ssize_t to_guest(void *opaque, const void *data, size_t len)
{
    Room *room = opaque;
    size_t done = 0;

    while (done < len) {
        struct iovec part = room_next(room, len - done);

        if (part.iov_len == 0) {
            break;
        }
        memcpy(part.iov_base, (const char *)data + done, part.iov_len);
        room_fill(room, part.iov_len);
        done += part.iov_len;
    }
    return done > 0 ? (ssize_t)done : -EAGAIN;
}

/* For MSG_PEEK: copies the bytes, and does not take them. */
static ssize_t show_guest(void *opaque, const void *data, size_t len)
{
    to_guest(opaque, data, len);
    return -EAGAIN;
}

/* Drops the peeked bytes before @end from the host's queue. */
static void drop(Room *room, size_t end)
{
    while (room->fetched < end) {
        ssize_t n = room->io->drop(room->io->opaque, end - room->fetched);

        if (n <= 0) {
            break;
        }
        room->fetched += n;
    }
}

/* Receives peeked bytes that pass from the host, directly into the buffer. */
static ssize_t fetch(void *opaque, const void *data, size_t len)
{
    Room *room = opaque;
    struct iovec part = room_next(room, len);
    ssize_t n;

    if (part.iov_len == 0) {
        return -EAGAIN;
    }
    drop(room, (const uint8_t *)data - room->peeked);
    n = room->io->recv(room->io->opaque, &part, 1, false);
    if (n > 0) {
        room_fill(room, n);
        room->fetched += n;
    }
    return n ?: -EAGAIN;
}

/* Delivers rewritten bytes of before. */
static ssize_t recv_out(VmrpcAlgFlow *flow, Room *room, const Way *way)
{
    drain(flow, way);
    if (!flow->out && flow->owing) {
        flow->owing = false;
        drop(room, 1);
    }
    return room->filled;
}

/* Receives at most @limit bytes, for which the filter is blind. */
static ssize_t recv_blind(VmrpcAlg *alg, const struct iovec *iov,
                          unsigned num, size_t limit, bool peek,
                          const VmrpcAlgIo *io)
{
    struct iovec first = { .iov_len = 0 };
    size_t left;
    ssize_t ret;

    if (limit != SIZE_MAX) {
        while (first.iov_len == 0) {
            first = *iov++;
        }
        first.iov_len = MIN(first.iov_len, limit);
        iov = &first;
        num = 1;
    }
    ret = io->recv(io->opaque, iov, num, peek);
    left = ret > 0 && !peek ? ret : 0;
    for (unsigned i = 0; left > 0 && i < num; i++) {
        size_t n = MIN(left, iov[i].iov_len);

        passed(alg, VMRPC_ALG_TO_GUEST, iov[i].iov_base, n);
        left -= n;
    }
    return ret;
}

static ssize_t recv_end(VmrpcAlgFlow *flow, Room *room, const Way *way)
{
    if (flow->held) {
        vmrpc_alg_release(flow);
        drain(flow, way);
    }
    return room->filled;
}

static ssize_t recv_filtered(VmrpcAlg *alg, Room *room, const Way *way)
{
    uint8_t buf[PEEK_SIZE];
    struct iovec iov = { .iov_base = buf, .iov_len = sizeof(buf) };

    for (int i = 0; i < PEEK_ROUNDS && room->filled == 0; i++) {
        ssize_t n = room->io->recv(room->io->opaque, &iov, 1, true);
        ssize_t used;

        if (n < 0) {
            return n;
        }
        if (n == 0) {
            return recv_end(&alg->flow[VMRPC_ALG_TO_GUEST], room, way);
        }
        room->peeked = buf;
        room->fetched = 0;
        used = push(alg, VMRPC_ALG_TO_GUEST, buf, n, way);
        if (used > 0) {
            drop(room, used);
        }
    }
    return room->filled > 0 ? (ssize_t)room->filled : -EAGAIN;
}

ssize_t vmrpc_alg_recv(VmrpcAlg *alg, const struct iovec *iov, unsigned num,
                       bool peek, const VmrpcAlgIo *io)
{
    VmrpcAlgFlow *flow = &alg->flow[VMRPC_ALG_TO_GUEST];
    Room room = { .iov = iov, .num = num, .io = io };
    Way way = {
        .out = peek ? show_guest : to_guest,
        .pass = peek ? show_guest : fetch,
        .opaque = &room,
    };
    size_t size = 0, limit;

    for (unsigned i = 0; i < num; i++) {
        size += iov[i].iov_len;
    }
    if (size == 0) {
        return io->recv(io->opaque, iov, num, peek);
    }
    if (flow->out) {
        return recv_out(flow, &room, &way);
    }
    limit = blind(alg, VMRPC_ALG_TO_GUEST);
    if (limit > 0) {
        return recv_blind(alg, iov, num, limit, peek, io);
    }
    return recv_filtered(alg, &room, &way);
}

size_t vmrpc_alg_unread(const VmrpcAlg *alg)
{
    const VmrpcAlgFlow *flow = &alg->flow[VMRPC_ALG_TO_GUEST];

    /* The host's queue holds the byte that is owed, and counts it. */
    return flow->out ? flow->out->len - flow->out_done - flow->owing : 0;
}
