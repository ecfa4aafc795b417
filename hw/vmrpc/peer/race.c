/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: Happy Eyeballs (RFC 8305) for the guest's connect()
 *
 * Theory of operation
 * ===================
 *
 * eyeballs.c decides which address to try when; this file makes the sockets.  A
 * stream has a race if it connects to an address of a name that has others.
 * Its own host socket makes the first attempt, to the address that the guest
 * named.  Each other attempt gets a host socket of its own, with the same
 * options and the VM's address.  If one of those wins, it replaces the first
 * under the same descriptor, so a thread that uses the descriptor at that
 * moment need not know.
 *
 * The guest sees one socket that is connecting, and as its peer the address
 * that it named.  Until the race is over, the guest gets no readiness of the
 * first host socket, and calls give what they give for a connecting socket.
 *
 * Two sockets cannot have one port.  If the guest has bound its socket, a
 * program may know the port or have passed it on.  Then the attempts take turns
 * on that one socket: an address that does not answer is given up for the next.
 * Linux takes a port that it has chosen itself from a socket whose connect()
 * fails; the socket is bound to it again.  If another socket has got the port
 * meanwhile, that was the last attempt.
 *
 * There is no race, and no cost, for a name with one address, for a connect()
 * that succeeds at once, for datagrams, and for protocols that carry addresses
 * (alg.c), whose second connection must reach the same host.
 *
 * An attempt counts as a socket, a connection and two buffers towards the
 * limits of the policy.  Where a limit is reached, the attempt is left out,
 * counted and traced like any other refusal.
 */
#include "hw/vmrpc/peer/race.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/eyeballs.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/reach/candidates.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/icmp-error.h"

/* All addresses of a name, and the one that the guest named. */
#define CANDIDATES_MAX  (VMRPC_NAMES_MAX_ADDRESSES + 1)

struct VmrpcRace {
    VmrpcEyeballs machine;
    VmrpcSock *s;
    GSequenceIter *queued;      /* in srv->races; NULL: waits for results */
    int64_t due_ms;
    bool in_turn;               /* all attempts are on s->fd */
    unsigned policy_ends;       /* srv->policy_ends when it began */
    bool pending[VMRPC_EYEBALLS_MAX];   /* attempts under way */
    int fd[VMRPC_EYEBALLS_MAX];         /* -1: none; of the first: s->fd */
    VmrpcBuffers buffers[VMRPC_EYEBALLS_MAX];
};

/* --- the queue of races ------------------------------------------------- */

static gint earlier(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const VmrpcRace *a = pa, *b = pb;

    return (a->due_ms > b->due_ms) - (a->due_ms < b->due_ms);
}

static void unqueue(VmrpcRace *race)
{
    if (race->queued) {
        g_sequence_remove(race->queued);
        race->queued = NULL;
    }
}

static VMRPC_LOCKED void queue(VmrpcServer *srv, VmrpcRace *race,
                               int64_t due_ms)
{
    if (race->queued && race->due_ms == due_ms) {
        return;
    }
    unqueue(race);
    race->due_ms = due_ms;
    if (due_ms == INT64_MAX) {
        return;
    }
    race->queued = g_sequence_insert_sorted(srv->races, race, earlier, NULL);
    if (srv->timer_due_ms < 0 || srv->timer_due_ms > due_ms) {
        vmrpc_timer_rearm(srv);
    }
}

static VMRPC_LOCKED VmrpcRace *first_due(const VmrpcServer *srv)
{
    GSequenceIter *first = g_sequence_get_begin_iter(srv->races);

    return g_sequence_iter_is_end(first) ? NULL : g_sequence_get(first);
}

int vmrpc_race_timeout_ms(VmrpcServer *srv)
{
    const VmrpcRace *race = first_due(srv);

    return race ? CLAMP(race->due_ms - vmrpc_now_ms(), 0,
                        VMRPC_EYEBALLS_GRACE_MS) : -1;
}

/* --- attempts ----------------------------------------------------------- */

static VMRPC_LOCKED void close_attempt(VmrpcServer *srv, VmrpcRace *race,
                                       unsigned i)
{
    race->pending[i] = false;
    if (race->fd[i] >= 0) {
        vmrpc_budget_release(srv, &race->buffers[i]);
        close(race->fd[i]);
        race->fd[i] = -1;
        srv->attempt_num--;
    }
}

/*
 * Another host socket like the one of @s, to go to @dest.
 * Returns it or a negative errno.
 */
