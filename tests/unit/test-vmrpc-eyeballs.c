/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Racing connections, on a network of tables and a clock of its own */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/eyeballs.h"

#define DELAY VMRPC_EYEBALLS_DELAY_MS
#define GRACE VMRPC_EYEBALLS_GRACE_MS
#define TURN VMRPC_EYEBALLS_TURN_MS

/* What Linux gives up after, with six retransmissions of a SYN */
#define SYN_TIMEOUT 127000

static VmrpcCandidate candidate(const char *text, bool synthesized)
{
    VmrpcCandidate c = { .port = htons(443), .synthesized = synthesized };

    g_assert_cmpint(inet_pton(AF_INET6, text, &c.addr6), ==, 1);
    return c;
}

/* --- the race ------------------------------------------------------------ */

/* How a host answers: after @ms, with @ret.  ms 0: inside connect(). */
typedef struct Host {
    int ms;
    int ret;
} Host;

#define OPEN(after)     { (after), 0 }
#define CLOSED(after)   { (after), -ECONNREFUSED }
#define BLACKHOLE       { SYN_TIMEOUT, -ETIMEDOUT }

typedef struct Scenario {
    const char *name;
    Host hosts[VMRPC_EYEBALLS_MAX];     /* an all-zero one ends the list */
    int64_t stall_ms;           /* the thread first looks again so late */
    bool in_turn;               /* one attempt at a time */
    /* expected */
    int winner;                 /* or a negative errno */
    int64_t end_ms;
    int64_t starts_ms[VMRPC_EYEBALLS_MAX + 2];  /* -1 ends the list */
    int wakeups;                /* timers that had to be set */
} Scenario;

