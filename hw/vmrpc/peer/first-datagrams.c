/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: datagrams of flows that must begin with a name that is allowed
 *
 * Theory of operation
 * ===================
 *
 * As first-bytes.c, for QUIC.  A flow is what a socket sends to one peer; a
 * socket may have several.  initial.c reads its datagrams, in private copies,
 * and they are kept until the hello is whole and agreed to.  Then the kept ones
 * leave, and after them each datagram is looked at by its first octet: one with
 * a short header is of a connection that has its own keys, and leaves from the
 * guest's memory, but for that octet, which leaves as it was read.  All others
 * are read for as long as the flow lasts: each Initial may begin another
 * connection.
 *
 * What is refused is dropped, as by a network; the call fails with EACCES.
 *
 * A flow remembers the names that were agreed to, for a new policy file that
 * ends what it refuses.  A short header does not tell which connection it is
 * of, so the flow ends if one of its names is refused.
 *
 * One call may send several datagrams (UDP_SEGMENT), each of which is looked
 * at.  Several calls may send one (MSG_MORE, UDP_CORK): refused.
 *
 * Flows do not migrate: a connection must begin anew.
 */
#include "hw/vmrpc/peer/first-datagrams.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/said/initial.h"

/* Octets of memory for a flow, beside what it keeps */
#define FLOW_SIZE       512

/* Datagrams that one call sends, at most (UDP_MAX_SEGMENTS in Linux) */
#define SHORT_MAX       128
G_STATIC_ASSERT(SHORT_MAX <= VMRPC_CONTROL_MAX);

typedef struct Flow {
    struct sockaddr_in6 peer;   /* or a sockaddr_in; all zero: connected to it */
    VmrpcInitial *initial;
    unsigned connections;       /* that kept is not of the ones before */
    GPtrArray *said;            /* names that were agreed to, each once */
    bool said_more;             /* than VMRPC_FLOW_NAMES_MAX */
    GPtrArray *kept;            /* of GByteArray */
    size_t charged;             /* in srv->flow_bytes */
} Flow;

static void flow_free(gpointer opaque)
{
    Flow *flow = opaque;

    vmrpc_initial_free(flow->initial);
    g_ptr_array_unref(flow->said);
    g_ptr_array_unref(flow->kept);
    g_free(flow);
}

static VMRPC_LOCKED void remove_flow(VmrpcServer *srv, VmrpcSock *s, Flow *flow)
{
    srv->flow_bytes -= flow->charged;
    g_ptr_array_remove(s->flows, flow);
}

/* Returns false, and removes the flow, if the VM's flows take too much. */
static VMRPC_LOCKED bool charge(VmrpcServer *srv, VmrpcSock *s, Flow *flow)
{
    size_t size = FLOW_SIZE + flow->said->len * VMRPC_SAID_NAME_MAX +
                  vmrpc_initial_size(flow->initial);

    for (guint i = 0; i < flow->kept->len; i++) {
        size += ((GByteArray *)flow->kept->pdata[i])->len;
    }
    srv->flow_bytes += size - flow->charged;
    flow->charged = size;
    if (srv->flow_bytes > VMRPC_FLOW_BYTES_MAX) {
        remove_flow(srv, s, flow);
        return false;
    }
    return true;
}

/* The flow to the destination in @msg: it is the last one then. */
static VMRPC_LOCKED Flow *find_flow(VmrpcServer *srv, VmrpcSock *s,
                                    const struct msghdr *msg)
{
    struct sockaddr_in6 peer = { };
    Flow *flow;

    if (msg->msg_name) {
        memcpy(&peer, msg->msg_name, MIN(msg->msg_namelen, sizeof(peer)));
        if (peer.sin6_family == AF_INET6) {
            peer.sin6_flowinfo = 0;
        }
    }
    if (!s->flows) {
        s->flows = g_ptr_array_new_with_free_func(flow_free);
    }
    for (guint i = s->flows->len; i-- > 0;) {
        flow = s->flows->pdata[i];
        if (memcmp(&flow->peer, &peer, sizeof(peer)) == 0) {
            if (i + 1 < s->flows->len) {
                g_ptr_array_steal_index(s->flows, i);
                g_ptr_array_add(s->flows, flow);
            }
            return flow;
        }
    }
    if (s->flows->len == VMRPC_FLOWS_MAX) {
        remove_flow(srv, s, s->flows->pdata[0]);
    }
    flow = g_new0(Flow, 1);
    flow->peer = peer;
    flow->initial = vmrpc_initial_new();
    flow->said = g_ptr_array_new_with_free_func(g_free);
    flow->kept = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_byte_array_unref);
    g_ptr_array_add(s->flows, flow);
    return flow;
}

