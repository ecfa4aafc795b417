/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding names in a zone image, with and without deltas over it */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/zone-fixture.h"

enum {
    MX = 15,
    SRV = 33,
    NSEC3 = 50,
};

static const ZoneLine lines[] = {
    { "example", DNS_TYPE_NS, "ns.example" },
    { "example", DNS_TYPE_NS, "ns.elsewhere.test" },
    { "example", DNS_TYPE_SOA, "4711" },
    { "example", MX, "mail.example" },
    { "example", DNS_TYPE_RRSIG, "2" },
    { "example", DNS_TYPE_RRSIG, "6" },
    { "alias.example", DNS_TYPE_DNAME, "target.test" },
    { "a.b.c.example", DNS_TYPE_A, "192.0.2.1" },
    { "h9p7u7tr2u91d0v0ljs9l1gidnp90u3h.example", NSEC3, "hex:01000000" },
    { "mail.example", DNS_TYPE_AAAA, "2001:db8::25" },
    { "Ns.example", DNS_TYPE_A, "192.0.2.53" },
    { "sub.example", DNS_TYPE_NS, "ns1.sub.example" },
    { "sub.example", DNS_TYPE_NS, "ns.example" },
    { "ns1.sub.example", DNS_TYPE_A, "192.0.2.54" },
    { "wild.example", DNS_TYPE_A, "192.0.2.2" },
    { "*.wild.example", DNS_TYPE_A, "192.0.2.3" },
    { "x.y.wild.example", DNS_TYPE_A, "192.0.2.4" },
};

typedef struct Case {
    const char *name;
    ZoneFind find;
    const char *node;
    const char *encloser;
} Case;

static const Case cases[] = {
    { "example", ZONE_FIND_EXACT, "example", NULL },
    { "EXAMPLE", ZONE_FIND_EXACT, "example", NULL },
    { "mail.example", ZONE_FIND_EXACT, "mail.example", NULL },
    { "MAIL.eXample", ZONE_FIND_EXACT, "mail.example", NULL },
    { "ns.example", ZONE_FIND_EXACT, "Ns.example", NULL },
    /* Empty non-terminals exist, RFC 4592 section 2.2.2. */
    { "c.example", ZONE_FIND_EXACT, "c.example", NULL },
    { "b.c.example", ZONE_FIND_EXACT, "b.c.example", NULL },
    { "y.wild.example", ZONE_FIND_EXACT, "y.wild.example", NULL },
    { "nothing.example", ZONE_FIND_NONE, NULL, "example" },
    { "x.b.c.example", ZONE_FIND_NONE, NULL, "b.c.example" },
    { "1.2.3.mail.example", ZONE_FIND_NONE, NULL, "mail.example" },
    { "sub.example", ZONE_FIND_CUT, "sub.example", NULL },
    { "www.sub.example", ZONE_FIND_CUT, "sub.example", NULL },
    { "ns1.sub.example", ZONE_FIND_CUT, "sub.example", NULL },
    { "alias.example", ZONE_FIND_EXACT, "alias.example", NULL },
    { "www.alias.example", ZONE_FIND_DNAME, "alias.example", NULL },
    { "z.wild.example", ZONE_FIND_WILDCARD, "*.wild.example", "wild.example" },
    { "q.z.wild.example", ZONE_FIND_WILDCARD, "*.wild.example",
      "wild.example" },
    { "*.wild.example", ZONE_FIND_EXACT, "*.wild.example", NULL },
    /* The closest encloser has no wildcard, RFC 4592 section 2.2.1. */
    { "z.y.wild.example", ZONE_FIND_NONE, NULL, "y.wild.example" },
    /* RFC 5155 section 7.2.8 */
    { "h9p7u7tr2u91d0v0ljs9l1gidnp90u3h.example", ZONE_FIND_NONE, NULL,
      "example" },
    { "test", ZONE_FIND_OUTSIDE, NULL, NULL },
    { "counterexample", ZONE_FIND_OUTSIDE, NULL, NULL },
    { ".", ZONE_FIND_OUTSIDE, NULL, NULL },
};

