/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long answers take at a steady rate
 *
 *     reader PORT QUESTIONS RATE SECONDS
 *
 * The queries of the file QUESTIONS (questions.h) are sent at fixed times,
 * whether others have been answered or not.  The time of an answer begins
 * before its query is sent and ends when the kernel has received it.
 *
 * Prints: answers, questions without an answer after a second, and the 50th,
 * 99th and 99.9th percentile in microseconds; a question without an answer
 * counts as a second.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "questions.h"

#define ASKED_MAX       65536   /* ids */
#define NS              UINT64_C(1000000000)

static uint64_t sent[ASKED_MAX];
static uint64_t took[ASKED_MAX];
static Questions questions;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t ns_of(struct timespec t)
{
    return t.tv_sec * NS + t.tv_nsec;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return ns_of(t);
}

static void ask(int fd, unsigned id)
{
    size_t len;
    uint8_t *message = questions_next(&questions, &len);

    message[0] = id >> 8;
    message[1] = id;
    sent[id] = now_ns();
    if (send(fd, message, len, 0) < 0) {
        die("send");
    }
}

static void take(int fd, unsigned asked)
{
    uint8_t data[4096], control[CMSG_SPACE(sizeof(struct timespec))];
    struct iovec iov = { data, sizeof(data) };

    for (;;) {
        struct msghdr hdr = {
            .msg_iov = &iov, .msg_iovlen = 1,
            .msg_control = control, .msg_controllen = sizeof(control),
        };
        ssize_t len = recvmsg(fd, &hdr, MSG_DONTWAIT);
        unsigned id = data[0] << 8 | data[1];
        struct timespec t;

        if (len < 0) {
            return;
        }
        if (len >= 2 && id < asked && !took[id] && hdr.msg_controllen) {
            memcpy(&t, CMSG_DATA(CMSG_FIRSTHDR(&hdr)), sizeof(t));
            took[id] = ns_of(t) > sent[id] ? ns_of(t) - sent[id] : 1;
        }
    }
}

static void wait_until(int fd, uint64_t moment, unsigned asked)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    for (;;) {
        uint64_t now = now_ns();
        struct timespec rest = { 0 };

        if (now >= moment) {
            return;
        }
        rest.tv_sec = (moment - now) / NS;
        rest.tv_nsec = (moment - now) % NS;
        if (ppoll(&p, 1, &rest, NULL) > 0) {
            take(fd, asked);
        }
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

static int open_socket(unsigned port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
        connect(fd, (struct sockaddr *)&to, sizeof(to))) {
        die("socket");
    }
    return fd;
}

int main(int argc, char **argv)
{
    unsigned count, lost = 0;
    uint64_t begin, rate;
    int fd;

    if (argc != 5) {
        fprintf(stderr, "usage: reader PORT QUESTIONS RATE SECONDS\n");
        return 2;
    }
    fd = open_socket(atoi(argv[1]));
    questions_open(&questions, argv[2]);
    rate = atoi(argv[3]);
    count = rate * atof(argv[4]);
    count = count < ASKED_MAX ? count : ASKED_MAX;
    begin = now_ns();
    for (unsigned i = 0; i < count; i++) {
        wait_until(fd, begin + i * NS / rate, i);
        ask(fd, i);
    }
    wait_until(fd, now_ns() + NS, count);
    for (unsigned i = 0; i < count; i++) {
        lost += !took[i];
        took[i] = took[i] ? took[i] : NS;
    }
    qsort(took, count, sizeof(*took), compare);
    printf("answers %u lost %u p50 %.1f p99 %.1f p999 %.1f\n", count - lost,
           lost, took[count / 2] / 1e3, took[count - 1 - count / 100] / 1e3,
           took[count - 1 - count / 1000] / 1e3);
    return 0;
}
