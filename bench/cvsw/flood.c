/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams from one guest to another, as many as arrive
 *
 *   flood sink PORT
 *   flood send ADDRESS PORT OCTETS SECONDS WINDOW
 *
 * A sender has at most WINDOW datagrams in flight, so that none is lost for
 * want of room; the sink reports from time to time how many have come.  The
 * sender waits for the sink, prints "ready", and begins when a line comes on
 * stdin; at the end it prints a line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LOST_MS = 100,              /* no answer: the flight is lost */
    PROBE_MS = 100,
    OCTETS_MAX = 65507,
};

/* Both ends have the same byte order. */
typedef struct Head {
    uint64_t run;               /* number of the run */
    uint32_t every;             /* the sink answers each N; 0: a probe */
    uint32_t padding;
} Head;

typedef struct Answer {
    uint64_t run;
    uint64_t came;
} Answer;

static uint8_t datagram[OCTETS_MAX];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void __attribute__((noreturn)) sink(const char *port)
{
    struct sockaddr_in peer, own = { .sin_family = AF_INET,
                                     .sin_port = htons(atoi(port)) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    Answer answer = { 0 };
    uint32_t behind = 0;

    if (fd < 0 || bind(fd, (void *)&own, sizeof(own))) {
        die("bind");
    }
    for (;;) {
        socklen_t size = sizeof(peer);
        Head head;
        ssize_t len = recvfrom(fd, datagram, sizeof(datagram), 0,
                               (void *)&peer, &size);

        if (len < (ssize_t)sizeof(head)) {
            continue;
        }
        memcpy(&head, datagram, sizeof(head));
        if (head.run != answer.run) {
            answer = (Answer) { .run = head.run };
            behind = 0;
        }
        if (head.every) {
            answer.came++;
            behind++;
        }
        if (behind >= head.every) {
            behind = 0;
            sendto(fd, &answer, sizeof(answer), 0, (void *)&peer, size);
        }
    }
}

/* Waits up to @ms for an answer.  Returns: false if none has come. */
static bool take_answer(int fd, int ms, uint64_t run, uint64_t *came)
{
    struct pollfd about = { .fd = fd, .events = POLLIN };
    bool found = false;
    Answer answer;

    if (ms && poll(&about, 1, ms) <= 0) {
        return false;
    }
    while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer)) {
        if (answer.run == run) {
            *came = answer.came;
            found = true;
        }
    }
    return found;
}

static int connect_to(const char *address, const char *port)
{
    struct sockaddr_in peer = { .sin_family = AF_INET,
                                .sin_port = htons(atoi(port)) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (inet_pton(AF_INET, address, &peer.sin_addr) != 1 || fd < 0 ||
        connect(fd, (void *)&peer, sizeof(peer))) {
        die(address);
    }
    return fd;
}

static void await_go(int fd, Head *head)
{
    uint64_t came;

    do {
        send(fd, head, sizeof(*head), 0);
    } while (!take_answer(fd, PROBE_MS, head->run, &came));
    printf("ready\n");
    fflush(stdout);
    if (getchar() == EOF) {
        die("stdin");
    }
}

static int send_all(char **argv)
{
    size_t octets = strtoul(argv[4], NULL, 10);
    double seconds = strtod(argv[5], NULL), begin;
    int64_t window = strtol(argv[6], NULL, 10), sent = 0, lost = 0;
    Head head = { .run = now() * 1e9 + getpid() };
    int fd = connect_to(argv[2], argv[3]);
    uint64_t came = 0;

    if (octets < sizeof(head) || octets > OCTETS_MAX || window < 1) {
        errno = EINVAL;
        die("flood");
    }
    await_go(fd, &head);
    head.every = window / 4 ? window / 4 : 1;
    memcpy(datagram, &head, sizeof(head));
    begin = now();
    while (now() < begin + seconds) {
        if (sent - (int64_t)came - lost < window) {
            sent += send(fd, datagram, octets, 0) > 0;
            take_answer(fd, 0, head.run, &came);
        } else if (!take_answer(fd, LOST_MS, head.run, &came)) {
            lost = sent - came;
        }
    }
    printf("{\"frames\": %lu, \"octets\": %lu, \"lost\": %ld, "
           "\"seconds\": %.6f}\n", came, came * octets, lost, now() - begin);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "sink")) {
        sink(argv[2]);
    }
    if (argc == 7 && !strcmp(argv[1], "send")) {
        return send_all(argv);
    }
    fprintf(stderr, "usage: %s sink PORT\n"
            "       %s send ADDRESS PORT OCTETS SECONDS WINDOW\n", argv[0],
            argv[0]);
    return 2;
}
