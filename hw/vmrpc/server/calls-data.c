/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: SENDMSG, RECVMSG
 *
 * The host's kernel reads and writes the data in the guest's memory; nothing
 * here reads them.  Translated are ancillary data (cmsg.c), the eight octets of
 * an echo request's header (ping.c), and addresses in FTP and SIP (gateway.c).
 */
#include "hw/vmrpc/server/calls-data.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/reach/inet6.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/gateway.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/throttle.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/cmsg.h"
#include "hw/vmrpc/wire/iov.h"
#include "hw/vmrpc/wire/ping.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* Flags of sendmsg/recvmsg that mean the same on the host. */
#define SEND_FLAGS  (MSG_OOB | MSG_MORE | MSG_EOR | MSG_CONFIRM)
#define RECV_FLAGS  (MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)

/* One RECVMSG drops at most this many datagrams while the pool is full. */
#define RECV_DROP_MAX   16

/* --- SENDMSG ------------------------------------------------------------ */

static bool cmsg_to6(void *opaque, struct in_addr addr4,
                     struct in6_addr *addr6)
{
    VmrpcServer *srv = opaque;

    /* A source address: only the VM's own. */
    if (addr4.s_addr != srv->config.reach.guest4.s_addr ||
        !srv->config.reach.has_address6) {
        return false;
    }
    *addr6 = srv->config.reach.address6;
    return true;
}

static bool cmsg_to4(void *opaque, const struct in6_addr *addr6,
                     struct in_addr *addr4)
{
    struct sockaddr_storage ss = { };
    VmrpcServer *srv = opaque;
    struct sockaddr_in sin;

    ((struct sockaddr_in6 *)&ss)->sin6_family = AF_INET6;
    ((struct sockaddr_in6 *)&ss)->sin6_addr = *addr6;
    if (vmrpc_addr_to_guest(&srv->reach, &ss, &sin) < 0) {
        return false;
    }
    *addr4 = sin.sin_addr;
    return true;
}

/* With translate=off: may the guest send from this address? */
static bool cmsg_is_source(void *opaque, struct in_addr addr4)
{
    VmrpcServer *srv = opaque;

    return addr4.s_addr == srv->config.reach.guest4.s_addr;
}

/* Of an AF_INET6 socket: the VM's own address, in either form. */
static bool cmsg_source6(void *opaque, const struct in6_addr *named,
                         struct in6_addr *addr6)
{
    const VmrpcReachConfig *config = &((VmrpcServer *)opaque)->config.reach;
    struct in6_addr own = vmrpc_own6(config);

    *addr6 = config->address6;
    return config->has_address6 &&
           (IN6_ARE_ADDR_EQUAL(named, &own) ||
            (IN6_IS_ADDR_V4MAPPED(named) &&
             !memcmp(&named->s6_addr[12], &config->guest4,
                     sizeof(config->guest4))));
}

/* @mapped: it is about an IPv4-mapped peer, if @s is of AF_INET6 */
static VMRPC_LOCKED VmrpcCmsgOps cmsg_ops(VmrpcServer *srv, bool mapped)
{
    return (VmrpcCmsgOps) {
        .source6 = cmsg_source6,
        .own6 = vmrpc_inet6_from_guest4(&srv->reach, srv->config.reach.guest4,
                                        mapped),
        .to6 = cmsg_to6,
        .to4 = cmsg_to4,
        .is_source = cmsg_is_source,
        .own4 = srv->config.reach.guest4,
        .opaque = srv,
    };
}

/*
 * The destination in @msg; an unconnected datagram socket needs one.  *@terms:
 * a reference to those by which it is allowed.
 */
