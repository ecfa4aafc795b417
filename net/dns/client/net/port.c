/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets for queries */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/client/net/port.h"

static int bind_source(const DnscPorts *ports, const VmmnetDnsAddress *to,
                       int fd)
{
    const struct sockaddr_in6 from = {
        .sin6_family = AF_INET6, .sin6_addr = ports->from6,
    };

    if (!ports->has_from6 || to->sa.sa_family != AF_INET6) {
        return 0;
    }
    return bind(fd, (const struct sockaddr *)&from, sizeof(from));
}

int dnsc_ports_socket(const DnscPorts *ports, const VmmnetDnsAddress *to,
                      int type)
{
    int fd = socket(to->sa.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int ret;

    if (fd < 0) {
        return -errno;
    }
    if (bind_source(ports, to, fd) ||
        (connect(fd, &to->sa, to->len) && errno != EINPROGRESS)) {
        ret = -errno;
        close(fd);
        return ret;
    }
    return fd;
}

static int new_port(DnscPorts *ports, const VmmnetDnsAddress *to,
                    DnscReadyFn *ready, DnscPort **port)
{
    DnscPort *p = calloc(1, sizeof(*p));
    int ret;

    if (!p) {
        return -ENOMEM;
    }
    ret = dnsc_ports_socket(ports, to, SOCK_DGRAM);
    if (ret < 0) {
        free(p);
        return ret;
    }
    p->source = (DnscSource){ .fd = ret, .ready = ready };
    ret = dnsc_loop_watch(ports->loop, &p->source, EPOLLIN);
    if (ret) {
        close(p->source.fd);
        free(p);
        return ret;
    }
    p->ports = ports;
    p->to = *to;
    p->next = ports->all;
    p->at = &ports->all;
    if (p->next) {
        p->next->at = &p->next;
    }
    ports->all = p;
    ports->count++;
    *port = p;
    return 0;
}

/* The port to this server with the fewest users, or NULL */
static DnscPort *find_shared(DnscPorts *ports, const VmmnetDnsAddress *to)
{
    DnscPort *best = NULL, *p;

    for (p = ports->all; p; p = p->next) {
        if (!p->dead && p->to.len == to->len &&
            !memcmp(&p->to.storage, &to->storage, to->len) &&
            (!best || p->users < best->users)) {
            best = p;
        }
    }
    return best;
}

int dnsc_port_get(DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, DnscPort **port)
{
    DnscPort *p = ports->max && ports->count >= ports->max ?
                  find_shared(ports, to) : NULL;
    int ret = p ? 0 : new_port(ports, to, ready, &p);

    if (!ret) {
        p->users++;
        *port = p;
    }
    return ret;
}

void dnsc_port_put(DnscPort *port)
{
    if (--port->users) {
        return;
    }
    *port->at = port->next;
    if (port->next) {
        port->next->at = port->at;
    }
    port->ports->count--;
    dnsc_loop_forget(port->ports->loop, &port->source);
    close(port->source.fd);
    free(port);
}
