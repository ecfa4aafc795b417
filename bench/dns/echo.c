/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimum cost of a UDP server: each datagram is sent back
 *
 *     echo PORT THREADS
 *
 * Each thread has a socket of its own.  QR is set, so that a query comes back
 * as its reply.  One system call for a datagram in, one for it out.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define HEADER 12

static void *serve(void *opaque)
{
    int fd = (intptr_t)opaque;
    struct sockaddr_in from;
    uint8_t message[4096];

    for (;;) {
        socklen_t size = sizeof(from);
        ssize_t len = recvfrom(fd, message, sizeof(message), 0,
                               (struct sockaddr *)&from, &size);

        if (len >= HEADER) {
            message[2] |= 0x80;
            sendto(fd, message, len, 0, (struct sockaddr *)&from, size);
        }
    }
    return NULL;
}

static int open_socket(unsigned port)
{
    struct sockaddr_in here = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
        bind(fd, (struct sockaddr *)&here, sizeof(here))) {
        perror("echo");
        exit(1);
    }
    return fd;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[2]) : 0;
    int fds[64];

    if (threads < 1 || threads > 64) {
        fprintf(stderr, "usage: echo PORT THREADS\n");
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        fds[i] = open_socket(atoi(argv[1]));
    }
    for (int i = 1; i < threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fds[i])) {
            fprintf(stderr, "echo: no thread\n");
            return 1;
        }
    }
    serve((void *)(intptr_t)fds[0]);
    return 0;
}
