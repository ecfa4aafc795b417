/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: sockets by system calls, the limit of what a VMM can reach
 */
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "bench/guestless/loads/sockets.h"

static struct sockaddr_in6 peer = { .sin6_family = AF_INET6 };
static uint8_t *data;

static ssize_t result(ssize_t n)
{
    return n < 0 ? -errno : n;
}

static int native_open(int type)
{
    return result(socket(AF_INET6, type | SOCK_CLOEXEC, 0));
}

static int native_connect(int sock, in_port_t port)
{
    peer.sin6_port = port;
    return result(connect(sock, (struct sockaddr *)&peer, sizeof(peer)));
}

static ssize_t native_send(int sock, size_t len)
{
    return result(send(sock, data, len, MSG_NOSIGNAL));
}

static ssize_t native_send_segments(int sock, size_t len, uint16_t segment)
{
    GuestlessSegment control = guestless_segment(segment);
    struct iovec iov = { data, len };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control),
    };

    return result(sendmsg(sock, &msg, MSG_NOSIGNAL));
}

static ssize_t native_receive(int sock, size_t len)
{
    return result(recv(sock, data, len, 0));
}

static void native_close(int sock)
{
    close(sock);
}

const GuestlessSockets *guestless_native(const char *address)
{
    static const GuestlessSockets sockets = {
        "native", native_open, native_connect, native_send,
        native_send_segments, native_receive,
        native_close,
    };
    if (inet_pton(AF_INET6, address, &peer.sin6_addr) != 1) {
        return NULL;
    }
    data = g_malloc0(GUESTLESS_DATA);
    return &sockets;
}