static void assert_node(const ZoneNode *node, const char *want)
{
    DnsName name = { node->name_len, node->labels, { 0 } };
    char text[DNS_NAME_TEXT_MAX];

    memcpy(name.wire, node->name, node->name_len);
    dns_name_to_text(&name, text);
    g_assert_cmpstr(text, ==, want);
}

static void assert_cases(const ZoneView *view, const Case *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DnsName name = zone_name(all[i].name);
        ZoneFound found;

        g_test_message("%s", all[i].name);
        g_assert_cmpint(zone_find(view, &name, &found), ==, all[i].find);
        if (all[i].node) {
            assert_node(&found.node, all[i].node);
        }
        if (all[i].encloser) {
            assert_node(&found.encloser, all[i].encloser);
        }
    }
}

static void test_find(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneView view = { .layers = 1, .layer = { zone_open(&made) } };

    g_assert_cmpuint(view.layer[0]->serial, ==, 4711);
    g_assert_cmpuint(view.layer[0]->records, ==, G_N_ELEMENTS(lines));
    assert_cases(&view, cases, G_N_ELEMENTS(cases));
    g_assert_false(zone_view_failed(&view));
    zone_image_free(view.layer[0]);
    g_free(made.file);
}

/* The names of a delta hide those below, and what it says is gone is. */
static void test_deltas(void)
{
    static const ZoneLine older[] = {
        { "mail.example", 0, NULL },
        { "new.example", DNS_TYPE_A, "192.0.2.9" },
        { "sub.example", DNS_TYPE_A, "192.0.2.10" },
    };
    static const ZoneLine younger[] = {
        { "mail.example", DNS_TYPE_A, "192.0.2.11" },
        { "new.example", 0, NULL },
    };
    static const Case wanted[] = {
        { "mail.example", ZONE_FIND_EXACT, "mail.example", NULL },
        { "new.example", ZONE_FIND_NONE, NULL, "example" },
        { "sub.example", ZONE_FIND_EXACT, "sub.example", NULL },
        { "www.sub.example", ZONE_FIND_NONE, NULL, "sub.example" },
        { "ns1.sub.example", ZONE_FIND_EXACT, "ns1.sub.example", NULL },
        { "ns.example", ZONE_FIND_EXACT, "Ns.example", NULL },
    };
    ZoneMade base = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneMade one = zone_make_delta("example", older, G_N_ELEMENTS(older));
    ZoneMade two = zone_make_delta("example", younger, G_N_ELEMENTS(younger));
    ZoneView view = {
        .layers = 3,
        .layer = { zone_open(&two), zone_open(&one), zone_open(&base) },
    };

    assert_cases(&view, wanted, G_N_ELEMENTS(wanted));
    for (unsigned i = 0; i < view.layers; i++) {
        zone_image_free(view.layer[i]);
    }
    g_free(base.file);
    g_free(one.file);
    g_free(two.file);
}

/* Records are in the form in which they leave behind a question for them. */
static void test_records(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneView view = { .layers = 1, .layer = { zone_open(&made) } };
    DnsName name = zone_name("sub.example"), parsed;
    ZoneRrset rrset;
    ZoneTarget glue, other;
    ZoneNode node;

    g_assert_true(zone_find_exact(&view, name.wire, name.len, &node));
    g_assert_true(zone_rrset_find(&node, DNS_TYPE_NS, &rrset));
    g_assert_cmpuint(rrset.records, ==, 2);
    /* "ns1" and a pointer to the owner; "ns" and one into the owner. */
    g_assert_cmpuint(rrset.len, ==, 12 + 6 + 12 + 5);
    g_assert_cmpmem(rrset.at + 12, 6, "\003ns1\xc0\x0c", 6);
    g_assert_cmpmem(rrset.at + 30, 5, "\002ns\xc0\x10", 5);

    g_assert_cmpuint(rrset.targets, ==, 2);
    glue = zone_rrset_target(&rrset, 0);
    other = zone_rrset_target(&rrset, 1);
    g_assert_true(glue.is_glue && !other.is_glue);
    g_assert_true(zone_rrset_name(&node, &rrset, other.at, &parsed));
    name = zone_name("ns.example");
    g_assert_true(dns_name_equal(&parsed, &name));
    g_assert_true(zone_node_get(view.layer[0], glue.ref, &node));
    assert_node(&node, "ns1.sub.example");
    g_assert_true(zone_node_get(view.layer[0], other.ref, &node));
    assert_node(&node, "Ns.example");
    zone_image_free(view.layer[0]);
    g_free(made.file);
}

