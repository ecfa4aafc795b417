/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home registration: messages of a mobile node, and their times */
#include <arpa/inet.h>
#include <glib.h>

#include "base/units.h"
#include "net/mip6/core/binding.h"

typedef struct Fixture {
    Mip6Binding b;
    int64_t now;
    unsigned sent;
    bool no_next_hop;
    Mip6Mh last;
    struct in6_addr from;
    int64_t at[64];             /* when updates were sent */
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static bool fixture_send(void *opaque, const Mip6Binding *b,
                         const Mip6Mh *bu, const struct in6_addr *care_of)
{
    Fixture *f = opaque;

    f->last = *bu;
    f->from = *care_of;
    g_assert_cmpint(f->sent, <, G_N_ELEMENTS(f->at));
    f->at[f->sent++] = f->now;
    return !f->no_next_hop;
}

static const Mip6BindingOps ops = { .send = fixture_send };

static void begin(Fixture *f)
{
    Mip6BindingConfig config = {
        .home = address("2001:db8:1::10"),
        .lifetime = 15,         /* 60 s */
    };

    *f = (Fixture) { .now = 1000 * SECOND };
    mip6_binding_init(&f->b, &config, &ops, f, 100);
}

static void away(Fixture *f, const char *care_of)
{
    struct in6_addr addr = address(care_of);

    mip6_binding_away(&f->b, f->now, &addr);
}

/* Let time pass, deadline by deadline. */
static void pass(Fixture *f, int64_t ns)
{
    int64_t end = f->now + ns, at;

    while ((at = mip6_binding_deadline(&f->b)) <= end) {
        g_assert_cmpint(at, >=, f->now - 1);
        f->now = MAX(at, f->now);
        mip6_binding_tick(&f->b, f->now);
    }
    f->now = end;
}

static bool answer(Fixture *f, uint8_t status, uint16_t sequence,
                   uint16_t lifetime)
{
    Mip6Mh ba = {
        .type = MIP6_MH_BA,
        .status = status,
        .sequence = sequence,
        .lifetime = lifetime,
    };

    return mip6_binding_ack(&f->b, f->now, &ba);
}

static void test_register(void)
{
    Fixture f;

    begin(&f);
    g_assert_cmpint(f.b.state, ==, MIP6_HOME);
    mip6_binding_away(&f.b, f.now, NULL);
    g_assert_cmpint(f.b.state, ==, MIP6_ACQUIRING);
    g_assert_cmpint(f.sent, ==, 0);
    away(&f, "2001:db8:2::1");
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.sent, ==, 1);
    g_assert_cmphex(f.last.flags, ==, MIP6_BU_ACK | MIP6_BU_HOME);
    g_assert_cmpint(f.last.lifetime, ==, 15);
    g_assert_true(f.last.has_alternate);
    g_assert_cmpmem(&f.last.alternate, 16, &f.from, 16);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    /* The same address again is no reason to register it. */
    away(&f, "2001:db8:2::1");
    g_assert_cmpint(f.sent, ==, 1);
}

/* An agent finds after its acceptance that the address is in use. */
static void test_taken_back(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    /* Another refusal, or one of another update, is ignored. */
    g_assert_false(answer(&f, MIP6_BA_PROHIBITED, f.last.sequence, 0));
    g_assert_false(answer(&f, MIP6_BA_DAD_FAILED, f.last.sequence - 1, 0));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    g_assert_true(answer(&f, MIP6_BA_DAD_FAILED, f.last.sequence, 0));
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_REFUSED);
    g_assert_cmpint(f.b.status, ==, MIP6_BA_DAD_FAILED);
    g_assert_cmpint(f.b.expires, ==, INT64_MAX);
    pass(&f, 31 * SECOND);
    g_assert_cmpint(f.sent, ==, 1);
    pass(&f, SECOND);
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
}

/* Section 11.8: 1.5 s, doubled each time, 32 s at most; new numbers. */
static void test_no_answer(void)
{
    static const double gaps[] = { 1.5, 3, 6, 12, 24, 32, 32 };
    Fixture f;
    uint16_t first;

    begin(&f);
    away(&f, "2001:db8:2::1");
    first = f.last.sequence;
    pass(&f, 112 * SECOND);
    g_assert_cmpint(f.sent, ==, 8);
    for (unsigned i = 0; i < G_N_ELEMENTS(gaps); i++) {
        g_assert_cmpint(f.at[i + 1] - f.at[i], ==, gaps[i] * SECOND);
    }
    g_assert_cmpint(f.last.sequence, ==, first + 7);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NO_ANSWER);
    /* An answer to an earlier update is ignored. */
    g_assert_false(answer(&f, 0, first, 15));
    g_assert_true(answer(&f, 1, f.last.sequence, 15));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
}

static void test_refresh(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 10);         /* 40 s */
    pass(&f, 29 * SECOND);
    g_assert_cmpint(f.sent, ==, 1);
    pass(&f, SECOND);
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    /* Without an answer it is repeated after 1 s, and ends on time. */
    pass(&f, SECOND);
    g_assert_cmpint(f.sent, ==, 3);
    pass(&f, 8 * SECOND);
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    pass(&f, SECOND);
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_EXPIRED);
}

