/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation
 * ===================
 *
 * Each step is made in both worlds.  A call belongs to one of the worlds'
 * threads; when it waits in both, it stays under way and the sequence goes on
 * with the other threads, until something wakes it or a step interrupts it.
 *
 * Before the next step the worlds settle: the poll() masks of all sockets and
 * the states of all threads are looked at until they are the same in both.
 * If that takes too long, they differ.  Looking costs the module no request,
 * so that an event that got lost stays lost.  A peer that has sent waits for
 * the acknowledgement before it answers; so when masks are the same, data
 * have arrived in both worlds.  Then outcomes are compared (compare.c).
 * A program need not look: who sends what it has just accepted does not.
 */
#include "lockstep.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

/* Time for which a query is repeated until the answers agree. */
#define ASK_MS          1000
/* Time for which only one world may wait before it counts. */
#define GRACE_MS        1500
/* Time that calls may take to continue after a signal. */
#define RESTART_MS      40

/* --- calls ---------------------------------------------------------------- */

static struct worker *worker_of(const struct run *run, int which, unsigned step)
{
    return &run->world[which]->worker[run->ops[step].thread];
}

/* Queries that can be repeated and change nothing. */
static bool is_question(const struct op *op)
{
    switch (op->kind) {
    case OP_NAME:
        return true;
    case OP_GET:
        return !(op->arg[1] == SOL_SOCKET && op->arg[2] == SO_ERROR);
    case OP_IOCTL:
        return op->arg[1] == SIOCINQ || op->arg[1] == SIOCATMARK;
    case OP_POLL:
        return op->arg[2] == 0;
    case OP_SELECT:
        return op->arg[1] == 0;
    default:
        return false;
    }
}

static void take_outcomes(struct run *run, unsigned step)
{
    int w;

    for (w = 0; w < WORLDS; w++) {
        struct worker *worker = worker_of(run, w, step);

        run->step[step].outcome[w] = *worker->arena.outcome;
        atomic_store(&worker->state, WORKER_IDLE);
    }
    run->step[step].progress = DONE;
}

/* Whether a query's answers differ in an unknown way. */
static bool looks_different(struct run *run, unsigned step)
{
    run->report->signature[0] = '\0';
    run->probing = true;
    compare_step(run, step);
    run->probing = false;
    return run->report->signature[0] &&
           !compare_is_known(run->report->signature);
}

/* Repeats a query for a while, since an answer may depend on data in flight. */
static void ask_again(struct run *run, unsigned step)
{
    int64_t end = world_now_ms() + ASK_MS;
    int w;

    while (looks_different(run, step) && world_now_ms() < end) {
        usleep(2000);
        for (w = 0; w < WORLDS; w++) {
            world_begin(worker_of(run, w, step), &run->ops[step], step);
        }
        for (w = 0; w < WORLDS; w++) {
            while (!world_is_done(worker_of(run, w, step))) {
                /* a query does not wait */
            }
        }
        take_outcomes(run, step);
    }
}

static void finish_call(struct run *run, unsigned step)
{
    take_outcomes(run, step);
    if (is_question(&run->ops[step])) {
        ask_again(run, step);
    }
    compare_step(run, step);
}

/* --- senders that wait ---------------------------------------------------- */

static ino_t our_socket(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    struct stat st;

    if (op_arg_type(op->kind, 0) != 's' ||
        fstat(run->world[OURS]->fd[op->arg[0]], &st)) {
        return 0;
    }
    return st.st_ino;
}

/* Whether a connection of the host's has nothing left that its peer has not. */
static bool has_sent_all(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof(info);
    int left;

    return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
           (info.tcpi_state == TCP_ESTABLISHED ||
            info.tcpi_state == TCP_CLOSE_WAIT) &&
           !ioctl(fd, SIOCOUTQ, &left) && !left;
}

/*
 * How much a buffer holds is not the same, so it may be that only ours is
 * full.  But when the peers take all there is, who waits for room has to go on,
 * and who polls has to be told; else the news of it were lost, which is
 * a difference of its own.  Our socket is asked last: that may wake a sleeper.
 */
