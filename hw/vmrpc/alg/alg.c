/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: streams
 *
 * Theory of operation
 * ===================
 *
 * A guest's sockets are IPv4, the host's IPv6, and what lies between them
 * translates addresses where the socket calls carry them.  FTP and SIP also
 * tell each other addresses in their data.  A gateway sits on such a socket
 * and rewrites them there (the paper's future work; RFC 6384 is the same
 * thing for the other direction).  Goals, in this order:
 *
 *  1. It never gets in the way.  What it does not understand passes
 *     unchanged, and so does all the rest of a stream it has lost track of.
 *     It sends nothing on its own and answers nobody; each line becomes one
 *     line, each message one message, in its place.  So it cannot get out of
 *     step with TCP, and there is no timer.
 *  2. What passes is not copied: the host's kernel reads and writes the
 *     guest's memory.  Only to look at it, it is peeked at before, at most
 *     PEEK_SIZE bytes at a time, when it comes from the host and the filter
 *     is not blind.  A line that cannot be of interest is known as such by
 *     its first bytes.
 *  3. Memory and work are bounded by the constants of alg-internal.h, for
 *     whatever guest and network send.
 *
 * It is no part of the VM's isolation.  What the guest may contact and where
 * it may listen is decided when it does; text opens no port here, as it does
 * in a NAT, so nobody gains by making a gateway misread it.
 *
 * Passing and taking.  A filter, one for each protocol, looks at a stream in
 * three ways: blind() says what passes whatever it is, scan() what passes of
 * the bytes at hand, and take() swallows what may have to change, until it
 * knows.  What was taken is held, and in the end moved to the flow's out,
 * changed or not, which is delivered before anything else.  passed() tells
 * the filter what was really delivered, so that nothing needs to be undone
 * when the other side takes fewer bytes than it was offered.  A filter
 * decides by the bytes alone, never by how they arrive: the tests cut every
 * session at every byte.
 *
 * The guest's memory may change while it is read.  scan() and passed() read
 * it in place, but it only steers them; what is parsed is the copy in held.
 *
 * Back-pressure.  out is delivered by and by, if the host socket, or the
 * guest's buffer, takes only a part.  Somebody has to come back for the rest,
 * so the last byte that out was made from, which completed it, is not
 * reported as taken before all of out has been delivered (owing).  The guest
 * will then send that byte again, on the way to the host; on the way to the
 * guest it is still in the host's receive queue.  Thus both sides' readiness
 * is right by itself, and nothing waits for a buffer of ours.
 *
 * Receiving.  While the filter is blind, bytes go from the host directly into
 * the guest's memory, and the filter sees them there.  Otherwise they are
 * peeked at and filtered; then what passes goes directly there as well, and
 * what was taken is dropped from the queue.  So no more is ever held here than
 * one line or message.
 *
 * MSG_PEEK.  A peek shows what the next recv would return up to the first
 * change: it filters with a receiver that looks but does not take.  What is
 * in the way of an answer, the beginning of a line, is held even so.
 *
 * What an outsider can notice: SIOCINQ counts bytes before they are
 * rewritten; a recv can give EAGAIN after a poll has said "readable", when
 * all that came was half a line; the urgent mark is lost if it falls on a
 * byte that is held.
 */
#include "hw/vmrpc/alg/alg-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define PORT_FTP        21
#define PORT_SIP        5060

/* Bytes that are scanned before the host is asked whether it takes them. */
#define SCAN_MAX        65536

/* Bytes that are peeked at at a time, and how often in one receive. */
#define PEEK_SIZE       2048
#define PEEK_ROUNDS     16

/* Takes bytes: how many, > 0, or a negative errno. */
typedef ssize_t Sink(void *opaque, const void *data, size_t len);

/* Where a direction leads. */
typedef struct Way {
    Sink *out;                  /* for what was held, changed or not */
    Sink *pass;                 /* for what passes */
    void *opaque;
} Way;

VmrpcAlgProto vmrpc_alg_proto(int type, uint16_t port)
{
    if (type == SOCK_STREAM && port == PORT_FTP) {
        return VMRPC_ALG_FTP;
    }
    return port == PORT_SIP ? VMRPC_ALG_SIP : VMRPC_ALG_NONE;
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

/* --- what filters do with a flow ------------------------------------------ */

void vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len)
{
    if (!flow->held) {
        flow->held = g_byte_array_new();
    }
    g_byte_array_append(flow->held, data, len);
}

void vmrpc_alg_release(VmrpcAlgFlow *flow)
{
    vmrpc_alg_replace(flow, g_steal_pointer(&flow->held));
}

void vmrpc_alg_replace(VmrpcAlgFlow *flow, GByteArray *out)
{
    g_assert(!flow->out);
    vmrpc_alg_drop(flow);
    flow->out = out;
    flow->out_done = 0;
}

void vmrpc_alg_drop(VmrpcAlgFlow *flow)
{
    g_clear_pointer(&flow->held, g_byte_array_unref);
}

/* --- one direction -------------------------------------------------------- */

/* How many of the next bytes go on without being seen before. */
static size_t blind(const VmrpcAlg *alg, VmrpcAlgDir dir)
{
    const VmrpcAlgFlow *flow = &alg->flow[dir];

    if (flow->held || flow->out || flow->owing) {
        return 0;
    }
    return flow->opaque ? SIZE_MAX : alg->filter->blind(alg, dir);
}

/* How many of these go on as they are. */
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

/* Delivers out.  Returns 0 when nothing of it is left. */
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
 * Puts bytes into a direction.  Returns how many of them need not be given
 * again; if none, why: the errno of @way, or 0 if there were none.
 */
static ssize_t push(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                    size_t len, const Way *way)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t done = 0;
    ssize_t ret;

    if (flow->opaque && flow->held) {
        vmrpc_alg_release(flow);        /* the other direction decided so */
    }
    while ((ret = drain(flow, way)) == 0 && done < len) {
        size_t n;

        if (flow->owing) {
            flow->owing = false;
            /* Unless the guest has changed its mind about what to send. */
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

/* The guest's buffer while it is filled. */
typedef struct Room {
    const struct iovec *iov;
    unsigned num;
    size_t offset;              /* in the first vector */
    size_t filled;
    const VmrpcAlgIo *io;
    const uint8_t *peeked;      /* from the host's queue, being filtered */
    size_t fetched;             /* of these, are no longer in the queue */
} Room;

/* The next part, at most @len bytes; none if it is full. */
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

/* For MSG_PEEK: the guest sees it, but it has not been delivered. */
static ssize_t show_guest(void *opaque, const void *data, size_t len)
{
    to_guest(opaque, data, len);
    return -EAGAIN;
}

/* Drops what was peeked at up to @end from the host's queue. */
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

/* What was peeked at and passes comes from the host once more, to stay. */
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

/* Something rewritten is there already. */
static ssize_t recv_out(VmrpcAlgFlow *flow, Room *room, const Way *way)
{
    drain(flow, way);
    if (!flow->out && flow->owing) {
        flow->owing = false;
        drop(room, 1);
    }
    return room->filled;
}

/* At most @limit bytes, which the filter need not see before the guest. */
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

    /* The byte that is owed is counted on the host. */
    return flow->out ? flow->out->len - flow->out_done - flow->owing : 0;
}