static void test_refresh_advice(void)
{
    Fixture f;
    Mip6Mh ba = { .type = MIP6_MH_BA, .lifetime = 15, .has_refresh = true,
                  .refresh = 2 };

    begin(&f);
    away(&f, "2001:db8:2::1");
    ba.sequence = f.last.sequence;
    g_assert_true(mip6_binding_ack(&f.b, f.now, &ba));
    pass(&f, 8 * SECOND);
    g_assert_cmpint(f.sent, ==, 2);
}

/* For a time nothing may be sent: the VM is paused. */
static void test_resume(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 15);
    f.now += 60 * SECOND - 1;
    mip6_binding_look(&f.b, f.now);
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    f.now++;
    mip6_binding_look(&f.b, f.now);
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_EXPIRED);
    g_assert_cmpint(f.sent, ==, 1);
    mip6_binding_resume(&f.b, f.now);
    g_assert_cmpint(f.sent, ==, 2);
    /* Also where the next update is far away. */
    pass(&f, 50 * SECOND);
    g_assert_cmpint(f.b.next - f.now, >, 10 * SECOND);
    f.sent = 0;
    mip6_binding_resume(&f.b, f.now);
    g_assert_cmpint(f.sent, ==, 1);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
}

/* Section 11.7.3: continue from the agent's number, at once. */
static void test_sequence(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    pass(&f, SECOND);
    g_assert_true(answer(&f, MIP6_BA_SEQUENCE, 5000, 0));
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpint(f.last.sequence, ==, 5001);
    /* Repeated by an attacker it causes at most three updates a second. */
    for (unsigned i = 0; i < 100; i++) {
        answer(&f, MIP6_BA_SEQUENCE, f.last.sequence + 100, 0);
        pass(&f, SECOND / 100);
    }
    g_assert_cmpint(f.sent, <=, 6);
}

/* The agent's number is not ours, as of another node's update. */
static void meet_other(Fixture *f)
{
    pass(f, SECOND);
    mip6_binding_refresh(&f->b, f->now);
    g_assert_true(answer(f, MIP6_BA_SEQUENCE, f->last.sequence + 7, 0));
    pass(f, SECOND);            /* at most three updates a second */
    g_assert_true(answer(f, 0, f->last.sequence, 15));
    g_assert_cmpint(f->b.state, ==, MIP6_BOUND);
}

static void test_other_node(void)
{
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING };
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    /* An agent may know a number of ours from before. */
    g_assert_true(answer(&f, MIP6_BA_SEQUENCE, 5000, 0));
    pass(&f, SECOND);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    meet_other(&f);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
    /* The binding is the other's; ours has the higher number by chance. */
    mip6_binding_error(&f.b, f.now, &be);
    pass(&f, SECOND);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
    meet_other(&f);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_OTHER_NODE);
    meet_other(&f);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_OTHER_NODE);
    /* It is gone. */
    pass(&f, SECOND);
    mip6_binding_refresh(&f.b, f.now);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
    meet_other(&f);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
}

static void test_refused(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    g_assert_true(answer(&f, MIP6_BA_NOT_HOME_SUBNET, f.last.sequence, 0));
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_REFUSED);
    g_assert_cmpint(f.b.status, ==, 132);
    pass(&f, 31 * SECOND);
    g_assert_cmpint(f.sent, ==, 1);
    pass(&f, SECOND);
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_REFUSED);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
}

static void test_move_on(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 15);
    pass(&f, 5 * SECOND);
    away(&f, "2001:db8:3::1");
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    answer(&f, 0, f.last.sequence, 15);
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    /* The link loses its router, and gets another. */
    mip6_binding_away(&f.b, f.now, NULL);
    g_assert_cmpint(f.b.state, ==, MIP6_ACQUIRING);
    g_assert_false(answer(&f, 0, f.last.sequence, 15));
    pass(&f, 5 * SECOND);
    g_assert_cmpint(f.sent, ==, 2);
    away(&f, "2001:db8:4::1");
    g_assert_cmpint(f.sent, ==, 3);
}

static void test_return(void)
{
    Fixture f;

    begin(&f);
    mip6_binding_home(&f.b, f.now);
    g_assert_cmpint(f.sent, ==, 0);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 15);
    pass(&f, SECOND);
    mip6_binding_home(&f.b, f.now);
    g_assert_cmpint(f.b.state, ==, MIP6_RETURNING);
    g_assert_cmpint(f.last.lifetime, ==, 0);
    g_assert_cmpmem(&f.from, 16, &f.b.config.home, 16);
    pass(&f, SECOND);
    g_assert_cmpint(f.sent, ==, 3);     /* repeated */
    g_assert_true(answer(&f, 0, f.last.sequence, 0));
    g_assert_cmpint(f.b.state, ==, MIP6_HOME);
    g_assert_cmpint(mip6_binding_deadline(&f.b), ==, INT64_MAX);
}