static bool misses_room(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    int64_t end = world_now_ms() + GRACE_MS;

    if ((op->kind != OP_SEND && op->kind != OP_SENDFILE) ||
        run->step[step].type != SOCK_STREAM) {
        return false;
    }
    while (world_now_ms() < end) {
        if (world_is_done(worker_of(run, OURS, step)) ||
            !compare_drain_peers(run, step)) {
            return false;
        }
        usleep(1000);
    }
    if (our_socket(run, step) != run->step[step].ours ||
        !has_sent_all(run->world[OURS]->fd[op->arg[0]])) {
        return false;
    }
    compare_differ(run, step, "sleeps although all was sent");
    return true;
}

/* The same for a mask that lacks POLLOUT, which the native one has. */
static bool hides_room(struct run *run, unsigned step, unsigned slot)
{
    int64_t end = world_now_ms() + GRACE_MS;
    struct pollfd pfd = { run->world[OURS]->fd[slot], POLLOUT, 0 };

    if (run->world[OURS]->type[slot] != SOCK_STREAM) {
        return false;
    }
    while (world_now_ms() < end) {
        if (poll(&pfd, 1, 0) || !compare_drain_peers(run, step)) {
            return false;
        }
        usleep(1000);
    }
    if (!has_sent_all(pfd.fd)) {
        return false;
    }
    compare_differ(run, step, "then no POLLOUT although all was sent");
    return true;
}

/* --- the beginning of calls ----------------------------------------------- */

/* Waits until the call is over in both worlds, or waits in both. */
static void await_call(struct run *run, unsigned step)
{
    struct blocked seen[WORLDS] = { 0 };
    int64_t alone = 0, now, begin = world_now_ms();
    bool done[WORLDS], blocked[WORLDS] = { false };
    int w;

    for (;;) {
        for (w = 0; w < WORLDS; w++) {
            done[w] = world_is_done(worker_of(run, w, step));
        }
        if (done[NATIVE] && done[OURS]) {
            finish_call(run, step);
            return;
        }
        now = world_now_ms();
        /* Filling a socket takes a while, but does not wait. */
        if (now - begin < 4 || run->ops[step].kind == OP_FILL) {
            continue;
        }
        for (w = 0; w < WORLDS; w++) {
            blocked[w] = !done[w] && world_is_blocked(worker_of(run, w, step),
                                                      &seen[w]);
        }
        if (blocked[NATIVE] && blocked[OURS]) {
            run->step[step].progress = UNDER_WAY;
            run->pending[run->ops[step].thread] = step;
            return;
        }
        if (!done[NATIVE] && !done[OURS]) {
            alone = 0;
        } else if (!alone) {
            alone = now;
        }
        if (!alone && now - begin > 5 * PATIENCE_MS) {
            /* Behind another call, for a lock of the kernel's. */
            run->step[step].progress = UNDER_WAY;
            compare_part(run);
            return;
        }
        if ((alone && now - alone > GRACE_MS &&
             (blocked[NATIVE] || blocked[OURS])) ||
            now - begin > 5 * PATIENCE_MS) {
            run->step[step].progress = UNDER_WAY;
            if (done[OURS] || (!misses_room(run, step) && !run->over)) {
                compare_differ(run, step, "%s -> %s",
                               done[NATIVE] ? "returns" : "waits",
                               done[OURS] ? "returns" : "waits");
            }
            run->over = true;
            return;
        }
    }
}

static int slot_type(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    int type;

    if (!op_is_call(op->kind)) {
        return 0;
    }
    if (op->kind == OP_EPCTL) {
        return run->world[NATIVE]->type[op->arg[2] % SLOTS];
    }
    if (op_arg_type(op->kind, 0) != 's' || op->kind == OP_SOCKET) {
        return 0;
    }
    type = run->world[NATIVE]->type[op->arg[0]];
    return type;
}

