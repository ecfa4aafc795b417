/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: the loads, and what they cost
 *
 * A script has one load a line, or a comment behind "#":
 *
 *     PATH LOAD SIZE COUNT PORT ADDRESS
 *
 * PATH is "native" (ADDRESS is IPv6), or "vmrpc" (IPv4) in QEMU.  LOAD is
 *
 *     send       COUNT calls of SIZE octets to a peer that discards them
 *     receive    calls until COUNT times SIZE octets have come from a peer that
 *                sends
 *     echo       COUNT times SIZE octets there and back
 *     datagrams  COUNT datagrams of SIZE octets to a peer that discards them
 *     segments   COUNT calls of SEGMENTS datagrams of SIZE octets, UDP_SEGMENT
 *     bursts     COUNT datagrams of SIZE octets, BURST at once, then none for a
 *                while: no queue on their way overflows
 *     supers     COUNT calls as those of segments, with the same pauses
 *     sockets    COUNT datagram sockets, which stay open
 *     connect    COUNT connections, each closed at once; no SIZE: 0
 *
 * A line of JSON has what the calls have cost: processor time of the vCPU's
 * thread and of all other threads of QEMU, in nanoseconds, from getrusage(2),
 * and memory; "calls" are those of the program.  A tenth of COUNT runs before the clock
 * starts.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/guestless/loads/sockets.h"

#define NS_PER_SECOND   INT64_C(1000000000)
#define PATHS_MAX       4
#define SEGMENTS        32
#define BURST           64
#define PAUSE           INT64_C(1000000)        /* ns */

typedef struct Line {
    char path[16], load[16], address[INET6_ADDRSTRLEN];
    size_t size;
    unsigned long count;
    unsigned port;
} Line;

typedef struct Spent {
    int64_t wall, user, system, all_user, all_system;    /* ns */
    int64_t memory;             /* octets */
} Spent;

typedef struct Run {
    const GuestlessSockets *sockets;
    const Line *line;
    in_port_t port;             /* network byte order */
    int sock;                   /* but for connect */
    unsigned long calls;
    uint64_t octets;
} Run;

/* Does the load @count times. */
typedef void LoadFunc(Run *run, unsigned long count);

void guestless_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "guestless: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static int64_t ns(const struct timeval *tv)
{
    return tv->tv_sec * NS_PER_SECOND + tv->tv_usec * 1000;
}

/* The memory of the process that is not shared, in octets; 0: unknown. */
static int64_t memory(void)
{
    g_autofree char *text = NULL;
    long resident, shared;

    if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL) ||
        sscanf(text, "%*s %ld %ld", &resident, &shared) != 2) {
        return 0;
    }
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

static Spent spent(void)
{
    struct rusage own, all;
    struct timespec now;

    getrusage(RUSAGE_THREAD, &own);
    getrusage(RUSAGE_SELF, &all);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (Spent) {
        now.tv_sec * NS_PER_SECOND + now.tv_nsec,
        ns(&own.ru_utime), ns(&own.ru_stime),
        ns(&all.ru_utime), ns(&all.ru_stime),
        memory(),
    };
}

static ssize_t checked(const Run *run, const char *what, ssize_t n)
{
    if (n < 0) {
        guestless_fail("%s %s of %zu octets, port %u: %s: %s", run->line->path,
                       run->line->load, run->line->size, run->line->port, what,
                       strerror(-n));
    }
    return n;
}

static int opened(Run *run, int type)
{
    int sock = checked(run, "socket", run->sockets->open(type));

    checked(run, "connect", run->sockets->connect(sock, run->port));
    return sock;
}

static void send_all(Run *run, size_t size)
{
    while (size) {
        size_t n = checked(run, "send", run->sockets->send(run->sock, size));

        run->calls++;
        run->octets += n;
        size -= n;
    }
}

static void receive_all(Run *run, uint64_t size, size_t each)
{
    while (size) {
        size_t n = checked(run, "receive",
                           run->sockets->receive(run->sock, MIN(size, each)));

        if (!n) {
            guestless_fail("the peer at port %u has gone", run->line->port);
        }
        run->calls++;
        run->octets += n;
        size -= n;
    }
}

static void load_send(Run *run, unsigned long count)
{
    while (count--) {
        send_all(run, run->line->size);
    }
}

static void load_receive(Run *run, unsigned long count)
{
    receive_all(run, (uint64_t)count * run->line->size, run->line->size);
}

static void load_echo(Run *run, unsigned long count)
{
    while (count--) {
        send_all(run, run->line->size);
        receive_all(run, run->line->size, run->line->size);
    }
}

static void load_segments(Run *run, unsigned long count)
{
    size_t size = run->line->size;

    while (count--) {
        run->octets += checked(run, "send", run->sockets->send_segments(
            run->sock, SEGMENTS * size, size));
        run->calls++;
    }
}

