/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NOTIFY to secondaries */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "net/dns/server/service/notifier.h"
#include "net/dns/update/tsig/tsig.h"
#include "net/dns/update/xfr/notify.h"

#define FAMILIES        2
#define REPLIES_TURN    64
/* A header, a question, and a TSIG record with three names and a MAC */
#define NOTIFY_MAX      1232

struct DnsdNotifier {
    int fd[FAMILIES];           /* AF_INET, AF_INET6; -1: the host has none */
};

static uint64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

DnsdNotifier *dnsd_notifier_new(int epoll)
{
    static const int family[FAMILIES] = { AF_INET, AF_INET6 };
    DnsdNotifier *n = calloc(1, sizeof(*n));

    for (unsigned i = 0; n && i < FAMILIES; i++) {
        struct epoll_event event = {
            .events = EPOLLIN, .data.ptr = &n->fd[i],
        };

        n->fd[i] = socket(family[i],
                          SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (n->fd[i] >= 0) {
            epoll_ctl(epoll, EPOLL_CTL_ADD, n->fd[i], &event);
        }
    }
    return n;
}

void dnsd_notifier_free(DnsdNotifier *n)
{
    for (unsigned i = 0; i < FAMILIES; i++) {
        if (n->fd[i] >= 0) {
            close(n->fd[i]);
        }
    }
    free(n);
}

/* --- requests ------------------------------------------------------------- */

/*
 * The message; its length, or 0.  The reply's signature is not looked at: all
 * that it does is to end that this is sent again.
 */
static size_t build(const DnsdSecondary *to, const TsigKeys *keys,
                    const DnsdLive *live, uint16_t id, uint8_t *msg,
                    size_t room)
{
    int made = dns_notify_build(msg, room, id, &live->origin, DNS_CLASS_IN,
                                NULL, 0);
    const TsigKey *key = to->key.len ? tsig_keys_find(keys, &to->key) : NULL;
    size_t len = made > 0 ? made : 0;
    Tsig tsig;

    if (len && to->key.len) {
        if (!key || tsig_sign_request(&tsig, key, msg, &len, room,
                                      time(NULL))) {
            return 0;
        }
        tsig_free(&tsig);
    }
    return len;
}

static void send_one(DnsdNotifier *n, const DnsdSecondary *to,
                     const TsigKeys *keys, const DnsdLive *live, uint16_t id)
{
    int fd = n->fd[to->at.addr.ss_family == AF_INET6];
    uint8_t msg[NOTIFY_MAX];
    size_t len = build(to, keys, live, id, msg, sizeof(msg));

    /* One that does not leave is sent again, as one that is lost. */
    if (fd >= 0 && len) {
        sendto(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL,
               (const struct sockaddr *)&to->at.addr, to->at.len);
    }
}

static void begin(const DnsdZoneConfig *config, DnsdLive *live, uint64_t now)
{
    for (size_t i = 0; i < config->secondaries; i++) {
        uint16_t id;

        if (getrandom(&id, sizeof(id), 0) == sizeof(id)) {
            dns_notify_begin(&live->notify[i], id, now);
        }
    }
    live->told = config->secondaries;
    live->told_serial = dnsd_live_serial(live);
    live->told_at = now;
}

void dnsd_notifier_look(DnsdNotifier *n, const TsigKeys *keys,
                        const DnsdZoneConfig *config, DnsdLive *live)
{
    uint64_t now = now_s();

    if (!live->store) {
        return;
    }
    if (live->told != config->secondaries ||
        (live->told_serial != dnsd_live_serial(live) &&
         live->told_at != now)) {
        begin(config, live, now);
    }
    for (size_t i = 0; i < config->secondaries; i++) {
        if (dns_notify_due(&live->notify[i], now)) {
            send_one(n, &config->secondary[i], keys, live,
                     live->notify[i].id);
        }
    }
}

void dnsd_notifier_look_all(DnsdNotifier *n, const DnsdWorld *w)
{
    for (size_t i = 0; i < w->config->zones; i++) {
        if (w->zone[i].live && w->config->zone[i].secondaries) {
            dnsd_notifier_look(n, w->keyring->keys, &w->config->zone[i],
                               w->zone[i].live);
        }
    }
}

/* --- replies -------------------------------------------------------------- */

static bool is_from(const DnsdListen *secondary,
                    const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *a = (const void *)&secondary->addr;
    const struct sockaddr_in *b = (const void *)peer;
    const struct sockaddr_in6 *c = (const void *)&secondary->addr;
    const struct sockaddr_in6 *d = (const void *)peer;

    if (secondary->addr.ss_family != peer->ss_family) {
        return false;
    }
    return peer->ss_family == AF_INET
           ? a->sin_port == b->sin_port &&
             a->sin_addr.s_addr == b->sin_addr.s_addr
           : c->sin6_port == d->sin6_port &&
             !memcmp(&c->sin6_addr, &d->sin6_addr, sizeof(c->sin6_addr));
}

static void take(const DnsdWorld *w, const struct sockaddr_storage *peer,
                 const uint8_t *msg, size_t len)
{
    for (size_t i = 0; i < w->config->zones; i++) {
        const DnsdZoneConfig *config = &w->config->zone[i];
        DnsdLive *live = w->zone[i].live;

        for (size_t j = 0; live && j < live->told; j++) {
            if (j < config->secondaries &&
                is_from(&config->secondary[j].at, peer) &&
                dns_notify_answer(&live->notify[j], &live->origin, msg,
                                  len)) {
                return;
            }
        }
    }
}

bool dnsd_notifier_ready(DnsdNotifier *n, const DnsdWorld *w, void *event)
{
    int *fd = event;

    if (fd != &n->fd[0] && fd != &n->fd[1]) {
        return false;
    }
    for (unsigned i = 0; i < REPLIES_TURN; i++) {
        struct sockaddr_storage peer;
        socklen_t peer_len = sizeof(peer);
        uint8_t msg[NOTIFY_MAX];
        ssize_t len = recvfrom(*fd, msg, sizeof(msg), MSG_DONTWAIT,
                               (struct sockaddr *)&peer, &peer_len);

        if (len < 0) {
            break;
        }
        take(w, &peer, msg, len);
    }
    return true;
}