static void test_signatures(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneView view = { .layers = 1, .layer = { zone_open(&made) } };
    DnsName name = zone_name("example");
    ZoneRrset rrset;
    ZoneNode node;

    g_assert_true(zone_find_exact(&view, name.wire, name.len, &node));
    g_assert_cmpuint(node.rrsets, ==, 3);
    g_assert_true(zone_rrset_find(&node, DNS_TYPE_NS, &rrset));
    g_assert_cmpuint(rrset.sigs, ==, 1);
    g_assert_cmpuint(rrset.sigs_len, ==, 12 + 18 + 9 + 16);
    g_assert_cmpuint(rrset.sigs_at[13], ==, DNS_TYPE_NS);
    g_assert_true(zone_rrset_find(&node, MX, &rrset));
    g_assert_cmpuint(rrset.sigs, ==, 0);
    g_assert_false(zone_rrset_find(&node, DNS_TYPE_RRSIG, &rrset));
    zone_image_free(view.layer[0]);
    g_free(made.file);
}

/* Names by the thousand: all are found, and others are not. */
static void test_many(void)
{
    enum { NAMES = 20000 };
    g_autofree ZoneLine *many = g_new0(ZoneLine, NAMES + 1);
    g_autofree char *text = g_malloc(NAMES * 32);
    ZoneMade made;
    ZoneView view = { .layers = 1 };
    ZoneFound found;

    many[0] = (ZoneLine) { "example", DNS_TYPE_SOA, "1" };
    for (unsigned i = 0; i < NAMES; i++) {
        char *owner = text + i * 32;

        g_snprintf(owner, 32, "n%05u.example", i);
        many[i + 1] = (ZoneLine) { owner, DNS_TYPE_A, "192.0.2.1" };
    }
    made = zone_make("example", many, NAMES + 1);
    view.layer[0] = zone_open(&made);
    for (unsigned i = 0; i < NAMES; i++) {
        DnsName name = zone_name(many[i + 1].owner);

        g_assert_cmpint(zone_find(&view, &name, &found), ==, ZONE_FIND_EXACT);
        name.wire[1] = 'm';
        g_assert_cmpint(zone_find(&view, &name, &found), ==, ZONE_FIND_NONE);
    }
    zone_image_free(view.layer[0]);
    g_free(made.file);
}

static void test_refused(void)
{
    static const ZoneLine no_soa[] = {
        { "example", DNS_TYPE_NS, "ns.example" },
    };
    static const ZoneLine disorder[] = {
        { "example", DNS_TYPE_SOA, "1" },
        { "b.example", DNS_TYPE_A, "192.0.2.1" },
        { "a.example", DNS_TYPE_A, "192.0.2.1" },
    };
    static const ZoneLine twice[] = {
        { "example", DNS_TYPE_SOA, "1" },
        { "a.example", DNS_TYPE_A, "192.0.2.1" },
        { "A.example", DNS_TYPE_A, "192.0.2.1" },
    };
    static const ZoneLine outside[] = {
        { "example", DNS_TYPE_SOA, "1" },
        { "a.test", DNS_TYPE_A, "192.0.2.1" },
    };
    static const ZoneLine short_mx[] = {
        { "example", DNS_TYPE_SOA, "1" },
        { "example", MX, "hex:00" },
    };
    static const ZoneLine sig_of_nothing[] = {
        { "example", DNS_TYPE_SOA, "1" },
        { "example", DNS_TYPE_RRSIG, "1" },
    };

    g_assert_cmpint(zone_try("example", no_soa, 1), ==, -EINVAL);
    g_assert_cmpint(zone_try("example", disorder, 3), ==, -EINVAL);
    g_assert_cmpint(zone_try("example", twice, 3), ==, -EINVAL);
    g_assert_cmpint(zone_try("example", outside, 2), ==, -EINVAL);
    g_assert_cmpint(zone_try("example", short_mx, 2), ==, -EINVAL);
    g_assert_cmpint(zone_try("example", sig_of_nothing, 2), ==, -EINVAL);
}

