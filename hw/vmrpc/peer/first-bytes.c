/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: streams whose first bytes must say a name that the rules allow
 *
 * Theory of operation
 * ===================
 *
 * A rule by name opens an address for all of its names.  With "tls", the guest
 * must also say a name that it has asked for, that led to this address, and
 * that the rules allow there.  hello.c reads what the guest says; this file
 * keeps it back until it is complete.
 *
 *   connect()   the deciding rule demands it: the stream is watched
 *   send()      the bytes are copied once, into a buffer of the call.  The copy
 *               is read, and the copy leaves: a guest that changes its memory
 *               meanwhile changes nothing.  A hello that comes whole leaves at
 *               once, by the one system call that would have sent it; the
 *               beginning of one is kept, and the guest is told that it was
 *               sent, as a send buffer does.
 *   agreed      the rest is watched until the stream is encrypted (hello.c);
 *               then it is like any other
 *   refused     send() fails with EACCES, and the host socket is disconnected,
 *               by which the peer sees a reset.  So are streams that keep an
 *               incomplete hello for too long.
 *
 * With "http", it is the name in the head of each request (head.c).  The watch
 * lasts as long as the stream; bodies leave from the guest's memory.
 *
 * What the peer sends is not held and not read: protocols in which the server
 * speaks first lose nothing, but are refused when the guest answers.
 *
 * No byte may pass beside the watch.  It begins before connect(), which has no
 * other user of the host socket beside it, and it runs under the server's lock.
 * A host socket that may be connecting or connected to another address than the
 * last one that the guest named is asked for its peer.  Another address of a
 * race (Happy Eyeballs) may begin the watch; none ends it.
 *
 * If the host takes only a part of what was agreed, the rest is kept, and the
 * last byte of that send() is not reported as sent.  So the guest waits for
 * room and sends it again, and the rest leaves before it.  If the host takes
 * nothing, nothing is kept.
 *
 * A migration ends each connected stream (saved.c): nothing of this travels.
 */
#include "hw/vmrpc/peer/first-bytes.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/said/head.h"
#include "hw/vmrpc/said/hello.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* Octets of a body that one call sends */
#define UNREAD_MAX      131072

typedef enum FirstState {
    FIRST_LOOKS,                /* octets pass as they are agreed to */
    FIRST_FLUSHES,              /* all octets may pass; the host has no room */
    FIRST_REFUSED,              /* disconnected; nothing passes */
} FirstState;

/* What has been read of the stream */
typedef union Beginning {
    VmrpcHello hello;
    VmrpcHead head;
} Beginning;

struct VmrpcFirst {
    FirstState state;
    VmrpcSays says;             /* TLS or HTTP */
    bool sure;                  /* peer is that of the host socket */
    bool owes;                  /* the guest sends one kept octet again */
    struct sockaddr_in6 peer;   /* or a sockaddr_in */
    char *only;                 /* the name that it may say; NULL: several */
    Beginning read;
    uint8_t *kept;              /* in the order of the stream */
    uint32_t num;
    uint32_t agreed;            /* of these, may leave */
    int64_t due_ms;
    GList link;                 /* in srv->first_waits; data: the socket */
};

static void become(VmrpcFirst *first, FirstState state)
{
    g_assert(first->state == FIRST_LOOKS);
    first->state = state;
}

/* --- what is kept ------------------------------------------------------- */

static VMRPC_LOCKED void stop_waiting(VmrpcServer *srv, VmrpcFirst *first)
{
    if (first->link.data) {
        g_queue_unlink(&srv->first_waits, &first->link);
        first->link.data = NULL;
    }
}

/* All streams may wait for the same time, so the oldest one is the first. */
static VMRPC_LOCKED void begin_waiting(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcFirst *first = s->first;

    if (first->link.data) {
        return;
    }
    first->due_ms = vmrpc_now_ms() + VMRPC_FIRST_TIME_MS;
    first->link.data = s;
    g_queue_push_tail_link(&srv->first_waits, &first->link);
    if (srv->timer_due_ms < 0 || srv->timer_due_ms > first->due_ms) {
        vmrpc_timer_rearm(srv);
    }
}

static VMRPC_LOCKED void drop_kept(VmrpcServer *srv, VmrpcFirst *first)
{
    srv->first_bytes -= first->num;
    g_clear_pointer(&first->kept, g_free);
    first->num = first->agreed = 0;
    stop_waiting(srv, first);
}

/*
 * Keeps @num octets, of which the first @agreed may leave, in place of what was
 * kept.  Returns false if the VM keeps too much.
 */