static VMRPC_LOCKED int like(VmrpcServer *srv, const VmrpcSock *s,
                             const struct sockaddr_storage *dest,
                             VmrpcBuffers *buffers)
{
    VmrpcSock other = { .ops = &vmrpc_host_backing, .type = s->type,
                        .proto = s->proto, .inet6 = s->inet6,
                        .mapped = s->mapped };
    int ret = vmrpc_budget_reserve(srv, NULL, dest, &other.buffers);

    if (ret < 0) {
        return ret;
    }
    other.fd = vmrpc_host_socket(srv, s->type, s->proto);
    if (other.fd < 0) {
        vmrpc_budget_release(srv, &other.buffers);
        return other.fd;
    }
    vmrpc_budget_apply(srv, other.fd, &other.buffers);
    vmrpc_host_copy_options(srv, s, &other);
    ret = vmrpc_host_bind_source(srv, &other);
    if (ret < 0) {
        vmrpc_budget_release(srv, &other.buffers);
        close(other.fd);
        return ret;
    }
    *buffers = other.buffers;
    return other.fd;
}

static struct sockaddr_storage address_of(const VmrpcCandidate *candidate)
{
    struct sockaddr_storage ss = { };

    *(struct sockaddr_in6 *)&ss = (struct sockaddr_in6) {
        .sin6_family = AF_INET6,
        .sin6_addr = candidate->addr6,
        .sin6_port = candidate->port,
    };
    return ss;
}

static int connect_to(int fd, const struct sockaddr_storage *dest)
{
    return connect(fd, (const struct sockaddr *)dest,
                   sizeof(struct sockaddr_in6)) < 0 ? -errno : 0;
}

/* As start_attempt(), but ends the attempt before. */
static VMRPC_LOCKED int start_turn(VmrpcServer *srv, VmrpcRace *race,
                                   const struct sockaddr_storage *dest)
{
    struct sockaddr unspec = { .sa_family = AF_UNSPEC };
    VmrpcSock *s = race->s;
    int ret;

    memset(race->pending, 0, sizeof(race->pending));
    ret = vmrpc_budget_attempt(srv, dest);
    if (ret < 0) {
        return ret;
    }
    if (connect(s->fd, &unspec, sizeof(unspec)) < 0) {
        return -errno;
    }
    ret = vmrpc_host_restore_port(srv, s, s->local_port);
    if (ret < 0) {
        return ret;
    }
    if (!vmrpc_sock_is_bound(s)) {
        return -EADDRINUSE;
    }
    srv->counters.connections_raced++;
    vmrpc_evidence_open(srv, s, dest, NULL);
    return connect_to(s->fd, dest);
}

/* Returns 0 if it is connected, -EINPROGRESS, or another negative errno. */
static VMRPC_LOCKED int start_attempt(VmrpcServer *srv, VmrpcRace *race,
                                      unsigned i,
                                      const VmrpcCandidate *candidate)
{
    struct epoll_event ev = {
        .events = EPOLLOUT | EPOLLET,
        .data.u64 = (uint64_t)race->s->handle << 32 | VMRPC_EPOLL_RACE,
    };
    struct sockaddr_storage dest = address_of(candidate);
    VmrpcSays says;
    int fd, ret;

    if (!vmrpc_candidate_is_allowed(&srv->reach, candidate, race->s->terms,
                                    &says)) {
        return -EACCES;
    }
    race->s->decided = srv->reach.decided;
    if (!vmrpc_evidence_admits(srv)) {
        return -ENOBUFS;
    }
    ret = vmrpc_first_expect_other(srv, race->s, says);
    if (ret < 0) {
        return ret;
    }
    if (race->in_turn) {
        return start_turn(srv, race, &dest);
    }
    ret = vmrpc_budget_socket(srv, &dest);
    if (ret == 0) {
        ret = vmrpc_budget_attempt(srv, &dest);
    }
    if (ret < 0) {
        return ret;
    }
    fd = like(srv, race->s, &dest, &race->buffers[i]);
    if (fd < 0) {
        return fd;
    }
    race->fd[i] = fd;
    srv->attempt_num++;
    srv->counters.connections_raced++;
    vmrpc_evidence_open(srv, race->s, &dest, NULL);
    ret = connect_to(fd, &dest);
    if (ret == -EINPROGRESS &&
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        ret = -errno;
    }
    if (ret < 0 && ret != -EINPROGRESS) {
        close_attempt(srv, race, i);
    }
    return ret;
}

