/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sequences from a seed, each in a process of its own.  When the worlds differ:
 * repeat the sequence, make it smaller, print it.  The output is valid input
 * for --replay.
 */
#include "differ.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generate.h"
#include "lockstep.h"
#include "random.h"

#define SEQUENCE_MS     60000   /* limit of a sequence */
#define SHRINK_MS       60000   /* for making one smaller */
#define CONFIRMATIONS   3
#define SEEN_MAX        1024
#define PORTS_FROM      10000
#define PORTS_TO        30000
#define NOBODY          65534

struct sequence {
    struct op ops[OPS_MAX];
    unsigned num, family;       /* WORLD_... */
    bool unprivileged;
};

struct differ {
    const struct differ_config *config;
    int native_netns[2];        /* ... and where IPv6 has its own addresses */
    int native_channel[2], channel;
    unsigned ports;             /* ports that have been used */
    struct report *report;      /* shared with the process that runs one */
    char *seen[SEEN_MAX];
    unsigned seen_num;
    unsigned long sequences, steps, known, parted, again;
};

/* --- one run -------------------------------------------------------------- */

/* Both peers close what they have left from the last sequence. */
static int forget(struct differ *d, struct world *world)
{
    static uint8_t data[PEER_DATA_MAX];
    struct peer_request request = { .op = PEER_FORGET };
    struct peer_reply reply;

    /* Numbers that no former process has used for the same channel. */
    world->request = d->sequences << 12;
    return world_ask(world, &request) || world_answer(world, &reply, data);
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
        setresuid(NOBODY, NOBODY, NOBODY)) {
        abort();
    }
    prctl(PR_SET_DUMPABLE, 1);
}

static void run_here(struct differ *d, const struct sequence *s)
{
    static struct world native = { .name = "native" };
    static struct world ours = { .name = "outsourced", .netns = -1 };
    unsigned range = (PORTS_TO - PORTS_FROM) / FIXED_PORTS;

    world_family = s->family;
    native.netns = d->native_netns[s->family == WORLD_PLAIN];
    native.channel = d->native_channel[s->family == WORLD_PLAIN];
    ours.channel = d->channel;
    native.port_base = PORTS_FROM + d->ports % range * FIXED_PORTS;
    ours.port_base = native.port_base;
    d->report->verdict = VERDICT_BROKEN;
    if (forget(d, &native) || forget(d, &ours) || world_start(&native) ||
        world_start(&ours)) {
        return;
    }
    if (s->unprivileged) {
        become_nobody();
    }
    lockstep_run(&native, &ours, s->ops, s->num, d->report);
}

/* Waits for the end of a process; false when it takes too long. */
static bool await_child(pid_t child, int ms, int *status)
{
    int64_t end = world_now_ms() + ms;
    unsigned wait = 200;

    while (waitpid(child, status, WNOHANG) == 0) {
        if (world_now_ms() > end) {
            return false;
        }
        usleep(wait);
        wait = wait < 5000 ? wait * 2 : wait;
    }
    return true;
}

/* A process that does not end, or ends with an error, is a finding, too. */
static void report_end(struct differ *d, const struct sequence *s,
                       const char *how)
{
    struct report *report = d->report;
    size_t used = 0;
    unsigned i;

    report->verdict = VERDICT_DIFFERENT;
    snprintf(report->signature, sizeof(report->signature), "%s", how);
    for (i = 0; i < s->num && used < REPORT_MAX - OP_TEXT - 1; i++) {
        op_print(&s->ops[i], report->text + used);
        used += strlen(report->text + used);
        report->text[used++] = '\n';
    }
    report->text[used] = '\0';
}

