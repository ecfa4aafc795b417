/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A round: the primaries of a zone are asked in turn until one has the zone
 *
 * The next primary is asked if one fails, is behind the zone that we serve, or
 * does not have the serial that NOTIFY announced.  A round begins with the
 * primary that was successful last, or that sent NOTIFY.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "dnsd/server/secondary/fresh.h"
#include "dnsd/server/secondary/line.h"
#include "dnsd/server/secondary/secondary.h"

#define MIB     (UINT64_C(1) << 20)
#define CUT_RETRY_S     2

static uint32_t jitter(void)
{
    uint32_t random = 0;

    return getrandom(&random, sizeof(random), 0) == sizeof(random) ? random
                                                                   : 0;
}

/* --- asking --------------------------------------------------------------- */

static const TsigKey *find_key(const DnsdSecondaries *all,
                               const DnsdPrimary *primary)
{
    return primary->key.len ? tsig_keys_find(all->state->keyring->keys,
                                             &primary->key) : NULL;
}

/* A reload frees the configuration, so all is copied. */
static bool copy_addresses(DnsdFetch *f, const DnsdCopy *s)
{
    const DnsdListen *from;

    f->primary = s->config->primary[s->at];
    f->primary.at.text = strdup(f->primary.at.text);
    from = dnsd_source_for(&s->config->transfer_source, &f->primary.at);
    if (from) {
        f->from = *from;
        f->from.text = strdup(from->text);
    }
    return f->primary.at.text && (!from || f->from.text);
}

static DnsdFetch *make_fetch(DnsdSecondaries *all, DnsdCopy *s)
{
    DnsdFetch *f = dnsd_fetch_new(s->config->image);

    if (!f) {
        return NULL;
    }
    f->opaque = s;
    f->zone = s->name;
    if (!copy_addresses(f, s)) {
        dnsd_fetch_free(f);
        return NULL;
    }
    f->key = find_key(all, &f->primary);
    f->len_max = s->config->transfer_limit * MIB;
    f->has_zone = s->dyn->store;
    f->serial = f->has_zone ? dns_store_serial(s->dyn->store) : 0;
    f->takes_older = atomic_load(&s->dyn->has_expired);
    f->is_forced = s->needs_axfr || s->force == DNSD_FORCE_NOW;
    return f;
}

static void ask(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    s->fetch = make_fetch(all, s);
    s->asked = now;
    if (!s->fetch) {
        dns_secondary_failed(&s->timers, now, jitter());
        return;
    }
    s->keyring = dnsd_keyring_ref(all->state->keyring);
    dnsd_pool_add(all->pool, s->fetch);
}

static void end_fetch(DnsdCopy *s)
{
    dnsd_fetch_free(s->fetch);
    s->fetch = NULL;
}

/* --- how a round ends ----------------------------------------------------- */

static void log_round(const DnsdCopy *s, int level,
                      const char *what)
{
    char name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&s->name, name);
    base_log(level, "zone %s: %s", name, what);
}

void dnsd_copy_force(DnsdCopy *s, DnsdForce force)
{
    s->force = force;
    if (force == DNSD_FORCE_NOW) {
        /* An earlier announcement may be of the zone to replace. */
        s->has_news = false;
    }
}

static void end_force(DnsdCopy *s)
{
    if (s->force == DNSD_FORCE_NOW) {
        dnsd_copy_force(s, DNSD_FORCE_NONE);
    }
}

static void succeed(DnsdCopy *s, uint64_t now)
{
    DnsSoa soa;

    end_force(s);
    s->success = time(NULL);
    if (s->is_cut) {
        s->is_cut = false;
        log_round(s, LOG_NOTICE, "a primary answers again");
    }
    s->has_news = false;
    if (atomic_exchange(&s->dyn->has_expired, false)) {
        log_round(s, LOG_NOTICE, "is confirmed, and served again");
    }
    if (dnsd_secondary_soa(s->dyn, &soa)) {
        dns_secondary_current(&s->timers, &soa, now, jitter());
    } else {
        dns_secondary_failed(&s->timers, now, jitter());
    }
}

/* Is a primary left that may have the serial announced by NOTIFY? */
static bool wants_more(const DnsdCopy *s)
{
    return s->tried + 1 < s->config->primaries && s->has_news &&
           dns_serial_newer(s->news, dns_store_serial(s->dyn->store));
}