static const Scenario scenarios[] = {
    {
        .name = "turns/first-fast", .hosts = { OPEN(TURN - 1), OPEN(1) },
        .in_turn = true, .winner = 0, .end_ms = TURN - 1,
        .starts_ms = { 0, -1 }, .wakeups = 1,
    }, {
        .name = "turns/first-refused", .hosts = { CLOSED(5), OPEN(30) },
        .in_turn = true, .winner = 1, .end_ms = 35,
        .starts_ms = { 0, 5, -1 }, .wakeups = 2,
    }, {
        .name = "turns/first-blackholed",
        .hosts = { BLACKHOLE, CLOSED(5), OPEN(30) },
        .in_turn = true, .winner = 2, .end_ms = TURN + 35,
        .starts_ms = { 0, TURN, TURN + 5, -1 }, .wakeups = 3,
    }, {
        /* given up, and after all the only one that works */
        .name = "turns/first-slow", .hosts = { OPEN(6000), CLOSED(5) },
        .in_turn = true, .winner = 0, .end_ms = TURN + 5 + 6000,
        .starts_ms = { 0, TURN, TURN + 5, -1 }, .wakeups = 2,
    }, {
        .name = "turns/all-blackholed", .hosts = { BLACKHOLE, BLACKHOLE },
        .in_turn = true, .winner = -ETIMEDOUT,
        .end_ms = TURN + GRACE + SYN_TIMEOUT,
        .starts_ms = { 0, TURN, TURN + GRACE, -1 }, .wakeups = 2,
    }, {
        .name = "turns/second-blackholed", .hosts = { CLOSED(5), BLACKHOLE },
        .in_turn = true, .winner = -ECONNREFUSED, .end_ms = 5 + GRACE,
        .starts_ms = { 0, 5, -1 }, .wakeups = 2,
    }, {
        .name = "single", .hosts = { OPEN(20) },
        .winner = 0, .end_ms = 20, .starts_ms = { 0, -1 },
    }, {
        .name = "single-at-once", .hosts = { CLOSED(0) },
        .winner = -ECONNREFUSED, .end_ms = 0, .starts_ms = { 0, -1 },
    }, {
        /* as long as it takes natively, and no timer */
        .name = "single-slow", .hosts = { OPEN(60000) },
        .winner = 0, .end_ms = 60000, .starts_ms = { 0, -1 },
    }, {
        .name = "single-blackhole", .hosts = { BLACKHOLE },
        .winner = -ETIMEDOUT, .end_ms = SYN_TIMEOUT, .starts_ms = { 0, -1 },
    }, {
        .name = "first-fast", .hosts = { OPEN(20), OPEN(1), OPEN(1) },
        .winner = 0, .end_ms = 20, .starts_ms = { 0, -1 }, .wakeups = 1,
    }, {
        .name = "first-just-in-time",
        .hosts = { OPEN(DELAY - 1), OPEN(1) },
        .winner = 0, .end_ms = DELAY - 1, .starts_ms = { 0, -1 },
        .wakeups = 1,
    }, {
        .name = "first-blackholed", .hosts = { BLACKHOLE, OPEN(30) },
        .winner = 1, .end_ms = DELAY + 30, .starts_ms = { 0, DELAY, -1 },
        .wakeups = 1,
    }, {
        .name = "first-refused", .hosts = { CLOSED(5), OPEN(30) },
        .winner = 1, .end_ms = 35, .starts_ms = { 0, 5, -1 },
        .wakeups = 2,   /* the second is that of the grace, not reached */
    }, {
        .name = "first-unreachable-at-once",
        .hosts = { { 0, -ENETUNREACH }, { 0, -ENETUNREACH }, OPEN(30) },
        .winner = 2, .end_ms = 30, .starts_ms = { 0, 0, 0, -1 },
        .wakeups = 1,
    }, {
        .name = "first-slow-wins", .hosts = { OPEN(600), OPEN(1000),
                                              OPEN(1000) },
        .winner = 0, .end_ms = 600,
        .starts_ms = { 0, DELAY, 2 * DELAY, -1 }, .wakeups = 2,
    }, {
        /* the second answers when the third has just been started */
        .name = "late-winner", .hosts = { BLACKHOLE, OPEN(DELAY + 1),
                                          OPEN(50), OPEN(1) },
        .winner = 1, .end_ms = 2 * DELAY + 1,
        .starts_ms = { 0, DELAY, 2 * DELAY, -1 }, .wakeups = 3,
    }, {
        /* and at the very moment at which it was due */
        .name = "winner-when-due", .hosts = { OPEN(DELAY), OPEN(1) },
        .winner = 0, .end_ms = DELAY, .starts_ms = { 0, -1 }, .wakeups = 1,
    }, {
        .name = "second-is-slower", .hosts = { OPEN(DELAY + 10), OPEN(100) },
        .winner = 0, .end_ms = DELAY + 10, .starts_ms = { 0, DELAY, -1 },
        .wakeups = 1,
    }, {
        /* only the failure of the last one started hurries */
        .name = "earlier-one-fails",
        .hosts = { CLOSED(DELAY + 10), BLACKHOLE, OPEN(10) },
        .winner = 2, .end_ms = 2 * DELAY + 10,
        .starts_ms = { 0, DELAY, 2 * DELAY, -1 }, .wakeups = 4,
    }, {
        .name = "all-refused",
        .hosts = { CLOSED(10), { 10, -EHOSTUNREACH }, { 10, -ENETUNREACH } },
        .winner = -ECONNREFUSED, .end_ms = 30, .starts_ms = { 0, 10, 20, -1 },
        .wakeups = 3,
    }, {
        .name = "all-fail-first-last",
        .hosts = { { 900, -EHOSTUNREACH }, CLOSED(10), CLOSED(10) },
        .winner = -EHOSTUNREACH, .end_ms = 900,
        .starts_ms = { 0, DELAY, DELAY + 10, -1 }, .wakeups = 2,
    }, {
        .name = "all-blackholed", .hosts = { BLACKHOLE, BLACKHOLE },
        .winner = -ETIMEDOUT, .end_ms = SYN_TIMEOUT,
        .starts_ms = { 0, DELAY, -1 }, .wakeups = 1,
    }, {
        /* the guest's own address answers after all, like natively */
        .name = "very-slow", .hosts = { OPEN(60000), BLACKHOLE, CLOSED(1) },
        .winner = 0, .end_ms = 60000,
        .starts_ms = { 0, DELAY, 2 * DELAY, -1 }, .wakeups = 2,
    }, {
        .name = "refused-then-blackholes",
        .hosts = { CLOSED(10), BLACKHOLE, BLACKHOLE },
        .winner = -ECONNREFUSED, .end_ms = 10 + DELAY + GRACE,
        .starts_ms = { 0, 10, 10 + DELAY, -1 }, .wakeups = 3,
    }, {
        .name = "refused-then-slow",
        .hosts = { CLOSED(10), OPEN(GRACE) },
        .winner = 1, .end_ms = 10 + GRACE, .starts_ms = { 0, 10, -1 },
        .wakeups = 2,
    }, {
        /* the failure of the last one takes no time from those before */
        .name = "last-one-fails",
        .hosts = { CLOSED(10), OPEN(1000), CLOSED(10) },
        .winner = 1, .end_ms = 1010, .starts_ms = { 0, 10, 10 + DELAY, -1 },
        .wakeups = 4,
    }, {
        /* known at last, when the others had their time */
        .name = "late-error",
        .hosts = { { GRACE + 3000, -EHOSTUNREACH }, BLACKHOLE },
        .winner = -EHOSTUNREACH, .end_ms = GRACE + 3000,
        .starts_ms = { 0, DELAY, -1 }, .wakeups = 1,
    }, {
        .name = "eight-blackholes-but-the-last",
        .hosts = { BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE,
                   BLACKHOLE, BLACKHOLE, OPEN(10) },
        .winner = 7, .end_ms = 7 * DELAY + 10,
        .starts_ms = { 0, DELAY, 2 * DELAY, 3 * DELAY, 4 * DELAY, 5 * DELAY,
                       6 * DELAY, 7 * DELAY, -1 },
        .wakeups = 7,
    }, {
        .name = "stalled",
        .hosts = { BLACKHOLE, BLACKHOLE, BLACKHOLE, OPEN(10) },
        .stall_ms = 5000, .winner = 3, .end_ms = 5000 + 2 * DELAY + 10,
        .starts_ms = { 0, 5000, 5000 + DELAY, 5000 + 2 * DELAY, -1 },
        .wakeups = 3,
    }, {
        /* a stall takes nothing from what has not been tried */
        .name = "stalled-after-refusal",
        .hosts = { CLOSED(10), BLACKHOLE, OPEN(10) },
        .stall_ms = GRACE * 2, .winner = 2,
        .end_ms = GRACE * 2 + DELAY + 10,
        .starts_ms = { 0, GRACE * 2, GRACE * 2 + DELAY, -1 }, .wakeups = 3,
    },
};

