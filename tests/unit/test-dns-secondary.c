/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A secondary's timers, NOTIFY both ways, and the sorter of transfers */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/dns-store-fixture.h"
#include "dnsd/update/change/key.h"
#include "dnsd/update/xfr/notify.h"
#include "dnsd/update/xfr/secondary.h"
#include "dnsd/update/xfr/sorter.h"

#define NOW     1000000

static const DnsSoa soa = {
    .serial = 10, .refresh = 3600, .retry = 600, .expire = 86400,
};

/* --- timers --------------------------------------------------------------- */

static void test_refresh(void)
{
    DnsSecondary s;

    dns_secondary_init(&s, &soa, 0, NOW);
    g_assert_cmpint(dns_secondary_tick(&s, NOW), ==, DNS_SECONDARY_ASK);
    /* One query at a time */
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 5000), ==,
                    DNS_SECONDARY_WAIT);
    dns_secondary_current(&s, &soa, NOW, 0);
    g_assert_cmpuint(s.next, ==, NOW + 3600);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 3599), ==,
                    DNS_SECONDARY_WAIT);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 3600), ==, DNS_SECONDARY_ASK);
    dns_secondary_failed(&s, NOW + 3600, 0);
    g_assert_cmpuint(s.next, ==, NOW + 4200);
}

static void test_expire(void)
{
    DnsSecondary s;

    dns_secondary_init(&s, &soa, 100, NOW);
    g_assert_cmpint(dns_secondary_tick(&s, NOW), ==, DNS_SECONDARY_ASK);
    dns_secondary_failed(&s, NOW, 0);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 86299), ==,
                    DNS_SECONDARY_ASK);
    /* It expires also during a query, and goes on asking. */
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 86300), ==,
                    DNS_SECONDARY_EXPIRE);
    g_assert_true(s.has_expired);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 86300), ==,
                    DNS_SECONDARY_WAIT);
    dns_secondary_failed(&s, NOW + 86300, 0);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 86900), ==,
                    DNS_SECONDARY_ASK);
    dns_secondary_current(&s, &soa, NOW + 86900, 0);
    g_assert_false(s.has_expired);

    /* A zone from the disk may have expired. */
    dns_secondary_init(&s, &soa, 86400, NOW);
    g_assert_true(s.has_expired);
}

static void test_no_zone_yet(void)
{
    DnsSecondary s;
    uint64_t now = NOW, last = 0;

    dns_secondary_init(&s, NULL, 0, NOW);
    for (unsigned i = 0; i < 20; i++) {
        g_assert_cmpint(dns_secondary_tick(&s, now), ==, DNS_SECONDARY_ASK);
        dns_secondary_failed(&s, now, 0);
        g_assert_cmpuint(s.next - now, >=, last);
        last = s.next - now;
        now = s.next;
    }
    g_assert_cmpuint(last, ==, 3600);
}

static void test_notified(void)
{
    DnsSecondary s;

    dns_secondary_init(&s, &soa, 0, NOW);
    dns_secondary_tick(&s, NOW);
    dns_secondary_current(&s, &soa, NOW, 0);
    /* A NOTIFY with an old serial (RFC 1982) is ignored. */
    dns_secondary_notify(&s, true, 10, NOW + 1);
    dns_secondary_notify(&s, true, 4000000000, NOW + 1);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 1), ==, DNS_SECONDARY_WAIT);
    dns_secondary_notify(&s, true, 11, NOW + 1);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 1), ==, DNS_SECONDARY_ASK);
    /* A NOTIFY during a query causes another one. */
    dns_secondary_notify(&s, false, 0, NOW + 2);
    dns_secondary_current(&s, &soa, NOW + 3, 0);
    g_assert_cmpint(dns_secondary_tick(&s, NOW + 3), ==, DNS_SECONDARY_ASK);
}

static void test_bounds(void)
{
    static const DnsSoa silly = { .refresh = 0, .retry = 0, .expire = 0 };
    static const DnsSoa large = { .refresh = UINT32_MAX, .retry = UINT32_MAX,
                                  .expire = UINT32_MAX };
    DnsSecondary s;

    dns_secondary_init(&s, &silly, 0, NOW);
    dns_secondary_tick(&s, NOW);
    dns_secondary_current(&s, &silly, NOW, 12345);
    g_assert_cmpuint(s.next, >=, NOW + DNS_REFRESH_MIN * 9 / 10);
    g_assert_cmpuint(s.expire, >=, s.refresh + s.retry);
    dns_secondary_current(&s, &large, NOW, 0);
    g_assert_cmpuint(s.next, ==, NOW + DNS_REFRESH_MAX);
}

