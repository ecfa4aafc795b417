/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secondary zones: requests to ask for them */
#include <string.h>

#include "base/log.h"
#include "dnsd/server/config/keys.h"
#include "dnsd/server/secondary/line.h"
#include "dnsd/server/secondary/secondaries.h"
#include "dnsd/server/secondary/secondary.h"
#include "dnsd/server/service/refusals.h"

/* Ask the primary first that announced the newer zone. */
static void begin_with(DnsdCopy *s, const DnsdAddr *from)
{
    for (size_t i = 0; i < s->config->primaries; i++) {
        DnsdAddr addr = dnsd_addr_of(
            (const struct sockaddr *)&s->config->primary[i].at.addr);

        if (!memcmp(&addr, from, sizeof(addr))) {
            s->at = i;
            return;
        }
    }
}

/* At most once a second, however many requests there are */
static void ask_now(DnsdSecondaries *all, DnsdCopy *s, uint64_t now)
{
    if (s->asked != now) {
        dnsd_round_tick(all, s, now);
    }
}

static void hear(DnsdSecondaries *all, DnsdCopy *s, const DnsdAddr *from,
                 const DnsNotified *notified)
{
    uint64_t now = dnsd_line_clock();

    if (!s->timers.is_asking) {
        begin_with(s, from);
    }
    if (notified->has_serial && s->dyn->store &&
        dns_serial_newer(notified->serial, dns_store_serial(s->dyn->store))) {
        s->has_news = true;
        s->news = notified->serial;
    }
    dns_secondary_notify(&s->timers, notified->has_serial, notified->serial,
                         now);
    ask_now(all, s, now);
}

/* Is it a zone of ours that is not copied from anywhere? */
static bool is_served(const DnsdSecondaries *all, const DnsQuestion *zone)
{
    const DnsdZoneConfig *config;
    ZoneKey key;

    return zone_key_read(&key, zone->name.wire, zone->name.len) &&
           dnsd_state_find(all->state, zone->qclass, &key, &config);
}

static DnsdNotifyEnd take_notify(DnsdSecondaries *all, const DnsdAddr *from,
                                 const DnsName *key, const uint8_t *msg,
                                 size_t len)
{
    DnsNotified notified;
    DnsdCopy **found;

    if (dns_notify_parse(msg, len, &notified)) {
        return DNSD_NOTIFY_MALFORMED;
    }
    dnsd_name_lower(&notified.zone.name);
    found = notified.zone.qclass == DNS_CLASS_IN
            ? dnsd_secondaries_find(all, &notified.zone.name) : NULL;
    if (!found) {
        return is_served(all, &notified.zone) ? DNSD_NOTIFY_REFUSED
                                              : DNSD_NOTIFY_NO_ZONE;
    }
    if (!dnsd_askers_have((*found)->config->notifier,
                          (*found)->config->notifiers, from, key)) {
        return DNSD_NOTIFY_REFUSED;
    }
    hear(all, *found, from, &notified);
    return DNSD_NOTIFY_TAKEN;
}

static void trace_notify(const DnsdAddr *from, const DnsName *key,
                         DnsdNotifyEnd end)
{
    char peer[DNSD_PEER_TEXT_MAX];

    if (base_log_has(LOG_DEBUG)) {
        dnsd_peer_text(from, key, peer);
        base_log(LOG_DEBUG, "NOTIFY of %s: %s", peer,
                 dnsd_notify_end_name(end));
    }
}

uint16_t dnsd_secondaries_notify(void *opaque, const DnsdAddr *from,
                                 const DnsName *key, const uint8_t *msg,
                                 size_t len)
{
    static const uint16_t rcode[DNSD_NOTIFY_ENDS] = {
        [DNSD_NOTIFY_TAKEN] = DNS_RCODE_NOERROR,
        [DNSD_NOTIFY_REFUSED] = DNS_RCODE_REFUSED,
        [DNSD_NOTIFY_NO_ZONE] = DNS_RCODE_NOTAUTH,
        [DNSD_NOTIFY_MALFORMED] = DNS_RCODE_FORMERR,
    };
    DnsdSecondaries *all = opaque;
    DnsdNotifyEnd end = take_notify(all, from, key, msg, len);

    all->notified[end]++;
    trace_notify(from, key, end);
    return rcode[end];
}

bool dnsd_secondaries_refresh(DnsdSecondaries *all, const char *zone,
                              bool force, DnsdText *text)
{
    uint64_t now = dnsd_line_clock();
    DnsdCopy **found = NULL;
    DnsName name;

    if (dns_name_from_text(&name, zone) >= 0) {
        dnsd_name_lower(&name);
        found = dnsd_secondaries_find(all, &name);
    }
    if (!found) {
        dnsd_text_add(text, "'%s' is no zone with 'primaries' here\n", zone);
        return false;
    }
    if (force) {
        dnsd_copy_force(*found, DNSD_FORCE_NEXT);
    }
    dns_secondary_notify(&(*found)->timers, false, 0, now);
    dnsd_round_tick(all, *found, now);
    dnsd_text_add(text, "%s: %s is asked%s\n", zone,
                  (*found)->config->primary[(*found)->at].at.text,
                  !force ? "" : (*found)->force == DNSD_FORCE_NOW
                  ? " for all of it, whatever its serial"
                  : "; then for all of it, whatever its serial");
    return true;
}