/* --- the end ------------------------------------------------------------ */

static VMRPC_LOCKED void drop(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcRace *race = s->race;

    for (unsigned i = 0; i < VMRPC_EYEBALLS_MAX; i++) {
        close_attempt(srv, race, i);
    }
    unqueue(race);
    s->race = NULL;
    vmrpc_sock_set_backing(srv, s, &vmrpc_host_backing);
    g_free(race);
}

static void trace_winner(VmrpcServer *srv, const VmrpcSock *s,
                         const VmrpcCandidate *winner)
{
    char text[INET6_ADDRSTRLEN];

    if (srv->tracer.raced) {
        inet_ntop(AF_INET6, &winner->addr6, text, sizeof(text));
        srv->tracer.raced(srv->tracer.opaque, s->handle, text);
    }
}

/* Attempt @i becomes the host socket of @s.  Returns 0 or a negative errno. */
static int take_over(VmrpcServer *srv, VmrpcSock *s, unsigned i)
{
    VmrpcRace *race = s->race;
    VmrpcBuffers buffers = race->buffers[i];

    /* The epoll set knows descriptor and socket: it must forget both pairs. */
    epoll_ctl(srv->epoll_fd, EPOLL_CTL_DEL, race->fd[i], NULL);
    if (s->watched) {
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
        s->watched = false;
    }
    if (dup3(race->fd[i], s->fd, O_CLOEXEC) < 0) {
        return -errno;
    }
    race->buffers[i] = s->buffers;
    s->buffers = buffers;
    return 0;
}

static VMRPC_LOCKED void win(VmrpcServer *srv, VmrpcSock *s, unsigned i,
                             const VmrpcCandidate *winner)
{
    VmrpcSock other = { .ops = &vmrpc_host_backing, .type = s->type,
                        .proto = s->proto, .inet6 = s->inet6,
                        .mapped = s->mapped, .fd = s->fd };
    bool taken = i && !s->race->in_turn;
    /* A new file that ends connections has seen the address named alone. */
    bool refused = i && s->race->policy_ends != srv->policy_ends &&
                   !vmrpc_candidate_is_allowed(&srv->reach, winner, s->terms,
                                               NULL);
    int ret = taken ? take_over(srv, s, i) : 0;

    if (ret < 0) {
        s->so_error = -ret;
    } else if (i) {
        srv->counters.connections_raced_won++;
        trace_winner(srv, s, winner);
        if (taken && s->race_options) {
            /* The options that the guest has set since the attempt began. */
            other.buffers = s->buffers;
            vmrpc_host_copy_options(srv, s, &other);
            s->buffers = other.buffers;
        }
    }
    drop(srv, s);
    if (i) {
        vmrpc_sock_watch(srv, s);
    }
    if (refused) {
        srv->counters.connections_ended++;
        vmrpc_host_abort(srv, s, 0);
    }
}

/* Takes the next steps.  Returns 0, -EINPROGRESS or the error. */
static VMRPC_LOCKED int step(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcRace *race = s->race;

    for (;;) {
        int64_t now = vmrpc_now_ms();
        VmrpcEyeballsAction action = vmrpc_eyeballs_next(&race->machine, now);
        int ret;

        switch (action.step) {
        case VMRPC_EYEBALLS_START:
            ret = start_attempt(srv, race, action.index, action.candidate);
            race->pending[action.index] = ret == -EINPROGRESS;
            if (ret != -EINPROGRESS) {
                vmrpc_eyeballs_result(&race->machine, action.index, ret, now);
            }
            break;
        case VMRPC_EYEBALLS_WAIT:
            queue(srv, race, action.until_ms);
            return -EINPROGRESS;
        case VMRPC_EYEBALLS_WON:
            win(srv, s, action.index, action.candidate);
            return 0;
        case VMRPC_EYEBALLS_FAILED:
            drop(srv, s);
            return action.error;
        }
    }
}

/* --- progress ----------------------------------------------------------- */

/* Asks the host how attempt @i goes. */
static void look_at(VmrpcRace *race, unsigned i)
{
    struct pollfd pfd = {
        .fd = i && !race->in_turn ? race->fd[i] : race->s->fd,
        .events = POLLOUT,
    };
    int err = 0;
    socklen_t len = sizeof(err);

    if (!race->pending[i] || poll(&pfd, 1, 0) <= 0) {
        return;
    }
    if (getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0) {
        err = errno;
    }
    race->pending[i] = false;
    vmrpc_eyeballs_result(&race->machine, i, -vmrpc_icmp_pending(err),
                          vmrpc_now_ms());
}