static VMRPC_LOCKED int send_destination(VmrpcServer *srv, VmrpcSock *s,
                                         const VmrpcCall *call,
                                         struct msghdr *msg,
                                         struct sockaddr_storage *ss,
                                         VmrpcTerms **terms, VmrpcSays *says)
{
    VmrpcPass pass VMRPC_UNINITIALIZED;
    struct sockaddr_in peer;
    int len;

    *terms = NULL;
    *says = s->says;
    if (s->type == SOCK_STREAM) {
        *terms = vmrpc_terms_ref(s->terms);
        return 0;           /* streams ignore it, as TCP does */
    }
    vmrpc_call_addr(call, &peer);
    if (peer.sin_family != AF_INET) {
        *terms = vmrpc_terms_ref(s->terms);
        /*
         * MSG_MORE may have begun the datagram.  If not, the host would give
         * this error, too, but first bind the socket to an address of its
         * choice, where the VM has one of its own.
         */
        return vmrpc_sock_is_connected(s) || vmrpc_sock_is_bound(s) ||
               vmrpc_own_address(&srv->reach, 0, ss) < 0
               ? 0 : -EDESTADDRREQ;
    }
    if (!vmrpc_evidence_may_judge(srv, s, &peer)) {
        return -EAGAIN;
    }
    len = vmrpc_evidence_dest(srv, s, &peer, ss, &pass);
    if (len < 0) {
        return len;
    }
    *terms = pass.terms;
    *says = pass.says;
    vmrpc_call_put_flow(call, ss);
    msg->msg_name = ss;
    msg->msg_namelen = len;
    len = vmrpc_host_bind_source(srv, s);
    return len < 0 ? len : vmrpc_groups_prepare_send(srv, s, ss);
}

static int cmsg_family(const VmrpcServer *srv, const VmrpcSock *s, bool mapped)
{
    if (s->inet6) {
        return mapped ? VMRPC_CMSG_MAPPED6 : VMRPC_CMSG_PLAIN6;
    }
    return vmrpc_host_family(srv);
}

static VMRPC_LOCKED int send_control(VmrpcServer *srv, const VmrpcSock *s,
                        const VmrpcCall *call, struct msghdr *msg,
                        uint8_t *host, size_t host_cap)
{
    VmrpcCmsgOps ops = cmsg_ops(srv, s->mapped);
    /* The guest's own follows: the host uses the last one. */
    size_t own = vmrpc_groups_source(srv, s, host);
    ssize_t len;

    msg->msg_control = own ? host : NULL;
    msg->msg_controllen = own;
    if (!call->control_len) {
        return 0;
    }
    vmrpc_iov_read(call->out, call->out_num, vmrpc_call_head(call),
                   call->scratch->control, call->control_len);
    len = vmrpc_cmsg_to_host(cmsg_family(srv, s, s->mapped), call->scratch->control,
                             call->control_len, host + own, host_cap - own,
                             &ops);
    if (len < 0) {
        return len;
    }
    msg->msg_control = own + len ? host : NULL;
    msg->msg_controllen = own + len;
    return 0;
}

static bool to_resolver(VmrpcServer *srv, const VmrpcSock *s,
                        const VmrpcCall *call)
{
    struct sockaddr_in peer;

    if (vmrpc_dns_is_stream(s)) {
        return true;
    }
    if (s->proto != IPPROTO_UDP) {
        return false;
    }
    vmrpc_call_addr(call, &peer);
    return peer.sin_family == AF_INET ? vmrpc_is_resolver(srv, &peer)
                                      : s->peer == VMRPC_PEER_RESOLVER;
}

/* The port that a datagram goes to, network byte order. */
static in_port_t dest_port(const struct msghdr *msg, const VmrpcSock *s)
{
    const struct sockaddr_in6 *to = msg->msg_name;

    /* at the same place in a sockaddr_in */
    return to ? to->sin6_port : s->peer_port;
}

/* An echo request in its IPv6 form needs a header of its own. */
static bool is_translated_ping(const VmrpcServer *srv, const VmrpcSock *s)
{
    return vmrpc_sock_is_ping(s) && !s->inet6 && srv->config.reach.translate;
}

static int send_ping_header(const VmrpcCall *call,
                            uint8_t header[VMRPC_PING_HEADER])
{
    if (call->out_len < VMRPC_PING_HEADER) {
        return -EINVAL;
    }
    vmrpc_call_read(call, header, VMRPC_PING_HEADER);
    return vmrpc_ping_to_host(header);
}

/* The result of sendmsg(), as the guest's socket gives it. */
static ssize_t sent(VmrpcServer *srv, const VmrpcSock *s,
                    const struct msghdr *msg, ssize_t n)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    const struct sockaddr_storage *dest = msg->msg_name;

    if (n != -EACCES) {
        return n;
    }
    if (!dest && s->type == SOCK_DGRAM &&
        getpeername(s->fd, (struct sockaddr *)&peer, &len) == 0) {
        dest = &peer;
    }
    return vmrpc_sock_error(srv, s, dest, n);
}

