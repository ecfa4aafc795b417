/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets for requests */
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "dnsd/server/host/sockets.h"

#define BACKLOG         1024
/* octets in the kernel per connection */
#define STREAM_SEND     (256 * 1024)

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof(value));
}

static bool is_wildcard(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in *four = (const void *)addr;
    const struct sockaddr_in6 *six = (const void *)addr;

    return addr->ss_family == AF_INET
           ? four->sin_addr.s_addr == htonl(INADDR_ANY)
           : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

/*
 * A spoofed "packet too big" must not fragment replies: the limit is the MTU of
 * the interface (RFC 9715 section 3).
 */
static void set_datagram(const DnsdSocket *s, int family, uint32_t buffer)
{
    if (family == AF_INET) {
        set(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT);
        set(s->fd, IPPROTO_IP, IP_PKTINFO, s->has_pktinfo);
    } else {
        set(s->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT);
        set(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, s->has_pktinfo);
    }
    if (buffer) {
        /* Above net.core.rmem_max this takes CAP_NET_ADMIN. */
        set(s->fd, SOL_SOCKET, SO_RCVBUF, buffer);
        set(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, buffer);
    }
}

static void set_stream(const DnsdSocket *s)
{
    set(s->fd, SOL_SOCKET, SO_SNDBUF, STREAM_SEND);
    set(s->fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static bool sockets_fail(DnsdError *error, const char *what, const char *text,
                         const char *protocol)
{
    snprintf(error->text, sizeof(error->text), "%s %s (%s): %s", what,
             text, protocol, strerror(errno));
    return false;
}

bool dnsd_sockets_bind(int fd, const DnsdListen *at, bool *is_early)
{
    bool six = at->addr.ss_family == AF_INET6;

    *is_early = false;
    if (*at->device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, at->device,
                                  strlen(at->device)) < 0) {
        return false;
    }
    if (bind(fd, (const void *)&at->addr, at->len) == 0) {
        return true;
    }
    if (errno != EADDRNOTAVAIL) {
        return false;
    }
    *is_early = true;
    set(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_FREEBIND : IP_FREEBIND,
        1);
    return bind(fd, (const void *)&at->addr, at->len) == 0;
}

/*
 * Without its interface the socket is not bound, and gets nothing: one that is
 * bound replaces it.
 */
static bool open_one(DnsdSocket *s, const DnsdListen *listen_at,
                     uint32_t receive_buffer, bool is_probe,
                     DnsdError *error)
{
    int family = listen_at->addr.ss_family;
    bool is_early = false;
    const char *protocol = s->is_stream ? "TCP" : "UDP";

    s->has_pktinfo = is_wildcard(&listen_at->addr);
    s->fd = socket(family, (s->is_stream ? SOCK_STREAM : SOCK_DGRAM) |
                   SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0) {
        return sockets_fail(error, "server.listen: no socket for",
                            listen_at->text, protocol);
    }
    set(s->fd, SOL_SOCKET, SO_REUSEPORT, !is_probe);
    if (s->is_stream) {
        set(s->fd, SOL_SOCKET, SO_REUSEADDR, 1);
        set_stream(s);
    } else {
        set_datagram(s, family, receive_buffer);
    }
    if (family == AF_INET6) {
        set(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    s->is_of_device = *listen_at->device;
    s->is_bound = dnsd_sockets_bind(s->fd, listen_at, &is_early);
    if (!s->is_bound && s->is_of_device && errno == ENODEV) {
        if (is_probe && !s->is_stream) {
            base_log(LOG_WARNING, "server.listen: %s: there is no interface "
                     "'%s' yet: waiting for it", listen_at->text,
                     listen_at->device);
        }
        return true;
    }
    if (!s->is_bound || (s->is_stream && listen(s->fd, BACKLOG) < 0)) {
        return sockets_fail(error, "server.listen: cannot listen at",
                            listen_at->text, protocol);
    }
    if (is_early && is_probe) {
        base_log(LOG_WARNING, "server.listen: %s (%s) is not an address of "
                 "this host yet: waiting for it; if a VRF has it, name the "
                 "VRF as 'ADDRESS%%VRF'", listen_at->text, protocol);
    }
    if (is_early && !s->is_of_device && !s->is_stream) {
        /* It may be an address of a VRF, by which replies must leave. */
        s->has_pktinfo = true;
        set_datagram(s, family, 0);
    }
    return true;
}

bool dnsd_sockets_renew(DnsdSocket *s, const DnsdListen *at,
                        uint32_t receive_buffer, DnsdError *error)
{
    DnsdSocket fresh = { .fd = -1, .is_stream = s->is_stream };
    bool done = open_one(&fresh, at, receive_buffer, false, error) &&
                fresh.is_bound;

    if (done && dup3(fresh.fd, s->fd, O_CLOEXEC) < 0) {
        done = sockets_fail(error, "server.listen: no descriptor for", at->text,
                            s->is_stream ? "TCP" : "UDP");
    }
    if (done) {
        s->is_bound = true;
    }
    if (fresh.fd >= 0) {
        close(fresh.fd);
    }
    return done;
}

static bool open_all(DnsdSockets *sockets, const DnsdConfig *config,
                     bool is_probe, DnsdError *error)
{
    sockets->count = 0;
    for (size_t i = 0; i < 2 * config->listens; i++) {
        DnsdSocket *s = &sockets->socket[sockets->count++];

        *s = (DnsdSocket) { .fd = -1, .is_stream = i % 2 };
        if (!open_one(s, &config->listen[i / 2], config->receive_buffer,
                      is_probe, error)) {
            return false;
        }
    }
    return true;
}

bool dnsd_sockets_probe(const DnsdConfig *config, DnsdError *error)
{
    DnsdSockets sockets;
    bool is_free = open_all(&sockets, config, true, error);

    dnsd_sockets_close(&sockets);
    return is_free;
}

bool dnsd_sockets_open(DnsdSockets *sockets, const DnsdConfig *config,
                       DnsdError *error)
{
    return open_all(sockets, config, false, error);
}

static bool adopt_one(DnsdSocket *s, int fd, DnsdError *error)
{
    struct sockaddr_storage addr;
    socklen_t addr_len = sizeof(addr), len = sizeof(int);
    int type, listens = 0;

    if (getsockname(fd, (struct sockaddr *)&addr, &addr_len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0) {
        return false;
    }
    *s = (DnsdSocket) {
        .fd = fd, .is_stream = type == SOCK_STREAM, .is_shared = true,
        .has_pktinfo = is_wildcard(&addr), .is_bound = true,
    };
    len = sizeof(listens);
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len);
    if ((addr.ss_family != AF_INET && addr.ss_family != AF_INET6) ||
        (type == SOCK_STREAM ? !listens : type != SOCK_DGRAM)) {
        return false;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (s->is_stream) {
        set_stream(s);
    } else {
        set_datagram(s, addr.ss_family, 0);
    }
    return true;
}

bool dnsd_sockets_adopt(DnsdSockets *sockets, int first, unsigned count,
                        DnsdError *error)
{
    sockets->count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (i == DNSD_SOCKETS_MAX ||
            !adopt_one(&sockets->socket[sockets->count++], first + i,
                       error)) {
            snprintf(error->text, sizeof(error->text),
                     "socket %u of %u from systemd is neither UDP nor "
                     "listening TCP, or is one too many (at most %d): mend "
                     "ListenDatagram= and ListenStream=", i + 1, count,
                     DNSD_SOCKETS_MAX);
            return false;
        }
    }
    return true;
}

uint64_t dnsd_sockets_drops(const DnsdSockets *sockets)
{
    uint64_t drops = 0;

    for (unsigned i = 0; i < sockets->count; i++) {
        uint32_t info[SK_MEMINFO_VARS] = { 0 };
        socklen_t len = sizeof(info);

        if (!sockets->socket[i].is_stream &&
            !getsockopt(sockets->socket[i].fd, SOL_SOCKET, SO_MEMINFO, info,
                        &len)) {
            drops += info[SK_MEMINFO_DROPS];
        }
    }
    return drops;
}

void dnsd_sockets_close(DnsdSockets *sockets)
{
    for (unsigned i = 0; i < sockets->count; i++) {
        if (sockets->socket[i].fd >= 0 && !sockets->socket[i].is_shared) {
            close(sockets->socket[i].fd);
        }
    }
    sockets->count = 0;
}
