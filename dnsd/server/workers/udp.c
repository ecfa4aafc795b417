/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams, in batches
 *
 * One system call reads a batch, and one answers it.  A reply is sent from the
 * address that was asked: a socket of the wildcard address reports the
 * destination of each datagram, and accepts it as the source of the reply.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dnsd/server/host/unsent.h"
#include "dnsd/server/serve/serve.h"
#include "dnsd/server/workers/resolvers.h"
#include "dnsd/server/workers/udp.h"

#define BATCH           64
#define IN_MAX          4096    /* no plain query is longer */
#define OUT_MAX         DNSD_UDP_MAX
#define ROUNDS_MAX      16      /* batches per turn */

typedef struct Datagram {
    struct sockaddr_storage peer;
    _Alignas(struct cmsghdr) uint8_t pktinfo[DNSD_PKTINFO_MAX];
    struct iovec in_iov;
    struct iovec out_iov;
    uint8_t in[IN_MAX];
    uint8_t out[OUT_MAX];
} Datagram;

typedef struct DnsdBatch {
    bool has_pktinfo;
    unsigned used;              /* headers that the kernel has changed */
    DnsdRequest *held, **held_end;  /* for the control thread */
    struct mmsghdr in[BATCH];
    struct mmsghdr out[BATCH];
    Datagram datagram[BATCH];
} DnsdBatch;

int dnsd_udp_init(DnsdWorker *w)
{
    DnsdBatch *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (b == MAP_FAILED) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < BATCH; i++) {
        Datagram *d = &b->datagram[i];

        d->in_iov = (struct iovec) { d->in, sizeof(d->in) };
        d->out_iov = (struct iovec) { d->out, 0 };
    }
    b->used = BATCH;
    w->batch = b;
    return 0;
}

void dnsd_udp_destroy(DnsdWorker *w)
{
    if (w->batch) {
        munmap(w->batch, sizeof(*w->batch));
    }
}

/* --- in ------------------------------------------------------------------- */

/* Only headers that the kernel has changed are prepared again. */
static void prepare(DnsdBatch *b, const DnsdSocket *s)
{
    if (b->has_pktinfo != s->has_pktinfo) {
        b->has_pktinfo = s->has_pktinfo;
        b->used = BATCH;
    }
    for (unsigned i = 0; i < b->used; i++) {
        Datagram *d = &b->datagram[i];

        b->in[i].msg_hdr = (struct msghdr) {
            .msg_name = &d->peer, .msg_namelen = sizeof(d->peer),
            .msg_iov = &d->in_iov, .msg_iovlen = 1,
            .msg_control = s->has_pktinfo ? d->pktinfo : NULL,
            .msg_controllen = s->has_pktinfo ? sizeof(d->pktinfo) : 0,
        };
    }
    b->used = 0;
}

static int receive(DnsdBatch *b, const DnsdSocket *s)
{
    int count;

    prepare(b, s);
    count = recvmmsg(s->fd, b->in, BATCH, MSG_DONTWAIT, NULL);
    b->used = count > 0 ? count : 0;
    return count;
}

/*
 * A reply goes by the routes of this host, not back to the interface of its
 * query, which need not be the way to the client.  But the routes are those of
 * the VRF if one has that interface.  A link-local address, of us or of the
 * client, needs the interface.  A socket of an interface has no choice.
 */
static void turn_pktinfo(struct msghdr *hdr, const DnsdSocket *s,
                         const DnsdVrfs *vrfs)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(hdr);

    if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo *info = (void *)CMSG_DATA(c);

        info->ipi_ifindex = s->is_of_device ? 0
                            : dnsd_vrfs_of(vrfs, info->ipi_ifindex);
    } else if (c && c->cmsg_level == IPPROTO_IPV6 &&
               c->cmsg_type == IPV6_PKTINFO) {
        const struct sockaddr_in6 *peer = hdr->msg_name;
        struct in6_pktinfo *info = (void *)CMSG_DATA(c);

        if (s->is_of_device) {
            info->ipi6_ifindex = 0;
        } else if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr) &&
                   !IN6_IS_ADDR_LINKLOCAL(&peer->sin6_addr)) {
            info->ipi6_ifindex = dnsd_vrfs_of(vrfs, info->ipi6_ifindex);
        }
    }
}

/*
 * The socket's interface is the scope of a link-local client.  Of an interface
 * in a VRF the kernel names the VRF instead, which cannot send there.
 */
static void drop_scope(struct sockaddr_storage *peer)
{
    if (peer->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)peer)->sin6_scope_id = 0;
    }
}

