/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are no LNID table, or a damaged one */

#include <glib/gstdio.h>
#include <string.h>

#include "tests/fixtures/hostvlan-file.h"
#include "net/hostvlan/guard.h"

typedef struct Damage {
    const char *what;
    void (*damage)(HvWriter *w);
    int code;
    const char *says;
} Damage;

static void bad_magic(HvWriter *w)
{
    w->header->magic[3] = 'X';
}

static void bad_version(HvWriter *w)
{
    w->header->version = 7;
}

static void old_version(HvWriter *w)
{
    w->header->version = 1;
}

static void bad_checksum(HvWriter *w)
{
    w->header->checksum ^= 1;
}

static void bad_header_size(HvWriter *w)
{
    w->header->header_size = 64;
    hv_seal(w);
}

static void no_buckets(HvWriter *w)
{
    w->header->buckets = 0;
    hv_seal(w);
}

static void many_buckets(HvWriter *w)
{
    w->header->buckets = HOSTVLAN_BUCKETS_MAX + 1;
    hv_seal(w);
}

static void many_words(HvWriter *w)
{
    w->header->words = HOSTVLAN_WORDS_MAX + 1;
    hv_seal(w);
}

static void bad_zeros(HvWriter *w)
{
    w->header->zero[27] = 1;
}

static void bad_file_size(HvWriter *w)
{
    w->header->file_size += 4;
    hv_seal(w);
}

static void empty(HvWriter *w)
{
    hv_resize(w, 0);
}

static void half_a_header(HvWriter *w)
{
    hv_resize(w, HOSTVLAN_HEADER_SIZE - 1);
}

static void short_file(HvWriter *w)
{
    hv_resize(w, w->size - 1);
}

static void long_file(HvWriter *w)
{
    hv_resize(w, w->size + 1);
}

static void key_of_a_group(HvWriter *w)
{
    hv_slot(w, MAC_A)->key = hostvlan_key(0x010000000001ull);
}

static void key_of_nobody(HvWriter *w)
{
    hv_slot(w, MAC_A)->key ^= 1ull << 48;
}

/* Puts MAC_A's key into a bucket that no search for it reaches. */
static void key_astray(HvWriter *w)
{
    struct hostvlan_slot *slot = hv_slot(w, MAC_A);
    uint32_t n = hostvlan_first_bucket(MAC_A, w->header->buckets);
    struct hostvlan_bucket *far = &w->bucket[(n + 9) % w->header->buckets];

    g_assert_cmpuint(far->slot[0].key, ==, 0);
    far->slot[0] = *slot;
    *slot = (struct hostvlan_slot) { 0 };
}

/* An empty slot before the key in its bucket ends a search for it. */
static void key_behind_empty(HvWriter *w)
{
    struct hostvlan_slot *slot = hv_slot(w, MAC_A);
    uint32_t n = hostvlan_first_bucket(MAC_A, w->header->buckets);
    struct hostvlan_slot *last = &w->bucket[n].slot[HOSTVLAN_SLOTS - 1];

    g_assert_cmpuint(last->key, ==, 0);
    *last = *slot;
    *slot = (struct hostvlan_slot) { 0 };
}

static void key_twice(HvWriter *w)
{
    uint32_t n = hostvlan_first_bucket(MAC_A, w->header->buckets);

    for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
        w->bucket[n].slot[i] = *hv_slot(w, MAC_A);
    }
}

static void set_value(HvWriter *w, uint64_t mac, uint32_t kind,
                      uint32_t number)
{
    hv_slot(w, mac)->value = hostvlan_value(hostvlan_key(mac), kind, number);
}

static void kind_unknown(HvWriter *w)
{
    set_value(w, MAC_A, HOSTVLAN_VALUE_DAMAGED, 1);
}

static void kind_none_but_number(HvWriter *w)
{
    set_value(w, MAC_A, HOSTVLAN_VALUE_NONE, 1);
}

static void value_of_another(HvWriter *w)
{
    hv_slot(w, MAC_A)->value = hv_slot(w, MAC_B)->value;
}

static void value_of_zeros(HvWriter *w)
{
    hv_slot(w, MAC_A)->value = 0;
}

static void record_beyond(HvWriter *w)
{
    set_value(w, MAC_B, HOSTVLAN_VALUE_RECORD, w->header->words);
}

static void record_too_long(HvWriter *w)
{
    set_value(w, MAC_B, HOSTVLAN_VALUE_RECORD, w->header->words - 3);
    w->word[w->header->words - 3] = HOSTVLAN_RECORD_HEAD(2, 0, 0);
}

static void record_elsewhere(HvWriter *w)
{
    const uint32_t *from = w->word +
                           hostvlan_value_number(hv_slot(w, MAC_B)->value);

    set_value(w, MAC_B, HOSTVLAN_VALUE_RECORD, 32);
    memcpy(w->word + 32, from, 5 * sizeof(*from));
}

