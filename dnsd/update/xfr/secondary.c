/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timers of a secondary: RFC 1034 section 4.3.5, RFC 1996 */
#include "dnsd/update/xfr/secondary.h"

#define RETRY_FIRST_MAX 3600
#define JITTER_PART     10      /* at most a tenth earlier */

static uint32_t between(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Make the time earlier, never later, as the SOA's times are limits. */
static uint64_t spread(uint32_t seconds, uint32_t jitter)
{
    uint32_t part = seconds / JITTER_PART;

    return seconds - (part ? jitter % (part + 1) : 0);
}

static void take_soa(DnsSecondary *s, const DnsSoa *soa)
{
    s->has_zone = true;
    s->serial = soa->serial;
    s->refresh = between(soa->refresh, DNS_REFRESH_MIN, DNS_REFRESH_MAX);
    s->retry = between(soa->retry, DNS_RETRY_MIN, DNS_RETRY_MAX);
    /* A smaller value would expire the zone before it was asked for twice. */
    s->expire = between(soa->expire, s->refresh + s->retry, UINT32_MAX);
}

void dns_secondary_init(DnsSecondary *s, const DnsSoa *soa, uint64_t age,
                        uint64_t now)
{
    *s = (DnsSecondary) { .next = now };
    if (soa) {
        take_soa(s, soa);
        s->fresh = now > age ? now - age : 0;
        s->has_expired = age >= s->expire;
    }
}

DnsSecondaryDo dns_secondary_tick(DnsSecondary *s, uint64_t now)
{
    if (s->has_zone && !s->has_expired && now >= s->fresh + s->expire) {
        s->has_expired = true;
        return DNS_SECONDARY_EXPIRE;
    }
    if (!s->is_asking && now >= s->next) {
        s->is_asking = true;
        s->is_notified = false;
        return DNS_SECONDARY_ASK;
    }
    return DNS_SECONDARY_WAIT;
}

/* It was notified while asking, so the answer may be from before. */
static void ask_again_if_notified(DnsSecondary *s, uint64_t now)
{
    if (s->is_notified) {
        s->next = now;
        s->is_notified = false;
    }
}

void dns_secondary_current(DnsSecondary *s, const DnsSoa *soa, uint64_t now,
                           uint32_t jitter)
{
    take_soa(s, soa);
    s->is_asking = s->has_expired = false;
    s->failures = 0;
    s->fresh = now;
    s->next = now + spread(s->refresh, jitter);
    ask_again_if_notified(s, now);
}

void dns_secondary_failed(DnsSecondary *s, uint64_t now, uint32_t jitter)
{
    uint32_t retry = s->retry;

    if (!s->has_zone) {
        retry = s->failures < 9 ? DNS_RETRY_FIRST << s->failures
                                : RETRY_FIRST_MAX;
        retry = between(retry, DNS_RETRY_FIRST, RETRY_FIRST_MAX);
    }
    s->is_asking = false;
    s->failures++;
    s->next = now + spread(retry, jitter);
    ask_again_if_notified(s, now);
}

void dns_secondary_notify(DnsSecondary *s, bool has_serial, uint32_t serial,
                          uint64_t now)
{
    if (s->has_zone && !s->has_expired && has_serial &&
        !dns_serial_newer(serial, s->serial)) {
        return;
    }
    if (s->is_asking) {
        s->is_notified = true;
    } else {
        s->next = now;
    }
}