void vmrpc_datagrams_detach(VmrpcServer *srv, VmrpcSock *s)
{
    while (s->flows && s->flows->len) {
        remove_flow(srv, s, s->flows->pdata[0]);
    }
    g_clear_pointer(&s->flows, g_ptr_array_unref);
}

void vmrpc_datagrams_connected(VmrpcServer *srv, VmrpcSock *s, VmrpcSays says)
{
    s->says = says;
    for (guint i = 0; s->flows && i < s->flows->len; i++) {
        Flow *flow = s->flows->pdata[i];

        if (!flow->peer.sin6_family) {
            remove_flow(srv, s, flow);
            break;
        }
    }
}

void vmrpc_datagrams_option(VmrpcSock *s, int level, int name,
                            const void *value, uint32_t len)
{
    int number = 0;

    if (level != IPPROTO_UDP || s->type != SOCK_DGRAM) {
        return;
    }
    memcpy(&number, value, MIN(len, sizeof(number)));
    number = GINT32_FROM_LE(number);
    if (name == UDP_CORK) {
        s->corked = number;
        s->begun &= s->corked;  /* it has left */
    } else if (name == UDP_SEGMENT) {
        s->segment = number;
    }
}

/* --- verdicts ----------------------------------------------------------- */

static bool peer_of(const VmrpcSock *s, const struct msghdr *msg,
                    struct sockaddr_storage *peer)
{
    socklen_t len = sizeof(*peer);

    memset(peer, 0, sizeof(*peer));
    if (msg->msg_name) {
        memcpy(peer, msg->msg_name, MIN(msg->msg_namelen, len));
        return true;
    }
    return getpeername(s->fd, (struct sockaddr *)peer, &len) == 0;
}

static VMRPC_LOCKED int refuse(VmrpcServer *srv, const VmrpcSock *s,
                               const struct msghdr *msg,
                               VmrpcSaidReason reason, const char *name,
                               unsigned line)
{
    struct sockaddr_storage peer;

    if (peer_of(s, msg, &peer)) {
        srv->judged = s;
        vmrpc_refused_by_said(&srv->reach, &peer, vmrpc_said_reason(reason),
                              name, line);
        srv->judged = NULL;
    }
    return -EACCES;
}

/* Returns 0, or -EACCES if the guest may not say this to the destination. */
static VMRPC_LOCKED int judge(VmrpcServer *srv, VmrpcSock *s,
                              const struct msghdr *msg, const char *name)
{
    struct sockaddr_storage peer;
    unsigned line = 0;
    int ret = peer_of(s, msg, &peer)
              ? vmrpc_dest_says(&srv->reach, &peer, s->proto, name, &line)
              : -ENOENT;

    return ret == 0 ? 0 : refuse(srv, s, msg, ret == -ENOENT
                                 ? VMRPC_SAID_NOT_ASKED
                                 : VMRPC_SAID_OTHER_NAME, name, line);
}

static void remember(Flow *flow, const char *name)
{
    if (g_ptr_array_find_with_equal_func(flow->said, name, g_str_equal, NULL)) {
        return;
    }
    if (flow->said->len == VMRPC_FLOW_NAMES_MAX) {
        flow->said_more = true;
    } else {
        g_ptr_array_add(flow->said, g_strdup(name));
    }
}

/* Must what is sent to the destination in @msg still begin with a name? */
static VMRPC_LOCKED bool is_watched(VmrpcServer *srv, const VmrpcSock *s,
                                    const struct msghdr *msg)
{
    VmrpcSays says = VMRPC_SAYS_TLS;    /* if the destination is refused */
    struct sockaddr_storage peer;
    VmrpcTerms *terms = NULL;

    if (!peer_of(s, msg, &peer)) {
        return false;           /* it has no peer any more */
    }
    vmrpc_dest_terms(&srv->reach, &peer, s->proto, &terms, &says);
    vmrpc_terms_unref(terms);
    return says != VMRPC_SAYS_ANYTHING;
}

