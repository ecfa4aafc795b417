/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters in Prometheus' text format */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/dns/answer/answer.h"
#include "base/metrics.h"
#include "dnsd/server/core/metrics.h"
#include "net/dns/wire/wire.h"

#define METRICS(text)   { { text_put, text }, "vmmnet_dnsd_" }

static const struct {
    uint16_t type;
    const char *name;
} types[DNSD_TYPES] = {
    { DNS_TYPE_A, "A" },
    { DNS_TYPE_AAAA, "AAAA" },
    { DNS_TYPE_NS, "NS" },
    { DNS_TYPE_CNAME, "CNAME" },
    { DNS_TYPE_SOA, "SOA" },
    { DNS_TYPE_PTR, "PTR" },
    { DNS_TYPE_MX, "MX" },
    { DNS_TYPE_TXT, "TXT" },
    { DNS_TYPE_SRV, "SRV" },
    { DNS_TYPE_NAPTR, "NAPTR" },
    { DNS_TYPE_DS, "DS" },
    { DNS_TYPE_SSHFP, "SSHFP" },
    { DNS_TYPE_DNSKEY, "DNSKEY" },
    { DNS_TYPE_NSEC3PARAM, "NSEC3PARAM" },
    { DNS_TYPE_TLSA, "TLSA" },
    { DNS_TYPE_SVCB, "SVCB" },
    { DNS_TYPE_HTTPS, "HTTPS" },
    { DNS_TYPE_CAA, "CAA" },
    { DNS_TYPE_ANY, "ANY" },
    { 0, "other" },
};

static const char *const rcodes[DNSD_RCODES] = {
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED",
    "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH", "NOTZONE",
    [DNS_RCODE_BADVERS] = "BADVERS",
    [DNS_RCODE_BADCOOKIE] = "BADCOOKIE",
};

static const char *const kinds[DNSD_KINDS] = {
    [DNS_ANSWER_RECORDS] = "records",
    [DNS_ANSWER_NODATA] = "nodata",
    [DNS_ANSWER_NXDOMAIN] = "nxdomain",
    [DNS_ANSWER_REFERRAL] = "referral",
    [DNS_ANSWER_ERROR] = "error",
    [DNS_ANSWER_EMPTY] = "empty",
};

/* Metrics with one label, or without (label NULL: the metric itself) */
static const struct {
    unsigned which;
    const char *metric, *label, *of;
} singles[] = {
    { DNSD_COUNT_UDP, "requests_total", "transport", "udp" },
    { DNSD_COUNT_TCP, "requests_total", "transport", "tcp" },
    { DNSD_COUNT_EDNS, "requests_edns_total", NULL, NULL },
    { DNSD_COUNT_DNSSEC_OK, "requests_dnssec_ok_total", NULL, NULL },
    { DNSD_COUNT_HANDED_OVER, "requests_control_total", NULL, NULL },
    { DNSD_COUNT_COOKIE_NONE, "cookies_total", "state", "none" },
    { DNSD_COUNT_COOKIE_MALFORMED, "cookies_total", "state", "malformed" },
    { DNSD_COUNT_COOKIE_CLIENT, "cookies_total", "state", "client" },
    { DNSD_COUNT_COOKIE_VALID, "cookies_total", "state", "valid" },
    { DNSD_COUNT_TRUNCATED, "replies_truncated_total", NULL, NULL },
    { DNSD_COUNT_DENIED, "replies_denied_total", NULL, NULL },
    { DNSD_COUNT_SLIP_TRUNCATED, "rate_limit_slips_total",
      "reply", "truncated" },
    { DNSD_COUNT_SLIP_BADCOOKIE, "rate_limit_slips_total",
      "reply", "badcookie" },
    { DNSD_COUNT_RESOLVER_KEPT, "resolver_queries_total", "from", "kept" },
    { DNSD_COUNT_RESOLVER_ASKED, "resolver_queries_total",
      "from", "resolver" },
    { DNSD_COUNT_BOGUS_FAILED, "resolver_bogus_total", "reply", "servfail" },
    { DNSD_COUNT_BOGUS_SHOWN, "resolver_bogus_total", "reply", "data" },
    { DNSD_DROP_IGNORED, "drops_total", "reason", "no-query" },
    { DNSD_DROP_LONG, "drops_total", "reason", "too-long" },
    { DNSD_DROP_PORT, "drops_total", "reason", "port-0" },
    { DNSD_DROP_RATE, "drops_total", "reason", "rate-limit" },
    { DNSD_DROP_CONTROL, "drops_total", "reason", "control-queue" },
    { DNSD_DROP_RESOLVER_CLIENT, "drops_total",
      "reason", "resolver-client" },
    { DNSD_DROP_RESOLVER_FULL, "drops_total", "reason", "resolver-full" },
    { DNSD_DROP_SEND, "drops_total", "reason", "send" },
    { DNSD_TCP_ACCEPTED, "tcp_accepted_total", NULL, NULL },
    { DNSD_TCP_CLOSED, "tcp_closed_total", "reason", "client" },
    { DNSD_TCP_PER_CLIENT, "tcp_closed_total", "reason", "per-client" },
    { DNSD_TCP_EVICTED, "tcp_closed_total", "reason", "evicted" },
    { DNSD_TCP_IDLE, "tcp_closed_total", "reason", "idle" },
    { DNSD_TCP_MALFORMED, "tcp_closed_total", "reason", "malformed" },
    { DNSD_TCP_FAILED, "tcp_closed_total", "reason", "failed" },
};