static void record_head(HvWriter *w, uint32_t head)
{
    w->word[hostvlan_value_number(hv_slot(w, MAC_B)->value)] = head;
}

static void record_of_zeros(HvWriter *w)
{
    record_head(w, 0);
}

/* It says that there are prefixes, and has no addresses. */
static void record_without_prefixes(HvWriter *w)
{
    record_head(w, HOSTVLAN_RECORD_HEAD(65, 0, 0));
}

static void record_of_17_ip4(HvWriter *w)
{
    record_head(w, HOSTVLAN_RECORD_HEAD(1, 17, 0));
}

static void record_of_17_ip6(HvWriter *w)
{
    record_head(w, HOSTVLAN_RECORD_HEAD(1, 0, 17));
}

static void record_with_more(HvWriter *w)
{
    record_head(w, HOSTVLAN_RECORD_HEAD(3, 0, 0) ^ 1u << 24);
}

/* Sets the third LNID of MAC_B; the check is correct. */
static void set_third(HvWriter *w, uint32_t lnid)
{
    uint64_t value = hv_slot(w, MAC_B)->value;
    uint32_t *word = w->word + hostvlan_value_number(value);
    uint64_t sum = hostvlan_sum(0, value);

    word[3] = lnid;
    for (unsigned i = 0; i < 4; i++) {
        sum = hostvlan_sum(sum, word[i]);
    }
    word[4] = sum >> 32;
}

static void lnids_descend(HvWriter *w)
{
    set_third(w, 1);
}

static void lnids_repeat(HvWriter *w)
{
    set_third(w, 2);
}

/* Of a record whose checks are correct. */
static void set_prefixes(HvWriter *w, uint32_t ip4, uint8_t bits4,
                         uint32_t last6, uint8_t bits6)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 1 },
        .num_ip4 = 2, .ip4 = { 0xc0000201u, ip4 }, .host_bits4 = { 0, bits4 },
        .num_ip6 = 1, .ip6 = { { 0x20010db8u, 0, 0, last6 } },
        .host_bits6 = { bits6 },
    };

    g_assert_true(hv_set(w, MAC_B, &e));
}

static void prefix4_of_all(HvWriter *w)
{
    set_prefixes(w, 0, 32, 1, 0);
}

static void prefix6_of_all(HvWriter *w)
{
    set_prefixes(w, 0x0a080000, 16, 0, 128);
}

static void prefix4_with_host(HvWriter *w)
{
    set_prefixes(w, 0x0a080001, 16, 0, 64);
}

static void prefix6_with_host(HvWriter *w)
{
    set_prefixes(w, 0x0a080000, 16, 1, 1);
}

static void check_wrong(HvWriter *w)
{
    w->word[hostvlan_value_number(hv_slot(w, MAC_B)->value) + 4] ^= 1;
}