/* Asks for the results of the attempts; may end the race. */
static VMRPC_LOCKED void progress(VmrpcServer *srv, VmrpcSock *s)
{
    int ret;

    for (unsigned i = 0; i < VMRPC_EYEBALLS_MAX; i++) {
        look_at(s->race, i);
    }
    ret = step(srv, s);
    if (ret == -EINPROGRESS) {
        return;
    }
    vmrpc_sock_refresh(srv, s);
    if (ret < 0) {
        s->so_error = -ret;
    }
}

static const VmrpcBackingOps race_backing = {
    .kind = VMRPC_BACKING_HOST,
    .admit = vmrpc_sock_admit_connecting,
    .refresh = progress,
    .ready = vmrpc_sock_ready_connecting,
    .process = vmrpc_sock_look_again,
    .detach = drop,
};

void vmrpc_race_process_timer(VmrpcServer *srv)
{
    int64_t now = vmrpc_now_ms();
    VmrpcRace *race;

    while ((race = first_due(srv)) && race->due_ms <= now) {
        /* Ends the race, or makes it due later. */
        vmrpc_sock_look_again(srv, race->s, 0);
    }
}

void vmrpc_race_process_fd(VmrpcServer *srv, uint32_t handle)
{
    VmrpcSock *s = srv->socks[handle];

    if (s && s->race) {
        vmrpc_sock_look_again(srv, s, 0);
    }
}

/* --- the start ---------------------------------------------------------- */

/* May another address be reached where this one was not? */
static bool is_unreachable(int ret)
{
    switch (ret) {
    case -EINPROGRESS:
    case -ECONNREFUSED:
    case -ECONNRESET:
    case -ETIMEDOUT:
    case -ENETUNREACH:
    case -EHOSTUNREACH:
    case -ENETDOWN:
    case -EHOSTDOWN:
    case -EACCES:               /* a route of type "prohibit", */
    case -EINVAL:               /* "blackhole" */
        return true;
    default:
        return false;
    }
}

static VMRPC_LOCKED bool may_race(const VmrpcServer *srv, const VmrpcSock *s,
                                  in_port_t port)
{
    return srv->config.happy_eyeballs && srv->reach.names &&
           s->type == SOCK_STREAM && !s->race &&
           /* A program that names IPv6 addresses has all of the name's. */
           !vmrpc_sock_is_plain6(s) &&
           !(srv->config.alg &&
             vmrpc_alg_proto(SOCK_STREAM, ntohs(port)) != VMRPC_ALG_NONE);
}

int vmrpc_race_start(VmrpcServer *srv, VmrpcSock *s,
                     const struct sockaddr_storage *host, int ret)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;
    const VmrpcReachConfig *config = &srv->config.reach;
    VmrpcCandidate candidates[CANDIDATES_MAX];
    VmrpcRace *race;
    size_t num;

    if (!is_unreachable(ret) || !may_race(srv, s, sin6->sin6_port)) {
        return ret;
    }
    num = vmrpc_dest_candidates(&srv->reach, sin6, candidates, CANDIDATES_MAX,
                                s->terms);
    if (num > 1) {
        num = vmrpc_eyeballs_order(candidates, num,
                                   config->has_address6 ? &config->address6
                                                        : NULL);
    }
    if (num == 1) {
        return ret;
    }
    race = g_new0(VmrpcRace, 1);
    race->s = s;
    memset(race->fd, -1, sizeof(race->fd));
    vmrpc_eyeballs_start(&race->machine, candidates, num, vmrpc_now_ms());
    race->policy_ends = srv->policy_ends;
    race->in_turn = vmrpc_sock_is_bound_by_guest(s);
    if (race->in_turn) {
        vmrpc_eyeballs_take_turns(&race->machine);
    }
    vmrpc_eyeballs_next(&race->machine, vmrpc_now_ms());    /* done already */
    race->pending[0] = ret == -EINPROGRESS;
    if (ret != -EINPROGRESS) {
        vmrpc_eyeballs_result(&race->machine, 0, ret, vmrpc_now_ms());
    }
    s->race = race;
    s->ready = 0;               /* until the race is over */
    vmrpc_sock_set_backing(srv, s, &race_backing);
    s->race_options = false;
    vmrpc_sock_watch(srv, s);
    return step(srv, s);
}
