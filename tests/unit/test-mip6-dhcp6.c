/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A DHCPv6 client for one address, and a scripted server */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/careof/dhcp6.h"
#include "net/packet/ip6.h"

#define LEASED  "2001:db8:3000::1234"
#define OTHER   "2001:db8:3000::5678"

enum {
    SOLICIT = 1, ADVERTISE, REQUEST, RENEW = 5, REBIND, REPLY, RELEASE, DECLINE,
};

static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t first[] = { 0, 3, 0, 1, 2, 0, 0, 0, 0, 1 };
static const uint8_t second[] = { 0, 3, 0, 1, 2, 0, 0, 0, 0, 2 };

typedef struct Fixture {
    Mip6Dhcp6 d;
    int64_t now;
    unsigned sent, changes;
    int64_t at[64];
    uint8_t last[MIP6_DHCP6_MAX];
    size_t len;
    uint32_t random;
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void take(void *opaque, const void *message, size_t len)
{
    Fixture *f = opaque;

    g_assert_cmpint(len, <=, sizeof(f->last));
    memcpy(f->last, message, len);
    f->len = len;
    f->at[f->sent++ % G_N_ELEMENTS(f->at)] = f->now;
}

static uint32_t next_random(void *opaque)
{
    Fixture *f = opaque;

    return f->random = f->random * 1664525 + 1013904223;
}

static void changed(void *opaque, int64_t now)
{
    Fixture *f = opaque;

    f->changes++;
}

static const Mip6Dhcp6Ops ops = {
    .send = take, .random = next_random, .changed = changed,
};

static Fixture *begin(void)
{
    Fixture *f = g_new0(Fixture, 1);

    f->now = 1000 * SECOND;
    mip6_dhcp6_init(&f->d, own_mac, &ops, f);
    g_assert_cmpint(mip6_dhcp6_deadline(&f->d), ==, INT64_MAX);
    mip6_dhcp6_start(&f->d, f->now);
    mip6_dhcp6_tick(&f->d, f->now);
    return f;
}

static void pass(Fixture *f, int64_t ns)
{
    int64_t end = f->now + ns, at;

    while ((at = mip6_dhcp6_deadline(&f->d)) <= end) {
        f->now = at > f->now ? at : f->now;
        mip6_dhcp6_tick(&f->d, f->now);
        g_assert_cmpint(mip6_dhcp6_deadline(&f->d), >, f->now);
    }
    f->now = end;
}

/* The option @code of the last message, or of @in; NULL: it has none */
static const uint8_t *option_in(const uint8_t *p, size_t len, uint16_t code,
                                size_t *size)
{
    const uint8_t *end = p + len;

    while (end - p >= 4) {
        *size = get_be16(p + 2);
        g_assert_cmpint(4 + *size, <=, end - p);
        if (get_be16(p) == code) {
            return p + 4;
        }
        p += 4 + *size;
    }
    g_assert_true(p == end);
    return NULL;
}

static const uint8_t *option(const Fixture *f, uint16_t code, size_t *size)
{
    return option_in(f->last + 4, f->len - 4, code, size);
}

/* The last message is of @type, to @server, with @addr in its IA. */
static void expect(const Fixture *f, uint8_t type, const uint8_t *server,
                   const char *addr)
{
    const uint8_t *p;
    size_t size, in;

    g_assert_cmpint(f->last[0], ==, type);
    p = option(f, 1, &size);
    g_assert_nonnull(p);
    g_assert_cmpmem(p, size, "\0\3\0\1\x02\xaa\0\0\0\1", 10);
    p = option(f, 2, &size);
    if (server) {
        g_assert_nonnull(p);
        g_assert_cmpmem(p, size, server, 10);
    } else {
        g_assert_null(p);
    }
    g_assert_nonnull(option(f, 8, &size));      /* elapsed time */
    g_assert_cmpint(size, ==, 2);
    g_assert_true(!option(f, 14, &size) == (type != SOLICIT));
    p = option(f, 3, &size);
    g_assert_nonnull(p);
    g_assert_cmpint(size, >=, 12);
    p = option_in(p + 12, size - 12, 5, &in);
    g_assert_true(!p == !addr);
    if (addr) {
        struct in6_addr want = address(addr);

        g_assert_cmpint(in, ==, 24);
        g_assert_cmpmem(p, 16, &want, 16);
    }
}

/* What a server says; 0 and NULL: that option is left out. */
typedef struct Says {
    uint8_t type;
    const uint8_t *server;
    const char *addr;
    uint32_t t1, t2, preferred, valid;
    bool rapid, stranger;
    uint8_t preference;
    uint16_t status, ia_status;
    uint32_t max;
} Says;

static uint8_t *put(uint8_t *p, uint16_t code, uint16_t len)
{
    put_be16(p, code);
    put_be16(p + 2, len);
    return p + 4;
}

static size_t build(const Fixture *f, const Says *s, uint8_t *buf)
{
    uint8_t *p = buf + 4, *ia, *at;

    memcpy(buf, f->last, 4);    /* the transaction */
    buf[0] = s->type;
    at = put(p, 1, 10);
    memcpy(at, "\0\3\0\1\x02\xaa\0\0\0\1", 10);
    at[9] += s->stranger;
    p = at + 10;
    at = put(p, 2, 10);
    memcpy(at, s->server ? s->server : first, 10);
    p = at + 10;
    if (s->preference) {
        at = put(p, 7, 1);
        *at = s->preference;
        p = at + 1;
    }
    if (s->status) {
        at = put(p, 13, 2);
        put_be16(at, s->status);
        p = at + 2;
    }
    if (s->rapid) {
        p = put(p, 14, 0);
    }
    if (s->max) {
        at = put(p, 82, 4);
        put_be32(at, s->max);
        p = at + 4;
    }
    if (s->addr || s->ia_status) {
        ia = put(p, 3, 12);
        memcpy(ia, own_mac + 2, 4);
        put_be32(ia + 4, s->t1);
        put_be32(ia + 8, s->t2);
        p = ia + 12;
        if (s->addr) {
            struct in6_addr addr = address(s->addr);

            at = put(p, 5, 24);
            memcpy(at, &addr, 16);
            put_be32(at + 16, s->preferred);
            put_be32(at + 20, s->valid);
            p = at + 24;
        }
        if (s->ia_status) {
            at = put(p, 13, 2);
            put_be16(at, s->ia_status);
            p = at + 2;
        }
        put_be16(ia - 2, p - ia);
    }
    return p - buf;
}

static bool say(Fixture *f, const Says *s)
{
    uint8_t buf[512];
    size_t len = build(f, s, buf);

    return mip6_dhcp6_message(&f->d, f->now, buf, len);
}

static const Says offer = {
    .type = ADVERTISE, .addr = LEASED, .preferred = 600, .valid = 900,
};
static const Says lease = {
    .type = REPLY, .addr = LEASED, .preferred = 600, .valid = 900,
    .t1 = 300, .t2 = 480,
};

static Fixture *bound(void)
{
    Fixture *f = begin();

    g_assert_true(say(f, &offer));
    pass(f, 2 * SECOND);
    expect(f, REQUEST, first, LEASED);
    g_assert_true(say(f, &lease));
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_BOUND);
    g_assert_true(f->d.has_address);
    f->sent = f->changes = 0;
    return f;
}