static const Damage damages[] = {
    { "empty", empty, HOSTVLAN_TABLE_ERROR_SIZE, "0 octets" },
    { "half a header", half_a_header, HOSTVLAN_TABLE_ERROR_SIZE,
      "4095 octets" },
    { "magic", bad_magic, HOSTVLAN_TABLE_ERROR_MAGIC, "not an LNID table" },
    { "version", bad_version, HOSTVLAN_TABLE_ERROR_VERSION,
      "version 7 of the format, and this program reads "
      "versions 2 to 4" },
    { "version 1", old_version, HOSTVLAN_TABLE_ERROR_VERSION,
      "versions 2 to 4: 'vmmnet hostvlan convert' makes it that" },
    { "checksum", bad_checksum, HOSTVLAN_TABLE_ERROR_CHECKSUM, "checksum" },
    { "header size", bad_header_size, HOSTVLAN_TABLE_ERROR_HEADER,
      "a header of 64 octets" },
    { "no buckets", no_buckets, HOSTVLAN_TABLE_ERROR_HEADER, "0 buckets" },
    { "many buckets", many_buckets, HOSTVLAN_TABLE_ERROR_HEADER,
      "4194305 buckets, not 1 to 4194304" },
    { "many words", many_words, HOSTVLAN_TABLE_ERROR_HEADER,
      "268435457 words" },
    { "zeros", bad_zeros, HOSTVLAN_TABLE_ERROR_HEADER, "octets 36 to 63" },
    { "file size", bad_file_size, HOSTVLAN_TABLE_ERROR_HEADER,
      "the header says" },
    { "short", short_file, HOSTVLAN_TABLE_ERROR_SIZE, "the header says" },
    { "long", long_file, HOSTVLAN_TABLE_ERROR_SIZE, "the header says" },
    { "group key", key_of_a_group, HOSTVLAN_TABLE_ERROR_KEY,
      "0x101010000000001 is not" },
    { "key", key_of_nobody, HOSTVLAN_TABLE_ERROR_KEY,
      "0x200020000000001 is not" },
    { "stray key", key_astray, HOSTVLAN_TABLE_ERROR_PLACE,
      "020000000001 is in a wrong place" },
    { "key behind an empty slot", key_behind_empty,
      HOSTVLAN_TABLE_ERROR_PLACE, "020000000001 is in a wrong place" },
    { "double key", key_twice, HOSTVLAN_TABLE_ERROR_PLACE, "020000000001" },
    { "kind 3", kind_unknown, HOSTVLAN_TABLE_ERROR_VALUE, "020000000001" },
    { "kind 0", kind_none_but_number, HOSTVLAN_TABLE_ERROR_VALUE,
      "020000000001" },
    { "another's value", value_of_another, HOSTVLAN_TABLE_ERROR_VALUE,
      "020000000001" },
    { "no value", value_of_zeros, HOSTVLAN_TABLE_ERROR_VALUE, "020000000001" },
    { "record beyond the end", record_beyond, HOSTVLAN_TABLE_ERROR_RECORD,
      "word 64 of 64" },
    { "record over the end", record_too_long, HOSTVLAN_TABLE_ERROR_RECORD,
      "word 61 of 64" },
    { "record elsewhere", record_elsewhere, HOSTVLAN_TABLE_ERROR_RECORD,
      "word 32 of 64, is damaged" },
    { "record of zeros", record_of_zeros, HOSTVLAN_TABLE_ERROR_RECORD,
      "020000000002" },
    { "no prefixes", record_without_prefixes, HOSTVLAN_TABLE_ERROR_RECORD,
      "is incomplete" },
    { "prefix of 32 host bits", prefix4_of_all, HOSTVLAN_TABLE_ERROR_RECORD,
      "is damaged" },
    { "prefix of 128 host bits", prefix6_of_all, HOSTVLAN_TABLE_ERROR_RECORD,
      "is damaged" },
    { "IPv4 prefix with host bits", prefix4_with_host,
      HOSTVLAN_TABLE_ERROR_RECORD, "is damaged" },
    { "IPv6 prefix with host bits", prefix6_with_host,
      HOSTVLAN_TABLE_ERROR_RECORD, "is damaged" },
    { "17 IPv4", record_of_17_ip4, HOSTVLAN_TABLE_ERROR_RECORD,
      "is incomplete" },
    { "17 IPv6", record_of_17_ip6, HOSTVLAN_TABLE_ERROR_RECORD,
      "is incomplete" },
    { "record head", record_with_more, HOSTVLAN_TABLE_ERROR_RECORD,
      "is incomplete" },
    { "descending", lnids_descend, HOSTVLAN_TABLE_ERROR_RECORD,
      "is damaged" },
    { "repeated", lnids_repeat, HOSTVLAN_TABLE_ERROR_RECORD, "is damaged" },
    { "check", check_wrong, HOSTVLAN_TABLE_ERROR_RECORD, "is damaged" },
};

static void test_refused(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
        const Damage *d = &damages[i];
        HvFile fx = hv_begin(16, 64);
        g_autoptr(HostvlanTable) t = NULL;
        g_autoptr(GError) err = NULL;

        hv_set_lnids(fx.w, MAC_A, 1, 1);
        hv_set_lnids(fx.w, MAC_B, 3, 1, 2, 3);
        t = hv_open(fx.path);
        hostvlan_table_close(g_steal_pointer(&t));
        d->damage(fx.w);
        t = hostvlan_table_open(fx.path, &err);
        if (t || !g_error_matches(err, HOSTVLAN_TABLE_ERROR, d->code) ||
            !strstr(err->message, d->says) || !strstr(err->message, fx.path)) {
            g_error("%s: %s", d->what, err ? err->message : "taken");
        }
        hv_end(&fx);
    }
}

static void test_no_file(void)
{
    HvFile fx = hv_begin(1, 0);
    g_autofree char *below = g_build_filename(fx.path, "x", NULL);
    g_autofree char *fifo = g_build_filename(fx.dir, "fifo", NULL);

    hv_assert_refused(fx.dir, HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    hv_assert_refused("/dev/null", HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    hv_assert_refused(below, HOSTVLAN_TABLE_ERROR_MISSING);
    hv_assert_refused(fifo, HOSTVLAN_TABLE_ERROR_MISSING);
    /* A FIFO without a writer: opening must not wait. */
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    hv_assert_refused(fifo, HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    g_unlink(fifo);
    hv_end(&fx);
}

/* More tables than can be guarded are refused; closing one makes room. */
static void test_too_many(void)
{
    HvFile fx = hv_begin(1, 0);
    HostvlanTable *t[HOSTVLAN_GUARD_RANGES];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
            t[i] = hv_open(fx.path);
        }
        hv_assert_refused(fx.path, HOSTVLAN_TABLE_ERROR_RESOURCES);
        for (int i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
            hostvlan_table_close(t[i]);
        }
    }
    hv_end(&fx);
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/table/refused", test_refused);
    g_test_add_func("/hostvlan/table/no-file", test_no_file);
    g_test_add_func("/hostvlan/table/too-many", test_too_many);
    return g_test_run();
}