/* Executes a sequence; the report is in d->report. */
static void run_sequence(struct differ *d, const struct sequence *s)
{
    char how[64];
    int status;
    pid_t child;

    d->sequences++;
    d->ports++;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        run_here(d, s);
        _exit(0);
    }
    if (child < 0) {
        d->report->verdict = VERDICT_BROKEN;
        return;
    }
    if (!await_child(child, SEQUENCE_MS, &status)) {
        printf("a sequence does not end; its threads are here:\n");
        world_print_stacks(child);
        kill(child, SIGKILL);
        if (!await_child(child, SEQUENCE_MS, &status)) {
            printf("and it cannot be killed:\n");
            world_print_stacks(child);
            report_end(d, s, "a process that cannot be killed");
            return;
        }
        report_end(d, s, "a sequence that does not end");
    } else if (!WIFEXITED(status)) {
        snprintf(how, sizeof(how), "a process that ends by signal %d",
                 WTERMSIG(status));
        report_end(d, s, how);
    }
    d->steps += d->report->steps;
}

/* --- making it smaller ---------------------------------------------------- */

/* Whether a sequence shows the difference, in one of so many attempts. */
static bool shows(struct differ *d, const struct sequence *s,
                  const char *signature, unsigned attempts)
{
    while (attempts--) {
        run_sequence(d, s);
        if (d->report->verdict == VERDICT_DIFFERENT &&
            !strcmp(d->report->signature, signature)) {
            return true;
        }
    }
    return false;
}

struct shrink {
    struct differ *d;
    struct sequence *best;
    struct report *report;      /* of the best */
    const char *signature;
    unsigned attempts;
    int64_t end;
};

/* Takes a candidate if it still shows the difference. */
static bool try_smaller(struct shrink *k, const struct sequence *candidate)
{
    if (world_now_ms() > k->end ||
        !shows(k->d, candidate, k->signature, k->attempts)) {
        return false;
    }
    *k->best = *candidate;
    *k->report = *k->d->report;
    return true;
}

/* Removes as many steps as possible, in ever smaller pieces. */
static void remove_steps(struct shrink *k)
{
    struct sequence candidate;
    unsigned size, at;

    for (size = k->best->num; size; size /= 2) {
        for (at = 0; at < k->best->num; ) {
            unsigned end = at + size < k->best->num ? at + size
                                                    : k->best->num;

            candidate = *k->best;
            memmove(&candidate.ops[at], &candidate.ops[end],
                    (candidate.num - end) * sizeof(struct op));
            candidate.num -= end - at;
            if (!candidate.num || !try_smaller(k, &candidate)) {
                at += size;
            }
        }
    }
}

/* Makes arguments zero where that is enough. */
static void simplify_steps(struct shrink *k)
{
    struct sequence candidate;
    unsigned i, j;

    for (i = 0; i < k->best->num; i++) {
        candidate = *k->best;
        if (candidate.ops[i].fork || candidate.ops[i].thread) {
            candidate.ops[i].fork = false;
            candidate.ops[i].thread = 0;
            try_smaller(k, &candidate);
        }
        for (j = 0; j < OP_ARGS; j++) {
            char type = op_arg_type(k->best->ops[i].kind, j);

            candidate = *k->best;
            if (!candidate.ops[i].arg[j] || !type || type == 's' ||
                type == 'p' || type == 'v' || type == 'A') {
                continue;
            }
            candidate.ops[i].arg[j] = 0;
            try_smaller(k, &candidate);
        }
    }
}

/* --- differences ---------------------------------------------------------- */

static bool seen_before(struct differ *d, const char *signature)
{
    unsigned i;

    for (i = 0; i < d->seen_num; i++) {
        if (!strcmp(d->seen[i], signature)) {
            return true;
        }
    }
    if (d->seen_num < SEEN_MAX) {
        d->seen[d->seen_num++] = strdup(signature);
    }
    return false;
}