static bool has_port(const struct sockaddr_storage *peer)
{
    return peer->ss_family == AF_INET
           ? ((const struct sockaddr_in *)peer)->sin_port
           : ((const struct sockaddr_in6 *)peer)->sin6_port;
}

static void hand_over(DnsdWorker *w, const DnsdSocket *s,
                      const struct msghdr *hdr, const DnsQuery *query,
                      bool is_for_resolver)
{
    DnsdBatch *b = w->batch;
    DnsdRequest *r = dnsd_request_new(query);
    unsigned why;

    if (!r) {
        dnsd_count(&w->thread.counters, DNSD_DROP_CONTROL);
        return;
    }
    r->fd = s->fd;
    r->client = w->client;
    r->peer_len = hdr->msg_namelen;
    memcpy(&r->peer, hdr->msg_name, hdr->msg_namelen);
    r->pktinfo_len = hdr->msg_controllen;
    if (hdr->msg_controllen) {
        memcpy(r->pktinfo, hdr->msg_control, hdr->msg_controllen);
    }
    if (!is_for_resolver) {
        *b->held_end = r;
        b->held_end = &r->next;
        return;
    }
    why = dnsd_resolvers_ask(w, r);
    if (why) {
        dnsd_count(&w->thread.counters, why);
        dnsd_request_free(r);
    }
}

/* Returns the length of the reply; 0: no reply. */
static size_t serve(DnsdWorker *w, const DnsdSocket *s, struct mmsghdr *in,
                    Datagram *d)
{
    DnsdOutcome outcome;
    DnsQuery query;
    size_t len;

    if (in->msg_hdr.msg_flags & MSG_TRUNC) {
        dnsd_count(&w->thread.counters, DNSD_DROP_LONG);
        return 0;
    }
    if (!has_port(&d->peer)) {
        dnsd_count(&w->thread.counters, DNSD_DROP_PORT);
        return 0;
    }
    w->client.addr = dnsd_addr_of((struct sockaddr *)&d->peer);
    w->client.is_stream = false;
    if (s->is_of_device) {
        drop_scope(&d->peer);
    }
    if (s->has_pktinfo) {
        turn_pktinfo(&in->msg_hdr, s, atomic_load(w->vrfs));
    }
    dns_query_read(d->in, in->msg_len, &query);
    outcome = dnsd_serve(w->serving, &w->thread, &w->client, &query, d->out,
                         sizeof(d->out), &len);
    if (outcome != DNSD_REPLY && outcome != DNSD_DROP) {
        hand_over(w, s, &in->msg_hdr, &query, outcome == DNSD_RESOLVE);
    }
    return outcome == DNSD_REPLY ? len : 0;
}

/* --- out ------------------------------------------------------------------ */

/* If the kernel rejects a reply, the others are still sent. */
static void send_all(const DnsdWorker *w, const DnsdSocket *s, unsigned count)
{
    struct mmsghdr *out = w->batch->out;

    while (count) {
        int sent = sendmmsg(s->fd, out, count, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent <= 0) {
            dnsd_unsent(errno);
            sent = 1;
        }
        out += sent;
        count -= sent;
    }
}

/* Requests that the queue of the control thread has no room for are dropped. */
static void send_held(DnsdWorker *w)
{
    DnsdRequest *left = dnsd_requests_put_all(w->control, w->batch->held);

    for (const DnsdRequest *r = left; r; r = r->next) {
        dnsd_count(&w->thread.counters, DNSD_DROP_CONTROL);
    }
    dnsd_requests_free(left);
}

/*
 * Replies are sent first: waking the control thread takes longer, and it finds
 * all requests of the batch for one commit.
 */
static void answer_batch(DnsdWorker *w, const DnsdSocket *s, unsigned count)
{
    DnsdBatch *b = w->batch;
    unsigned replies = 0;

    b->held = NULL;
    b->held_end = &b->held;
    for (unsigned i = 0; i < count; i++) {
        struct mmsghdr *in = &b->in[i];
        Datagram *d = &b->datagram[i];

        d->out_iov.iov_len = serve(w, s, in, d);
        if (d->out_iov.iov_len) {
            b->out[replies].msg_hdr = in->msg_hdr;
            b->out[replies].msg_hdr.msg_iov = &d->out_iov;
            replies++;
        }
    }
    send_all(w, s, replies);
    if (b->held) {
        send_held(w);
    }
}

void dnsd_udp_ready(DnsdWorker *w, const DnsdSocket *s)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        int count = receive(w->batch, s);

        if (count <= 0) {
            return;
        }
        answer_batch(w, s, count);
        if (count < BATCH) {
            return;
        }
    }
}
