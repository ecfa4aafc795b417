/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints an agent's bindings and counters */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/metrics.h"
#include "base/units.h"
#include "ha/service/show.h"

#define PIECE           64u     /* maximum number of bindings in a piece */

typedef enum Step { HEAD, BINDINGS, TAIL, DONE } Step;

struct Mip6Show {
    Mip6ShowFormat format;
    BaseJson json;
    Mip6Agent agent;            /* a copy; only @ops may be dereferenced */
    unsigned groups;            /* number with listeners */
    unsigned contested;         /* bindings */
    bool fast;                  /* the fast path is in use */
    Mip6AgentPassed passed;     /* packets on the fast path */
    int64_t now;
    GArray *bindings;           /* Mip6AgentBinding, by home address */
    guint next;                 /* index of the next one */
    Step step;
};

static gint compare_home(gconstpointer a, gconstpointer b)
{
    const Mip6AgentBinding *x = a, *y = b;

    return memcmp(&x->home, &y->home, sizeof(x->home));
}

/* Packets of the fast path. */
static bool passed(const Mip6Show *s, const struct in6_addr *home,
                   Mip6AgentPassed *packets)
{
    const Mip6Agent *a = &s->agent;

    *packets = (Mip6AgentPassed) { 0 };
    return a->ops->passed && a->ops->passed(a->opaque, home, packets);
}

Mip6Show *mip6_show_new(const Mip6Agent *a, int64_t now, Mip6ShowFormat format)
{
    Mip6Show *s = g_new0(Mip6Show, 1);
    GHashTableIter iter;
    gpointer value;

    s->format = format;
    s->agent = *a;
    s->groups = g_hash_table_size(a->groups.groups);
    s->fast = passed(s, NULL, &s->passed);
    s->agent.sent += s->passed.sent;
    s->agent.received += s->passed.received;
    s->now = now;
    s->bindings = g_array_sized_new(FALSE, FALSE, sizeof(Mip6AgentBinding),
                                    g_hash_table_size(a->bindings));
    g_hash_table_iter_init(&iter, a->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Mip6AgentBinding *b = value;

        if (!b->tentative) {
            g_array_append_vals(s->bindings, b, 1);
            s->contested += b->contest.state == MIP6_CONTESTED;
        }
    }
    if (format != MIP6_SHOW_METRICS) {
        g_array_sort(s->bindings, compare_home);
    }
    return s;
}

void mip6_show_free(Mip6Show *s)
{
    g_array_free(s->bindings, TRUE);
    g_free(s);
}

static const char *text_of(char text[INET6_ADDRSTRLEN],
                           const struct in6_addr *addr)
{
    return inet_ntop(AF_INET6, addr, text, INET6_ADDRSTRLEN);
}

/* Remaining lifetime in seconds, rounded up. */
static unsigned left(const Mip6Show *s, const Mip6AgentBinding *b)
{
    return b->expires > s->now ? (b->expires - s->now + SECOND - 1) / SECOND
                               : 0;
}

/* --- text ----------------------------------------------------------------- */

static void text_head(Mip6Show *s, GString *out)
{
    char addr[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "agent %s/%u, %u of %u bindings\n",
                           text_of(addr, &s->agent.config.address),
                           s->agent.config.prefix_len, s->bindings->len,
                           s->agent.config.bindings_max);
    if (s->bindings->len) {
        g_string_append_printf(out, "%-28s %-28s %8s %6s %10s %10s\n",
                               "home address", "care-of address", "sequence",
                               "left", "sent", "received");
    }
}

static void text_binding(Mip6Show *s, const Mip6AgentBinding *b,
                         GString *out)
{
    char home[INET6_ADDRSTRLEN], care_of[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "%-28s %-28s %8u %5us %10" PRIu64 " %10"
                           PRIu64 "%s\n", text_of(home, &b->home),
                           text_of(care_of, &b->care_of), b->sequence,
                           left(s, b), b->sent, b->received,
                           b->contest.state == MIP6_CONTESTED ? " contested"
                                                              : "");
}

static void text_tail(Mip6Show *s, GString *out)
{
    const Mip6Agent *a = &s->agent;

    g_string_append_printf(out, "registered %" PRIu64 ", ended %" PRIu64
                           ", expired %" PRIu64 ", revoked %" PRIu64
                           ", restored %" PRIu64 "\n", a->registered, a->ended,
                           a->expired, a->revoked, a->restored);
    g_string_append_printf(out, "refused %" PRIu64, a->refused);
    for (unsigned i = 0; i < G_N_ELEMENTS(a->answered); i++) {
        if (a->answered[i] && !mip6_ba_accepted(i)) {
            g_string_append_printf(out, ", status %u: %" PRIu64, i,
                                   a->answered[i]);
        }
    }
    g_string_append_printf(out, "\nerrors sent %" PRIu64 ", muted %" PRIu64
                           "\nstragglers sent on %" PRIu64
                           "\nfast path %s, sent %" PRIu64
                           ", received %" PRIu64
                           "\nprefix advertisements asked for %" PRIu64
                           ", others %" PRIu64 ", not answered %" PRIu64
                           "\ndropped", a->errors, a->muted, a->stragglers,
                           s->fast ? "on" : "off", s->passed.sent,
                           s->passed.received, a->solicited, a->advertised,
                           a->unheard);
    for (unsigned i = 0; i < MIP6_AGENT_DROPS; i++) {
        g_string_append_printf(out, "%s %s %" PRIu64, i ? "," : "",
                               mip6_agent_drop_name(i), a->dropped[i]);
    }
    g_string_append_c(out, '\n');
    if (a->config.multicast) {
        g_string_append_printf(out, "listens to %u groups, reports %" PRIu64
                               ", queries %" PRIu64 ", refused %" PRIu64 "\n",
                               s->groups, a->groups.reports, a->groups.queried,
                               a->groups.refused);
    }
}