typedef struct Net {
    const Scenario *scenario;
    VmrpcEyeballs race;
    int64_t now_ms;
    int64_t answer_ms[VMRPC_EYEBALLS_MAX];      /* INT64_MAX: none to come */
    unsigned num;
    unsigned started;
    int wakeups;
} Net;

/* Who has answered or still may: a first one that is asked again is one. */
static unsigned asked(const Net *net)
{
    return MIN(net->started, net->num);
}

static void net_start(Net *net, const VmrpcEyeballsAction *action)
{
    const Host *host = &net->scenario->hosts[action->index];

    g_assert_cmpint(action->index, ==,
                    net->started < net->num ? net->started : 0);
    g_assert_cmpint(action->candidate->addr6.s6_addr[15], ==, action->index);
    for (unsigned i = 0; net->scenario->in_turn && i < net->num; i++) {
        net->answer_ms[i] = INT64_MAX;
    }
    g_assert_cmpint(net->now_ms, ==,
                    net->scenario->starts_ms[net->started]);
    net->started++;
    if (host->ms) {
        net->answer_ms[action->index] = net->now_ms + host->ms;
    } else {
        vmrpc_eyeballs_result(&net->race, action->index, host->ret,
                              net->now_ms);
    }
}

/* Lets the time pass until there is something to do, and tells the race. */
static void net_wait(Net *net, int64_t until_ms)
{
    int64_t next_ms = until_ms;
    unsigned i;

    g_assert_cmpint(until_ms, >, net->now_ms);
    net->wakeups += until_ms != INT64_MAX;
    for (i = 0; i < asked(net); i++) {
        next_ms = MIN(next_ms, net->answer_ms[i]);
    }
    g_assert_cmpint(next_ms, !=, INT64_MAX);
    net->now_ms = MAX(next_ms, net->scenario->stall_ms);
    for (i = 0; i < asked(net); i++) {
        if (net->answer_ms[i] <= net->now_ms) {
            vmrpc_eyeballs_result(&net->race, i, net->scenario->hosts[i].ret,
                                  net->now_ms);
            net->answer_ms[i] = INT64_MAX;
        }
    }
}

/* Every answer that is still to come changes nothing. */
static void net_check_end(Net *net, VmrpcEyeballsAction end)
{
    unsigned i;

    for (i = 0; i < asked(net); i++) {
        VmrpcEyeballsAction again;

        vmrpc_eyeballs_result(&net->race, i, i % 2 ? 0 : -EPIPE, net->now_ms);
        again = vmrpc_eyeballs_next(&net->race, net->now_ms + 1000 * i);
        g_assert_cmpint(again.step, ==, end.step);
        g_assert_cmpint(again.index, ==, end.index);
        g_assert_cmpint(again.error, ==, end.error);
    }
}