/* --- a datagram that several calls send ----------------------------------- */

/*
 * The host sends all parts to the destination of the first one, whatever those
 * of the others are.  So they must be the same, and each is judged again: by
 * the rules and terms of now.  All of it happens with the lock: a datagram of
 * another thread would become a part, too.
 */
static bool is_part(const VmrpcSock *s, const VmrpcCall *call)
{
    return s->proto == IPPROTO_UDP &&
           (call->arg[0] & MSG_MORE || s->corked || s->begun);
}

/* A send that fails (EFAULT) discards what is begun. */
static void discard_begun(VmrpcSock *s)
{
    struct iovec nowhere = { NULL, 1 };
    struct msghdr msg = { .msg_iov = &nowhere, .msg_iovlen = 1 };

    sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    s->begun = false;
}

/* The guest's address of where @call sends; sin_family 0: none is named. */
static struct sockaddr_in named_by(const VmrpcSock *s, const VmrpcCall *call)
{
    struct sockaddr_in sin;

    vmrpc_call_addr(call, &sin);
    if (sin.sin_family == AF_INET) {
        return sin;
    }
    return vmrpc_sock_is_connected(s)
           ? (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr = s->peer4,
                                    .sin_port = s->peer_port }
           : (struct sockaddr_in) { };
}

/* A later part that names no destination, of a socket without a peer */
static VMRPC_LOCKED int judge_begun(VmrpcServer *srv, VmrpcSock *s,
                                    VmrpcTerms **terms, VmrpcSays *says)
{
    VmrpcPass pass VMRPC_UNINITIALIZED;
    struct sockaddr_storage host;
    int len;

    if (!s->begun_peer.sin_family) {
        return 0;               /* its peer is inside the guest */
    }
    len = vmrpc_evidence_dest(srv, s, &s->begun_peer, &host, &pass);
    if (len < 0) {
        return len;
    }
    vmrpc_terms_unref(*terms);
    *terms = pass.terms;
    *says = pass.says;
    return 0;
}

/*
 * May this part be sent?  *@terms and *@says are those of its destination, or
 * become so.
 */
static VMRPC_LOCKED int begin_part(VmrpcServer *srv, VmrpcSock *s,
                                   const VmrpcCall *call, VmrpcTerms **terms,
                                   VmrpcSays *says)
{
    struct sockaddr_in to = named_by(s, call);
    int ret = 0;

    if (s->senders) {
        return -EAGAIN;
    }
    if (!s->begun) {
        s->begun_peer = to;
        return 0;
    }
    if (!to.sin_family) {
        ret = judge_begun(srv, s, terms, says);
    } else if (to.sin_addr.s_addr != s->begun_peer.sin_addr.s_addr ||
               to.sin_port != s->begun_peer.sin_port) {
        return -EDESTADDRREQ;
    }
    /* The first part was not looked at. */
    return ret == 0 && *says != VMRPC_SAYS_ANYTHING ? -EACCES : ret;
}

static VMRPC_LOCKED void end_part(VmrpcSock *s, const VmrpcCall *call,
                                  ssize_t n)
{
    if (n >= 0) {
        s->begun = call->arg[0] & MSG_MORE || s->corked;
    } else if (s->begun && n != -EAGAIN) {
        discard_begun(s);
    }
}