static VMRPC_LOCKED bool keep(VmrpcServer *srv, VmrpcSock *s,
                              const uint8_t *octets, size_t num, size_t agreed)
{
    VmrpcFirst *first = s->first;

    if (srv->first_bytes - first->num + num > VMRPC_FIRST_BYTES_MAX) {
        return false;
    }
    srv->first_bytes += num - first->num;
    if (num || first->kept) {
        first->kept = g_realloc(first->kept, num);
    }
    if (num) {
        memcpy(first->kept, octets, num);
    }
    first->num = num;
    first->agreed = agreed;
    if (num > agreed) {
        begin_waiting(srv, s);
    } else {
        stop_waiting(srv, first);
    }
    return true;
}

/* --- verdicts ----------------------------------------------------------- */

/* The peer of the host socket; false if it has none. */
static bool peer_of(const VmrpcSock *s, struct sockaddr_storage *peer)
{
    socklen_t len = sizeof(*peer);

    memset(peer, 0, sizeof(*peer));
    if (s->first->sure) {
        memcpy(peer, &s->first->peer, sizeof(s->first->peer));
        return true;
    }
    return getpeername(s->fd, (struct sockaddr *)peer, &len) == 0;
}

static VMRPC_LOCKED void report(VmrpcServer *srv, const VmrpcSock *s,
                                const struct sockaddr_storage *peer,
                                VmrpcSaidReason reason, const char *name,
                                unsigned line)
{
    srv->judged = s;
    vmrpc_refused_by_said(&srv->reach, peer, vmrpc_said_reason(reason), name,
                          line);
    srv->judged = NULL;
}

/*
 * Ends the stream.  connect() to AF_UNSPEC resets the connection and leaves the
 * host socket to the threads that use it.
 */
static VMRPC_LOCKED int refuse(VmrpcServer *srv, VmrpcSock *s,
                               VmrpcSaidReason reason, const char *name,
                               unsigned line)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };
    struct sockaddr_storage peer;

    if (!peer_of(s, &peer)) {
        memcpy(&peer, &s->first->peer, sizeof(s->first->peer));
    }
    report(srv, s, &peer, reason, name, line);
    drop_kept(srv, s->first);
    become(s->first, FIRST_REFUSED);
    connect(s->fd, &unspec, sizeof(unspec));
    return -EACCES;
}

static VMRPC_LOCKED VmrpcSaidReason
judge_name(VmrpcServer *srv, const VmrpcSock *s,
           const struct sockaddr_storage *peer, const char *name,
           unsigned *line)
{
    int ret = vmrpc_dest_says(&srv->reach, peer, s->proto, name, line);

    return ret == -ENOENT ? VMRPC_SAID_NOT_ASKED :
           ret < 0 ? VMRPC_SAID_OTHER_NAME : VMRPC_SAID_OK;
}

/* May the guest say this to its peer? */
static VMRPC_LOCKED VmrpcSaidReason judge(VmrpcServer *srv, const VmrpcSock *s,
                                          const VmrpcSaid *said,
                                          unsigned *line)
{
    struct sockaddr_storage peer;

    *line = 0;
    if (said->ech && vmrpc_policy_refuses_ech(srv->reach.policy)) {
        return VMRPC_SAID_ECH;
    }
    if (s->first->only && g_ascii_strcasecmp(s->first->only, said->name) != 0) {
        return VMRPC_SAID_OTHER_NAME;
    }
    return peer_of(s, &peer)
           ? judge_name(srv, s, &peer, said->name, line)
           : VMRPC_SAID_NOT_ASKED;
}

bool vmrpc_first_may_go_on(VmrpcServer *srv, const VmrpcSock *s,
                           const struct sockaddr_storage *peer, VmrpcSays says)
{
    VmrpcSaidReason reason = VMRPC_SAID_NO_NAME;
    unsigned line = 0;

    if (says == VMRPC_SAYS_ANYTHING || (s->first && !s->said)) {
        return true;
    }
    if (s->said) {
        reason = judge_name(srv, s, peer, s->said, &line);
    }
    if (reason != VMRPC_SAID_OK) {
        report(srv, s, peer, reason, s->said, line);
    }
    return reason == VMRPC_SAID_OK;
}

static VmrpcSaidStep look_at(VmrpcFirst *first, const uint8_t *octets,
                             size_t num, VmrpcSaid *said, size_t *pass)
{
    return first->says == VMRPC_SAYS_HTTP
           ? vmrpc_head_look(&first->read.head, octets, num, said, pass)
           : vmrpc_hello_look(&first->read.hello, octets, num, said, pass);
}

static VmrpcSaidReason reason_of(const VmrpcFirst *first)
{
    return first->says == VMRPC_SAYS_HTTP ? first->read.head.reason
                                          : first->read.hello.reason;
}

