/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replay windows of signalling: after a restart, and after a change of
 * configuration
 */
#include <string.h>

#include "tests/fixtures/mip6-agent-fixture.h"
#include "net/packet/ip6.h"

#define MESSAGES        40u

/* A node, and the Binding Updates that it has sent, as they were on the link */
typedef struct Node {
    Mip6Protect *protect;
    uint16_t sequence;
    uint8_t sent[MESSAGES][512];
    size_t len[MESSAGES];
    unsigned messages;
} Node;

static Node *node_new(uint8_t shift)
{
    Mip6ProtectConfig config = agent_protect(true, shift);
    Mip6ProtectFault fault;
    Node *n = g_new0(Node, 1);

    n->protect = mip6_protect_new(&config, &fault);
    g_assert_nonnull(n->protect);
    return n;
}

static void node_free(Node *n)
{
    mip6_protect_free(n->protect);
    g_free(n);
}

/* Seal the next Binding Update; @lifetime 0 ends the binding. */
static unsigned make(Node *n, uint16_t lifetime)
{
    unsigned i = n->messages++;
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = ++n->sequence,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME, .lifetime = lifetime,
        .has_alternate = true, .alternate = agent_address(CARE_OF),
    };

    g_assert_cmpint(i, <, MESSAGES);
    n->len[i] = mip6_protect_signal(n->protect, n->sent[i],
                                    agent_build_update(n->sent[i], HOME,
                                                       CARE_OF, &bu),
                                    sizeof(n->sent[i]));
    g_assert_cmpint(n->len[i], >, 0);
    return i;
}

/* Delivers message @i, perhaps again.  Returns: is it answered? */
static bool arrives(AgentFixture *f, const Node *n, unsigned i)
{
    uint8_t packet[512];

    memcpy(packet, n->sent[i], n->len[i]);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, n->len[i]);
    return f->packets;
}

static AgentFixture *begin(uint8_t shift)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6ProtectConfig config = agent_protect(false, shift);

    agent_set_keys(f, &config);
    return f;
}

/* An agent with the stored numbers of the signalling with @spi. */
static AgentFixture *restart(AgentFixture *f, uint32_t spi)
{
    struct in6_addr home = agent_address(HOME);
    uint64_t seen = f->seen;

    agent_end(f);
    f = begin(0);
    g_assert_true(mip6_keyring_restore(f->a.config.keys, &home, spi, seen) ==
                  (spi == AGENT_SPI + MIP6_SIGNAL_IN));
    return f;
}

/* Processed messages have no effect again, in any order. */
static void test_restart(void)
{
    AgentFixture *f = begin(0);
    Node *n = node_new(0);
    unsigned early, first, ends, next;

    early = make(n, 15);
    first = make(n, 15);
    g_assert_true(arrives(f, n, first));
    g_assert_cmpuint(f->kept, ==, 1);
    /* Its number is below one that is kept already. */
    g_assert_true(arrives(f, n, early));
    g_assert_cmpuint(f->kept, ==, 1);
    ends = make(n, 0);
    g_assert_true(arrives(f, n, ends));
    g_assert_cmpuint(f->kept, ==, 2);
    g_assert_false(arrives(f, n, first));
    g_assert_cmpuint(f->kept, ==, 2);

    /* The agent has no binding, so no sequence number either. */
    f = restart(f, AGENT_SPI + MIP6_SIGNAL_IN);
    for (unsigned i = early; i <= ends; i++) {
        g_assert_false(arrives(f, n, i));
    }
    g_assert_null(agent_binding(f, HOME));
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_ESP], ==, 3);
    next = make(n, 15);
    g_assert_true(arrives(f, n, next));
    g_assert_nonnull(agent_binding(f, HOME));
    g_assert_cmpuint(f->kept, ==, 1);

    /* Numbers of another association do not count for this one. */
    f = restart(f, AGENT_SPI + 99);
    g_assert_true(arrives(f, n, first));
    node_free(n);
    agent_end(f);
}

/* The number is stored before the answer is sent. */
static void test_before(void)
{
    AgentFixture *f = begin(0);
    Node *n = node_new(0);

    f->refuses = true;          /* nothing comes of it, but an answer */
    g_assert_true(arrives(f, n, make(n, 15)));
    g_assert_cmpuint(f->kept, ==, 1);
    g_assert_cmpuint(f->seen, >=, 1700000000);
    node_free(n);
    agent_end(f);
}

/* Another configuration with the same association; and with another one. */
static void test_configured(void)
{
    AgentFixture *f = begin(0);
    Mip6ProtectConfig same = agent_protect(false, 0), other;
    Node *n = node_new(0), *m;
    unsigned late = make(n, 15), ends = make(n, 0);

    arrives(f, n, ends);
    agent_set_keys(f, &same);
    g_assert_false(arrives(f, n, ends));
    g_assert_null(agent_binding(f, HOME));
    g_assert_true(arrives(f, n, late));

    other = agent_protect(false, 1);
    agent_set_keys(f, &other);
    m = node_new(1);
    g_assert_false(arrives(f, n, make(n, 15)));
    m->sequence = n->sequence;
    g_assert_true(arrives(f, m, make(m, 15)));
    node_free(m);
    node_free(n);
    agent_end(f);
}

/* Without a window nothing is stored: the node may start again. */
static void test_no_window(void)
{
    AgentFixture *f = agent_begin(NULL);
    Mip6ProtectConfig config = agent_protect(false, 0);
    Node *n = node_new(0);
    unsigned i = make(n, 15);

    config.window = 0;
    agent_set_keys(f, &config);
    g_assert_true(arrives(f, n, i));
    g_assert_true(arrives(f, n, i));
    g_assert_cmpuint(f->kept, ==, 0);
    node_free(n);
    agent_end(f);
}

/* A flooding node does not cause a write for each message. */
static void test_rate(void)
{
    AgentFixture *f = begin(0);
    Node *n = node_new(0);

    for (unsigned i = 0; i < 30; i++) {
        g_assert_true(arrives(f, n, make(n, 15)) == (i < MIP6_KEYS_BURST));
    }
    g_assert_cmpuint(f->kept, ==, MIP6_KEYS_BURST);
    g_assert_cmpuint(f->a.dropped[MIP6_AGENT_RATE], ==, 30 - MIP6_KEYS_BURST);
    f->now += SECOND;
    for (unsigned i = 0; i < 5; i++) {
        g_assert_true(arrives(f, n, make(n, 15)) == (i < 3));
    }
    node_free(n);
    agent_end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/keys/restart", test_restart);
    g_test_add_func("/mip6/keys/before", test_before);
    g_test_add_func("/mip6/keys/configured", test_configured);
    g_test_add_func("/mip6/keys/no-window", test_no_window);
    g_test_add_func("/mip6/keys/rate", test_rate);
    return g_test_run();
}
