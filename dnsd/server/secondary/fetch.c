/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One attempt to transfer a zone from one primary
 *
 * Theory of operation
 *
 * Everything is over TCP, so nobody can forge the answer to the question for
 * the SOA, and the transfer follows on the same connection.  Some servers close
 * it after one answer; then another connection is made.
 *
 *     SOA --- current or older ---> the end
 *      |
 *     IXFR -- changes, or the whole zone ---> the end
 *      |
 *     AXFR, at once without a zone, or if IXFR has failed
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "dnsd/server/secondary/fetch.h"
#include "dnsd/server/secondary/fresh.h"
#include "dnsd/server/secondary/line.h"

typedef struct Talk {
    DnsdFetch *fetch;
    DnsdLine line;
    bool is_used;               /* the connection has had an answer */
    bool is_silent;             /* no answer has begun */
    uint8_t octets[DNSD_LINE_PREFIX + DNS_MSG_MAX];
} Talk;

static uint64_t fetch_now(void)
{
    return base_clock(CLOCK_REALTIME) / SECOND;
}

static uint64_t fetch_now_ms(void)
{
    return base_clock(CLOCK_MONOTONIC) / MS;
}

/* --- ends ----------------------------------------------------------------- */

void dnsd_fetch_fail(DnsdFetch *f, DnsXfrReason reason, const char *why,
                     int error)
{
    f->end = DNSD_FETCH_FAILED;
    f->reason = reason;
    snprintf(f->why, sizeof(f->why), "%s%s%s", why, error ? ": " : "",
             error ? strerror(-error) : "");
}

static DnsXfrState fail_line(DnsdFetch *f, int error, DnsXfrReason otherwise,
                             const char *what)
{
    dnsd_fetch_fail(f, error == -ETIMEDOUT ? DNS_XFR_TIMEOUT
                    : error == -ECANCELED ? DNS_XFR_DROPPED
                    : error == -EMFILE || error == -ENFILE ? DNS_XFR_LOCAL
                    : otherwise, what, error);
    return DNS_XFR_FAILED;
}

static bool open_line(Talk *t)
{
    const DnsdFetch *f = t->fetch;
    const DnsdListen *from = f->from.len ? &f->from : NULL;
    int ret = dnsd_line_open(&t->line, from, &f->primary.at, &f->stop);
    char what[80];

    t->is_used = false;
    if (ret) {
        t->fetch->is_cut = *dnsd_listen_device(from, &f->primary.at) &&
                           (ret == -ENODEV || ret == -ENETUNREACH ||
                            ret == -EADDRNOTAVAIL);
        snprintf(what, sizeof(what), "no connection%s%s", from ? " from " : "",
                 from ? from->text : "");
        fail_line(t->fetch, ret, DNS_XFR_CONNECT, what);
    }
    return !ret;
}

/* --- one question and its answer ------------------------------------------ */

static DnsXfrState receive_all(Talk *t, DnsXfrIn *in)
{
    DnsXfrState state;

    do {
        int len = dnsd_line_receive(&t->line, t->octets);

        if (len < 0) {
            state = fail_line(t->fetch, len, DNS_XFR_CLOSED,
                              "the answer is not whole");
            return dns_xfr_in_is_begun(in) && len != -ECANCELED ? DNS_XFR_AGAIN
                                                                : state;
        }
        t->is_silent = false;
        state = dns_xfr_in_message(in, t->octets, len, fetch_now());
    } while (state == DNS_XFR_MORE);
    if (state == DNS_XFR_FAILED || state == DNS_XFR_AGAIN) {
        dnsd_fetch_fail(t->fetch, dns_xfr_in_reason(in), dns_xfr_in_why(in),
                        0);
    }
    return state;
}

static DnsXfrState converse(Talk *t, DnsXfrIn *in)
{
    uint8_t *octets = t->octets;
    int len = dns_xfr_in_query(in, octets + DNSD_LINE_PREFIX, DNS_MSG_MAX,
                               fetch_now());
    int ret = len < 0 ? len : dnsd_line_send(&t->line, octets, len);

    t->is_silent = true;
    if (ret) {
        return fail_line(t->fetch, ret, DNS_XFR_CLOSED,
                         "the query cannot be sent");
    }
    return receive_all(t, in);
}

static DnsXfrIn *make_question(const DnsdFetch *f, DnsXfrAsk ask)
{
    DnsXfrInOptions options = {
        .zone = f->zone, .rrclass = DNS_CLASS_IN, .ask = ask,
        .serial = f->serial, .key = f->key, .path = f->path,
        .len_max = f->len_max, .stop = &f->stop,
    };
    uint16_t id;

    return getrandom(&id, sizeof(id), 0) == sizeof(id)
           ? dns_xfr_in_new(&options, id) : NULL;
}

