/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pingpong: latency of a round trip and connections per second over TCP
 *
 * Theory of operation
 * ===================
 *
 * The server echoes every byte of every connection; one thread and epoll
 * serve them all.  The client has two modes:
 *
 *   latency     one connection with TCP_NODELAY; one byte goes there and back
 *               repeatedly, each round trip is timed
 *   connect     threads that connect, exchange one byte and close, repeatedly;
 *               the client closes first, as most clients do
 *
 * The client prints one JSON object.  Addresses are numeric, of either family,
 * so that the static binary needs no name service and runs in every guest.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Warm-up round trips: caches, TCP's state, link-layer address of the peer. */
#define WARM_UP         500

/* Bounds of one run's samples and threads. */
#define SAMPLES_MAX     (4u << 20)
#define THREADS_MAX     64

#define EVENTS_MAX      64
#define NSEC_PER_SEC    UINT64_C(1000000000)

typedef struct Endpoint {
    struct sockaddr_storage addr;
    socklen_t len;
} Endpoint;

/* One thread of the connect mode. */
typedef struct Worker {
    const Endpoint *peer;
    uint64_t deadline;
    uint64_t done;
    uint64_t failed;
    int error;                  /* errno of the last failure */
} Worker;

static void fail(const char *what)
{
    fprintf(stderr, "pingpong: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static unsigned number(const char *text, unsigned max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*end || value < 1 || value > max) {
        fprintf(stderr, "pingpong: %s is not in 1..%u\n", text, max);
        exit(2);
    }
    return (unsigned)value;
}

static Endpoint endpoint(const char *address, const char *port)
{
    Endpoint e = { };
    struct sockaddr_in *in = (struct sockaddr_in *)&e.addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&e.addr;
    uint16_t be_port = htons((uint16_t)number(port, UINT16_MAX));

    if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = be_port;
        e.len = sizeof(*in);
    } else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = be_port;
        e.len = sizeof(*in6);
    } else {
        fprintf(stderr, "pingpong: %s is not a numeric address\n", address);
        exit(2);
    }
    return e;
}

static void set_nodelay(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))) {
        fail("TCP_NODELAY");
    }
}

/* --- server --------------------------------------------------------------- */

static void watch(int ep, int fd)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

    if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev)) {
        fail("epoll_ctl");
    }
}

static void accept_all(int ep, int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        set_nodelay(fd);
        watch(ep, fd);
    }
    if (errno != EAGAIN && errno != ECONNABORTED) {
        fail("accept");
    }
}

static void echo(int fd)
{
    char buf[4096];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);

    if (n < 0 && errno == EAGAIN) {
        return;
    }
    /* A few bytes always fit into the empty buffer of a fresh socket. */
    if (n <= 0 || send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n) {
        close(fd);
    }
}

static void serve(const Endpoint *at)
{
    int ep = epoll_create1(0);
    int fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int on = 1;

    if (ep < 0 || fd < 0) {
        fail("socket");
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&at->addr, at->len) ||
        listen(fd, SOMAXCONN)) {
        fail("listen");
    }
    watch(ep, fd);
    for (;;) {
        struct epoll_event ev[EVENTS_MAX];
        int n = epoll_wait(ep, ev, EVENTS_MAX, -1);

        for (int i = 0; i < n; i++) {
            if (ev[i].data.fd == fd) {
                accept_all(ep, fd);
            } else {
                echo(ev[i].data.fd);
            }
        }
    }
}

/* --- client --------------------------------------------------------------- */

/* Exchanges one byte.  Returns: false with errno if the peer did not answer. */
static bool exchange(int fd)
{
    char byte = 'x';
    ssize_t n;

    if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) {
        return false;
    }
    n = recv(fd, &byte, 1, 0);
    if (!n) {
        errno = ECONNRESET;
    }
    return n == 1;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static double percentile_us(const uint32_t *sorted, size_t n, unsigned percent)
{
    return sorted[(n - 1) * percent / 100] / 1000.0;
}