static void print_difference(const struct sequence *s,
                             const struct report *report, uint64_t seed,
                             unsigned confirmed, unsigned before)
{
    printf("=== difference: %s\n", report->signature);
    printf("# seed 0x%llx, again in %u of %u, %u of %u steps left\n",
           (unsigned long long)seed, confirmed, CONFIRMATIONS, s->num,
           before);
    printf("%s%s%s%s=== end\n", s->unprivileged ? "unprivileged\n" : "",
           world_family_names[s->family], s->family ? "\n" : "",
           report->text);
    fflush(stdout);
}

static void pursue(struct differ *d, struct sequence *s, uint64_t seed)
{
    static struct report first, best;
    struct shrink k = {
        .d = d, .best = s, .report = &best, .signature = first.signature,
    };
    unsigned confirmed = 0, before = s->num, i;

    first = best = *d->report;
    if (seen_before(d, first.signature)) {
        d->again++;
        return;
    }
    for (i = 0; i < CONFIRMATIONS; i++) {
        if (shows(d, s, first.signature, 1)) {
            confirmed++;
            best = *d->report;
        }
    }
    if (confirmed && !d->config->keep) {
        k.attempts = confirmed == CONFIRMATIONS ? 1 : CONFIRMATIONS;
        k.end = world_now_ms() + SHRINK_MS;
        /* Steps after the difference are not needed. */
        s->num = first.step + 1 < s->num ? first.step + 1 : s->num;
        if (!shows(d, s, first.signature, CONFIRMATIONS)) {
            s->num = before;
        }
        remove_steps(&k);
        simplify_steps(&k);
        remove_steps(&k);
    }
    print_difference(s, &best, seed, confirmed, before);
}

/* --- where sequences come from -------------------------------------------- */

static void make_sequence(struct differ *d, uint64_t seed, struct sequence *s)
{
    struct random r = { seed };

    s->unprivileged = random_percent(&r, 50);
    s->family = random_percent(&r, 40) ? WORLD_INET : 1 + random_below(&r, 2);
    s->num = generate(random_next(&r), d->config->steps, s->ops);
}

static bool is_family(const char *line, unsigned *family)
{
    unsigned i;

    for (i = 1; i < WORLD_FAMILIES; i++) {
        size_t len = strlen(world_family_names[i]);

        if (!strncmp(line, world_family_names[i], len) && line[len] == '\n') {
            *family = i;
            return true;
        }
    }
    return false;
}

/* The next sequence of a file: 1, 0 at its end, or -1. */
static int read_sequence(FILE *file, struct sequence *s)
{
    char line[OP_TEXT];

    memset(s, 0, sizeof(*s));
    while (fgets(line, sizeof(line), file) && s->num < OPS_MAX) {
        if (!strcmp(line, "=== end\n") && s->num) {
            break;
        }
        if (line[0] == '#' || line[0] == '=' || line[0] == '\n') {
            continue;
        }
        if (!strcmp(line, "unprivileged\n")) {
            s->unprivileged = true;
        } else if (is_family(line, &s->family)) {
            continue;
        } else if (!op_parse(line, &s->ops[s->num++])) {
            fprintf(stderr, "not a step: %s", line);
            return -1;
        }
    }
    return s->num != 0;
}

/* --- the channels --------------------------------------------------------- */

/* The namespace at @path, or the one of the same name for IPv6 addresses. */
static int open_netns(const char *path, bool inet6)
{
    char name[256];

    snprintf(name, sizeof(name), "%s%s", path, inet6 ? "6" : "");
    return open(name, O_RDONLY | O_CLOEXEC);
}