static void rest(void)
{
    nanosleep(&(struct timespec) { .tv_nsec = PAUSE }, NULL);
}

static void load_bursts(Run *run, unsigned long count)
{
    while (count--) {
        send_all(run, run->line->size);
        if (count % BURST == 0) {
            rest();
        }
    }
}

static void load_supers(Run *run, unsigned long count)
{
    while (count--) {
        load_segments(run, 1);
        if (count % (BURST / SEGMENTS) == 0) {
            rest();
        }
    }
}

static void load_sockets(Run *run, unsigned long count)
{
    while (count--) {
        opened(run, SOCK_DGRAM);
        run->calls++;
    }
}

static void load_connect(Run *run, unsigned long count)
{
    while (count--) {
        run->sockets->close(opened(run, SOCK_STREAM));
        run->calls++;
    }
}

static const struct {
    const char *name;
    int type;                   /* of the socket; 0: it makes its own */
    LoadFunc *func;
} loads[] = {
    { "send", SOCK_STREAM, load_send },
    { "receive", SOCK_STREAM, load_receive },
    { "echo", SOCK_STREAM, load_echo },
    { "datagrams", SOCK_DGRAM, load_send },
    { "segments", SOCK_DGRAM, load_segments },
    { "bursts", SOCK_DGRAM, load_bursts },
    { "supers", SOCK_DGRAM, load_supers },
    { "sockets", 0, load_sockets },
    { "connect", 0, load_connect },
};

/* A path is started once, with the address of its first line. */
static const GuestlessSockets *sockets_of(const Line *line,
                                          const GuestlessPath *path,
                                          unsigned num)
{
    static const GuestlessSockets *started[PATHS_MAX];

    for (unsigned i = 0; i < num; i++) {
        if (!strcmp(line->path, path[i].name)) {
            started[i] = started[i] ?: path[i].start(line->address);
            return started[i];
        }
    }
    return NULL;
}

/* The measured part: callgrind counts in the function of this name. */
static __attribute__((noinline))
void guestless_measured(LoadFunc *func, Run *run, unsigned long count)
{
    func(run, count);
}

static void report(const Run *run, const Spent *from, const Spent *to)
{
    int64_t user = to->user - from->user, system = to->system - from->system;

    printf("{\"path\": \"%s\", \"load\": \"%s\", \"size\": %zu, \"count\": %lu, "
           "\"calls\": %lu, \"octets\": %" PRIu64 ", \"wall_ns\": %" PRId64
           ", \"user_ns\": %" PRId64 ", \"system_ns\": %" PRId64
           ", \"others_user_ns\": %" PRId64 ", \"others_system_ns\": %" PRId64
           ", \"memory\": %" PRId64 "}\n", run->line->path, run->line->load,
           run->line->size, run->line->count, run->calls, run->octets,
           to->wall - from->wall,
           user, system, to->all_user - from->all_user - user,
           to->all_system - from->all_system - system,
           to->memory - from->memory);
    fflush(stdout);
}

static void run_line(const Line *line, const GuestlessPath *path, unsigned num)
{
    Run run = { .line = line, .port = htons(line->port),
                .sockets = sockets_of(line, path, num) };
    Spent from, to;
    unsigned i = 0;

    while (i < G_N_ELEMENTS(loads) && strcmp(loads[i].name, line->load)) {
        i++;
    }
    if (i == G_N_ELEMENTS(loads) || !run.sockets) {
        guestless_fail("no path \"%s\" to \"%s\", or no load \"%s\"",
                       line->path, line->address, line->load);
    }
    if (loads[i].type) {
        run.sock = opened(&run, loads[i].type);
    }
    loads[i].func(&run, line->count / 10);
    run.calls = run.octets = 0;
    from = spent();
    guestless_measured(loads[i].func, &run, line->count);
    to = spent();
    if (loads[i].type) {
        run.sockets->close(run.sock);
    }
    report(&run, &from, &to);
}

void guestless_run(const char *script, const GuestlessPath *path,
                   unsigned num)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) line = NULL;

    if (!g_file_get_contents(script, &text, NULL, NULL)) {
        guestless_fail("%s cannot be read", script);
    }
    line = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; line[i]; i++) {
        Line now = { };

        if (!*line[i] || *line[i] == '#') {
            continue;
        }
        if (sscanf(line[i], "%15s %15s %zu %lu %u %45s", now.path, now.load,
                   &now.size, &now.count, &now.port, now.address) != 6 ||
            now.size > GUESTLESS_DATA) {
            guestless_fail("%s, line %u: not PATH LOAD SIZE COUNT PORT "
                           "ADDRESS: %s", script, i + 1, line[i]);
        }
        run_line(&now, path, num);
    }
}