/* --- JSON ----------------------------------------------------------------- */

static void put(void *opaque, const char *text, size_t len)
{
    g_string_append_len(opaque, text, len);
}

static void json_head(Mip6Show *s, GString *out)
{
    BaseJson *j = &s->json;
    char addr[INET6_ADDRSTRLEN];

    j->out = (BaseOut) { put, out };
    base_json_open(j, NULL, '{');
    base_json_text(j, "address", text_of(addr, &s->agent.config.address));
    base_json_number(j, "prefix-length", s->agent.config.prefix_len);
    base_json_number(j, "bindings-max", s->agent.config.bindings_max);
    base_json_open(j, "bindings", '[');
}

static void json_binding(Mip6Show *s, const Mip6AgentBinding *b, GString *out)
{
    BaseJson *j = &s->json;
    char addr[INET6_ADDRSTRLEN];

    j->out = (BaseOut) { put, out };
    base_json_open(j, NULL, '{');
    base_json_text(j, "home", text_of(addr, &b->home));
    base_json_text(j, "care-of", text_of(addr, &b->care_of));
    base_json_number(j, "sequence", b->sequence);
    base_json_number(j, "lifetime", b->lifetime * MIP6_LIFETIME_UNIT);
    base_json_number(j, "left", left(s, b));
    base_json_number(j, "sent", b->sent);
    base_json_number(j, "received", b->received);
    base_json_bool(j, "contested", b->contest.state == MIP6_CONTESTED);
    base_json_close(j, '}');
}

static void json_tail(Mip6Show *s, GString *out)
{
    const Mip6Agent *a = &s->agent;
    BaseJson *j = &s->json;
    char status[4];

    j->out = (BaseOut) { put, out };
    base_json_close(j, ']');
    base_json_number(j, "registered", a->registered);
    base_json_number(j, "refused", a->refused);
    base_json_number(j, "ended", a->ended);
    base_json_number(j, "expired", a->expired);
    base_json_number(j, "revoked", a->revoked);
    base_json_number(j, "restored", a->restored);
    base_json_number(j, "errors", a->errors);
    base_json_number(j, "muted", a->muted);
    base_json_number(j, "sent", a->sent);
    base_json_number(j, "received", a->received);
    base_json_number(j, "stragglers", a->stragglers);
    base_json_bool(j, "fast-path", s->fast);
    base_json_number(j, "fast-sent", s->passed.sent);
    base_json_number(j, "fast-received", s->passed.received);
    base_json_number(j, "prefix-answers", a->solicited);
    base_json_number(j, "prefix-advertisements", a->advertised);
    base_json_number(j, "prefix-unheard", a->unheard);
    base_json_open(j, "acknowledged", '{');
    for (unsigned i = 0; i < G_N_ELEMENTS(a->answered); i++) {
        if (a->answered[i]) {
            g_snprintf(status, sizeof(status), "%u", i);
            base_json_number(j, status, a->answered[i]);
        }
    }
    base_json_close(j, '}');
    base_json_open(j, "dropped", '{');
    for (unsigned i = 0; i < MIP6_AGENT_DROPS; i++) {
        base_json_number(j, mip6_agent_drop_name(i), a->dropped[i]);
    }
    base_json_close(j, '}');
    base_json_number(j, "groups", s->groups);
    base_json_number(j, "group-reports", a->groups.reports);
    base_json_number(j, "group-queries", a->groups.queried);
    base_json_number(j, "groups-refused", a->groups.refused);
    base_json_close(j, '}');
    base_out_text(&j->out, "\n");
}

/* --- Prometheus ----------------------------------------------------------- */

