/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints an agent's bindings and counters */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "ha/service/show.h"
#include "base/units.h"

#define PIECE           64u     /* maximum number of bindings in a piece */

typedef enum Step { HEAD, BINDINGS, TAIL, DONE } Step;

struct Mip6Show {
    Mip6ShowFormat format;
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

static void text_head(const Mip6Show *s, GString *out)
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

static void text_binding(const Mip6Show *s, const Mip6AgentBinding *b,
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

static void text_tail(const Mip6Show *s, GString *out)
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

static void json_head(const Mip6Show *s, GString *out)
{
    char addr[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "{\"address\": \"%s\", \"prefix-length\": %u, "
                           "\"bindings-max\": %u, \"bindings\": [",
                           text_of(addr, &s->agent.config.address),
                           s->agent.config.prefix_len,
                           s->agent.config.bindings_max);
}

static void json_binding(const Mip6Show *s, const Mip6AgentBinding *b,
                         GString *out)
{
    char home[INET6_ADDRSTRLEN], care_of[INET6_ADDRSTRLEN];

    g_string_append_printf(out, "%s{\"home\": \"%s\", \"care-of\": \"%s\", "
                           "\"sequence\": %u, \"lifetime\": %u, "
                           "\"left\": %u, \"sent\": %" PRIu64
                           ", \"received\": %" PRIu64 ", \"contested\": %s}",
                           s->next ? ", " : "",
                           text_of(home, &b->home),
                           text_of(care_of, &b->care_of), b->sequence,
                           b->lifetime * MIP6_LIFETIME_UNIT, left(s, b),
                           b->sent, b->received,
                           b->contest.state == MIP6_CONTESTED ? "true"
                                                              : "false");
}

static void json_tail(const Mip6Show *s, GString *out)
{
    const Mip6Agent *a = &s->agent;
    const char *comma = "";

    g_string_append_printf(out, "], \"registered\": %" PRIu64
                           ", \"refused\": %" PRIu64 ", \"ended\": %" PRIu64
                           ", \"expired\": %" PRIu64 ", \"revoked\": %" PRIu64
                           ", \"restored\": %" PRIu64
                           ", \"errors\": %" PRIu64 ", \"muted\": %" PRIu64
                           ", \"sent\": %" PRIu64 ", \"received\": %" PRIu64
                           ", \"stragglers\": %" PRIu64
                           ", \"fast-path\": %s, \"fast-sent\": %" PRIu64
                           ", \"fast-received\": %" PRIu64
                           ", \"prefix-answers\": %" PRIu64
                           ", \"prefix-advertisements\": %" PRIu64
                           ", \"prefix-unheard\": %" PRIu64
                           ", \"acknowledged\": {", a->registered, a->refused,
                           a->ended, a->expired, a->revoked, a->restored,
                           a->errors,
                           a->muted, a->sent, a->received, a->stragglers,
                           s->fast ? "true" : "false", s->passed.sent,
                           s->passed.received,
                           a->solicited,
                           a->advertised, a->unheard);
    for (unsigned i = 0; i < G_N_ELEMENTS(a->answered); i++) {
        if (a->answered[i]) {
            g_string_append_printf(out, "%s\"%u\": %" PRIu64, comma, i,
                                   a->answered[i]);
            comma = ", ";
        }
    }
    g_string_append(out, "}, \"dropped\": {");
    for (unsigned i = 0; i < MIP6_AGENT_DROPS; i++) {
        g_string_append_printf(out, "%s\"%s\": %" PRIu64, i ? ", " : "",
                               mip6_agent_drop_name(i), a->dropped[i]);
    }
    g_string_append_printf(out, "}, \"groups\": %u, \"group-reports\": %" PRIu64
                           ", \"group-queries\": %" PRIu64
                           ", \"groups-refused\": %" PRIu64 "}\n", s->groups,
                           a->groups.reports, a->groups.queried,
                           a->groups.refused);
}

/* --- Prometheus ----------------------------------------------------------- */

static void metric(GString *out, const char *name, const char *type,
                   const char *help)
{
    g_string_append_printf(out, "# HELP vmmnet_ha_%s %s\n"
                           "# TYPE vmmnet_ha_%s %s\n", name, help, name, type);
}

static void sample(GString *out, const char *name, const char *label,
                   const char *value, uint64_t number)
{
    g_string_append_printf(out, "vmmnet_ha_%s{%s=\"%s\"} %" PRIu64 "\n", name,
                           label, value, number);
}

static void plain(GString *out, const char *name, const char *type,
                  const char *help, uint64_t number)
{
    metric(out, name, type, help);
    g_string_append_printf(out, "vmmnet_ha_%s %" PRIu64 "\n", name, number);
}

static void metrics(const Mip6Show *s, GString *out)
{
    const Mip6Agent *a = &s->agent;
    char status[4];

    plain(out, "bindings", "gauge", "Valid bindings.", s->bindings->len);
    plain(out, "bindings_max", "gauge", "Maximum number of bindings.",
          s->agent.config.bindings_max);
    plain(out, "contested_bindings", "gauge",
          "Bindings that go to and fro between nodes.", s->contested);
    plain(out, "registrations_total", "counter",
          "Binding Updates that made or changed a binding.", a->registered);
    plain(out, "bindings_restored_total", "counter",
          "Bindings restored from an earlier agent.", a->restored);
    metric(out, "bindings_ended_total", "counter", "Bindings that ended.");
    sample(out, "bindings_ended_total", "by", "node", a->ended);
    sample(out, "bindings_ended_total", "by", "lifetime", a->expired);
    sample(out, "bindings_ended_total", "by", "configuration", a->revoked);
    metric(out, "acknowledgements_total", "counter",
           "Binding Acknowledgements by their status.");
    for (unsigned i = 0; i < G_N_ELEMENTS(a->answered); i++) {
        if (a->answered[i]) {
            g_snprintf(status, sizeof(status), "%u", i);
            sample(out, "acknowledgements_total", "status", status,
                   a->answered[i]);
        }
    }
    metric(out, "errors_total", "counter",
           "ICMPv6 and Binding Errors; muted: above the rate limit.");
    sample(out, "errors_total", "sent", "yes", a->errors);
    sample(out, "errors_total", "sent", "muted", a->muted);
    metric(out, "tunnel_packets_total", "counter",
           "Packets to and from mobile nodes.");
    sample(out, "tunnel_packets_total", "direction", "sent", a->sent);
    sample(out, "tunnel_packets_total", "direction", "received", a->received);
    plain(out, "fast_path", "gauge",
          "Whether the kernel forwards simple packets by itself.", s->fast);
    metric(out, "fast_path_packets_total", "counter",
           "Packets that the kernel has forwarded by itself.");
    sample(out, "fast_path_packets_total", "direction", "sent",
           s->passed.sent);
    sample(out, "fast_path_packets_total", "direction", "received",
           s->passed.received);
    plain(out, "straggling_packets_total", "counter",
          "Packets from previous care-of addresses that were sent on.",
          a->stragglers);
    metric(out, "prefix_advertisements_total", "counter",
           "Mobile prefix advertisements; unheard: without an answer.");
    sample(out, "prefix_advertisements_total", "kind", "solicited",
           a->solicited);
    sample(out, "prefix_advertisements_total", "kind", "unsolicited",
           a->advertised);
    sample(out, "prefix_advertisements_total", "kind", "unheard", a->unheard);
    metric(out, "dropped_packets_total", "counter",
           "Dropped packets, by reason.");
    for (unsigned i = 0; i < MIP6_AGENT_DROPS; i++) {
        sample(out, "dropped_packets_total", "reason", mip6_agent_drop_name(i),
               a->dropped[i]);
    }
    plain(out, "groups", "gauge", "Groups that mobile nodes listen to.",
          s->groups);
    plain(out, "group_reports_total", "counter",
          "Reports of mobile nodes about their groups.", a->groups.reports);
    plain(out, "group_queries_total", "counter",
          "Queries to mobile nodes about their groups.", a->groups.queried);
    plain(out, "groups_refused_total", "counter",
          "Groups refused because of a limit.", a->groups.refused);
}

/* --- pieces --------------------------------------------------------------- */

static const struct {
    void (*head)(const Mip6Show *s, GString *out);
    void (*binding)(const Mip6Show *s, const Mip6AgentBinding *b, GString *out);
    void (*tail)(const Mip6Show *s, GString *out);
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