static void test_lease(void)
{
    Fixture *f = begin();
    struct in6_addr want = address(LEASED);

    expect(f, SOLICIT, NULL, NULL);
    g_assert_true(say(f, &offer));
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_SOLICITING);     /* a better? */
    g_assert_false(f->d.has_address);
    pass(f, 1200 * MS);
    expect(f, REQUEST, first, LEASED);
    g_assert_false(f->d.has_address);
    g_assert_true(say(f, &lease));
    g_assert_cmpmem(&f->d.address, 16, &want, 16);
    g_assert_cmpint(f->d.preferred, ==, f->now + 600 * SECOND);
    g_assert_cmpint(f->d.valid, ==, f->now + 900 * SECOND);
    g_assert_cmpint(mip6_dhcp6_deadline(&f->d), ==, f->now + 300 * SECOND);
    g_assert_cmpint(f->changes, ==, 1);
    g_assert_false(say(f, &lease));                     /* nobody asked */
    /* Its server prolongs it. */
    pass(f, 300 * SECOND);
    expect(f, RENEW, first, LEASED);
    g_assert_true(say(f, &lease));
    g_assert_cmpint(f->d.valid, ==, f->now + 900 * SECOND);
    /* It is silent: any server may. */
    pass(f, 470 * SECOND);
    expect(f, RENEW, first, LEASED);
    pass(f, 15 * SECOND);
    expect(f, REBIND, NULL, LEASED);
    g_assert_true(say(f, &(Says) {
        .type = REPLY, .server = second, .addr = LEASED, .preferred = 600,
        .valid = 900, .t1 = 300, .t2 = 480,
    }));
    pass(f, 300 * SECOND);
    expect(f, RENEW, second, LEASED);
    /* None does: it ends, and a server is searched. */
    g_assert_true(f->d.has_address);
    pass(f, 600 * SECOND);
    g_assert_false(f->d.has_address);
    pass(f, 2 * SECOND);
    expect(f, SOLICIT, NULL, NULL);
    g_free(f);
}

