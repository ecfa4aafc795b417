/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outgoing transfers over TCP */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/octets.h"
#include "dnsd/server/service/transfers.h"

#define PREFIX          2       /* length of a message, RFC 1035 4.2.2 */
#define MESSAGES_TURN   4       /* messages per turn */
#define PATIENCE_S      30      /* seconds without progress */

typedef struct Transfer {
    DnsdRequest *request;
    DnsXfrOut *out;
    DnsdKeyring *ring;
    time_t until;
    uint64_t begun_ms;
    uint64_t octets_sent;
    char text[DNSD_TRANSFER_TEXT_MAX];
    size_t at, len;             /* of the message and its prefix */
    uint8_t octets[PREFIX + DNS_MSG_MAX];
} Transfer;

#define FAILED          (DNS_XFR_SOA + 1)

static const char *const ends[] = {
    [DNS_XFR_AXFR] = "axfr",
    [DNS_XFR_IXFR] = "ixfr",
    [DNS_XFR_AS_AXFR] = "ixfr-whole",
    [DNS_XFR_SOA] = "soa",
    [FAILED] = "failed",
};

#define ENDS            (sizeof(ends) / sizeof(ends[0]))

struct DnsdTransfers {
    int epoll;
    uint64_t ended[ENDS];
    Transfer *transfer[DNSD_TRANSFERS_MAX];
};

static time_t transfer_now(clockid_t clock)
{
    return base_clock(clock) / SECOND;
}

static uint64_t transfer_now_ms(void)
{
    return base_clock(CLOCK_MONOTONIC) / MS;
}

DnsdTransfers *dnsd_transfers_new(int epoll)
{
    DnsdTransfers *all = calloc(1, sizeof(*all));

    if (all) {
        all->epoll = epoll;
    }
    return all;
}

/* --- sending -------------------------------------------------------------- */

/* Returns 1; 0 behind the last message; or a negative errno. */
static int next_message(Transfer *t)
{
    int len = dns_xfr_out_next(t->out, t->octets + PREFIX, DNS_MSG_MAX,
                               transfer_now(CLOCK_REALTIME));

    if (len <= 0) {
        return len;
    }
    put_be16(t->octets, len);
    t->at = 0;
    t->len = PREFIX + len;
    return 1;
}

/* Returns 1 if the message was sent, 0 if the client is slow, or -errno. */
static int send_message(Transfer *t)
{
    while (t->at < t->len) {
        ssize_t sent = send(t->request->fd, t->octets + t->at, t->len - t->at,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0) {
            return errno == EAGAIN ? 0 : -errno;
        }
        t->at += sent;
        t->octets_sent += sent;
        t->until = transfer_now(CLOCK_MONOTONIC) + PATIENCE_S;
    }
    return 1;
}

/* Returns 1 to continue, 0 at the end, or a negative errno. */
static int run(Transfer *t)
{
    for (unsigned i = 0; i < MESSAGES_TURN; i++) {
        int ret = send_message(t);

        if (ret <= 0) {
            return ret ? ret : 1;
        }
        ret = next_message(t);
        if (ret <= 0) {
            return ret;
        }
    }
    return 1;
}

/* --- life ----------------------------------------------------------------- */

void dnsd_transfers_count(DnsdTransfers *all, const DnsXfrOut *out,
                          bool is_done)
{
    all->ended[is_done ? dns_xfr_out_kind(out) : FAILED]++;
}

void dnsd_transfers_metrics(const DnsdTransfers *all, DnsdText *text)
{
    dnsd_metrics_counts(text, all->ended, "transfers_out_total", "result",
                        ends, ENDS);
}

/* @error: 0; or a negative errno */
static void end(DnsdTransfers *all, unsigned i, int error)
{
    Transfer *t = all->transfer[i];

    if (error) {
        base_log(LOG_WARNING, "%s: ended after %" PRIu64 " octets: %s",
                 t->text, t->octets_sent, error == -ETIMEDOUT
                 ? "the peer does not read" : strerror(-error));
    } else if (dns_xfr_out_kind(t->out) != DNS_XFR_SOA) {
        base_log(LOG_NOTICE, "%s: serial %" PRIu32 ", %" PRIu64 " records, %"
                 PRIu64 " octets in %" PRIu64 " ms", t->text,
                 dns_xfr_out_serial(t->out), dns_xfr_out_records(t->out),
                 t->octets_sent, transfer_now_ms() - t->begun_ms);
    }
    dnsd_transfers_count(all, t->out, !error);
    epoll_ctl(all->epoll, EPOLL_CTL_DEL, t->request->fd, NULL);
    dnsd_request_sent(t->request, !error);
    dns_xfr_out_free(t->out);
    dnsd_keyring_unref(t->ring);
    free(t);
    all->transfer[i] = NULL;
}

bool dnsd_transfers_start(DnsdTransfers *all, DnsdRequest *request,
                          DnsXfrOut *out, DnsdKeyring *ring,
                          const char *text)
{
    struct epoll_event event = { .events = EPOLLOUT };
    unsigned i = 0;
    Transfer *t;

    while (i < DNSD_TRANSFERS_MAX && all->transfer[i]) {
        i++;
    }
    t = i < DNSD_TRANSFERS_MAX ? malloc(sizeof(*t)) : NULL;
    event.data.ptr = t;
    if (!t || epoll_ctl(all->epoll, EPOLL_CTL_ADD, request->fd, &event) < 0) {
        free(t);
        return false;
    }
    t->request = request;
    t->out = out;
    t->ring = dnsd_keyring_ref(ring);
    t->until = transfer_now(CLOCK_MONOTONIC) + PATIENCE_S;
    t->at = t->len = 0;
    t->begun_ms = transfer_now_ms();
    t->octets_sent = 0;
    snprintf(t->text, sizeof(t->text), "%s", text);
    all->transfer[i] = t;
    return true;
}

bool dnsd_transfers_ready(DnsdTransfers *all, void *event)
{
    for (unsigned i = 0; i < DNSD_TRANSFERS_MAX; i++) {
        if (all->transfer[i] && all->transfer[i] == event) {
            int ret = run(all->transfer[i]);

            if (ret <= 0) {
                end(all, i, ret);
            }
            return true;
        }
    }
    return false;
}

void dnsd_transfers_expire(DnsdTransfers *all)
{
    time_t now = transfer_now(CLOCK_MONOTONIC);

    for (unsigned i = 0; i < DNSD_TRANSFERS_MAX; i++) {
        if (all->transfer[i] && all->transfer[i]->until < now) {
            end(all, i, -ETIMEDOUT);
        }
    }
}

void dnsd_transfers_free(DnsdTransfers *all)
{
    for (unsigned i = 0; i < DNSD_TRANSFERS_MAX; i++) {
        Transfer *t = all->transfer[i];

        if (t) {
            dns_xfr_out_free(t->out);
            dnsd_keyring_unref(t->ring);
            dnsd_request_free(t->request);
            free(t);
        }
    }
    free(all);
}
