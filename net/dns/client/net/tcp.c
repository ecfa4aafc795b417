/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question over one TCP connection */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/client/net/tcp.h"
#include "net/dns/unbound/loop.h"

static void hang_up(DnscTcp *tcp)
{
    if (tcp->source.fd >= 0) {
        dnsc_loop_forget(tcp->loop, &tcp->source);
        close(tcp->source.fd);
        tcp->source.fd = -1;
    }
}

/* The message is valid until the connection is closed or opened again. */
static void end(DnscTcp *tcp, const uint8_t *msg, size_t len)
{
    hang_up(tcp);
    tcp->done(tcp->opaque, msg, len);
}

/* Returns 0 to continue, or a negative errno. */
static int send_query(DnscTcp *tcp)
{
    ssize_t n = send(tcp->source.fd, tcp->out + tcp->sent,
                     tcp->out_len - tcp->sent, MSG_NOSIGNAL);

    if (n < 0) {
        return errno == EAGAIN ? 0 : -errno;
    }
    tcp->sent += n;
    return tcp->sent < tcp->out_len ? 0 :
           dnsc_loop_change(tcp->loop, &tcp->source, EPOLLIN);
}

static size_t wanted(const DnscTcp *tcp)
{
    return tcp->received < 2 ? 2 : 2 + (tcp->in[0] << 8 | tcp->in[1]);
}

/* Returns 1 if the reply is complete, 0, or a negative errno. */
static int receive(DnscTcp *tcp)
{
    size_t want = wanted(tcp);
    ssize_t n;

    if (want > tcp->in_room) {
        uint8_t *in = realloc(tcp->in, want);

        if (!in) {
            return -ENOMEM;
        }
        tcp->in = in;
        tcp->in_room = want;
    }
    n = recv(tcp->source.fd, tcp->in + tcp->received, want - tcp->received, 0);
    if (n <= 0) {
        return n == 0 ? -ECONNRESET : errno == EAGAIN ? 0 : -errno;
    }
    tcp->received += n;
    return tcp->received >= 2 && tcp->received == wanted(tcp);
}

static void ready(DnscSource *source, uint32_t events)
{
    DnscTcp *tcp = (DnscTcp *)source;
    int ret;

    ret = tcp->sent < tcp->out_len ? send_query(tcp) : receive(tcp);
    if (ret < 0) {
        end(tcp, NULL, 0);
    } else if (ret > 0) {
        end(tcp, tcp->in + 2, tcp->received - 2);
    }
}

int dnsc_tcp_open(DnscTcp *tcp, const DnscPorts *ports,
                  const VmmnetDnsAddress *server, const uint8_t *query,
                  size_t len, DnscTcpFn *done, void *opaque)
{
    int fd = dnsc_ports_socket(ports, server, SOCK_STREAM), ret;

    if (fd < 0) {
        return fd;
    }
    memset(tcp, 0, sizeof(*tcp));
    tcp->source = (DnscSource){ .fd = fd, .ready = ready };
    tcp->loop = ports->loop;
    tcp->done = done;
    tcp->opaque = opaque;
    tcp->out[0] = len >> 8;
    tcp->out[1] = len;
    memcpy(tcp->out + 2, query, len);
    tcp->out_len = 2 + len;
    ret = dnsc_loop_watch(tcp->loop, &tcp->source, EPOLLOUT);
    if (ret) {
        dnsc_tcp_close(tcp);
    }
    return ret;
}

void dnsc_tcp_close(DnscTcp *tcp)
{
    hang_up(tcp);
    free(tcp->in);
    tcp->in = NULL;
}