/* A peer of the native world: a process in a namespace of its own. */
static int start_native_peer(const struct differ_config *config, bool inet6)
{
    char *const text[] = { config->peer, config->peer2, config->me };
    char *const text6[] = { config->peer6, config->peer26, config->me6 };
    struct peer_config peer;
    int pair[2], netns;

    if (peer_config_parse(&peer, inet6 ? text6 : text) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        return -1;
    }
    netns = open_netns(config->peer_netns, inet6);
    if (netns < 0) {
        perror(config->peer_netns);
        return -1;
    }
    if (fork() == 0) {
        close(pair[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!setns(netns, CLONE_NEWNET)) {
            peer_serve(&peer, pair[1]);
        }
        _exit(1);
    }
    close(netns);
    close(pair[1]);
    return pair[0];
}

static int set_up(struct differ *d)
{
    const struct differ_config *config = d->config;
    unsigned i;

    if (inet_pton(AF_INET, config->me, &addresses.me) != 1 ||
        inet_pton(AF_INET, config->peer, &addresses.peer) != 1 ||
        inet_pton(AF_INET, config->peer2, &addresses.peer2) != 1 ||
        inet_pton(AF_INET6, config->me6, &addresses.me6) != 1 ||
        inet_pton(AF_INET6, config->peer6, &addresses.peer6) != 1 ||
        inet_pton(AF_INET6, config->peer26, &addresses.peer26) != 1) {
        fprintf(stderr, "not an address\n");
        return -1;
    }
    for (i = 0; i < 2; i++) {
        d->native_netns[i] = open_netns(config->native_netns, i);
        d->native_channel[i] = start_native_peer(config, i);
        if (d->native_netns[i] < 0 || d->native_channel[i] < 0) {
            perror(config->native_netns);
            return -1;
        }
    }
    d->channel = open(config->port, O_RDWR | O_CLOEXEC);
    d->report = mmap(NULL, sizeof(*d->report), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (d->channel < 0 || d->report == MAP_FAILED || gift_make()) {
        perror("cannot begin");
        return -1;
    }
    return 0;
}

static void print_summary(const struct differ *d)
{
    printf("summary: sequences=%lu steps=%lu parted=%lu known=%lu "
           "repeated=%lu differences=%u\n", d->sequences, d->steps, d->parted,
           d->known, d->again, d->seen_num);
    fflush(stdout);
}

/* Returns 0, or -1 if it cannot go on. */
static int examine(struct differ *d, struct sequence *s, uint64_t seed)
{
    run_sequence(d, s);
    d->known += d->report->known;
    d->parted += d->report->verdict == VERDICT_PARTED;
    if (d->report->verdict == VERDICT_BROKEN) {
        fprintf(stderr, "a peer does not answer\n");
        return -1;
    }
    if (d->report->verdict == VERDICT_DIFFERENT) {
        pursue(d, s, seed);
    }
    return 0;
}

/* All sequences of a file. */
static int examine_file(struct differ *d, const char *path)
{
    static struct sequence sequence;
    FILE *file = fopen(path, "r");
    int ret;

    if (!file) {
        perror(path);
        return -1;
    }
    while ((ret = read_sequence(file, &sequence)) > 0 &&
           !examine(d, &sequence, 0)) {
        ;
    }
    fclose(file);
    return ret ? -1 : 0;
}

static int examine_random(struct differ *d)
{
    static struct sequence sequence;
    const struct differ_config *config = d->config;
    struct random seeds = { config->seed };
    int64_t end = world_now_ms() + config->seconds * 1000LL;
    unsigned i;

    for (i = 0; config->count ? i < config->count : world_now_ms() < end;
         i++) {
        /* A count of 1 repeats the sequence of a difference's seed. */
        uint64_t seed = i || config->count != 1 ? random_next(&seeds) >> 1
                                                : config->seed;

        make_sequence(d, seed, &sequence);
        if (examine(d, &sequence, seed)) {
            return -1;
        }
    }
    return 0;
}

int differ_main(const struct differ_config *config)
{
    struct differ d = { .config = config };
    int ret = 0;

    if (set_up(&d)) {
        return 2;
    }
    if (config->first) {
        ret = examine_file(&d, config->first);
    }
    if (!ret) {
        ret = config->replay ? examine_file(&d, config->replay)
                             : examine_random(&d);
    }
    print_summary(&d);
    return ret ? 2 : d.seen_num ? 1 : 0;
}