/* Every octet of the file is covered by a checksum. */
static void test_damage(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneFault fault;

    for (uint64_t i = 0; i < made.len; i++) {
        ZoneImage *image;

        made.file[i] ^= 0x20;
        image = zone_image_open(made.file, made.len, &fault);
        if (image) {
            g_assert_false(zone_image_check_pages(image, &fault));
            g_assert_cmpuint(fault.offset, ==, i & ~(ZONE_PAGE - 1));
        }
        zone_image_free(image);
        made.file[i] ^= 0x20;
    }
    g_free(made.file);
}

static void test_truncated(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneFault fault;

    for (uint64_t len = 0; len < made.len; len += 64) {
        g_assert_null(zone_image_open(made.file, len, &fault));
        g_assert_nonnull(fault.what);
    }
    g_free(made.file);
}

/* A page that was damaged after opening stops the zone, at its first use. */
static void test_damage_stops(void)
{
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    ZoneView view = { .layers = 1, .layer = { zone_open(&made) } };
    DnsName name = zone_name("mail.example");
    ZoneFound found;

    made.file[ZONE_PAGE + 1000] ^= 1;
    g_assert_cmpint(zone_find(&view, &name, &found), ==, ZONE_FIND_FAILED);
    made.file[ZONE_PAGE + 1000] ^= 1;
    g_assert_cmpint(zone_find(&view, &name, &found), ==, ZONE_FIND_FAILED);
    zone_image_free(view.layer[0]);
    g_free(made.file);
}

/* Whichever page is damaged, a look-up is right or fails. */
static void test_damage_misleads_nobody(void)
{
    enum { STEP = 61 };         /* octets; no divisor of a page */
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));
    unsigned failed = 0, found = 0;
    ZoneFault fault;

    for (uint64_t at = ZONE_PAGE; at < made.len; at += STEP) {
        ZoneView view = { .layers = 1 };

        made.file[at] ^= 1 << at % 8;
        for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
            DnsName name = zone_name(cases[i].name);
            ZoneFound result;
            ZoneFind how;

            view.layer[0] = zone_image_open(made.file, made.len, &fault);
            if (!view.layer[0]) {
                continue;
            }
            how = zone_find(&view, &name, &result);
            failed += how == ZONE_FIND_FAILED;
            found += how == cases[i].find;
            g_assert_true(how == ZONE_FIND_FAILED || how == cases[i].find);
            zone_image_free(view.layer[0]);
        }
        made.file[at] ^= 1 << at % 8;
    }
    g_assert_cmpuint(failed, >, 0);
    g_assert_cmpuint(found, >, 0);
    g_free(made.file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/zone/find", test_find);
    g_test_add_func("/zone/deltas", test_deltas);
    g_test_add_func("/zone/records", test_records);
    g_test_add_func("/zone/signatures", test_signatures);
    g_test_add_func("/zone/many", test_many);
    g_test_add_func("/zone/refused", test_refused);
    g_test_add_func("/zone/damage", test_damage);
    g_test_add_func("/zone/truncated", test_truncated);
    g_test_add_func("/zone/damage-stops", test_damage_stops);
    g_test_add_func("/zone/damage-misleads-nobody",
                    test_damage_misleads_nobody);
    return g_test_run();
}