static void begin_call(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    int w;

    if (run->pending[op->thread] >= 0) {
        run->step[step].progress = SKIPPED;
        return;
    }
    run->step[step].ours = our_socket(run, step);
    for (w = 0; w < WORLDS; w++) {
        world_begin(worker_of(run, w, step), op, step);
    }
    await_call(run, step);
}

/* --- what the peers do ---------------------------------------------------- */

static void peer_outcome(struct run *run, unsigned step, int which,
                         const struct peer_reply *reply)
{
    struct outcome *o = &run->step[step].outcome[which];
    enum op_kind kind = run->ops[step].kind;
    uint32_t peer = run->ops[step].arg[0];
    struct world *world = run->world[which];

    o->ret = reply->ret < 0 ? -1 : reply->ret;
    o->error = reply->ret < 0 ? -reply->ret : 0;
    if (kind == OP_PEER_RECV || reply->data_len) {
        o->data = run->data[which];
        o->len = reply->data_len;
        o->stream = kind == OP_PEER_RECV &&
                    !(run->ops[step].arg[2] & MSG_OOB);
    }
    if (reply->ret < 0) {
        return;
    }
    switch (kind) {
    case OP_PEER_LISTEN:
    case OP_PEER_CONNECT:
    case OP_PEER_OPEN:
        world->peer_port[peer] = reply->port;
        world->peer_log[peer].len = 0;
        break;
    case OP_PEER_CLOSE:
        world->peer_log[peer].len = 0;
        break;
    case OP_PEER_ACCEPT:
        world->peer_log[run->ops[step].arg[1]].len = 0;
        /* fall through */
    case OP_PEER_RECVFROM:
        outcome_fact(o, 'o', "port", reply->port);
        outcome_fact(o, 'd', "from_vm", reply->from_vm);
        break;
    default:
        break;
    }
    if (kind == OP_PEER_RECVFROM) {
        outcome_fact(o, 'd', "ttl", reply->ttl);
        outcome_fact(o, 'd', "tos", reply->tos);
    }
}

static uint32_t peer_argument(const struct run *run, unsigned step, int which,
                              unsigned i)
{
    const struct op *op = &run->ops[step];

    if (op_arg_type(op->kind, i + 1) == 't') {
        return call_resolve_port(run->world[which], op->arg[i + 1]);
    }
    if (op->kind == OP_PEER_SENDTO && i == 1) {
        return (op->arg[2] & 0xfffff) | (op->arg[3] & 0xff) << 20;
    }
    return op->arg[i + 1];
}

static void ask_peers(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    struct peer_reply reply;
    int w;

    for (w = 0; w < WORLDS; w++) {
        struct peer_request request = {
            .step = step,
            .op = op->kind,
            .peer = op->arg[0],
            .arg = { peer_argument(run, step, w, 0),
                     peer_argument(run, step, w, 1) },
        };

        if (world_ask(run->world[w], &request)) {
            compare_break(run);
            return;
        }
    }
    for (w = 0; w < WORLDS; w++) {
        if (world_answer(run->world[w], &reply, run->data[w])) {
            compare_break(run);
            return;
        }
        peer_outcome(run, step, w, &reply);
    }
    run->step[step].progress = DONE;
    compare_step(run, step);
}

/* --- settling ------------------------------------------------------------- */

static void poll_world(const struct world *world, uint32_t mask[SLOTS])
{
    struct pollfd pfd[SLOTS];
    unsigned i;

    for (i = 0; i < SLOTS; i++) {
        pfd[i].fd = world->fd[i];
        pfd[i].events = POLLIN | POLLPRI | POLLOUT | POLLRDHUP | POLLRDBAND |
                        POLLWRBAND | POLLRDNORM | POLLWRNORM;
        pfd[i].revents = 0;
    }
    poll(pfd, SLOTS, 0);
    for (i = 0; i < SLOTS; i++) {
        mask[i] = (uint16_t)pfd[i].revents;
    }
}