/* Sends to the destination in @msg. */
static VMRPC_LOCKED ssize_t send_to(VmrpcServer *srv, VmrpcSock *s,
                                    VmrpcCall *call, struct msghdr *msg,
                                    VmrpcSays says)
{
    uint8_t host_control[VMRPC_GROUPS_SOURCE + VMRPC_CMSG_HOST_MAX +
                         VMRPC_DATAGRAMS_CONTROL] __attribute__((aligned(8)))
                         VMRPC_UNINITIALIZED;
    int flags = (call->arg[0] & SEND_FLAGS) | MSG_DONTWAIT | MSG_NOSIGNAL;
    g_autoptr(GByteArray) other = NULL;
    bool ping = is_translated_ping(srv, s);
    uint8_t header[VMRPC_PING_HEADER];
    ssize_t n;

    n = ping ? send_ping_header(call, header) : 0;
    if (n < 0) {
        return n;
    }
    n = send_control(srv, s, call, msg, host_control,
                     sizeof(host_control) - VMRPC_DATAGRAMS_CONTROL);
    if (n < 0) {
        return n;
    }
    if (s->first) {
        return vmrpc_first_send(srv, s, call, flags);
    }
    if (s->alg) {
        return sent(srv, s, msg, vmrpc_gateway_send(s, call, flags));
    }
    if (says != VMRPC_SAYS_ANYTHING && s->type == SOCK_DGRAM) {
        n = vmrpc_datagrams_send(srv, s, call, msg, host_control, flags);
        if (n) {
            return n;
        }
        s->senders++;
        vmrpc_sock_enter(srv, s);
        n = sendmsg(s->fd, msg, flags) < 0 ? -errno : (ssize_t)call->out_len;
        vmrpc_sock_leave(srv, s);
        s->senders--;
        return s->removed ? n : sent(srv, s, msg, n);
    }
    other = s->proto == IPPROTO_UDP ? vmrpc_gateway_datagram_out(srv, s,
                                        dest_port(msg, s), call) : NULL;
    if (other) {
        msg->msg_iov[0] = (struct iovec) { other->data, other->len };
        msg->msg_iovlen = 1;
    } else if (ping) {
        msg->msg_iov[0] = (struct iovec) { header, sizeof(header) };
        msg->msg_iovlen = 1 + vmrpc_call_out_slice(call, sizeof(header),
                                                   msg->msg_iov + 1);
    } else {
        msg->msg_iovlen = vmrpc_call_out_slice(call, 0, msg->msg_iov);
    }
    if (is_part(s, call)) {
        n = sendmsg(s->fd, msg, flags) < 0 ? -errno : (ssize_t)call->out_len;
        return sent(srv, s, msg, n);
    }
    s->senders += s->type == SOCK_DGRAM;
    vmrpc_sock_enter(srv, s);
    n = sendmsg(s->fd, msg, flags);
    if (n < 0) {
        n = -errno;
    } else if (other) {
        n = call->out_len;
    }
    vmrpc_sock_leave(srv, s);
    s->senders -= s->type == SOCK_DGRAM;
    return s->removed ? n : sent(srv, s, msg, n);
}

static VMRPC_LOCKED ssize_t send_host(VmrpcServer *srv, VmrpcSock *s,
                                      VmrpcCall *call)
{
    struct msghdr msg = { .msg_iov = call->scratch->iov };
    struct sockaddr_storage ss VMRPC_UNINITIALIZED;
    VmrpcTerms *terms;
    uint64_t taken = 0;
    VmrpcSays says;
    bool part;
    ssize_t n;

    n = send_destination(srv, s, call, &msg, &ss, &terms, &says);
    part = is_part(s, call);
    if (n == 0 && part) {
        n = begin_part(srv, s, call, &terms, &says);
    }
    if (n == 0 && terms) {
        n = vmrpc_budget_send(srv, terms, s, call, msg.msg_name, &taken);
    }
    if (n == 0) {
        n = vmrpc_evidence_send(srv, s, msg.msg_name);
    }
    if (n == 0) {
        n = send_to(srv, s, call, &msg, says);
    }
    if (part) {
        end_part(s, call, n);
    }
    if (terms) {
        vmrpc_budget_sent(terms, taken,
                          n >= 0 && s->type == SOCK_DGRAM ? (ssize_t)taken : n);
        vmrpc_terms_unref(terms);
    }
    if (n > 0) {
        vmrpc_limits_passed(&srv->reach.limits, VMRPC_FLOW_SENT, n);
    }
    return n;
}

static int discard(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage ss;

    if (s->proto != IPPROTO_UDP || !vmrpc_sock_is_host(s)) {
        return -EOPNOTSUPP;
    }
    /* See send_destination(). */
    if (s->peer == VMRPC_PEER_REMOTE || vmrpc_sock_is_bound(s) ||
        vmrpc_own_address(&srv->reach, 0, &ss) < 0) {
        discard_begun(s);
    }
    return 0;
}

int vmrpc_call_sendmsg(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    ssize_t n;

    n = vmrpc_sock_admit(srv, s, VMRPC_SENDMSG);
    if (n < 0) {
        return n;
    }
    if (call->arg[0] & VMRPC_MSG_DISCARD) {
        return discard(srv, s);
    }
    if (to_resolver(srv, s, call)) {
        n = vmrpc_resolver_send(srv, s, call);
    } else if (!vmrpc_throttle_admits(srv, s, VMRPC_FLOW_SENT)) {
        n = -EAGAIN;            /* which says nothing about the host's socket */
    } else {
        n = send_host(srv, s, call);
        vmrpc_ready_sent(srv, s, call->out_len, n);
    }
    if (n < 0) {
        return n;
    }
    call->value = n;
    s->bytes_sent += n;
    srv->counters.bytes_sent += n;
    return 0;
}

