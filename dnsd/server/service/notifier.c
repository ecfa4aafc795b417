/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NOTIFY to secondaries */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "dnsd/server/service/notifier.h"
#include "dnsd/update/tsig/tsig.h"
#include "dnsd/update/xfr/notify.h"

#define REPLIES_TURN    64
/* A header, a question, and a TSIG record with three names and a MAC */
#define NOTIFY_MAX      1232

typedef enum NotifyEnd {
    NOTIFY_TAKEN,
    NOTIFY_REFUSED,             /* answered with an error */
    NOTIFY_UNANSWERED,
    NOTIFY_ENDS,
} NotifyEnd;

static const char *const ends[NOTIFY_ENDS] = {
    [NOTIFY_TAKEN] = "taken",
    [NOTIFY_REFUSED] = "refused",
    [NOTIFY_UNANSWERED] = "unanswered",
};

struct DnsdNotifier {
    int fd[DNSD_FAMILIES];      /* AF_INET, AF_INET6; -1: not available */
    uint64_t ended[NOTIFY_ENDS];
    const DnsdLinks *links;     /* or NULL */
};

static uint64_t notify_now(void)
{
    return base_clock(CLOCK_MONOTONIC) / SECOND;
}

DnsdNotifier *dnsd_notifier_new(int epoll, const DnsdLinks *links)
{
    static const int family[DNSD_FAMILIES] = { AF_INET, AF_INET6 };
    DnsdNotifier *n = calloc(1, sizeof(*n));

    for (unsigned i = 0; n && i < DNSD_FAMILIES; i++) {
        struct epoll_event event = {
            .events = EPOLLIN, .data.ptr = &n->fd[i],
        };

        n->fd[i] = socket(family[i],
                          SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (n->fd[i] >= 0) {
            epoll_ctl(epoll, EPOLL_CTL_ADD, n->fd[i], &event);
        }
    }
    if (n) {
        n->links = links;
    }
    return n;
}

void dnsd_notifier_free(DnsdNotifier *n)
{
    for (unsigned i = 0; i < DNSD_FAMILIES; i++) {
        if (n->fd[i] >= 0) {
            close(n->fd[i]);
        }
    }
    free(n);
}

/* --- requests ------------------------------------------------------------- */

/*
 * Build the message.  Returns its length, or 0.  The signature of the reply is
 * not verified, as a reply only stops retransmission.
 */
static size_t build(const DnsdSecondary *to, const TsigKeys *keys,
                    const DnsdDynZone *dyn, uint16_t id, uint8_t *msg,
                    size_t room)
{
    int made = dns_notify_build(msg, room, id, &dyn->origin, DNS_CLASS_IN,
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

/*
 * Set the source address and the interface of a message; @hdr has room for it.
 * @from: NULL: the kernel chooses the address
 * @index: 0: it chooses the interface
 */
static void set_source(struct msghdr *hdr, const DnsdListen *from,
                       unsigned index, int family)
{
    const struct sockaddr_in *four = from ? (const void *)&from->addr : NULL;
    const struct sockaddr_in6 *six = from ? (const void *)&from->addr : NULL;
    struct cmsghdr *c = CMSG_FIRSTHDR(hdr);

    if (family == AF_INET) {
        struct in_pktinfo info = { .ipi_ifindex = index };

        if (four) {
            info.ipi_spec_dst = four->sin_addr;
        }

        c->cmsg_level = IPPROTO_IP;
        c->cmsg_type = IP_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof(info));
        memcpy(CMSG_DATA(c), &info, sizeof(info));
        hdr->msg_controllen = CMSG_SPACE(sizeof(info));
    } else {
        struct in6_pktinfo info = { .ipi6_ifindex = index };

        if (six) {
            info.ipi6_addr = six->sin6_addr;
        }

        c->cmsg_level = IPPROTO_IPV6;
        c->cmsg_type = IPV6_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof(info));
        memcpy(CMSG_DATA(c), &info, sizeof(info));
        hdr->msg_controllen = CMSG_SPACE(sizeof(info));
    }
}

/* Returns 0 or an errno. */
static int send_from(const DnsdNotifier *n, const DnsdListen *from,
                     const DnsdListen *to, uint8_t *msg, size_t len)
{
    int fd = n->fd[to->addr.ss_family == AF_INET6];
    const char *device = dnsd_listen_device(from, to);
    unsigned index = *device && n->links ? dnsd_links_index(n->links, device)
                                         : 0;
    _Alignas(struct cmsghdr) uint8_t control[
        CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
    struct iovec iov = { msg, len };
    struct msghdr hdr = {
        .msg_name = (void *)&to->addr, .msg_namelen = to->len,
        .msg_iov = &iov, .msg_iovlen = 1,
    };

    if (*device && !index) {
        return ENODEV;
    }
    if (from || index) {
        hdr.msg_control = control;
        hdr.msg_controllen = sizeof(control);
        set_source(&hdr, from, index, to->addr.ss_family);
    }
    return sendmsg(fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* Log it once, until a message was sent again. */
static void tell_unsent(const DnsdZoneConfig *config, size_t i,
                        DnsdDynZone *dyn, const DnsdListen *from, int error)
{
    char name[DNS_NAME_TEXT_MAX];

    if (!error && dyn->unsent & 1u << i) {
        dyn->unsent &= ~(1u << i);
        dns_name_to_text(&dyn->origin, name);
        base_log(LOG_NOTICE, "zone %s: NOTIFY to %s is sent", name,
                 config->secondary[i].at.text);
    } else if (!error) {
        return;
    } else if (error != EAGAIN && !(dyn->unsent & 1u << i)) {
        dyn->unsent |= 1u << i;
        dns_name_to_text(&dyn->origin, name);
        base_log(LOG_WARNING, "zone %s: NOTIFY to %s cannot be sent%s%s: %s",
                 name, config->secondary[i].at.text, from ? " from " : "",
                 from ? from->text : "", strerror(error));
    }
}

/* The end of a notification.  An error is logged until one is taken. */
static void end(DnsdNotifier *n, const DnsdZoneConfig *config, size_t i,
                DnsdDynZone *dyn, NotifyEnd how, unsigned rcode)
{
    char name[DNS_NAME_TEXT_MAX], why[64];

    n->ended[how]++;
    if (how == NOTIFY_TAKEN) {
        dyn->untaken &= ~(1u << i);
    } else if (!(dyn->untaken & 1u << i)) {
        dyn->untaken |= 1u << i;
        snprintf(why, sizeof(why), how == NOTIFY_REFUSED
                 ? "is answered with RCODE %u" : "is not answered", rcode);
        dns_name_to_text(&dyn->origin, name);
        base_log(LOG_WARNING, "zone %s: NOTIFY to %s %s", name,
                 config->secondary[i].at.text, why);
    }
}

void dnsd_notifier_metrics(const DnsdNotifier *n, DnsdText *text)
{
    dnsd_metrics_counts(text, n->ended, "notifies_out_total", "result", ends,
                        NOTIFY_ENDS);
}

/* A message that could not be sent is retransmitted like a lost one. */
static void send_one(DnsdNotifier *n, const DnsdZoneConfig *config, size_t i,
                     const TsigKeys *keys, DnsdDynZone *dyn)
{
    const DnsdSecondary *to = &config->secondary[i];
    const DnsdListen *from = dnsd_source_for(&config->notify_source, &to->at);
    uint8_t msg[NOTIFY_MAX];
    size_t len = build(to, keys, dyn, dyn->notify[i].id, msg, sizeof(msg));

    if (n->fd[to->at.addr.ss_family == AF_INET6] >= 0 && len) {
        tell_unsent(config, i, dyn, from,
                    send_from(n, from, &to->at, msg, len));
    }
}

static void begin_one(DnsNotify *notify, uint64_t now)
{
    uint16_t id;

    if (getrandom(&id, sizeof(id), 0) == sizeof(id)) {
        dns_notify_begin(notify, id, now);
    }
}

/* Their interface is missing, or down: not a message of them was sent. */
static void begin_unsent(const DnsdZoneConfig *config, DnsdDynZone *dyn,
                         uint64_t now)
{
    for (size_t i = 0; i < config->secondaries; i++) {
        const DnsdListen *to = &config->secondary[i].at;
        const DnsdListen *from = dnsd_source_for(&config->notify_source, to);

        if (dyn->unsent & 1u << i && *dnsd_listen_device(from, to)) {
            begin_one(&dyn->notify[i], now);
        }
    }
}

static void begin(const DnsdZoneConfig *config, DnsdDynZone *dyn, uint64_t now)
{
    for (size_t i = 0; i < config->secondaries; i++) {
        begin_one(&dyn->notify[i], now);
    }
    dyn->notified = config->secondaries;
    dyn->notified_serial = dnsd_dynzone_serial(dyn);
    dyn->notified_at = now;
}

void dnsd_notifier_look(DnsdNotifier *n, const TsigKeys *keys,
                        const DnsdZoneConfig *config, DnsdDynZone *dyn)
{
    uint64_t now = notify_now();

    if (!dyn->store) {
        return;
    }
    if (dyn->notified != config->secondaries ||
        (dyn->notified_serial != dnsd_dynzone_serial(dyn) &&
         dyn->notified_at != now)) {
        begin(config, dyn, now);
    }
    begin_unsent(config, dyn, now);
    for (size_t i = 0; i < config->secondaries; i++) {
        bool is_open = !dyn->notify[i].is_done;

        if (dns_notify_due(&dyn->notify[i], now)) {
            send_one(n, config, i, keys, dyn);
        } else if (is_open && dyn->notify[i].is_done) {
            end(n, config, i, dyn, NOTIFY_UNANSWERED, 0);
        }
    }
}

void dnsd_notifier_again(DnsdNotifier *n, const TsigKeys *keys,
                         const DnsdZoneConfig *config, DnsdDynZone *dyn)
{
    begin(config, dyn, notify_now());
    dnsd_notifier_look(n, keys, config, dyn);
}

void dnsd_notifier_look_all(DnsdNotifier *n, const DnsdState *w)
{
    for (size_t i = 0; i < w->config->zones; i++) {
        if (w->zone[i].dyn && w->config->zone[i].secondaries) {
            dnsd_notifier_look(n, w->keyring->keys, &w->config->zone[i],
                               w->zone[i].dyn);
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

static void take(DnsdNotifier *n, const DnsdState *w,
                 const struct sockaddr_storage *peer, const uint8_t *msg,
                 size_t len)
{
    for (size_t i = 0; i < w->config->zones; i++) {
        const DnsdZoneConfig *config = &w->config->zone[i];
        DnsdDynZone *dyn = w->zone[i].dyn;

        for (size_t j = 0; dyn && j < dyn->notified; j++) {
            if (j < config->secondaries &&
                is_from(&config->secondary[j].at, peer) &&
                dns_notify_answer(&dyn->notify[j], &dyn->origin, msg,
                                  len)) {
                unsigned rcode = msg[3] & DNS_FLAGS_RCODE;

                end(n, config, j, dyn, rcode ? NOTIFY_REFUSED : NOTIFY_TAKEN,
                    rcode);
                return;
            }
        }
    }
}

bool dnsd_notifier_ready(DnsdNotifier *n, const DnsdState *w, void *event)
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
        take(n, w, &peer, msg, len);
    }
    return true;
}