/* Looks after the calls under way; whether they are in the same state. */
static bool pending_agree(struct run *run)
{
    bool agree = true;
    unsigned t;
    int w;

    for (t = 0; t < THREADS && !run->over; t++) {
        int step = run->pending[t];
        unsigned done = 0;

        if (step < 0) {
            continue;
        }
        for (w = 0; w < WORLDS; w++) {
            struct worker *worker = worker_of(run, w, step);

            if (atomic_load(&worker->state) == WORKER_DONE) {
                done++;
            } else {
                agree &= world_is_asleep(worker);
            }
        }
        if (done == WORLDS) {
            run->pending[t] = -1;
            finish_call(run, step);
        } else if (done) {
            agree = false;
        }
    }
    return agree;
}

static int differing_mask(const struct run *run, uint32_t mask[WORLDS][SLOTS])
{
    unsigned i;

    for (i = 0; i < SLOTS; i++) {
        if (mask[NATIVE][i] != mask[OURS][i]) {
            return i;
        }
    }
    return -1;
}

/*
 * Whether both or none had a signal.  If both had, it is forgotten; if none
 * had, the counters are left alone: one of them may be counting right now.
 */
static bool signal_agrees(_Atomic unsigned *a, _Atomic unsigned *b)
{
    bool had = atomic_load(a);

    if (had != !!atomic_load(b)) {
        return false;
    }
    if (had) {
        atomic_store(a, 0);
        atomic_store(b, 0);
    }
    return true;
}

static bool signals_agree(struct run *run)
{
    struct world *a = run->world[NATIVE], *b = run->world[OURS];
    bool io = signal_agrees(&a->sigio, &b->sigio);
    bool urg = signal_agrees(&a->sigurg, &b->sigurg);

    return io && urg;
}

/* Has a pending call returned in one of the worlds only? */
static bool has_parted(struct run *run, unsigned pending)
{
    int native = atomic_load(&worker_of(run, NATIVE, pending)->state);
    int ours = atomic_load(&worker_of(run, OURS, pending)->state);

    return (native == WORKER_DONE) != (ours == WORKER_DONE);
}

/* Only one of the worlds had a signal. */
static void report_signal(struct run *run, unsigned step)
{
    struct world *a = run->world[NATIVE], *b = run->world[OURS];
    bool native = atomic_load(&a->sigio), ours = atomic_load(&b->sigio);
    const char *name = "SIGIO";

    if (native == ours) {
        name = "SIGURG";
        native = atomic_load(&a->sigurg);
        ours = atomic_load(&b->sigurg);
    }
    compare_differ(run, step, "then %s: %d -> %d", name, native, ours);
}

/* A pending call has returned in one of the worlds only. */
static void report_return(struct run *run, unsigned step, unsigned pending)
{
    int w = atomic_load(&worker_of(run, NATIVE, pending)->state) == WORKER_DONE
            ? NATIVE : OURS;
    char text[WORLDS][32] = { "waits", "waits" };

    if (w == NATIVE && (misses_room(run, pending) || run->over)) {
        return;
    }
    compare_result_text(worker_of(run, w, pending)->arena.outcome, text[w]);
    compare_differ(run, step, "then %s%s %s -> %s",
                   op_name(run->ops[pending].kind),
                   compare_type_name(run->step[pending].type), text[NATIVE],
                   text[OURS]);
}

/* The worlds have not become equal: report the differences. */
static void report_unsettled(struct run *run, unsigned step,
                             uint32_t mask[WORLDS][SLOTS])
{
    int i = differing_mask(run, mask);
    char text[WORLDS][64];
    unsigned t;

    if (i >= 0 && (mask[NATIVE][i] & ~mask[OURS][i] & POLLOUT) &&
        (hides_room(run, step, i) || run->over)) {
        return;
    }
    if (i >= 0) {
        compare_differ(run, step, "then %s readiness: %s -> %s",
                       compare_type_name(run->world[NATIVE]->type[i]),
                       compare_events_text(mask[NATIVE][i], text[0]),
                       compare_events_text(mask[OURS][i], text[1]));
        return;
    }
    for (t = 0; t < THREADS; t++) {
        if (run->pending[t] >= 0 && has_parted(run, run->pending[t])) {
            report_return(run, step, run->pending[t]);
            return;
        }
    }
    report_signal(run, step);
}