static void ask_next(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    s->tried++;
    if (s->tried < s->config->primaries) {
        s->at = (s->at + 1) % s->config->primaries;
        ask(all, s, now);
    } else if (s->has_current) {
        succeed(s, now);
    } else {
        s->has_news = false;
        end_force(s);
        dns_secondary_failed(&s->timers, now, jitter());
    }
}

static void end_one(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    s->has_current = true;
    if (wants_more(s)) {
        ask_next(all, s, now);
    } else {
        succeed(s, now);
    }
}

/* --- results -------------------------------------------------------------- */

static void hear_serial(DnsdCopy *s)
{
    if (s->heard && s->fetch->has_got) {
        s->heard[s->at] = (DnsdHeard) { true, s->fetch->got };
    }
}

/* Keep the reason for the status.  Log it if @is_news. */
static void tell_failure(DnsdCopy *s, bool is_news)
{
    char text[256];

    snprintf(text, sizeof(text), "nothing from %s: %s",
             s->fetch->primary.at.text, s->fetch->why);
    free(s->error);
    s->error = strdup(text);
    if (is_news) {
        log_round(s, LOG_WARNING, text);
    }
}

/* Where an interface is missing, primaries are asked all the time. */
static void count_failure(DnsdSecondaries *all, DnsdCopy *s)
{
    all->ended[DNSD_IN_FAILED]++;
    all->failed[s->fetch->reason]++;
    tell_failure(s, !s->fetch->is_cut || !s->is_cut);
    s->is_cut |= s->fetch->is_cut;
}

static void round_fail(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    count_failure(all, s);
    end_fetch(s);
    ask_next(all, s, now);
}

/* A new serial is served, so our secondaries are notified. */
static void take(DnsdSecondaries *all, DnsdCopy *s, DnsdTransferEnd how,
                 uint64_t now)
{
    char text[192];
    int ret = dnsd_fresh_write(s->config->image, time(NULL));

    all->ended[how]++;
    snprintf(text, sizeof(text), "serial %" PRIu32 " by %s from %s, %" PRIu64
             " records, %" PRIu64 " octets in %" PRIu64 " ms",
             dns_store_serial(s->dyn->store),
             how == DNSD_IN_AXFR ? "AXFR" : "IXFR", s->fetch->primary.at.text,
             s->fetch->records, s->fetch->octets, s->fetch->ms);
    log_round(s, LOG_NOTICE, text);
    if (ret) {
        snprintf(text, sizeof(text), "the time of this cannot be kept: %s",
                 strerror(-ret));
        log_round(s, LOG_WARNING, text);
    }
    end_fetch(s);
    dnsd_notifier_look(all->notifier, all->state->keyring->keys, s->config,
                       s->dyn);
    end_one(all, s, now);
}

static void tell_dropped(const DnsdCopy *s)
{
    uint64_t dropped = dns_xfr_in_dropped(s->fetch->in);
    char text[128];

    if (dropped) {
        snprintf(text, sizeof(text), "%" PRIu64 " signature%s from %s cover%s "
                 "nothing that the name has: not taken", dropped,
                 dropped == 1 ? "" : "s", s->fetch->primary.at.text,
                 dropped == 1 ? "s" : "");
        log_round(s, LOG_WARNING, text);
    }
}

static void take_image(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    char why[256];

    if (s->dyn->store && dns_store_is_merging(s->dyn->store)) {
        s->is_waiting = true;
        return;
    }
    s->is_waiting = false;
    if (!dnsd_secondary_install(s->dyn, s->config->image, s->fetch->path,
                                why, sizeof(why))) {
        dnsd_fetch_free_image(s->fetch);
        dnsd_fetch_fail(s->fetch, DNS_XFR_LOCAL, why, 0);
        round_fail(all, s, now);
        return;
    }
    s->fetch->end = DNSD_FETCH_CURRENT;
    s->needs_axfr = false;
    tell_dropped(s);
    take(all, s, DNSD_IN_AXFR, now);
}