/* --- NOTIFY --------------------------------------------------------------- */

static void test_notify(void)
{
    DnsName zone = zone_name("example"), other = zone_name("other");
    uint8_t msg[DNS_UDP_MIN], reply[DNS_UDP_MIN];
    DnsSoa hint = soa;
    DnsNotified notified;
    DnsNotify notify;
    size_t len, reply_len;

    hint.mname = hint.rname = zone;
    len = dns_notify_build(msg, sizeof(msg), 7, &zone, DNS_CLASS_IN, &hint, 60);
    g_assert_cmpint(dns_notify_parse(msg, len, &notified), ==, 0);
    g_assert_true(dns_name_equal(&notified.zone.name, &zone));
    g_assert_true(notified.has_serial);
    g_assert_cmpuint(notified.serial, ==, 10);
    reply_len = len;
    memcpy(reply, msg, len);
    put_be16(reply + 2, get_be16(reply + 2) | DNS_FLAG_QR);

    dns_notify_begin(&notify, 7, NOW);
    g_assert_true(dns_notify_due(&notify, NOW));
    g_assert_false(dns_notify_due(&notify, NOW + 4));
    g_assert_false(dns_notify_answer(&notify, &other, reply, reply_len));
    g_assert_false(dns_notify_answer(&notify, &zone, msg, len));
    reply[1] ^= 1;
    g_assert_false(dns_notify_answer(&notify, &zone, reply, reply_len));
    reply[1] ^= 1;
    g_assert_true(dns_notify_answer(&notify, &zone, reply, reply_len));
    g_assert_true(notify.is_done);
    g_assert_false(dns_notify_due(&notify, NOW + 10000));

    /* A reply is no request. */
    g_assert_cmpint(dns_notify_parse(reply, reply_len, &notified), ==,
                    -EBADMSG);
}

static void test_notify_gives_up(void)
{
    DnsNotify notify;
    uint64_t now = NOW;
    unsigned sent = 0;

    for (dns_notify_begin(&notify, 7, now); !notify.is_done; now++) {
        sent += dns_notify_due(&notify, now);
    }
    g_assert_cmpuint(sent, ==, DNS_NOTIFY_TRIES);
    g_assert_cmpuint(now - NOW, ==, 5 + 10 + 20 + 40 + 80 + 1);
}

/* --- sorter --------------------------------------------------------------- */

typedef struct Sorted {
    unsigned count;
    uint64_t sum;
    NameKey last;
} Sorted;

static int take(void *opaque, const DnsName *name, const ZoneRecord *record)
{
    Sorted *sorted = opaque;
    NameKey key;

    name_key_init(&key, name->wire);
    g_assert_cmpint(name_key_compare(&sorted->last, &key), <=, 0);
    sorted->last = key;
    sorted->sum += get_be32(record->rdata);
    sorted->count++;
    return 0;
}

/* More records than its memory holds, in any order */
static void test_sorter(void)
{
    g_autofree char *folder = g_dir_make_tmp("dns-sorter-XXXXXX", NULL);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    DnsSorter *sorter = dns_sorter_new(folder, 1);
    Sorted sorted = { 0 };
    uint64_t sum = 0;

    for (unsigned i = 0; i < 10000; i++) {
        g_autofree char *text = g_strdup_printf(
            "%x.%x.example", g_rand_int(rand) % 100, g_rand_int(rand) % 64);
        DnsName name = zone_name(text);
        uint8_t rdata[4];
        ZoneRecord record = { DNS_TYPE_A, 4, 60, rdata };

        put_be32(rdata, i);
        sum += i;
        g_assert_cmpint(dns_sorter_add(sorter, &name, &record), ==, 0);
    }
    g_assert_cmpint(dns_sorter_each(sorter, take, &sorted), ==, 0);
    g_assert_cmpuint(sorted.count, ==, 10000);
    g_assert_cmpuint(sorted.sum, ==, sum);
    dns_sorter_free(sorter);
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-secondary/refresh", test_refresh);
    g_test_add_func("/dns-secondary/expire", test_expire);
    g_test_add_func("/dns-secondary/no-zone-yet", test_no_zone_yet);
    g_test_add_func("/dns-secondary/notified", test_notified);
    g_test_add_func("/dns-secondary/bounds", test_bounds);
    g_test_add_func("/dns-notify/both-ways", test_notify);
    g_test_add_func("/dns-notify/gives-up", test_notify_gives_up);
    g_test_add_func("/dns-sorter", test_sorter);
    return g_test_run();
}