static void test_scenario(gconstpointer data)
{
    const Scenario *scenario = data;
    VmrpcCandidate candidates[VMRPC_EYEBALLS_MAX] = { { .port = 1 } };
    Net net = { .scenario = scenario };
    VmrpcEyeballsAction action;
    unsigned num = 0;

    while (num < VMRPC_EYEBALLS_MAX &&
           (scenario->hosts[num].ms || scenario->hosts[num].ret)) {
        candidates[num].addr6.s6_addr[15] = num;
        net.answer_ms[num] = INT64_MAX;
        num++;
    }
    net.num = num;
    vmrpc_eyeballs_start(&net.race, candidates, num, 0);
    if (scenario->in_turn) {
        vmrpc_eyeballs_take_turns(&net.race);
    }
    for (;;) {
        action = vmrpc_eyeballs_next(&net.race, net.now_ms);
        if (action.step == VMRPC_EYEBALLS_START) {
            net_start(&net, &action);
        } else if (action.step == VMRPC_EYEBALLS_WAIT) {
            net_wait(&net, action.until_ms);
        } else {
            break;
        }
    }
    if (scenario->winner >= 0) {
        g_assert_cmpint(action.step, ==, VMRPC_EYEBALLS_WON);
        g_assert_cmpint(action.index, ==, scenario->winner);
        g_assert_cmpint(action.candidate->addr6.s6_addr[15], ==,
                        scenario->winner);
    } else {
        g_assert_cmpint(action.step, ==, VMRPC_EYEBALLS_FAILED);
        g_assert_cmpint(action.error, ==, scenario->winner);
    }
    g_assert_cmpint(net.now_ms, ==, scenario->end_ms);
    g_assert_cmpint(scenario->starts_ms[net.started], ==, -1);
    g_assert_cmpint(net.wakeups, ==, scenario->wakeups);
    net_check_end(&net, action);
}

/* A connection that has failed cannot connect, whatever epoll says twice. */
static void test_result_twice(void)
{
    VmrpcCandidate candidates[2] = { candidate("2001:db8::1", false),
                                     candidate("2001:db8::2", false) };
    VmrpcEyeballs race;

    vmrpc_eyeballs_start(&race, candidates, 2, 100);
    g_assert_cmpint(vmrpc_eyeballs_next(&race, 100).step, ==,
                    VMRPC_EYEBALLS_START);
    vmrpc_eyeballs_result(&race, 0, -ECONNREFUSED, 110);
    vmrpc_eyeballs_result(&race, 0, -EPIPE, 110);
    vmrpc_eyeballs_result(&race, 0, 0, 110);
    g_assert_cmpint(vmrpc_eyeballs_next(&race, 110).step, ==,
                    VMRPC_EYEBALLS_START);
    vmrpc_eyeballs_result(&race, 1, -EHOSTUNREACH, 120);
    g_assert_cmpint(vmrpc_eyeballs_next(&race, 120).error, ==, -ECONNREFUSED);
}

static void test_size(void)
{
    /* it is in every socket that connects */
    g_assert_cmpint(sizeof(VmrpcEyeballs), <=, 200);
}

/* --- the order ----------------------------------------------------------- */

typedef struct Order {
    const char *name;
    const char *source;         /* NULL: not known */
    const char *given;          /* separated by spaces, '~' is synthesized */
    const char *expected;
} Order;

