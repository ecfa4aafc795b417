/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless-peer: the other end of the loads
 *
 *     guestless-peer PORT
 *
 * Listens at [::] for TCP: at PORT it discards, at PORT + 1 it sends without an
 * end, at PORT + 2 it echoes, at PORT + 3 it accepts and waits for the other
 * end to close.  At PORT it also discards datagrams.  One thread for each
 * port, and one for each connection of the first three.  Writes "ready" when
 * it listens.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATA    (1u << 20)

enum { DISCARD, SOURCE, ECHO, ACCEPT, DATAGRAMS, ROLES };

typedef struct Place {
    int role, fd;
} Place;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *checked(void *mem)
{
    if (!mem) {
        fail("malloc");
    }
    return mem;
}

static void *serve(void *opaque)
{
    Place *place = opaque;
    char *data = checked(calloc(1, DATA));
    ssize_t n = 1;

    while (n > 0) {
        if (place->role == SOURCE) {
            n = send(place->fd, data, DATA, MSG_NOSIGNAL);
            continue;
        }
        n = recv(place->fd, data, DATA, 0);
        for (ssize_t done = 0, m; place->role == ECHO && done < n; done += m) {
            m = send(place->fd, data + done, n - done, MSG_NOSIGNAL);
            if (m < 0) {
                n = -1;
                break;
            }
        }
        /* An error of one datagram is not the end. */
        n = place->role == DATAGRAMS ? 1 : n;
    }
    close(place->fd);
    free(data);
    free(place);
    return NULL;
}

static void start(void *(*func)(void *), int role, int fd)
{
    Place *place = checked(malloc(sizeof(*place)));
    pthread_t thread;

    *place = (Place) { role, fd };
    errno = pthread_create(&thread, NULL, func, place);
    if (errno) {
        fail("pthread_create");
    }
    pthread_detach(thread);
}

static void *accept_all(void *opaque)
{
    const Place *place = opaque;
    char octet;
    int on = 1;

    for (;;) {
        int fd = accept(place->fd, NULL, NULL);

        if (fd < 0) {
            fail("accept");
        }
        if (place->role == ACCEPT) {
            /* The other end closes first, as most clients do. */
            if (recv(fd, &octet, 1, 0) < 0) {
                perror("recv");
            }
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        start(serve, place->role, fd);
    }
    return NULL;
}

static int bound(int type, unsigned port)
{
    struct sockaddr_in6 own = { .sin6_family = AF_INET6,
                                .sin6_port = htons(port) };
    int fd = socket(AF_INET6, type, 0), on = 1;

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 ||
        (type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0)) {
        fail("listen");
    }
    return fd;
}

int main(int argc, char **argv)
{
    unsigned port = argc == 2 ? atoi(argv[1]) : 0;

    if (!port || port > 65535 - ROLES) {
        fprintf(stderr, "usage: guestless-peer PORT\n");
        return 2;
    }
    for (int role = 0; role < DATAGRAMS; role++) {
        start(accept_all, role, bound(SOCK_STREAM, port + role));
    }
    start(serve, DATAGRAMS, bound(SOCK_DGRAM, port));
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
