/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmmnet-ha show: text, JSON and metrics of an agent with bindings */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "ha/service/show.h"

static void forward(void *opaque, const void *packet, size_t len)
{
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static const Mip6AgentOps ops = { .forward = forward, .proxy = proxy };

static void agent_with(Mip6Agent *a, unsigned bindings)
{
    Mip6AgentConfig config = {
        .prefix_len = 64,
        .lifetime_max = 150,
        .bindings_max = 10000,
        .mtu = 1500,
    };
    Mip6AgentBinding b = {
        .sequence = 7,
        .lifetime = 15,
        .expires = 60 * SECOND,
    };

    inet_pton(AF_INET6, "2001:db8:2000::1", &config.address);
    config.prefix = config.address;
    mip6_agent_init(a, &config, &ops, NULL);
    inet_pton(AF_INET6, "2001:db8:2000::1:0", &b.home);
    inet_pton(AF_INET6, "2001:db8:3000::b", &b.care_of);
    for (unsigned i = 0; i < bindings; i++) {
        b.home.s6_addr[14] = i >> 8;
        b.home.s6_addr[15] = i;
        g_assert_cmpuint(mip6_agent_restore(a, 0, &b), ==, MIP6_BA_ACCEPTED);
    }
    a->answered[0] = 3;
    a->answered[129] = 2;
    a->refused = 2;
    a->registered = 3;
    a->dropped[MIP6_AGENT_NO_BINDING] = 5;
}

static char *shown(const Mip6Agent *a, Mip6ShowFormat format)
{
    Mip6Show *s = mip6_show_new(a, SECOND / 2, format);
    GString *out = g_string_new(NULL);

    while (mip6_show_more(s, out)) {
        continue;
    }
    mip6_show_free(s);
    return g_string_free(out, FALSE);
}

static void test_text(void)
{
    g_autofree char *text = NULL;
    Mip6Agent a;

    agent_with(&a, 1);
    text = shown(&a, MIP6_SHOW_TEXT);
    g_assert_cmpstr(text, ==,
        "agent 2001:db8:2000::1/64, 1 of 10000 bindings\n"
        "home address                 care-of address              sequence   "
        "left       sent   received\n"
        "2001:db8:2000::1:0           2001:db8:3000::b                    7    "
        "60s          0          0\n"
        "registered 3, ended 0, expired 0, revoked 0, restored 1\n"
        "refused 2, status 129: 2\n"
        "errors sent 0, muted 0\n"
        "stragglers sent on 0\n"
        "fast path off, sent 0, received 0\n"
        "prefix advertisements asked for 0, others 0, not answered 0\n"
        "dropped malformed 0, checksum 0, no-binding 5, wrong-source 0, "
        "too-big 0, hop-limit 0, not-for-us 0, "
        "unknown-mh 0, unprotected 0, esp 0, rate 0, ecn 0, extension 0, other-vlan 0\n");
    mip6_agent_destroy(&a);
}

static void test_json(void)
{
    g_autofree char *text = NULL, *none = NULL;
    Mip6Agent a;

    agent_with(&a, 2);
    text = shown(&a, MIP6_SHOW_JSON);
    g_assert_true(g_str_has_prefix(text,
        "{\"address\": \"2001:db8:2000::1\", \"prefix-length\": 64, "
        "\"bindings-max\": 10000, \"bindings\": ["
        "{\"home\": \"2001:db8:2000::1:0\", \"care-of\": \"2001:db8:3000::b\", "
        "\"sequence\": 7, \"lifetime\": 60, \"left\": 60, \"sent\": 0, "
        "\"received\": 0, \"contested\": false}, {\"home\": \"2001:db8:2000::1:1\""));
    g_assert_nonnull(strstr(text, "}], \"registered\": 3, \"refused\": 2"));
    g_assert_nonnull(strstr(text, "\"acknowledged\": {\"0\": 3, \"129\": 2}"));
    g_assert_nonnull(strstr(text, "\"no-binding\": 5"));
    g_assert_true(g_str_has_suffix(text, "\"groups-refused\": 0}\n"));
    mip6_agent_destroy(&a);

    agent_with(&a, 0);
    none = shown(&a, MIP6_SHOW_JSON);
    g_assert_nonnull(strstr(none, "\"bindings\": [], \"registered\""));
    mip6_agent_destroy(&a);
}

static void test_metrics(void)
{
    g_autofree char *text = NULL;
    Mip6Agent a;

    agent_with(&a, 200);
    text = shown(&a, MIP6_SHOW_METRICS);
    g_assert_nonnull(strstr(text, "\n# TYPE vmmnet_ha_bindings gauge\n"
                            "vmmnet_ha_bindings 200\n"));
    g_assert_nonnull(strstr(text, "vmmnet_ha_acknowledgements_total"
                            "{status=\"129\"} 2\n"));
    g_assert_nonnull(strstr(text, "vmmnet_ha_dropped_packets_total"
                            "{reason=\"no-binding\"} 5\n"));
    g_assert_null(strstr(text, "2001:"));
    mip6_agent_destroy(&a);
}

/* A piece is small, and the bindings may go while they are shown. */
static void test_pieces(void)
{
    GString *out = g_string_new(NULL);
    unsigned pieces = 0, lines = 0;
    Mip6Agent a;
    Mip6Show *s;

    agent_with(&a, 1000);
    s = mip6_show_new(&a, 0, MIP6_SHOW_TEXT);
    while (mip6_show_more(s, out)) {
        g_assert_cmpuint(out->len, <, 16384);
        for (size_t i = 0; i < out->len; i++) {
            lines += out->str[i] == '\n';
        }
        g_string_truncate(out, 0);
        pieces++;
        mip6_agent_tick(&a, 60 * SECOND);
    }
    g_assert_cmpuint(g_hash_table_size(a.bindings), ==, 0);
    g_assert_cmpuint(pieces, >, 10);
    g_assert_cmpuint(lines, ==, 2 + 1000 + 7);
    mip6_show_free(s);
    g_string_free(out, TRUE);
    mip6_agent_destroy(&a);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-show/text", test_text);
    g_test_add_func("/mip6-show/json", test_json);
    g_test_add_func("/mip6-show/metrics", test_metrics);
    g_test_add_func("/mip6-show/pieces", test_pieces);
    return g_test_run();
}