static void test_rapid(void)
{
    Fixture *f = begin();
    Says s = lease;

    g_assert_false(say(f, &s));         /* it must say that it is rapid */
    s.rapid = true;
    g_assert_true(say(f, &s));
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_BOUND);
    g_assert_cmpint(f->sent, ==, 1);
    g_free(f);
}

/* Section 18.2.9: the highest preference; 255 ends the search. */
static void test_choice(void)
{
    Fixture *f = begin();
    Says s = offer;

    say(f, &s);
    s.server = second;
    s.addr = OTHER;
    say(f, &s);                         /* as good */
    s.preference = 7;
    say(f, &s);                         /* better */
    s.server = first;
    s.addr = LEASED;
    s.preference = 6;
    say(f, &s);
    g_assert_cmpint(f->sent, ==, 1);
    pass(f, 1200 * MS);
    expect(f, REQUEST, second, OTHER);
    g_assert_false(say(f, &lease));     /* of the other server */
    g_free(f);

    f = begin();
    s.preference = 255;
    say(f, &s);
    expect(f, REQUEST, first, LEASED);
    g_free(f);
    /* After the first Solicit's time any offer does. */
    f = begin();
    pass(f, 1500 * MS);
    g_assert_cmpint(f->sent, ==, 2);
    say(f, &offer);
    expect(f, REQUEST, first, LEASED);
    g_free(f);
}

/* Section 15. */
static void test_repeat(void)
{
    Fixture *f = begin();
    int64_t gap = SECOND;

    pass(f, 1000 * SECOND);
    g_assert_cmpint(f->sent, >=, 9);
    g_assert_cmpint(f->at[1] - f->at[0], >, SECOND);
    for (unsigned i = 1; i < f->sent; i++) {
        int64_t was = f->at[i] - f->at[i - 1];

        g_assert_cmpint(was, >=, gap);
        g_assert_cmpint(was, <=, i == 1 ? 11 * SECOND / 10 : gap * 6 / 5 +
                                                            gap / 5);
        gap = was * 19 / 10;
    }
    /* A server says how long the longest interval is. */
    say(f, &(Says) { .type = ADVERTISE, .status = 2, .max = 60 });
    g_assert_cmpint(f->d.status, ==, MIP6_DHCP6_NO_ADDRS);
    pass(f, 1100 * SECOND);
    f->sent = 0;
    pass(f, 600 * SECOND);
    g_assert_cmpint(f->sent, >=, 9);
    g_assert_cmpint(f->sent, <=, 12);
    g_free(f);

    /* A request is given up after ten messages, for another search. */
    f = begin();
    say(f, &offer);
    pass(f, 2 * SECOND);
    f->sent = 0;
    pass(f, 300 * SECOND);
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_SOLICITING);
    expect(f, SOLICIT, NULL, NULL);
    g_free(f);
}

/* A server that refuses makes no loop. */
static void test_refusals(void)
{
    static const uint16_t refusals[] = {
        MIP6_DHCP6_NO_ADDRS, MIP6_DHCP6_NO_BINDING, MIP6_DHCP6_NOT_ON_LINK, 77,
    };
    Fixture *f;
    Says s = offer;

    s.preference = 255;
    for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
        for (unsigned in_ia = 0; in_ia < 2; in_ia++) {
            f = begin();
            for (unsigned n = 0; n < 200; n++) {
                Says no = { .type = REPLY, .status = in_ia ? 0 : refusals[i],
                            .ia_status = in_ia ? refusals[i] : 0 };

                if (f->last[0] == SOLICIT) {
                    say(f, &s);
                } else {
                    say(f, &no);
                    g_assert_cmpint(f->d.status, ==, refusals[i]);
                }
                pass(f, SECOND / 2);
            }
            g_assert_cmpint(f->sent, <=, 16);
            g_free(f);
        }
    }
    /* Two of them are no refusal yet. */
    f = bound();
    pass(f, 300 * SECOND);
    say(f, &(Says) { .type = REPLY, .status = MIP6_DHCP6_UNSPEC_FAIL });
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_RENEWING);
    /* A server that has forgotten the address is asked for it anew. */
    say(f, &(Says) { .type = REPLY, .ia_status = MIP6_DHCP6_NO_BINDING });
    expect(f, REQUEST, first, LEASED);
    g_assert_true(f->d.has_address);
    say(f, &lease);
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_BOUND);
    g_assert_cmpint(f->d.status, ==, 0);
    /* It takes it back. */
    pass(f, 300 * SECOND);
    s = lease;
    s.preferred = s.valid = 0;
    say(f, &s);
    g_assert_false(f->d.has_address);
    g_free(f);
}