/* Without an answer the agent's binding ends by itself. */
static void test_return_unheard(void)
{
    Fixture f;

    begin(&f);
    away(&f, "2001:db8:2::1");          /* heard, perhaps */
    mip6_binding_home(&f.b, f.now);
    g_assert_cmpint(f.b.state, ==, MIP6_RETURNING);
    pass(&f, 61 * SECOND);
    g_assert_cmpint(f.b.state, ==, MIP6_HOME);
    g_assert_cmpint(mip6_binding_deadline(&f.b), ==, INT64_MAX);
}

static void test_error(void)
{
    Fixture f;
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_BINDING };

    begin(&f);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 15);
    pass(&f, SECOND);
    mip6_binding_error(&f.b, f.now, &be);
    g_assert_cmpint(f.sent, ==, 2);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_ERROR);
    answer(&f, 0, f.last.sequence, 15);
    g_assert_false(mip6_binding_refused_by_icmp(&f.b, f.now));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
}

static void test_migration(void)
{
    Mip6BindingSaved saved;
    Fixture f, g;

    begin(&f);
    away(&f, "2001:db8:2::1");
    answer(&f, 0, f.last.sequence, 15);
    pass(&f, 20 * SECOND);
    mip6_binding_save(&f.b, f.now, &saved);
    begin(&g);
    g.now = 7;
    g_assert_true(mip6_binding_load(&g.b, g.now, &saved));
    away(&g, "2001:db8:3::1");
    g_assert_cmpint(g.last.sequence, ==, f.last.sequence + 1);
    /* Or at home: an existing binding is ended. */
    begin(&g);
    g_assert_true(mip6_binding_load(&g.b, g.now, &saved));
    mip6_binding_home(&g.b, g.now);
    g_assert_cmpint(g.b.state, ==, MIP6_RETURNING);
    pass(&g, 41 * SECOND);
    g_assert_cmpint(g.b.state, ==, MIP6_HOME);
    saved.remaining = -1;
    g_assert_false(mip6_binding_load(&g.b, g.now, &saved));
    saved.remaining = INT64_MAX;
    g_assert_false(mip6_binding_load(&g.b, g.now, &saved));
}

/* An update that cannot leave has no missing answer. */
static void test_no_next_hop(void)
{
    Fixture f;

    begin(&f);
    f.no_next_hop = true;
    away(&f, "2001:db8:2::1");
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_MOVED);
    pass(&f, 2 * SECOND);
    g_assert_cmpint(f.b.state, ==, MIP6_REGISTERING);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NO_NEXT_HOP);
    f.no_next_hop = false;
    mip6_binding_retry(&f.b, f.now);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
    pass(&f, 2 * SECOND);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NO_ANSWER);
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
}

/* What is wrong with the tunnel shows only while the registration is right. */
static void test_trouble(void)
{
    Fixture f;

    begin(&f);
    g_assert_false(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
    away(&f, "2001:db8:2::1");
    g_assert_false(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
    g_assert_true(answer(&f, 0, f.last.sequence, 15));
    g_assert_true(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
    g_assert_true(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNREACHABLE));
    g_assert_cmpint(f.b.state, ==, MIP6_BOUND);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_UNREACHABLE);
    mip6_binding_trouble_over(&f.b, MIP6_WHY_UNPROTECTED);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_UNREACHABLE);
    mip6_binding_passed(&f.b, f.now);
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NONE);
    f.now += SECOND - 1;
    g_assert_false(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
    f.now++;
    g_assert_true(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
    pass(&f, 52 * SECOND);      /* the refresh has no answer */
    g_assert_cmpint(f.b.why, ==, MIP6_WHY_NO_ANSWER);
    g_assert_false(mip6_binding_trouble(&f.b, f.now, MIP6_WHY_UNPROTECTED));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/binding/no-next-hop", test_no_next_hop);
    g_test_add_func("/mip6/binding/trouble", test_trouble);
    g_test_add_func("/mip6/binding/register", test_register);
    g_test_add_func("/mip6/binding/no-answer", test_no_answer);
    g_test_add_func("/mip6/binding/refresh", test_refresh);
    g_test_add_func("/mip6/binding/refresh-advice", test_refresh_advice);
    g_test_add_func("/mip6/binding/sequence", test_sequence);
    g_test_add_func("/mip6/binding/other-node", test_other_node);
    g_test_add_func("/mip6/binding/resume", test_resume);
    g_test_add_func("/mip6/binding/refused", test_refused);
    g_test_add_func("/mip6/binding/taken-back", test_taken_back);
    g_test_add_func("/mip6/binding/move-on", test_move_on);
    g_test_add_func("/mip6/binding/return", test_return);
    g_test_add_func("/mip6/binding/return-unheard", test_return_unheard);
    g_test_add_func("/mip6/binding/error", test_error);
    g_test_add_func("/mip6/binding/migration", test_migration);
    return g_test_run();
}