static void metrics(Mip6Show *s, GString *out)
{
    const BaseMetrics to = { { put, out }, "vmmnet_ha_" }, *m = &to;
    const Mip6Agent *a = &s->agent;
    char status[4];

    base_metric_only(m, "bindings", "gauge", "Valid bindings.", s->bindings->len);
    base_metric_only(m, "bindings_max", "gauge", "Maximum number of bindings.",
          s->agent.config.bindings_max);
    base_metric_only(m, "contested_bindings", "gauge",
          "Bindings that go to and fro between nodes.", s->contested);
    base_metric_only(m, "registrations_total", "counter",
          "Binding Updates that made or changed a binding.", a->registered);
    base_metric_only(m, "bindings_restored_total", "counter",
          "Bindings restored from an earlier agent.", a->restored);
    base_metric(m, "bindings_ended_total", "counter", "Bindings that ended.");
    base_metric_value(m, "bindings_ended_total", "by", "node", a->ended);
    base_metric_value(m, "bindings_ended_total", "by", "lifetime", a->expired);
    base_metric_value(m, "bindings_ended_total", "by", "configuration", a->revoked);
    base_metric(m, "acknowledgements_total", "counter",
           "Binding Acknowledgements by their status.");
    for (unsigned i = 0; i < G_N_ELEMENTS(a->answered); i++) {
        if (a->answered[i]) {
            g_snprintf(status, sizeof(status), "%u", i);
            base_metric_value(m, "acknowledgements_total", "status", status,
                   a->answered[i]);
        }
    }
    base_metric(m, "errors_total", "counter",
           "ICMPv6 and Binding Errors; muted: above the rate limit.");
    base_metric_value(m, "errors_total", "sent", "yes", a->errors);
    base_metric_value(m, "errors_total", "sent", "muted", a->muted);
    base_metric(m, "tunnel_packets_total", "counter",
           "Packets to and from mobile nodes.");
    base_metric_value(m, "tunnel_packets_total", "direction", "sent", a->sent);
    base_metric_value(m, "tunnel_packets_total", "direction", "received", a->received);
    base_metric_only(m, "fast_path", "gauge",
          "Whether the kernel forwards simple packets by itself.", s->fast);
    base_metric(m, "fast_path_packets_total", "counter",
           "Packets that the kernel has forwarded by itself.");
    base_metric_value(m, "fast_path_packets_total", "direction", "sent",
           s->passed.sent);
    base_metric_value(m, "fast_path_packets_total", "direction", "received",
           s->passed.received);
    base_metric_only(m, "straggling_packets_total", "counter",
          "Packets from previous care-of addresses that were sent on.",
          a->stragglers);
    base_metric(m, "prefix_advertisements_total", "counter",
           "Mobile prefix advertisements; unheard: without an answer.");
    base_metric_value(m, "prefix_advertisements_total", "kind", "solicited",
           a->solicited);
    base_metric_value(m, "prefix_advertisements_total", "kind", "unsolicited",
           a->advertised);
    base_metric_value(m, "prefix_advertisements_total", "kind", "unheard", a->unheard);
    base_metric(m, "dropped_packets_total", "counter",
           "Dropped packets, by reason.");
    for (unsigned i = 0; i < MIP6_AGENT_DROPS; i++) {
        base_metric_value(m, "dropped_packets_total", "reason", mip6_agent_drop_name(i),
               a->dropped[i]);
    }
    base_metric_only(m, "groups", "gauge", "Groups that mobile nodes listen to.",
          s->groups);
    base_metric_only(m, "group_reports_total", "counter",
          "Reports of mobile nodes about their groups.", a->groups.reports);
    base_metric_only(m, "group_queries_total", "counter",
          "Queries to mobile nodes about their groups.", a->groups.queried);
    base_metric_only(m, "groups_refused_total", "counter",
          "Groups refused because of a limit.", a->groups.refused);
}

/* --- pieces --------------------------------------------------------------- */

static const struct {
    void (*head)(Mip6Show *s, GString *out);
    void (*binding)(Mip6Show *s, const Mip6AgentBinding *b, GString *out);
    void (*tail)(Mip6Show *s, GString *out);
} formats[] = {
    [MIP6_SHOW_TEXT] = { text_head, text_binding, text_tail },
    [MIP6_SHOW_JSON] = { json_head, json_binding, json_tail },
    [MIP6_SHOW_METRICS] = { .tail = metrics },
};

static void some_bindings(Mip6Show *s, GString *out)
{
    guint end = MIN(s->next + PIECE, s->bindings->len);

    for (; s->next < end; s->next++) {
        Mip6AgentBinding *b = &g_array_index(s->bindings, Mip6AgentBinding,
                                             s->next);
        Mip6AgentPassed packets;

        /*
         * A binding that has ended meanwhile has no fast path counters any
         * more.
         */
        passed(s, &b->home, &packets);
        b->sent += packets.sent;
        b->received += packets.received;
        formats[s->format].binding(s, b, out);
    }
}

bool mip6_show_more(Mip6Show *s, GString *out)
{
    switch (s->step) {
    case HEAD:
        if (formats[s->format].head) {
            formats[s->format].head(s, out);
        }
        s->step = formats[s->format].binding ? BINDINGS : TAIL;
        return true;
    case BINDINGS:
        some_bindings(s, out);
        s->step = s->next < s->bindings->len ? BINDINGS : TAIL;
        return true;
    case TAIL:
        formats[s->format].tail(s, out);
        s->step = DONE;
        return true;
    default:
        return false;
    }
}