/* Lifetimes and times that contradict each other, and addresses of no use. */
static void test_wrong_leases(void)
{
    static const struct {
        const char *addr;
        uint32_t t1, t2, preferred, valid;
        bool good;
    } leases[] = {
        { LEASED, 300, 480, 600, 900, true },
        { LEASED, 0, 0, 600, 900, true },
        { LEASED, 300, 0, 600, 900, true },
        { LEASED, 0, 0, UINT32_MAX, UINT32_MAX, true },
        { LEASED, 0, 0, 0, 900, true },         /* deprecated */
        { LEASED, 1, 1, 2, 3, true },
        { LEASED, 481, 480, 600, 900, false },
        { LEASED, 300, 480, 901, 900, false },
        { LEASED, 300, 480, 0, 0, false },
        { "fe80::1", 300, 480, 600, 900, false },
        { "ff02::1", 300, 480, 600, 900, false },
        { "::", 300, 480, 600, 900, false },
        { "::1", 300, 480, 600, 900, false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(leases); i++) {
        Fixture *f = begin();

        say(f, &(Says) {
            .type = REPLY, .rapid = true, .addr = leases[i].addr,
            .t1 = leases[i].t1, .t2 = leases[i].t2,
            .preferred = leases[i].preferred, .valid = leases[i].valid,
        });
        g_assert_true(f->d.has_address == leases[i].good);
        if (leases[i].good) {
            g_assert_cmpint(mip6_dhcp6_deadline(&f->d), >, f->now + 2 * SECOND);
            f->sent = 0;
            pass(f, 60 * SECOND);
            g_assert_cmpint(f->sent, <=, 10);
        }
        g_free(f);
    }
}

/* Cut, of another transaction, of nobody, or to another client. */
static void test_malformed(void)
{
    Fixture *f = begin();
    uint8_t buf[512];
    Says s = offer;
    size_t len;

    s.preference = 255;
    len = build(f, &s, buf);
    for (size_t i = 0; i < len; i++) {
        /* Sanitizers watch its end. */
        g_autofree uint8_t *cut = g_memdup2(buf, i ? i : 1);

        mip6_dhcp6_message(&f->d, f->now, cut, i);
        g_assert_false(f->d.has_offer);
    }
    buf[3] ^= 1;
    g_assert_false(mip6_dhcp6_message(&f->d, f->now, buf, len));
    buf[3] ^= 1;
    buf[0] = RELEASE;
    g_assert_false(mip6_dhcp6_message(&f->d, f->now, buf, len));
    s.stranger = true;
    g_assert_false(say(f, &s));
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_SOLICITING);
    g_free(f);
}

static void test_leave(void)
{
    Fixture *f = bound();

    mip6_dhcp6_release(&f->d, f->now);
    expect(f, RELEASE, first, LEASED);
    g_assert_cmpint(f->sent, ==, 1);
    g_assert_cmpint(mip6_dhcp6_deadline(&f->d), ==, INT64_MAX);
    g_assert_false(f->d.has_address);
    mip6_dhcp6_release(&f->d, f->now);
    g_assert_cmpint(f->sent, ==, 1);
    g_free(f);

    /* Another node has the address: the server is told, some times. */
    f = bound();
    mip6_dhcp6_decline(&f->d, f->now);
    g_assert_false(f->d.has_address);
    mip6_dhcp6_tick(&f->d, f->now);
    expect(f, DECLINE, first, LEASED);
    pass(f, 60 * SECOND);
    g_assert_cmpint(f->last[0], ==, SOLICIT);
    g_free(f);
    f = bound();
    mip6_dhcp6_decline(&f->d, f->now);
    mip6_dhcp6_tick(&f->d, f->now);
    say(f, &(Says) { .type = REPLY });
    g_assert_cmpint(f->d.state, ==, MIP6_DHCP6_SOLICITING);
    pass(f, 2 * SECOND);
    expect(f, SOLICIT, NULL, NULL);
    g_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/dhcp6/lease", test_lease);
    g_test_add_func("/mip6/dhcp6/rapid", test_rapid);
    g_test_add_func("/mip6/dhcp6/choice", test_choice);
    g_test_add_func("/mip6/dhcp6/repeat", test_repeat);
    g_test_add_func("/mip6/dhcp6/refusals", test_refusals);
    g_test_add_func("/mip6/dhcp6/wrong-leases", test_wrong_leases);
    g_test_add_func("/mip6/dhcp6/malformed", test_malformed);
    g_test_add_func("/mip6/dhcp6/leave", test_leave);
    return g_test_run();
}