/* Returns 0 if @flow may go on, or -EACCES. */
static VMRPC_LOCKED int judge_again(VmrpcServer *srv, VmrpcSock *s, Flow *flow,
                                    const struct msghdr *msg)
{
    int ret = flow->said_more ? refuse(srv, s, msg, VMRPC_SAID_FULL, NULL, 0)
                              : 0;

    for (guint i = 0; ret == 0 && i < flow->said->len; i++) {
        ret = judge(srv, s, msg, flow->said->pdata[i]);
    }
    return ret;
}

unsigned vmrpc_datagrams_judge_again(VmrpcServer *srv, VmrpcSock *s)
{
    guint num = s->flows ? s->flows->len : 0;

    for (guint i = num; i-- > 0;) {
        Flow *flow = s->flows->pdata[i];
        struct msghdr msg = {
            .msg_name = flow->peer.sin6_family ? &flow->peer : NULL,
            .msg_namelen = sizeof(flow->peer),
        };

        if (!is_watched(srv, s, &msg)) {
            remove_flow(srv, s, flow);
        } else if (judge_again(srv, s, flow, &msg) < 0) {
            srv->counters.connections_ended++;
            remove_flow(srv, s, flow);
        }
    }
    return num;
}

/* --- sending ------------------------------------------------------------ */

static ssize_t send_copy(const VmrpcSock *s, const struct msghdr *msg,
                         uint8_t *octets, size_t len, int flags)
{
    struct iovec iov = { octets, len };
    struct msghdr copy = *msg;
    ssize_t n;

    copy.msg_iov = &iov;
    copy.msg_iovlen = 1;
    n = sendmsg(s->fd, &copy, flags);
    return n < 0 ? -errno : n;
}

/*
 * Says in ancillary data how long each datagram is that a call sends (0: all
 * are one), in place of the socket's option: that may change meanwhile, and the
 * host would cut what was read elsewhere.
 */
static void put_segment(struct msghdr *msg, uint16_t segment)
{
    struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)msg->msg_control +
                                           msg->msg_controllen);

    *c = (struct cmsghdr) { .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT,
                            .cmsg_len = CMSG_LEN(sizeof(segment)) };
    memcpy(CMSG_DATA(c), &segment, sizeof(segment));
    msg->msg_controllen += CMSG_SPACE(sizeof(segment));
}

/* What was kept leaves; as in a network, some of it may be lost. */
static void flush(const VmrpcSock *s, Flow *flow, const struct msghdr *msg,
                  int flags)
{
    uint64_t control[CMSG_SPACE(sizeof(uint16_t)) / sizeof(uint64_t)] = { };
    struct msghdr plain = { .msg_name = msg->msg_name,
                            .msg_namelen = msg->msg_namelen,
                            .msg_control = control };

    put_segment(&plain, 0);

    for (guint i = 0; i < flow->kept->len; i++) {
        GByteArray *datagram = flow->kept->pdata[i];

        send_copy(s, &plain, datagram->data, datagram->len, flags);
    }
    g_ptr_array_set_size(flow->kept, 0);
}

static VMRPC_LOCKED void tell_said(VmrpcServer *srv, VmrpcSock *s,
                                   const struct msghdr *msg,
                                   const VmrpcSaid *said)
{
    struct sockaddr_storage peer;

    if (peer_of(s, msg, &peer)) {
        vmrpc_evidence_said(srv, s, &peer, VMRPC_SAYS_TLS, said);
    }
}

/* One datagram, a private copy.  Returns its length, or a negative errno. */
static VMRPC_LOCKED ssize_t send_one(VmrpcServer *srv, VmrpcSock *s, Flow *flow,
                                     const struct msghdr *msg, uint8_t *octets,
                                     size_t len, int flags)
{
    VmrpcSaidStep step;
    VmrpcSaid said;
    int ret;

    step = vmrpc_initial_look(flow->initial, octets, len, &said);
    if (flow->connections != vmrpc_initial_connections(flow->initial)) {
        flow->connections = vmrpc_initial_connections(flow->initial);
        g_ptr_array_set_size(flow->kept, 0);
    }
    switch (step) {
    case VMRPC_SAID_REFUSED:
        return refuse(srv, s, msg, vmrpc_initial_reason(flow->initial), NULL,
                      0);
    case VMRPC_SAID_MORE:
        g_ptr_array_add(flow->kept,
                        g_byte_array_append(g_byte_array_sized_new(len), octets,
                                            len));
        return len;
    case VMRPC_SAID_SAID:
        ret = said.ech && vmrpc_policy_refuses_ech(srv->reach.policy)
              ? refuse(srv, s, msg, VMRPC_SAID_ECH, said.name, 0)
              : judge(srv, s, msg, said.name);
        if (ret < 0) {
            /* Nothing of it was sent, and what follows is not of it. */
            remove_flow(srv, s, flow);
            return ret;
        }
        remember(flow, said.name);
        tell_said(srv, s, msg, &said);
        flush(s, flow, msg, flags);
        return send_copy(s, msg, octets, len, flags);
    default:
        return send_copy(s, msg, octets, len, flags);
    }
}

