/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random changes to RRsets near the limit of updates, and above it: an image
 * may have larger ones
 *
 * What was committed is there after a restart, whatever it was.  A change that
 * only removes is never refused.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/dns-store-fixture.h"

#define ROUNDS          100
#define TEXTS           400     /* that a name may have */
#define TEXT_LEN        200
#define DIGITS          3       /* at their end */
#define FIT             305     /* of them in 65,000 octets */

static const char *const names[] = { "above.example", "at.example",
                                     "below.example" };
static const unsigned begin[G_N_ELEMENTS(names)] = { 350, FIT, 290 };

typedef struct Model {
    bool has[G_N_ELEMENTS(names)][TEXTS];
} Model;

static char texts[TEXTS][TEXT_LEN + 1];
static char rdata_hex[TEXTS][sizeof("hex:c8") + 2 * TEXT_LEN];

static unsigned count(const Model *m, unsigned name)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TEXTS; i++) {
        n += m->has[name][i];
    }
    return n;
}

static void compare(const Model *m, const StoreBed *bed)
{
    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
        DnsName name = zone_name(names[n]);
        DnsNode *read = NULL;
        ZoneNode node;

        if (zone_find_exact(bed->view, name.wire, name.len, &node)) {
            read = dns_node_read(&node);
            g_assert_nonnull(read);
        }
        g_assert_cmpuint(read ? read->count : 0, ==, count(m, n));
        for (unsigned i = 0; read && i < read->count; i++) {
            const char *digits = (const char *)read->record[i].rdata +
                                 read->record[i].rdlength - DIGITS;
            g_autofree char *number = g_strndup(digits, DIGITS);

            g_assert_true(m->has[n][g_ascii_strtoull(number, NULL, 10)]);
        }
        g_free(read);
    }
}

static int add_or_remove(DnsEdit *edit, unsigned name, unsigned text,
                         bool is_there)
{
    ZoneLine line = { names[name], DNS_TYPE_TXT, texts[text] };
    DnsName owner = zone_name(line.owner);
    uint8_t rdata[DNS_NAME_MAX + 1];
    ZoneRecord record = store_record(&line, rdata);

    return is_there ? dns_edit_remove(edit, &owner, &record)
                    : dns_edit_add(edit, &owner, &record);
}

/* Some records of a name come and go in one edit.  Returns the edit's error. */
static int change(GRand *rand, Model *m, StoreBed *bed)
{
    DnsEdit *edit = dns_store_begin(bed->store);
    unsigned name = g_rand_int_range(rand, 0, G_N_ELEMENTS(names));
    unsigned changes = g_rand_int_range(rand, 1, 30);
    unsigned before = count(m, name);
    unsigned removes_of_4 = g_rand_int_range(rand, 1, 5);
    bool adds = false;
    Model next = *m;
    int ret = 0;

    while (changes-- > 0 && !ret) {
        unsigned text = g_rand_int_range(rand, 0, TEXTS);
        bool is_there = next.has[name][text];

        if (is_there == (g_rand_int_range(rand, 0, 4) < (int)removes_of_4)) {
            adds |= !is_there;
            ret = add_or_remove(edit, name, text, is_there);
            next.has[name][text] = !is_there;
        }
    }
    g_assert_true(!ret || (ret == -ENOSPC && adds));
    if (ret) {
        g_assert_cmpuint(count(&next, name), >, FIT);
        g_assert_cmpuint(count(&next, name), >, before);
    }
    if (!ret && dns_changes_any(edit)) {
        g_assert_cmpint(dns_changes_bump(edit), ==, 0);
    }
    g_assert_cmpint(dns_store_end(bed->store, !ret), ==, 0);
    *m = ret ? *m : next;
    return ret;
}

/* Go back to sets of the first sizes, as an image may have them. */
static void make(StoreBed *bed, Model *m)
{
    g_autofree ZoneLine *lines = g_new0(ZoneLine, TEXTS * G_N_ELEMENTS(names));
    size_t made = 0;

    *m = (Model) { 0 };
    for (unsigned n = 0; n < G_N_ELEMENTS(names); n++) {
        for (unsigned i = 0; i < begin[n]; i++) {
            lines[made++] = (ZoneLine) { names[n], DNS_TYPE_TXT, rdata_hex[i] };
            m->has[n][i] = true;
        }
    }
    store_bed_make(bed, "example", lines, made);
}

static void test_random(void)
{
    const char *wanted = g_getenv("ROUNDS");
    unsigned rounds = wanted ? g_ascii_strtoull(wanted, NULL, 10) : ROUNDS;
    g_autoptr(GRand) rand = g_rand_new_with_seed(51);
    unsigned refused = 0;
    StoreBed bed;
    Model model;

    make(&bed, &model);
    for (unsigned round = 0; round < rounds; round++) {
        refused += change(rand, &model, &bed) != 0;
        g_assert_cmpint(dns_store_commit(bed.store), ==, 0);
        store_bed_close(&bed);
        store_bed_open(&bed);
        compare(&model, &bed);
        if (round % 10 == 9) {
            store_bed_free(&bed);
            make(&bed, &model);
        }
    }
    g_assert_cmpuint(refused, >, rounds / 20);
    store_bed_free(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < TEXTS; i++) {
        char *to = g_stpcpy(rdata_hex[i], "hex:c8");

        g_snprintf(texts[i], sizeof(texts[i]), "%0*u", TEXT_LEN, i);
        for (unsigned k = 0; k < TEXT_LEN; k++) {
            to += g_snprintf(to, 3, "%02x", texts[i][k]);
        }
    }
    g_test_add_func("/dns-store/limits/random", test_random);
    return g_test_run();
}