static void settle(struct run *run, unsigned step)
{
    int64_t end = world_now_ms() + PATIENCE_MS;
    uint32_t mask[WORLDS][SLOTS];
    bool agree;
    int w;

    for (;;) {
        agree = pending_agree(run);
        if (run->over) {
            return;
        }
        for (w = 0; w < WORLDS; w++) {
            poll_world(run->world[w], mask[w]);
        }
        if (agree && differing_mask(run, mask) < 0 && signals_agree(run)) {
            return;
        }
        if (world_now_ms() > end) {
            report_unsettled(run, step, mask);
            run->over = true;
            if (run->report->verdict == VERDICT_SAME) {
                compare_part(run);
            }
            return;
        }
        usleep(1000);
    }
}

/* --- steps ---------------------------------------------------------------- */

/*
 * A signal whose handler lets calls end must end them.  One that lets them go
 * on may or may not, but takes a moment to show.
 */
static void interrupt(struct run *run, unsigned thread, bool restart)
{
    int64_t end = world_now_ms() + (restart ? RESTART_MS : PATIENCE_MS);
    int step = run->pending[thread], w;

    if (step < 0) {
        return;
    }
    run->step[step].interrupted = true;
    for (w = 0; w < WORLDS; w++) {
        world_interrupt(worker_of(run, w, step), restart);
    }
    while (run->pending[thread] >= 0 && !run->over && world_now_ms() < end) {
        pending_agree(run);
        usleep(500);
    }
    if (!restart && run->pending[thread] >= 0 && !run->over) {
        compare_part(run);
        if (world_is_done(worker_of(run, NATIVE, step))) {
            compare_differ(run, step, "ends -> goes on");
        } else if (world_is_done(worker_of(run, OURS, step))) {
            compare_differ(run, step, "goes on -> ends");
        }
    }
}

/*
 * Whether the next step is made without looking at the sockets before it: who
 * looks hears from the host, and what accept() has told must do without.
 */
static bool is_hasty(const struct run *run, unsigned step)
{
    return run->ops[step].kind == OP_ACCEPT &&
           run->step[step].progress == DONE && step + 1 < run->num &&
           op_sends(run->ops[step + 1].kind);
}

static void make_step(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];

    run->step[step].type = slot_type(run, step);
    if (op_is_call(op->kind)) {
        begin_call(run, step);
    } else if (op->kind == OP_INTERRUPT) {
        interrupt(run, op->arg[0] % THREADS, op->arg[1]);
        run->step[step].progress = DONE;
    } else if (op->kind == OP_PAUSE) {
        usleep(op->arg[0] % 1000 * 1000);
        run->step[step].progress = DONE;
    } else {
        ask_peers(run, step);
    }
    if (!run->over && !is_hasty(run, step)) {
        settle(run, step);
    }
}

/* What still waits is interrupted, and that must be the same as well. */
static void make_end(struct run *run)
{
    unsigned t;

    for (t = 0; t < THREADS && !run->over; t++) {
        int step = run->pending[t];

        if (step < 0 || misses_room(run, step) || run->over) {
            continue;
        }
        pending_agree(run);
        if (!run->over && run->pending[t] == step && has_parted(run, step)) {
            compare_part(run);
        }
    }
    for (t = 0; t < THREADS && !run->over; t++) {
        interrupt(run, t, false);
    }
    if (!run->over && run->num) {
        settle(run, run->num - 1);
    }
    if (!run->over && run->num) {
        compare_drain_peers(run, run->num - 1);
    }
}