/* The answer is in @t->fetch->in. */
static DnsXfrState ask_once(Talk *t, DnsXfrAsk ask)
{
    DnsdFetch *f = t->fetch;
    DnsXfrState state;

    dns_xfr_in_free(f->in);
    f->in = make_question(f, ask);
    if (!f->in) {
        dnsd_fetch_fail(f, DNS_XFR_LOCAL, "there is no memory", 0);
        return DNS_XFR_FAILED;
    }
    state = converse(t, f->in);
    f->records += dns_xfr_in_records(f->in);
    f->octets += dns_xfr_in_len(f->in);
    if (state != DNS_XFR_FAILED && state != DNS_XFR_AGAIN) {
        f->has_got = true;
        f->got = dns_xfr_in_serial(f->in);
    }
    return state;
}

static DnsXfrState ask_on(Talk *t, DnsXfrAsk ask)
{
    DnsXfrState state = ask_once(t, ask);

    if (state == DNS_XFR_FAILED && t->fetch->reason == DNS_XFR_CLOSED &&
        t->is_used && t->is_silent) {
        dnsd_line_close(&t->line);
        state = open_line(t) ? ask_once(t, ask) : DNS_XFR_FAILED;
    }
    t->is_used = true;
    return state;
}

/* --- all of them ---------------------------------------------------------- */

/* Close the connection, where the rest of the answer may still arrive. */
static DnsXfrState give_up_ixfr(Talk *t)
{
    char name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&t->fetch->zone, name);
    base_log(LOG_NOTICE, "zone %s: AXFR instead of IXFR from %s: %s", name,
             t->fetch->primary.at.text, t->fetch->why);
    dnsd_line_close(&t->line);
    return open_line(t) ? ask_on(t, DNS_XFR_ASK_AXFR) : DNS_XFR_FAILED;
}

static DnsXfrState ask_all(Talk *t)
{
    DnsdFetch *f = t->fetch;
    DnsXfrState state;

    if (!f->has_zone || f->is_forced) {
        return ask_on(t, DNS_XFR_ASK_AXFR);
    }
    state = ask_on(t, DNS_XFR_ASK_SOA);
    if (state == DNS_XFR_NEWER) {
        state = ask_on(t, DNS_XFR_ASK_IXFR);
    }
    if (state == DNS_XFR_OLDER && f->takes_older) {
        return ask_on(t, DNS_XFR_ASK_AXFR);
    }
    return state == DNS_XFR_AGAIN ? give_up_ixfr(t) : state;
}

/* The primary confirms the zone that we have. */
static void end_current(DnsdFetch *f)
{
    char name[DNS_NAME_TEXT_MAX];
    int ret = dnsd_fresh_write(f->image, fetch_now());

    f->end = DNSD_FETCH_CURRENT;
    if (ret) {
        dns_name_to_text(&f->zone, name);
        base_log(LOG_WARNING, "zone %s: '%s.time' cannot be written: %s: "
                 "after a restart the zone will expire too early", name,
                 f->image, strerror(-ret));
    }
}

static void end_behind(DnsdFetch *f)
{
    char why[120];

    snprintf(why, sizeof(why), "it has serial %u, which is older than %u; "
             "'vmmnet-dnsd retransfer' takes it", f->got, f->serial);
    dnsd_fetch_fail(f, DNS_XFR_BEHIND, why, 0);
}

void dnsd_fetch_run(DnsdFetch *f)
{
    Talk t = { .fetch = f };
    uint64_t begun = fetch_now_ms();

    if (!open_line(&t)) {
        return;
    }
    switch (ask_all(&t)) {
    case DNS_XFR_CURRENT:
        end_current(f);
        break;
    case DNS_XFR_OLDER:
        end_behind(f);
        break;
    case DNS_XFR_CHANGES:
        f->end = DNSD_FETCH_CHANGES;
        break;
    case DNS_XFR_IMAGE:
        f->end = DNSD_FETCH_IMAGE;
        break;
    default:
        break;                  /* it has failed, and has set the reason */
    }
    dnsd_line_close(&t.line);
    f->ms = fetch_now_ms() - begun;
}

/* --- life ----------------------------------------------------------------- */

DnsdFetch *dnsd_fetch_new(const char *image)
{
    DnsdFetch *f = calloc(1, sizeof(*f));

    if (f) {
        f->image = strdup(image);
        if (!f->image || asprintf(&f->path, "%s.xfr", image) < 0) {
            free(f->image);
            free(f);
            return NULL;
        }
    }
    return f;
}

void dnsd_fetch_free_image(const DnsdFetch *f)
{
    if (f->end == DNSD_FETCH_IMAGE) {
        unlink(f->path);
    }
}

void dnsd_fetch_free(DnsdFetch *f)
{
    if (f) {
        dnsd_fetch_free_image(f);
        dns_xfr_in_free(f->in);
        free((char *)f->primary.at.text);
        free((char *)f->from.text);
        free(f->image);
        free(f->path);
        free(f);
    }
}