/*
 * Octets of each datagram that a call with @msg sends; 0: all in one.  The last
 * ancillary data count, for the host as well.
 */
static size_t segment_of(const VmrpcSock *s, struct msghdr *msg)
{
    uint16_t segment = s->segment;
    struct cmsghdr *c;

    for (c = msg->msg_controllen ? CMSG_FIRSTHDR(msg) : NULL; c;
         c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_SEGMENT) {
            memcpy(&segment, CMSG_DATA(c), sizeof(segment));
        }
    }
    put_segment(msg, segment);
    return segment;
}

static VMRPC_LOCKED ssize_t send_copies(VmrpcServer *srv, VmrpcSock *s,
                                        Flow *flow, const VmrpcCall *call,
                                        const struct msghdr *msg,
                                        size_t segment, int flags)
{
    g_autofree uint8_t *octets = g_malloc(call->out_len);
    size_t len = vmrpc_call_read(call, octets, call->out_len), at;
    guint flows = s->flows->len;

    for (at = 0; at < len; at += segment) {
        size_t part = MIN(segment, len - at);
        ssize_t n = send_one(srv, s, flow, msg, octets + at, part, flags);

        if (n < 0) {
            /* Some have left already; the flow may be gone. */
            return s->flows->len == flows && !charge(srv, s, flow)
                   ? -EACCES : n;
        }
    }
    return charge(srv, s, flow) ? (ssize_t)len
                                : refuse(srv, s, msg, VMRPC_SAID_FULL, NULL, 0);
}

/*
 * Fills in the vectors of @msg, if all datagrams of the call have short
 * headers.  Their first octets are those that were read here.
 */
static bool all_are_short(const VmrpcCall *call, struct msghdr *msg,
                          size_t segment)
{
    VmrpcDataPlace p = vmrpc_call_data(call, false);
    uint8_t *heads = call->scratch->control;    /* it was converted already */
    size_t num = 0, vectors = 0;

    for (size_t at = 0; at < call->out_len; at += segment, num++) {
        size_t len = MIN(segment, call->out_len - at);

        if (num == SHORT_MAX || vectors + 1 + p.num > VMRPC_IOV_MAX ||
            vmrpc_iov_read(p.iov, p.num, p.offset + at, &heads[num], 1) != 1 ||
            vmrpc_initial_is_long(heads[num])) {
            return false;
        }
        msg->msg_iov[vectors++] = (struct iovec) { &heads[num], 1 };
        vectors += vmrpc_iov_slice(msg->msg_iov + vectors, p.iov, p.num,
                                   p.offset + at + 1, len - 1);
    }
    msg->msg_iovlen = vectors;
    return true;
}

ssize_t vmrpc_datagrams_send(VmrpcServer *srv, VmrpcSock *s,
                             const VmrpcCall *call, struct msghdr *msg,
                             uint8_t *control, int flags)
{
    size_t segment;
    Flow *flow;

    if (flags & MSG_MORE || s->corked || call->out_len > UINT16_MAX) {
        return refuse(srv, s, msg, VMRPC_SAID_MALFORMED, NULL, 0);
    }
    if (!call->out_len) {
        return refuse(srv, s, msg, VMRPC_SAID_NOT_TLS, NULL, 0);
    }
    msg->msg_control = control;
    segment = segment_of(s, msg);
    if (!segment) {
        segment = call->out_len;
    }
    if (call->out_len > segment * SHORT_MAX) {
        return -EINVAL;         /* as Linux, and the lock is held for all */
    }
    flow = find_flow(srv, s, msg);
    return flow->said->len && all_are_short(call, msg, segment)
           ? 0 : send_copies(srv, s, flow, call, msg, segment, flags);
}