static void take_changes(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    DnsdFetch *f = s->fetch;
    int ret;

    if (dns_xfr_in_apply(f->in, s->dyn->store) != DNS_XFR_CHANGED) {
        dnsd_fetch_fail(f, dns_xfr_in_reason(f->in), dns_xfr_in_why(f->in), 0);
        count_failure(all, s);
        end_fetch(s);
        s->needs_axfr = true;
        ask(all, s, now);
        return;
    }
    ret = dns_store_commit(s->dyn->store);
    if (ret) {
        /* A journal that takes nothing more is replaced with the zone. */
        s->needs_axfr |= ret == -EROFS;
        dnsd_fetch_fail(f, DNS_XFR_LOCAL, "changes cannot be kept", ret);
        round_fail(all, s, now);
        return;
    }
    take(all, s, DNSD_IN_IXFR, now);
}

void dnsd_round_settle(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    hear_serial(s);
    switch (s->fetch->end) {
    case DNSD_FETCH_FAILED:
        round_fail(all, s, now);
        break;
    case DNSD_FETCH_CURRENT:
        all->ended[DNSD_IN_CURRENT]++;
        end_fetch(s);
        end_one(all, s, now);
        break;
    case DNSD_FETCH_CHANGES:
        take_changes(all, s, now);
        break;
    case DNSD_FETCH_IMAGE:
        take_image(all, s, now);
        break;
    }
}

/* --- time ----------------------------------------------------------------- */

static void expire(DnsdCopy *s)
{
    atomic_store(&s->dyn->has_expired, true);
    log_round(s, LOG_ERR, "has expired, as no primary has confirmed it: "
              "queries are answered SERVFAIL");
}

/* A zone that was removed and is back: its file may have only one writer. */
static bool is_blocked(const DnsdSecondaries *all, const DnsdCopy *s)
{
    for (const DnsdCopy *gone = all->gone; gone; gone = gone->next) {
        if (!strcmp(gone->fetch->image, s->config->image)) {
            return true;
        }
    }
    return false;
}

static void look_for_damage(DnsdCopy *s, uint64_t now)
{
    if (s->dyn->store && !s->needs_axfr &&
        zone_view_failed(dns_store_view(s->dyn->store))) {
        s->needs_axfr = true;
        dns_secondary_notify(&s->timers, false, 0, now);
    }
}

/* Is there a primary whose interface, if it needs one, this host has? */
static bool is_any_near(const DnsdSecondaries *all, const DnsdCopy *s)
{
    for (size_t i = 0; i < s->config->primaries; i++) {
        const DnsdListen *to = &s->config->primary[i].at;
        const char *device = dnsd_listen_device(
            dnsd_source_for(&s->config->transfer_source, to), to);

        if (!*device || !all->links || dnsd_links_index(all->links, device)) {
            return true;
        }
    }
    return false;
}

/*
 * RETRY may be days, and NOTIFY may have been lost meanwhile. An interface that
 * is there may still be down.
 */
static void look_for_device(const DnsdSecondaries *all, DnsdCopy *s,
                            uint64_t now)
{
    bool is_gone = !is_any_near(all, s);

    if (is_gone != s->is_gone) {
        s->is_gone = is_gone;
        log_round(s, is_gone ? LOG_WARNING : LOG_NOTICE, is_gone
                  ? "the interface of its primaries is not there: waiting for "
                    "it" : "the interface of its primaries is there");
        s->is_cut = true;
        s->asked = is_gone ? s->asked : 0;
    }
    if (s->is_cut && !is_gone && !s->timers.is_asking &&
        now >= s->asked + CUT_RETRY_S) {
        dns_secondary_notify(&s->timers, false, 0, now);
    }
}

void dnsd_round_tick(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    DnsSecondaryDo what = DNS_SECONDARY_WAIT;

    look_for_damage(s, now);
    look_for_device(all, s, now);
    if (s->is_waiting) {
        dnsd_round_settle(all, s, now);
    }
    if (is_blocked(all, s)) {
        return;
    }
    while ((what = dns_secondary_tick(&s->timers, now)) ==
           DNS_SECONDARY_EXPIRE) {
        expire(s);
    }
    if (what == DNS_SECONDARY_ASK) {
        s->tried = 0;
        s->has_current = false;
        if (s->force == DNSD_FORCE_NEXT) {
            dnsd_copy_force(s, DNSD_FORCE_NOW);
        }
        ask(all, s, now);
    }
}