/*
 * Looks at @num octets of the stream.  *@agreed: how many may leave.  Returns
 * 1 if all that follow may, 0 if not, -EACCES if the stream was refused.
 */
static VMRPC_LOCKED int look(VmrpcServer *srv, VmrpcSock *s,
                             const uint8_t *octets, size_t num, size_t *agreed)
{
    VmrpcSaidReason reason;
    VmrpcSaid said;
    unsigned line;
    size_t pass;

    for (*agreed = 0;; *agreed += pass) {
        switch (look_at(s->first, octets + *agreed, num - *agreed, &said,
                        &pass)) {
        case VMRPC_SAID_MORE:
            *agreed += pass;
            return 0;
        case VMRPC_SAID_DONE:
            *agreed += pass;
            return 1;
        case VMRPC_SAID_REFUSED:
            return refuse(srv, s, reason_of(s->first), NULL, 0);
        case VMRPC_SAID_SAID:
            reason = judge(srv, s, &said, &line);
            if (reason != VMRPC_SAID_OK) {
                return refuse(srv, s, reason, said.name, line);
            }
            vmrpc_evidence_said(srv, s, NULL, s->first->says, &said);
        }
    }
}

/* --- sending ------------------------------------------------------------ */

/* Without octets, it tells whether the stream can send. */
static ssize_t send_host(const VmrpcSock *s, const uint8_t *octets, size_t num,
                         int flags)
{
    ssize_t n = send(s->fd, octets, num, flags | MSG_DONTWAIT | MSG_NOSIGNAL);

    return n < 0 ? -errno : n;
}

/* Sends what was agreed to.  Returns 0 if nothing is left of it. */
static VMRPC_LOCKED int flush(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcFirst *first = s->first;
    ssize_t n = first->agreed;

    if (n) {
        n = send_host(s, first->kept, first->agreed, 0);
        if (n < 0) {
            return n;
        }
        srv->first_bytes -= n;
        first->num -= n;
        first->agreed -= n;
        memmove(first->kept, first->kept + n, first->num);
    }
    return first->agreed ? -EAGAIN : 0;
}

/* The octet that was kept and not reported as sent comes again. */
static VMRPC_LOCKED ssize_t pay(VmrpcServer *srv, VmrpcSock *s)
{
    int ret = flush(srv, s);

    if (ret < 0) {
        return ret;
    }
    s->first->owes = false;
    if (s->first->state == FIRST_FLUSHES) {
        vmrpc_first_detach(srv, s);
    }
    return 1;
}

/*
 * Sends the first @agreed of @num octets and keeps the others.  Returns how
 * many of the last @got of them are to be reported as sent.
 */
static VMRPC_LOCKED ssize_t pass(VmrpcServer *srv, VmrpcSock *s,
                                 const uint8_t *octets, size_t num,
                                 size_t agreed, size_t got, int flags)
{
    ssize_t n = send_host(s, octets, agreed, flags);

    if (n < 0) {
        return n;
    }
    if (!keep(srv, s, octets + n, num - n, agreed - n)) {
        return refuse(srv, s, VMRPC_SAID_FULL, NULL, 0);
    }
    s->first->owes = s->first->agreed;
    got -= s->first->owes;
    return got ? (ssize_t)got : -EAGAIN;
}

/* Octets of the body of a request, which nothing reads */
static uint64_t unread(const VmrpcFirst *first)
{
    return first->says == VMRPC_SAYS_HTTP ? vmrpc_head_unread(&first->read.head)
                                          : 0;
}

/*
 * The body leaves from the guest's memory.  The server's lock is held, so that
 * no head of another thread comes between, and for a part of it only.
 */
static VMRPC_LOCKED ssize_t pass_unread(VmrpcSock *s, const VmrpcCall *call,
                                        int flags)
{
    VmrpcDataPlace p = vmrpc_call_data(call, false);
    struct msghdr msg = { .msg_iov = call->scratch->iov };
    size_t most = MIN(MIN(unread(s->first), UNREAD_MAX), call->out_len);
    ssize_t n;

    msg.msg_iovlen = vmrpc_iov_slice(msg.msg_iov, p.iov, p.num, p.offset, most);
    n = sendmsg(s->fd, &msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
        vmrpc_head_skip(&s->first->read.head, n);
    }
    return n < 0 ? -errno : n;
}

