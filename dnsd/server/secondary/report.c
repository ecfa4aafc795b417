/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Status and metrics of secondary zones */
#include <inttypes.h>

#include "dnsd/server/secondary/line.h"
#include "dnsd/server/secondary/secondaries.h"
#include "dnsd/server/secondary/secondary.h"

static const char *const ends[DNSD_IN_ENDS] = {
    [DNSD_IN_AXFR] = "axfr",
    [DNSD_IN_IXFR] = "ixfr",
    [DNSD_IN_CURRENT] = "current",
    [DNSD_IN_FAILED] = "failed",
};

static const char *const notifies[DNSD_NOTIFY_ENDS] = {
    [DNSD_NOTIFY_TAKEN] = "taken",
    [DNSD_NOTIFY_REFUSED] = "refused",
    [DNSD_NOTIFY_NO_ZONE] = "no-zone",
    [DNSD_NOTIFY_MALFORMED] = "malformed",
};

const char *dnsd_notify_end_name(DnsdNotifyEnd end)
{
    return notifies[end];
}

void dnsd_secondaries_metrics(const DnsdSecondaries *all, DnsdText *text)
{
    const char *reasons[DNS_XFR_REASONS];
    char name[DNS_NAME_TEXT_MAX];

    for (unsigned i = 0; i < DNS_XFR_REASONS; i++) {
        reasons[i] = dns_xfr_reason_word(i);
    }
    dnsd_metrics_counts(text, all->ended, "transfers_in_total", "result", ends,
                        DNSD_IN_ENDS);
    dnsd_metrics_counts(text, all->failed, "transfers_in_failed_total",
                        "reason", reasons, DNS_XFR_REASONS);
    dnsd_metrics_counts(text, all->notified, "notifies_total", "result",
                        notifies, DNSD_NOTIFY_ENDS);
    dnsd_metrics_type(text, "zone_last_success_seconds", "gauge");
    for (size_t i = 0; i < all->count && i < DNSD_METRICS_ZONES; i++) {
        dns_name_to_text(&all->one[i]->name, name);
        dnsd_metrics_zone(text, "zone_last_success_seconds", name,
                          all->one[i]->success);
    }
}

static uint64_t report_left(uint64_t when, uint64_t now)
{
    return when > now ? when - now : 0;
}

void dnsd_secondaries_status(const DnsdSecondaries *all, const DnsName *name,
                             DnsdCopyStatus *status)
{
    DnsdCopy **at = dnsd_secondaries_find(all, name);
    const DnsSecondary *timers = at ? &(*at)->timers : NULL;
    uint64_t now = dnsd_line_clock();

    *status = (DnsdCopyStatus) { .is_known = at };
    if (at) {
        status->is_asking = timers->is_asking;
        status->has_zone = timers->has_zone;
        status->failures = timers->failures;
        status->refresh_s = report_left(timers->next, now);
        status->expire_s = report_left(timers->fresh + timers->expire, now);
        status->success = (*at)->success;
        status->error = (*at)->error;
    }
}

bool dnsd_secondaries_heard(const DnsdSecondaries *all, const DnsName *name,
                            size_t which, uint32_t *serial)
{
    DnsdCopy **at = dnsd_secondaries_find(all, name);
    const DnsdHeard *heard = at ? (*at)->heard : NULL;

    if (!heard || !heard[which].is_known) {
        return false;
    }
    *serial = heard[which].serial;
    return true;
}