/* --- RECVMSG ------------------------------------------------------------ */

/* @family: of the ancillary data in @msg, as for vmrpc_cmsg_from_host() */
static VMRPC_LOCKED void recv_control(VmrpcServer *srv, VmrpcCall *call,
                                      int family,
                                      const struct msghdr *msg, int *flags)
{
    VmrpcCmsgOps ops = cmsg_ops(srv, call->result_mapped);
    VmrpcCmsgDrops drops = { };
    size_t len;

    if (srv->tells_moments) {
        vmrpc_see_clock(srv);
        ops.clock = &srv->clock;
    }
    len = vmrpc_cmsg_from_host(family, msg->msg_control,
                               msg->msg_controllen, call->scratch->control,
                               call->control_len, &ops, flags, &drops);
    vmrpc_iov_write(call->in, call->in_num, vmrpc_call_answer_head(call),
                    call->scratch->control, len);
    call->in_control_len = len;
    srv->counters.control_dropped += drops.unknown + drops.malformed +
                                     drops.no_address + drops.no_room;
}

/*
 * The same for a datagram that no host socket has received, from the resolver:
 * it came to the guest's own address.
 */
static VMRPC_LOCKED void recv_control_own(VmrpcServer *srv, const VmrpcSock *s,
                                          VmrpcCall *call)
{
    union {
        struct cmsghdr header;
        uint8_t room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    } control = { };
    struct in_pktinfo info = {
        .ipi_spec_dst = srv->config.reach.guest4,
        .ipi_addr = srv->config.reach.guest4,
    };
    struct msghdr msg = { .msg_control = &control };
    int on = 0, flags = call->msg_flags;
    socklen_t len = sizeof(on);

    if (getsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, &len) || !on) {
        return;
    }
    if (s->inet6) {
        /* The conversion writes the guest's own address. */
        msg.msg_controllen = CMSG_SPACE(sizeof(struct in6_pktinfo));
        control.header = (struct cmsghdr) {
            .cmsg_len = CMSG_LEN(sizeof(struct in6_pktinfo)),
            .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO,
        };
    } else {
        msg.msg_controllen = CMSG_SPACE(sizeof(info));
        control.header = (struct cmsghdr) {
            .cmsg_len = CMSG_LEN(sizeof(info)),
            .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO,
        };
        memcpy(CMSG_DATA(&control.header), &info, sizeof(info));
    }
    recv_control(srv, call, s->inet6 ? VMRPC_CMSG_PLAIN6 : AF_INET, &msg,
                 &flags);
    call->msg_flags = flags;
}

/*
 * Octets without room are lost, and were received: the guest may have peeked.
 * A look takes nothing; with MSG_TRUNC, it would move SO_PEEK_OFF by the whole.
 */
static ssize_t do_recvmsg(VmrpcCall *call, int fd, struct msghdr *msg,
                          int flags)
{
    bool datagram = msg->msg_namelen && !(flags & (MSG_ERRQUEUE | MSG_PEEK));
    ssize_t n;

    msg->msg_iovlen = vmrpc_call_in_slice(call, msg->msg_iov);
    n = recvmsg(fd, msg, flags | MSG_DONTWAIT | (datagram ? MSG_TRUNC : 0));
    if (n < 0) {
        return -errno;
    }
    if (!datagram) {
        return n;
    }
    call->whole = n;
    return flags & MSG_TRUNC ? n : (ssize_t)MIN((size_t)n, call->in_len);
}

/* recvmsg(), which needs no lock unless @fd is a receiver (groups.c). */
static VMRPC_LOCKED ssize_t recv_fd(VmrpcServer *srv, VmrpcSock *s,
                                    VmrpcCall *call, int fd, struct msghdr *msg,
                                    int flags)
{
    ssize_t n;

    if (fd != s->fd) {
        return do_recvmsg(call, fd, msg, flags);
    }
    vmrpc_sock_enter(srv, s);
    n = do_recvmsg(call, fd, msg, flags);
    vmrpc_sock_leave(srv, s);
    return n;
}