void dnsd_counters_add(uint64_t sums[DNSD_COUNTS], const DnsdCounters *c)
{
    for (unsigned i = 0; i < DNSD_COUNTS; i++) {
        sums[i] += atomic_load_explicit(&c->n[i], memory_order_relaxed);
    }
}

unsigned dnsd_type_index(uint16_t type)
{
    unsigned i = 0;

    while (i < DNSD_TYPES - 1 && types[i].type != type) {
        i++;
    }
    return i;
}

void dnsd_text_add(DnsdText *text, const char *format, ...)
{
    size_t room = text->len < text->room ? text->room - text->len : 0;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(room ? text->at + text->len : NULL, room, format, args);
    va_end(args);
    text->len += len > 0 ? len : 0;
}

static void text_put(void *opaque, const char *part, size_t len)
{
    dnsd_text_add(opaque, "%.*s", (int)len, part);
}

void dnsd_metrics_type(DnsdText *text, const char *metric, const char *type)
{
    base_metric(&(BaseMetrics) METRICS(text), metric, type, NULL);
}

void dnsd_metrics_counts(DnsdText *text, const uint64_t *n, const char *metric,
                         const char *label, const char *const *names,
                         unsigned count)
{
    dnsd_metrics_type(text, metric, "counter");
    for (unsigned i = 0; i < count; i++) {
        if (names[i]) {
            base_metric_value(&(BaseMetrics) METRICS(text), metric, label,
                              names[i], n[i]);
        }
    }
}

void dnsd_metrics_rcodes(DnsdText *text, const uint64_t n[DNSD_RCODES],
                         const char *metric)
{
    dnsd_metrics_counts(text, n, metric, "rcode", rcodes, DNSD_RCODES);
}

static void add_singles(DnsdText *text, const DnsdNumbers *numbers)
{
    const BaseMetrics m = METRICS(text);
    const char *before = "";

    for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
        if (strcmp(before, singles[i].metric)) {
            dnsd_metrics_type(text, singles[i].metric, "counter");
        }
        before = singles[i].metric;
        base_metric_value(&m, singles[i].metric, singles[i].label,
                          singles[i].of, numbers->sum[singles[i].which]);
        if (singles[i].which == DNSD_DROP_SEND) {
            base_metric_value(&m, "drops_total", "reason", "receive-buffer",
                              numbers->kernel_drops);
        }
    }
}

static void add_gauge(DnsdText *text, const char *metric, uint64_t value)
{
    base_metric_only(&(BaseMetrics) METRICS(text), metric, "gauge", NULL,
                     value);
}

void dnsd_metrics_server(DnsdText *text, const DnsdNumbers *numbers)
{
    const char *names[DNSD_TYPES];

    for (unsigned i = 0; i < DNSD_TYPES; i++) {
        names[i] = types[i].name;
    }
    add_gauge(text, "threads", numbers->threads);
    add_singles(text, numbers);
    add_gauge(text, "tcp_connections", numbers->connections);
    add_gauge(text, "resolver_waiting", numbers->resolver_waiting);
    dnsd_metrics_rcodes(text, numbers->sum + DNSD_COUNT_RCODE,
                        "replies_total");
    dnsd_metrics_counts(text, numbers->sum + DNSD_COUNT_KIND,
                        "replies_kind_total", "kind", kinds, DNSD_KINDS);
    dnsd_metrics_counts(text, numbers->sum + DNSD_COUNT_TYPE,
                        "questions_total", "type", names, DNSD_TYPES);
    dnsd_metrics_counts(text, (uint64_t[]) {
        numbers->reloads, numbers->reloads_failed,
    }, "reloads_total", "result", (const char *[]) { "done", "failed" }, 2);
}

void dnsd_metrics_zone(DnsdText *text, const char *metric, const char *zone,
                       uint64_t value)
{
    base_metric_value(&(BaseMetrics) METRICS(text), metric, "zone", zone,
                      value);
}

static const char *const zone_states[DNSD_ZONE_STATES] = {
    [DNSD_ZONE_SERVED] = "served", [DNSD_ZONE_MISSING] = "no-image",
    [DNSD_ZONE_DAMAGED] = "damaged", [DNSD_ZONE_EXPIRED] = "expired",
};

const char *dnsd_zone_state_name(DnsdZoneState state)
{
    return zone_states[state];
}

void dnsd_metrics_zones(DnsdText *text, const uint64_t n[DNSD_ZONE_STATES])
{
    const BaseMetrics m = METRICS(text);

    base_metric(&m, "zones", "gauge", NULL);
    for (unsigned i = 0; i < DNSD_ZONE_STATES; i++) {
        base_metric_value(&m, "zones", "state", zone_states[i], n[i]);
    }
}

void dnsd_metrics_states_begin(DnsdText *text)
{
    base_metric(&(BaseMetrics) METRICS(text), "zone_state", "gauge",
                "0: served, 1: no image, 2: damaged, 3: expired; all but 0 are "
                "answered SERVFAIL");
}

void dnsd_metrics_state(DnsdText *text, const char *zone, DnsdZoneState state)
{
    dnsd_metrics_zone(text, "zone_state", zone, state);
}

void dnsd_metrics_serials_begin(DnsdText *text)
{
    dnsd_metrics_type(text, "zone_serial", "gauge");
}

void dnsd_metrics_serial(DnsdText *text, const char *zone, uint32_t serial)
{
    dnsd_metrics_zone(text, "zone_serial", zone, serial);
}
