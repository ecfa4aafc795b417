/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP connection to a primary */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dnsd/server/secondary/line.h"
#include "base/clock.h"
#include "base/octets.h"

#define SLICE_MS    200         /* interval of checking line->stop */

uint64_t dnsd_line_clock(void)
{
    return base_clock(CLOCK_BOOTTIME) / SECOND;
}

/* --- waiting -------------------------------------------------------------- */

static uint64_t within(const DnsdLine *line, unsigned seconds)
{
    uint64_t until = dnsd_line_clock() + seconds;

    return until < line->until ? until : line->until;
}

static int await(const DnsdLine *line, short events, uint64_t until)
{
    struct pollfd one = { .fd = line->fd, .events = events };

    while (dnsd_line_clock() < until) {
        int ret = poll(&one, 1, SLICE_MS);

        if (atomic_load(line->stop)) {
            return -ECANCELED;
        }
        if (ret < 0 && errno != EINTR) {
            return -errno;
        }
        if (ret > 0) {
            return 0;
        }
    }
    return -ETIMEDOUT;
}

/* --- life ----------------------------------------------------------------- */

static int finish_connect(const DnsdLine *line)
{
    int error = 0, one = 1;
    socklen_t len = sizeof(error);
    int ret = await(line, POLLOUT, within(line, DNSD_LINE_CONNECT_S));

    if (ret) {
        return ret;
    }
    if (getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &error, &len)) {
        return -errno;
    }
    setsockopt(line->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return -error;
}

/* The port is chosen at connect(), so that others can use it, too. */
static int bind_source(const DnsdLine *line, const DnsdListen *from)
{
    int one = 1;

    if (!from) {
        return 0;
    }
    setsockopt(line->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
               sizeof(one));
    return bind(line->fd, (const struct sockaddr *)&from->addr, from->len)
           ? -errno : 0;
}

/* Also the scope of link-local addresses. */
static int bind_device(const DnsdLine *line, const char *device)
{
    return *device && setsockopt(line->fd, SOL_SOCKET, SO_BINDTODEVICE, device,
                                 strlen(device)) ? -errno : 0;
}

static int begin_connect(const DnsdLine *line, const DnsdListen *to)
{
    if (!connect(line->fd, (const struct sockaddr *)&to->addr, to->len)) {
        return 0;
    }
    return errno == EINPROGRESS ? finish_connect(line) : -errno;
}

int dnsd_line_open(DnsdLine *line, const DnsdListen *from,
                   const DnsdListen *to, const atomic_bool *stop)
{
    int ret;

    line->stop = stop;
    line->until = dnsd_line_clock() + DNSD_LINE_ALL_S;
    line->fd = socket(to->addr.ss_family,
                      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (line->fd < 0) {
        return -errno;
    }
    ret = bind_device(line, dnsd_listen_device(from, to));
    ret = ret ? ret : bind_source(line, from);
    ret = ret ? ret : begin_connect(line, to);
    if (ret) {
        dnsd_line_close(line);
    }
    return ret;
}

void dnsd_line_close(DnsdLine *line)
{
    if (line->fd >= 0) {
        close(line->fd);
        line->fd = -1;
    }
}

/* --- messages ------------------------------------------------------------- */

int dnsd_line_send(DnsdLine *line, uint8_t *octets, size_t len)
{
    uint64_t until = within(line, DNSD_LINE_MESSAGE_S);

    put_be16(octets, len);
    len += DNSD_LINE_PREFIX;
    while (len) {
        ssize_t sent = send(line->fd, octets, len, MSG_NOSIGNAL);
        int ret = sent >= 0 ? 0 : errno == EAGAIN
                  ? await(line, POLLOUT, until) : -errno;

        if (ret) {
            return ret;
        }
        octets += sent > 0 ? sent : 0;
        len -= sent > 0 ? sent : 0;
    }
    return 0;
}

/* The timeout is for the whole message, so slow octets do not extend it. */
static int receive(const DnsdLine *line, uint8_t *to, size_t len,
                   uint64_t until)
{
    while (len) {
        int ret = await(line, POLLIN, until);
        ssize_t got = ret ? -1 : recv(line->fd, to, len, 0);

        if (ret || !got) {
            return ret ? ret : -ECONNRESET;
        }
        if (got < 0 && errno != EAGAIN) {
            return -errno;
        }
        to += got > 0 ? got : 0;
        len -= got > 0 ? got : 0;
    }
    return 0;
}

int dnsd_line_receive(DnsdLine *line, uint8_t *msg)
{
    uint64_t until = within(line, DNSD_LINE_MESSAGE_S);
    uint8_t prefix[DNSD_LINE_PREFIX];
    int ret = receive(line, prefix, sizeof(prefix), until);

    ret = ret ? ret : receive(line, msg, get_be16(prefix), until);
    return ret ? ret : get_be16(prefix);
}