/* Whether a sequence lets calls end by themselves after a time. */
static bool has_timeouts(const struct op *ops, unsigned num)
{
    unsigned i;

    for (i = 0; i < num; i++) {
        const struct op *op = &ops[i];

        if ((op->kind == OP_SET && op->arg[1] == SOL_SOCKET &&
             (op->arg[2] == SO_RCVTIMEO || op->arg[2] == SO_SNDTIMEO ||
              op->arg[2] == SO_LINGER || op->arg[2] == 66 ||
              op->arg[2] == 67)) ||
            (op->kind == OP_POLL && (int)op->arg[2] > 0) ||
            (op->kind == OP_SELECT && (int)op->arg[1] > 0) ||
            (op->kind == OP_EPWAIT && (int)op->arg[2] > 0)) {
            return true;
        }
    }
    return false;
}

/* --- the report ----------------------------------------------------------- */

static size_t print_outcome(char *to, size_t room, const struct outcome *o)
{
    size_t used;
    char text[64];
    unsigned i;

    if (o->ret < 0) {
        used = snprintf(to, room, "%s", op_error_name(o->error));
    } else {
        used = snprintf(to, room, "%lld", (long long)o->ret);
    }
    for (i = 0; i < o->facts && used < room; i++) {
        const struct fact *fact = &o->fact[i];

        if (fact->value || fact->type == 'e') {
            used += snprintf(to + used, room - used, " %s=%s", fact->what,
                             compare_fact_text(fact, text));
        }
    }
    return used < room ? used : room - 1;
}

/* A call that at the end had not come back in both worlds. */
static size_t print_under_way(char *to, size_t room, const struct run *run,
                              unsigned step)
{
    char text[WORLDS][32] = { "waits", "waits" };
    int w;

    for (w = 0; w < WORLDS; w++) {
        struct worker *worker = worker_of(run, w, step);

        if (atomic_load(&worker->state) == WORKER_DONE) {
            compare_result_text(worker->arena.outcome, text[w]);
        }
    }
    return snprintf(to, room, "#     native     %s\n#     outsourced %s\n",
                    text[NATIVE], text[OURS]);
}

static void print_steps(const struct run *run)
{
    static const char *const words[] = {
        [NOT_YET] = "not yet", [SKIPPED] = "skipped",
    };
    struct report *report = run->report;
    char *to = report->text;
    size_t room = sizeof(report->text), used = 0;
    char text[OP_TEXT], line[WORLDS][1024];
    unsigned i;
    int w;

    for (i = 0; i < run->num && used < room - 4096; i++) {
        const struct step *step = &run->step[i];

        op_print(&run->ops[i], text);
        used += snprintf(to + used, room - used, "%s\n", text);
        if (step->progress == UNDER_WAY) {
            used += print_under_way(to + used, room - used, run, i);
            continue;
        }
        if (step->progress != DONE) {
            used += snprintf(to + used, room - used, "#     %s\n",
                             words[step->progress]);
            continue;
        }
        for (w = 0; w < WORLDS; w++) {
            print_outcome(line[w], sizeof(line[w]), &step->outcome[w]);
        }
        used += snprintf(to + used, room - used,
                         strcmp(line[NATIVE], line[OURS])
                         ? "#     native     %s\n#     outsourced %s\n"
                         : "#     both       %s\n", line[NATIVE], line[OURS]);
    }
}

void lockstep_run(struct world *native, struct world *outsourced,
                  const struct op *ops, unsigned num, struct report *report)
{
    static struct run run;      /* large; the process runs one sequence */
    unsigned i;

    memset(report, 0, sizeof(*report));
    run.world[NATIVE] = native;
    run.world[OURS] = outsourced;
    run.ops = ops;
    run.num = num;
    run.report = report;
    memset(run.pending, -1, sizeof(run.pending));
    compare_begin(&run);
    world_has_timeouts = has_timeouts(ops, num);
    for (i = 0; i < num && !run.over; i++) {
        make_step(&run, i);
        report->steps++;
    }
    make_end(&run);
    if (report->verdict == VERDICT_DIFFERENT) {
        print_steps(&run);
    }
}