ssize_t vmrpc_first_send(VmrpcServer *srv, VmrpcSock *s, const VmrpcCall *call,
                         int flags)
{
    uint8_t octets[VMRPC_SAID_KEEP_MAX] VMRPC_UNINITIALIZED;
    VmrpcFirst *first = s->first;
    Beginning before = first->read;
    size_t got, agreed;
    ssize_t n;
    int all;

    if (first->state == FIRST_REFUSED) {
        return -EACCES;
    }
    if (!call->out_len || s->fin_sent) {
        return send_host(s, NULL, 0, flags);
    }
    if (flags & MSG_OOB) {
        return first->state == FIRST_FLUSHES
               ? -EAGAIN : refuse(srv, s, VMRPC_SAID_MALFORMED, NULL, 0);
    }
    if (first->owes) {
        return pay(srv, s);
    }
    if (!first->num && unread(first)) {
        return pass_unread(s, call, flags);
    }
    if (first->num) {
        memcpy(octets, first->kept, first->num);
    }
    got = vmrpc_call_read(call, octets + first->num,
                          sizeof(octets) - first->num);
    all = look(srv, s, octets, first->num + got, &agreed);
    if (all < 0) {
        return all;
    }
    n = pass(srv, s, octets, first->num + got, agreed, got, flags);
    if (n < 0 && !first->owes) {
        first->read = before;           /* the guest sends all of it again */
    } else if (all && first->owes) {
        become(first, FIRST_FLUSHES);
    } else if (all) {
        vmrpc_first_detach(srv, s);
    }
    return n;
}

void vmrpc_first_finish(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage peer;

    if (!s->first || s->fd < 0) {
        return;
    }
    flush(srv, s);
    if (s->first->num > s->first->agreed && peer_of(s, &peer)) {
        report(srv, s, &peer, VMRPC_SAID_MALFORMED, NULL, 0);
    }
    drop_kept(srv, s->first);
}

/* --- life --------------------------------------------------------------- */

void vmrpc_first_detach(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->first) {
        drop_kept(srv, s->first);
        g_free(s->first->only);
        g_clear_pointer(&s->first, g_free);
    }
}

static VMRPC_LOCKED void attach(VmrpcServer *srv, VmrpcSock *s, VmrpcSays says)
{
    if (says == VMRPC_SAYS_ANYTHING) {
        says = s->first->says;
    }
    vmrpc_first_detach(srv, s);
    s->first = g_new0(VmrpcFirst, 1);
    s->first->says = says;
}

int vmrpc_first_expect(VmrpcServer *srv, VmrpcSock *s, VmrpcSays says,
                       const struct sockaddr_storage *host, const char *only)
{
    bool again = s->peer == VMRPC_PEER_REMOTE;
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    /* It is connected, as connect() is about to say. */
    if (again && getpeername(s->fd, (struct sockaddr *)&peer, &len) == 0) {
        return 0;
    }
    if (s->users) {
        return -EALREADY;
    }
    attach(srv, s, says);
    memcpy(&s->first->peer, host, sizeof(s->first->peer));
    s->first->sure = says != VMRPC_SAYS_ANYTHING && !again;
    s->first->only = g_strdup(only);
    return 0;
}

void vmrpc_first_disconnect(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->first) {
        attach(srv, s, VMRPC_SAYS_ANYTHING);
    }
}

void vmrpc_first_connects(VmrpcServer *srv, VmrpcSock *s, VmrpcSays says,
                          int ret)
{
    /* EINPROGRESS is that of a new attempt: EALREADY, of one before. */
    if (says == VMRPC_SAYS_ANYTHING && ret == -EINPROGRESS) {
        vmrpc_first_detach(srv, s);
    }
}

int vmrpc_first_expect_other(VmrpcServer *srv, VmrpcSock *s, VmrpcSays says)
{
    /* One stream cannot begin in two ways. */
    if (s->first && says != VMRPC_SAYS_ANYTHING && says != s->first->says) {
        return -EACCES;
    }
    if (!s->first && says != VMRPC_SAYS_ANYTHING) {
        if (s->users) {
            return -EALREADY;
        }
        attach(srv, s, says);
    }
    if (s->first) {
        s->first->sure = false;
    }
    return 0;
}

int vmrpc_first_timeout_ms(VmrpcServer *srv)
{
    const VmrpcSock *s = g_queue_peek_head(&srv->first_waits);

    return s ? CLAMP(s->first->due_ms - vmrpc_now_ms(), 0, VMRPC_FIRST_TIME_MS)
             : -1;
}

void vmrpc_first_process_timer(VmrpcServer *srv)
{
    int64_t now_ms = vmrpc_now_ms();
    VmrpcSock *s;

    while ((s = g_queue_peek_head(&srv->first_waits)) &&
           s->first->due_ms <= now_ms) {
        refuse(srv, s, VMRPC_SAID_LATE, NULL, 0);
        vmrpc_sock_refresh(srv, s);
        vmrpc_sock_notify(srv, s);
    }
}