static void measure_latency(const Endpoint *peer, unsigned seconds)
{
    uint32_t *sample = malloc(SAMPLES_MAX * sizeof(*sample));
    int fd = socket(peer->addr.ss_family, SOCK_STREAM, 0);
    uint64_t deadline, start, before;
    double mean_us;
    size_t n = 0;

    if (!sample || fd < 0) {
        fail("socket");
    }
    if (connect(fd, (const struct sockaddr *)&peer->addr, peer->len)) {
        fail("connect");
    }
    set_nodelay(fd);
    for (unsigned i = 0; i < WARM_UP; i++) {
        if (!exchange(fd)) {
            fail("exchange");
        }
    }
    start = before = now_ns();
    deadline = before + seconds * NSEC_PER_SEC;
    while (n < SAMPLES_MAX && before < deadline) {
        uint64_t after;

        if (!exchange(fd)) {
            fail("exchange");
        }
        after = now_ns();
        sample[n++] = (uint32_t)(after - before);
        before = after;
    }
    mean_us = (double)(before - start) / 1000 / n;
    qsort(sample, n, sizeof(*sample), by_value);
    printf("{\"rounds\": %zu, \"mean_us\": %.3f, \"p50_us\": %.3f, "
           "\"p99_us\": %.3f}\n", n, mean_us, percentile_us(sample, n, 50),
           percentile_us(sample, n, 99));
    close(fd);
    free(sample);
}

static bool connect_once(const Endpoint *peer)
{
    int fd = socket(peer->addr.ss_family, SOCK_STREAM, 0);
    bool ok;

    if (fd < 0) {
        return false;
    }
    ok = !connect(fd, (const struct sockaddr *)&peer->addr, peer->len) &&
         exchange(fd);
    /* close() must not hide why it failed */
    if (ok) {
        close(fd);
    } else {
        int saved = errno;

        close(fd);
        errno = saved;
    }
    return ok;
}

static void *work(void *opaque)
{
    Worker *w = opaque;

    while (now_ns() < w->deadline) {
        if (connect_once(w->peer)) {
            w->done++;
        } else {
            w->failed++;
            w->error = errno;
        }
    }
    return NULL;
}

static void measure_connections(const Endpoint *peer, unsigned seconds,
                                unsigned threads)
{
    pthread_t thread[THREADS_MAX];
    Worker worker[THREADS_MAX] = { };
    uint64_t begin = now_ns();
    uint64_t done = 0, failed = 0;
    int error = 0;
    double elapsed;

    for (unsigned i = 0; i < threads; i++) {
        worker[i].peer = peer;
        worker[i].deadline = begin + seconds * NSEC_PER_SEC;
        errno = pthread_create(&thread[i], NULL, work, &worker[i]);
        if (errno) {
            fail("pthread_create");
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        done += worker[i].done;
        failed += worker[i].failed;
        error = worker[i].error ?: error;
    }
    elapsed = (double)(now_ns() - begin) / NSEC_PER_SEC;
    printf("{\"connections\": %llu, \"failed\": %llu, \"error\": \"%s\", "
           "\"seconds\": %.3f}\n", (unsigned long long)done,
           (unsigned long long)failed, error ? strerror(error) : "", elapsed);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    Endpoint peer;

    if (argc == 4 && !strcmp(mode, "server")) {
        peer = endpoint(argv[2], argv[3]);
        serve(&peer);
    } else if (argc == 5 && !strcmp(mode, "latency")) {
        peer = endpoint(argv[2], argv[3]);
        measure_latency(&peer, number(argv[4], 3600));
    } else if (argc == 6 && !strcmp(mode, "connect")) {
        peer = endpoint(argv[2], argv[3]);
        measure_connections(&peer, number(argv[4], 3600),
                            number(argv[5], THREADS_MAX));
    } else {
        fprintf(stderr,
                "usage: pingpong server ADDRESS PORT\n"
                "       pingpong latency ADDRESS PORT SECONDS\n"
                "       pingpong connect ADDRESS PORT SECONDS THREADS\n");
        return 2;
    }
    return 0;
}