/*
 * Is @from another address than that of the peer to which the guest's socket
 * is connected?  The host drops such datagrams, but not at a group's receiver,
 * and not if the peer is the resolver and the filter could not be set.
 */
static bool is_strangers(const VmrpcSock *s, int fd,
                         const struct sockaddr_in *from)
{
    if (fd == s->fd) {
        return s->peer == VMRPC_PEER_RESOLVER && !s->filtered;
    }
    if (s->peer == VMRPC_PEER_SELF) {
        return true;
    }
    return vmrpc_sock_is_connected(s) &&
           (from->sin_addr.s_addr != s->peer4.s_addr ||
            from->sin_port != s->peer_port);
}

/*
 * TCP_INQ is the last of a message's ancillary data.  If the guest has not
 * asked for it, it is taken away.
 */
static void take_left(const VmrpcSock *s, VmrpcCall *call, struct msghdr *msg)
{
    size_t len = CMSG_SPACE(sizeof(call->left));
    const struct cmsghdr *last;

    if (s->inq == VMRPC_INQ_OFF || msg->msg_controllen < len) {
        return;
    }
    last = (const struct cmsghdr *)((uint8_t *)msg->msg_control +
                                    msg->msg_controllen - len);
    if (last->cmsg_level != IPPROTO_TCP || last->cmsg_type != TCP_CM_INQ) {
        return;
    }
    memcpy(&call->left, CMSG_DATA(last), sizeof(call->left));
    if (s->inq == VMRPC_INQ_OURS) {
        msg->msg_controllen -= len;
    }
}

/*
 * One message.  Returns its length; -ENOSPC if its sender could not be given
 * a virtual address, -ENOMSG if it is not for the guest; or another negative
 * errno.
 */
static VMRPC_LOCKED ssize_t recv_one(VmrpcServer *srv, VmrpcSock *s,
                                     VmrpcCall *call, int fd, int flags)
{
    uint64_t host_control[VMRPC_CMSG_HOST_MAX / sizeof(uint64_t)]
        VMRPC_UNINITIALIZED;
    struct sockaddr_storage ss = { };
    struct msghdr msg = {
        .msg_name = &ss,
        .msg_namelen = s->type == SOCK_DGRAM ? sizeof(ss) : 0,
        .msg_iov = call->scratch->iov,
        .msg_control = host_control,
        .msg_controllen = call->control_len || s->inq ? sizeof(host_control)
                                                      : 0,
    };
    int msg_flags;
    ssize_t n;

    n = recv_fd(srv, s, call, fd, &msg, flags);
    if (n < 0) {
        return n;
    }
    if (msg.msg_namelen &&
        vmrpc_addr_to_guest(&srv->reach, &ss, &call->result) < 0) {
        return -ENOSPC;
    }
    if (!s->removed && !(flags & MSG_ERRQUEUE) &&
        is_strangers(s, fd, &call->result)) {
        return -ENOMSG;
    }
    take_left(s, call, &msg);
    msg_flags = msg.msg_flags & ~MSG_CMSG_CLOEXEC;
    if (!call->control_len && msg.msg_controllen) {
        msg_flags |= MSG_CTRUNC;        /* the room was for TCP_INQ */
    }
    if (!s->removed && is_translated_ping(srv, s)) {
        VmrpcDataPlace p = vmrpc_call_data(call, true);

        vmrpc_ping_to_guest(p.iov, p.num, p.offset,
                            MIN((size_t)n, call->in_len));
    } else if (!s->removed && s->type == SOCK_DGRAM) {
        n = vmrpc_gateway_datagram_in(srv, s, call->result.sin_port, call, n,
                                      &msg_flags);
    }
    if (call->control_len) {
        recv_control(srv, call, cmsg_family(srv, s, call->result_mapped), &msg,
                     &msg_flags);
    }
    call->msg_flags = msg_flags;
    return n;
}

/*
 * The datagram that was peeked at is not for the guest: drops it.  Another call
 * had the lock since, and may have taken it; so the first one in the queue is
 * judged again.  The lock is held, so it stays the first one.
 */