static const Order orders[] = {
    { "single", NULL, "2001:db8::1", "2001:db8::1" },
    { "as-it-came", "2001:db8::f",
      "2001:db8::3 2600::1 2001:db8::2 2001:db8::1",
      "2001:db8::3 2600::1 2001:db8::2 2001:db8::1" },
    { "named-first", "2001:db8::f",
      "~64:ff9b::1 2001:db8::1 2001:db8::2",
      "~64:ff9b::1 2001:db8::1 2001:db8::2" },
    { "native-first", "2001:db8::f",
      "2001:db8::1 ~64:ff9b::1 2001:db8::2 ~64:ff9b::2 fd00::1 2002::1",
      "2001:db8::1 2001:db8::2 2002::1 fd00::1 ~64:ff9b::1 ~64:ff9b::2" },
    { "unique-local-from-global", "2001:db8::f",
      "2001:db8::1 fd00::1 2001:db8::2",
      "2001:db8::1 2001:db8::2 fd00::1" },
    { "unique-local-from-unique-local", "fd00::f",
      "2001:db8::1 2001:db8::2 fd00::1 fc00::2",
      "2001:db8::1 fd00::1 fc00::2 2001:db8::2" },
    { "source-unknown", NULL,
      "2001:db8::1 fd00::1 2002::1 2001:db8::2",
      "2001:db8::1 2001:db8::2 2002::1 fd00::1" },
    { "precedence", "2001:db8::f",
      "2600::1 3ffe::1 fec0::1 feff::2 fc00::1 2001:0:1::1 2002::1 2001:1::1",
      "2600::1 2001:1::1 2002::1 2001:0:1::1 fc00::1 3ffe::1 fec0::1 feff::2",
    },
    { "6to4-from-6to4", "2002:1::1", "2600::1 2600::2 2002::1",
      "2600::1 2002::1 2600::2" },
    { "doubles", "2001:db8::f",
      "2001:db8::1 2001:db8::2 2001:db8::1 2001:db8::2 2001:db8::3",
      "2001:db8::1 2001:db8::2 2001:db8::3" },
    { "cut", NULL,
      "2600::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 2600::8 "
      "2600::9 2600::a",
      "2600::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 2600::8" },
    { "cut-keeps-the-nat64", NULL,
      "2600::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 2600::8 "
      "2600::9 ~64:ff9b::1 ~64:ff9b::2",
      "2600::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 ~64:ff9b::1" },
    { "cut-when-named-by-nat64", NULL,
      "~64:ff9b::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 2600::8 "
      "2600::9 ~64:ff9b::2",
      "~64:ff9b::1 2600::2 2600::3 2600::4 2600::5 2600::6 2600::7 2600::8" },
    { "nat64-only", NULL,
      "~64:ff9b::1 ~64:ff9b::2 ~64:ff9b::3 ~64:ff9b::4 ~64:ff9b::5 "
      "~64:ff9b::6 ~64:ff9b::7 ~64:ff9b::8 ~64:ff9b::9",
      "~64:ff9b::1 ~64:ff9b::2 ~64:ff9b::3 ~64:ff9b::4 ~64:ff9b::5 "
      "~64:ff9b::6 ~64:ff9b::7 ~64:ff9b::8" },
};

static void test_order(gconstpointer data)
{
    const Order *order = data;
    g_auto(GStrv) words = g_strsplit(order->given, " ", -1);
    g_autoptr(GString) got = g_string_new(NULL);
    VmrpcCandidate list[16];
    struct in6_addr source;
    size_t num, i;

    for (num = 0; words[num]; num++) {
        bool synthesized = words[num][0] == '~';

        list[num] = candidate(words[num] + synthesized, synthesized);
    }
    if (order->source) {
        source = candidate(order->source, false).addr6;
    }
    num = vmrpc_eyeballs_order(list, num, order->source ? &source : NULL);
    for (i = 0; i < num; i++) {
        char text[INET6_ADDRSTRLEN];

        inet_ntop(AF_INET6, &list[i].addr6, text, sizeof(text));
        g_string_append_printf(got, "%s%s%s", i ? " " : "",
                               list[i].synthesized ? "~" : "", text);
    }
    g_assert_cmpstr(got->str, ==, order->expected);
}

/* The same address at another port is another destination. */
static void test_ports(void)
{
    VmrpcCandidate list[2] = { candidate("2001:db8::1", false),
                               candidate("2001:db8::1", false) };

    list[1].port = htons(8443);
    g_assert_cmpint(vmrpc_eyeballs_order(list, 2, NULL), ==, 2);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(scenarios); i++) {
        g_autofree char *path = g_strdup_printf("/eyeballs/race/%s",
                                                scenarios[i].name);

        g_test_add_data_func(path, &scenarios[i], test_scenario);
    }
    g_test_add_func("/eyeballs/result-twice", test_result_twice);
    g_test_add_func("/eyeballs/size", test_size);
    for (i = 0; i < G_N_ELEMENTS(orders); i++) {
        g_autofree char *path = g_strdup_printf("/eyeballs/order/%s",
                                                orders[i].name);

        g_test_add_data_func(path, &orders[i], test_order);
    }
    g_test_add_func("/eyeballs/ports", test_ports);
    return g_test_run();
}
