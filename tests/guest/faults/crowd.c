/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ten thousand connections: a server and a client that hold them
 *
 *   crowd serve PORT
 *   crowd dial ADDRESS PORT
 *
 * The server takes connections on all IPv6 addresses and sends back what comes.
 * The client does what its standard input says, and says "done" after each
 * line: "open N" makes N more connections, "use" sends a byte on each one and
 * waits for it to come back on each one, "close" ends them all.  Both follow
 * all of them by one epoll set.  The server says on standard output how many
 * there are whenever that has changed and it has nothing else to do.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CROWD_MAX   12000
#define BATCH       256
#define BACKLOG     4096
#define PATIENCE_MS 60000

static int epoll_fd;

static void follow(int fd)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        err(1, "epoll_ctl");
    }
}

/* --- server ------------------------------------------------------------- */

static int serve_listen(int port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(port) };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int one = 1;

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        bind(fd, (struct sockaddr *)&sin6, sizeof(sin6)) < 0 ||
        listen(fd, BACKLOG) < 0) {
        err(1, "listen");
    }
    return fd;
}

/* Returns by how many the crowd has grown. */
static int serve_accept(int listener)
{
    int num = 0;

    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

        if (fd < 0 && errno == EAGAIN) {
            return num;
        }
        if (fd < 0) {
            err(1, "accept");
        }
        follow(fd);
        num++;
    }
}

/* Returns by how many the crowd has grown: 0 or -1. */
static int serve_echo(int fd)
{
    char buf[64];
    ssize_t n = read(fd, buf, sizeof(buf));

    if (n > 0) {
        return write(fd, buf, n) == n ? 0 : -1;
    }
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    close(fd);
    return -1;
}

static _Noreturn void serve(int port)
{
    int listener = serve_listen(port);
    int crowd = 0, told = -1;

    follow(listener);
    for (;;) {
        struct epoll_event ev[BATCH];
        int n = epoll_wait(epoll_fd, ev, BATCH, crowd == told ? -1 : 0);

        for (int i = 0; i < n; i++) {
            crowd += ev[i].data.fd == listener ? serve_accept(listener)
                                               : serve_echo(ev[i].data.fd);
        }
        if (n <= 0 && crowd != told) {
            printf("crowd %d\n", crowd);
            told = crowd;
        }
    }
}

/* --- client ------------------------------------------------------------- */

static int crowd[CROWD_MAX];
static int crowd_num;

static void dial_open(const struct sockaddr_in *peer, int num)
{
    while (num-- > 0) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (crowd_num == CROWD_MAX || fd < 0 ||
            connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0) {
            err(1, "connection %d", crowd_num);
        }
        follow(fd);
        crowd[crowd_num++] = fd;
    }
}

static void dial_use(void)
{
    int left = crowd_num;

    for (int i = 0; i < crowd_num; i++) {
        if (write(crowd[i], "x", 1) != 1) {
            err(1, "write to %d", i);
        }
    }
    while (left) {
        struct epoll_event ev[BATCH];
        int n = epoll_wait(epoll_fd, ev, BATCH, PATIENCE_MS);

        if (n <= 0) {
            errx(1, "%d answers are missing", left);
        }
        for (int i = 0; i < n; i++) {
            char byte;

            if (read(ev[i].data.fd, &byte, 1) != 1 || byte != 'x') {
                err(1, "read");
            }
            left--;
        }
    }
}

static void dial_close(void)
{
    while (crowd_num) {
        close(crowd[--crowd_num]);
    }
}

static int dial(const char *address, int port)
{
    struct sockaddr_in peer = { .sin_family = AF_INET,
                                .sin_port = htons(port) };
    char line[64];

    if (inet_pton(AF_INET, address, &peer.sin_addr) != 1) {
        errx(1, "%s is no address", address);
    }
    while (fgets(line, sizeof(line), stdin)) {
        int num;

        if (sscanf(line, "open %d", &num) == 1) {
            dial_open(&peer, num);
        } else if (!strcmp(line, "use\n")) {
            dial_use();
        } else if (!strcmp(line, "close\n")) {
            dial_close();
        } else {
            errx(1, "what is %s?", line);
        }
        puts("done");
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct rlimit limit = { CROWD_MAX + 100, CROWD_MAX + 100 };

    setvbuf(stdout, NULL, _IOLBF, 0);
    epoll_fd = epoll_create1(0);
    if (epoll_fd < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        err(1, "no descriptors");
    }
    if (argc == 3 && !strcmp(argv[1], "serve")) {
        serve(atoi(argv[2]));
    }
    if (argc == 4 && !strcmp(argv[1], "dial")) {
        return dial(argv[2], atoi(argv[3]));
    }
    errx(2, "usage: crowd serve PORT | crowd dial ADDRESS PORT");
}