static int drop_peeked(VmrpcServer *srv, VmrpcSock *s, int fd)
{
    struct sockaddr_storage ss = { };
    struct msghdr msg = { .msg_name = &ss, .msg_namelen = sizeof(ss) };
    struct sockaddr_in from;

    if (fd == s->fd && s->users) {
        return -EAGAIN;     /* the other reader drops it */
    }
    if (recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT) < 0) {
        return -errno;
    }
    if (vmrpc_addr_to_guest(&srv->reach, &ss, &from) < 0 ||
        is_strangers(s, fd, &from)) {
        recv(fd, NULL, 0, MSG_DONTWAIT);
    }
    return 0;
}

static VMRPC_LOCKED ssize_t recv_host(VmrpcServer *srv, VmrpcSock *s,
                                      VmrpcCall *call, int fd, int flags)
{
    for (int i = 0; !s->removed && i < RECV_DROP_MAX; i++) {
        ssize_t n = recv_one(srv, s, call, fd, flags);

        if (n != -ENOSPC && n != -ENOMSG) {
            return n;
        }
        srv->counters.dropped_pool_full += n == -ENOSPC;
        /* MSG_PEEK has no effect on the error queue: the entry is gone. */
        if (!s->removed && flags & MSG_PEEK && !(flags & MSG_ERRQUEUE)) {
            n = drop_peeked(srv, s, fd);
            if (n < 0) {
                return n;
            }
        }
    }
    return -EAGAIN;
}

/* The socket itself and its receivers, in turn. */
static VMRPC_LOCKED ssize_t recv_any(VmrpcServer *srv, VmrpcSock *s,
                                     VmrpcCall *call, int flags)
{
    ssize_t n = -EAGAIN;

    if (!s->groups || flags & MSG_ERRQUEUE) {
        return recv_host(srv, s, call, s->fd, flags);
    }
    /* recv_host() releases the lock: memberships come and go. */
    for (unsigned i = 0; !s->removed && n == -EAGAIN &&
                         i <= vmrpc_groups_num(s); i++) {
        unsigned turn = (s->group_turn + i) % (vmrpc_groups_num(s) + 1);
        int fd = turn ? vmrpc_groups_fd(s, turn - 1) : s->fd;

        call->result_mapped = turn ? vmrpc_groups_is_mapped(s, turn - 1)
                                   : s->mapped;
        n = fd < 0 ? -EAGAIN : recv_host(srv, s, call, fd, flags);
        /* Looking at a datagram must not change which one comes next. */
        if (n != -EAGAIN && !(flags & MSG_PEEK)) {
            s->group_turn = turn + 1;
        }
    }
    return n;
}

int vmrpc_call_recvmsg(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    int flags = call->arg[0] & RECV_FLAGS;
    uint32_t news = s->news;
    ssize_t n;

    if (vmrpc_sock_is_lost(s)) {
        return 0;               /* as at the end of a stream */
    }
    n = vmrpc_sock_admit(srv, s, VMRPC_RECVMSG);
    if (n < 0) {
        return n;
    }
    n = vmrpc_resolver_recv(srv, s, call, flags);
    if (call->result.sin_family == AF_INET && call->control_len) {
        recv_control_own(srv, s, call);
    }
    if (n == -EAGAIN && vmrpc_sock_is_host(s) &&
        (flags & MSG_ERRQUEUE ||
         vmrpc_throttle_admits(srv, s, VMRPC_FLOW_RECEIVED))) {
        n = vmrpc_gateway_receives(s, flags)
            ? vmrpc_gateway_recv(s, call, flags)
            : recv_any(srv, s, call, flags);
        vmrpc_ready_received(srv, s, news, call->in_len, n, call->left, flags);
    }
    if (n == -ENOTCONN && s->type == SOCK_STREAM &&
        s->peer == VMRPC_PEER_REMOTE) {
        n = 0;                  /* it was ended: vmrpc_host_abort() */
    }
    if (n < 0) {
        return vmrpc_sock_error(srv, s, NULL, n);
    }
    call->value = n;
    /* MSG_TRUNC may report more than there was room for. */
    call->in_data_len = MIN((size_t)n, call->in_len);
    if (!(flags & MSG_PEEK)) {
        size_t received = MAX(call->in_data_len, call->whole);

        s->bytes_received += received;
        srv->counters.bytes_received += received;
        vmrpc_limits_passed(&srv->reach.limits, VMRPC_FLOW_RECEIVED, received);
    }
    return 0;
}
