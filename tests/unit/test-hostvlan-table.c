/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The LNID table as its readers see it, and what is refused */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostvlan-fixture.h"
#include "net/hostvlan/follow.h"
#include "net/hostvlan/guard.h"

#define MAC_A   0x020000000001ull
#define MAC_B   0x020000000002ull
#define MAC_C   0x0200000000ffull

typedef struct Fx {
    char *dir, *path;
    HvWriter *w;
} Fx;

static Fx fx_begin(uint32_t buckets, uint32_t words)
{
    Fx fx = {
        .dir = g_build_filename(hv_tmp(), "XXXXXX", NULL),
    };

    g_assert_nonnull(g_mkdtemp(fx.dir));
    fx.path = g_build_filename(fx.dir, "table", NULL);
    fx.w = hv_create(fx.path, buckets, words);
    return fx;
}

static void fx_end(Fx *fx)
{
    if (fx->w) {
        hv_close(fx->w);
    }
    g_unlink(fx->path);
    g_assert_cmpint(g_rmdir(fx->dir), ==, 0);
    g_free(fx->path);
    g_free(fx->dir);
}

static HostvlanTable *open_good(const char *path)
{
    g_autoptr(GError) err = NULL;
    HostvlanTable *t = hostvlan_table_open(path, &err);

    g_assert_no_error(err);
    g_assert_nonnull(t);
    return t;
}

static unsigned lnids_of(const HostvlanTable *t, uint64_t mac,
                         HostvlanLnids *lnids)
{
    return hostvlan_table_lnids(t, hostvlan_table_lookup(t, mac), lnids);
}

/* --- lookup ------------------------------------------------------------- */

static void test_lookup(void)
{
    Fx fx = fx_begin(16, 64);
    g_autoptr(HostvlanTable) t = open_good(fx.path);
    HostvlanAddresses addresses;
    HostvlanLnids lnids;
    uint64_t value;

    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A), ==, 0);
    g_assert_cmpuint(hostvlan_table_lookup(t, 0), ==, 0);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, 0);

    /* What is written after the opening is seen. */
    hv_set_lnids(fx.w, MAC_A, 1, 0xffffffffu);
    hv_set_lnids(fx.w, MAC_B, 3, 1, 2, 0x80000000u);
    g_assert_cmpuint(lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, 0xffffffffu);
    g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 3);
    g_assert_cmpuint(lnids.lnid[0], ==, 1);
    g_assert_cmpuint(lnids.lnid[1], ==, 2);
    g_assert_cmpuint(lnids.lnid[2], ==, 0x80000000u);
    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_C), ==, 0);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, 2);
    g_assert_cmpuint(hostvlan_table_generation(t), ==, 3);

    /* Without addresses there are none. */
    value = hostvlan_table_lookup(t, MAC_A);
    g_assert_false(hostvlan_table_addresses(t, value, &addresses));
    value = hostvlan_table_lookup(t, MAC_B);
    g_assert_false(hostvlan_table_addresses(t, value, &addresses));

    /* Taken out, it keeps its slot. */
    value = (uintptr_t)hv_slot(fx.w, MAC_A);
    hv_remove(fx.w, MAC_A);
    g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A), ==, 0);
    g_assert_cmpuint(lnids_of(t, MAC_A, &lnids), ==, 0);
    hv_set_lnids(fx.w, MAC_A, 1, 0);
    g_assert_cmpuint(lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, HOSTVLAN_LNID_GLOBAL);
    g_assert_true(value == (uintptr_t)hv_slot(fx.w, MAC_A));
    fx_end(&fx);
}

static void test_addresses(void)
{
    HvEntry e = {
        .num_lnids = 1, .lnid = { 5 },
        .num_ip4 = 2, .ip4 = { 0xc0000201u, 0xc6336401u },
        .num_ip6 = 1, .ip6 = { { 0x20010db8u, 0, 0, 1 } },
    };
    Fx fx = fx_begin(4, 8);
    g_autoptr(HostvlanTable) t = open_good(fx.path);
    HostvlanAddresses a;
    HostvlanLnids lnids;

    /* The record fills the area to the last word. */
    g_assert_true(hv_set(fx.w, MAC_A, &e));
    g_assert_false(hv_set(fx.w, MAC_B, &e));
    g_assert_cmpuint(lnids_of(t, MAC_A, &lnids), ==, 1);
    g_assert_cmpuint(lnids.lnid[0], ==, 5);
    g_assert_true(hostvlan_table_addresses(t, hostvlan_table_lookup(t, MAC_A),
                                           &a));
    g_assert_cmpuint(a.num_ip4, ==, 2);
    g_assert_cmphex(a.ip4[0], ==, 0xc0000201u);
    g_assert_cmphex(a.ip4[1], ==, 0xc6336401u);
    g_assert_cmpuint(a.num_ip6, ==, 1);
    g_assert_cmpint(memcmp(a.ip6[0], e.ip6[0], 16), ==, 0);
    fx_end(&fx);
}

/* Every address of a table that is as full as writers make them. */
static void test_many(void)
{
    enum { BUCKETS = 2000, MACS = BUCKETS * 8 / 3 };
    Fx fx = fx_begin(BUCKETS, 0);
    g_autoptr(HostvlanTable) t = NULL;
    HostvlanLnids lnids;

    for (uint64_t n = 0; n < MACS; n++) {
        hv_set_lnids(fx.w, MAC_A + n, 1, (uint32_t)n);
    }
    t = open_good(fx.path);
    g_assert_cmpuint(hostvlan_table_macs(t), ==, MACS);
    for (uint64_t n = 0; n < MACS; n++) {
        hostvlan_table_prefetch(t, MAC_A + n);
        g_assert_cmpuint(lnids_of(t, MAC_A + n, &lnids), ==, 1);
        g_assert_cmpuint(lnids.lnid[0], ==, n);
        g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A + MACS + n), ==, 0);
    }
    fx_end(&fx);
}

/* Fewer buckets than one search looks at: the last is followed by the first. */
static void test_small(void)
{
    for (uint32_t buckets = 1; buckets <= HOSTVLAN_PROBE_MAX + 1; buckets++) {
        Fx fx = fx_begin(buckets, 0);
        HvEntry e = { .num_lnids = 1, .lnid = { 7 } };
        g_autoptr(HostvlanTable) t = open_good(fx.path);
        g_autoptr(HostvlanTable) again = NULL;
        uint64_t mac = MAC_A;

        while (hv_set(fx.w, mac, &e)) {
            mac++;
        }
        g_assert_cmpuint(mac - MAC_A, >=, MIN(buckets, HOSTVLAN_PROBE_MAX) * 4);
        while (--mac >= MAC_A) {
            g_assert_cmpuint(hostvlan_table_lookup(t, mac), !=, 0);
        }
        g_assert_cmpuint(hostvlan_table_lookup(t, MAC_A - 1), ==, 0);
        /* A full table is a good one. */
        again = open_good(fx.path);
        fx_end(&fx);
    }
}

/* --- what is refused ---------------------------------------------------- */

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

static void resize(HvWriter *w, off_t size)
{
    g_assert_cmpint(truncate(w->path, size), ==, 0);
}

static void empty(HvWriter *w)
{
    resize(w, 0);
}

static void half_a_header(HvWriter *w)
{
    resize(w, HOSTVLAN_HEADER_SIZE - 1);
}

static void short_file(HvWriter *w)
{
    resize(w, w->size - 1);
}

static void long_file(HvWriter *w)
{
    resize(w, w->size + 1);
}

static void key_of_a_group(HvWriter *w)
{
    hv_slot(w, MAC_A)->key = 0x010000000001ull;
}

static void key_too_long(HvWriter *w)
{
    hv_slot(w, MAC_A)->key |= 1ull << 48;
}

/* Of MAC_A, in a bucket that no search for it comes to. */
static void key_astray(HvWriter *w)
{
    struct hostvlan_slot *slot = hv_slot(w, MAC_A);
    uint32_t n = hostvlan_first_bucket(MAC_A, w->header->buckets);
    struct hostvlan_bucket *far = &w->bucket[(n + 9) % w->header->buckets];

    g_assert_cmpuint(far->slot[0].key, ==, 0);
    far->slot[0] = *slot;
    *slot = (struct hostvlan_slot) { 0 };
}

static void key_twice(HvWriter *w)
{
    uint32_t n = hostvlan_first_bucket(MAC_A, w->header->buckets);

    for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
        w->bucket[n].slot[i] = *hv_slot(w, MAC_A);
    }
}

static void kind_unknown(HvWriter *w)
{
    hv_slot(w, MAC_A)->value = hostvlan_value(3, 1);
}

static void kind_none_but_number(HvWriter *w)
{
    hv_slot(w, MAC_A)->value = 1;
}

static void value_with_more(HvWriter *w)
{
    hv_slot(w, MAC_A)->value |= 1ull << 40;
}

static void record_beyond(HvWriter *w)
{
    hv_slot(w, MAC_B)->value = hostvlan_value(HOSTVLAN_VALUE_RECORD,
                                              w->header->words);
}

static void record_too_long(HvWriter *w)
{
    hv_slot(w, MAC_B)->value = hostvlan_value(HOSTVLAN_VALUE_RECORD,
                                              w->header->words - 3);
    w->word[w->header->words - 3] = HOSTVLAN_RECORD_HEAD(1, 2, 0);
}

static void record_head(HvWriter *w, uint32_t head)
{
    w->word[hostvlan_value_number(hv_slot(w, MAC_B)->value)] = head;
}

static void record_of_zeros(HvWriter *w)
{
    record_head(w, 0);
}

static void record_of_65(HvWriter *w)
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
    record_head(w, HOSTVLAN_RECORD_HEAD(3, 0, 0) | 1u << 24);
}

static void lnids_descend(HvWriter *w)
{
    w->word[hostvlan_value_number(hv_slot(w, MAC_B)->value) + 3] = 1;
}

static void lnids_repeat(HvWriter *w)
{
    w->word[hostvlan_value_number(hv_slot(w, MAC_B)->value) + 3] = 2;
}

static const Damage damages[] = {
    { "empty", empty, HOSTVLAN_TABLE_ERROR_SIZE, "0 octets" },
    { "half a header", half_a_header, HOSTVLAN_TABLE_ERROR_SIZE,
      "4095 octets" },
    { "magic", bad_magic, HOSTVLAN_TABLE_ERROR_MAGIC, "not an LNID table" },
    { "version", bad_version, HOSTVLAN_TABLE_ERROR_VERSION,
      "version 7 of the format, and this program reads version 1" },
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
      "0x10000000001 is not" },
    { "long key", key_too_long, HOSTVLAN_TABLE_ERROR_KEY,
      "0x1020000000001 is not" },
    { "stray key", key_astray, HOSTVLAN_TABLE_ERROR_PLACE,
      "020000000001 is not in its place" },
    { "double key", key_twice, HOSTVLAN_TABLE_ERROR_PLACE, "020000000001" },
    { "kind 3", kind_unknown, HOSTVLAN_TABLE_ERROR_VALUE, "020000000001" },
    { "kind 0", kind_none_but_number, HOSTVLAN_TABLE_ERROR_VALUE,
      "020000000001" },
    { "value", value_with_more, HOSTVLAN_TABLE_ERROR_VALUE, "020000000001" },
    { "record beyond the end", record_beyond, HOSTVLAN_TABLE_ERROR_RECORD,
      "word 64 of 64" },
    { "record over the end", record_too_long, HOSTVLAN_TABLE_ERROR_RECORD,
      "word 61 of 64" },
    { "record of zeros", record_of_zeros, HOSTVLAN_TABLE_ERROR_RECORD,
      "020000000002" },
    { "65 LNIDs", record_of_65, HOSTVLAN_TABLE_ERROR_RECORD, "not whole" },
    { "17 IPv4", record_of_17_ip4, HOSTVLAN_TABLE_ERROR_RECORD, "not whole" },
    { "17 IPv6", record_of_17_ip6, HOSTVLAN_TABLE_ERROR_RECORD, "not whole" },
    { "record head", record_with_more, HOSTVLAN_TABLE_ERROR_RECORD,
      "not whole" },
    { "descending", lnids_descend, HOSTVLAN_TABLE_ERROR_RECORD,
      "do not ascend" },
    { "repeated", lnids_repeat, HOSTVLAN_TABLE_ERROR_RECORD, "do not ascend" },
};

static void test_refused(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
        const Damage *d = &damages[i];
        Fx fx = fx_begin(16, 64);
        g_autoptr(HostvlanTable) t = NULL;
        g_autoptr(GError) err = NULL;

        hv_set_lnids(fx.w, MAC_A, 1, 1);
        hv_set_lnids(fx.w, MAC_B, 3, 1, 2, 3);
        t = open_good(fx.path);
        hostvlan_table_close(g_steal_pointer(&t));
        d->damage(fx.w);
        t = hostvlan_table_open(fx.path, &err);
        if (t || !g_error_matches(err, HOSTVLAN_TABLE_ERROR, d->code) ||
            !strstr(err->message, d->says) || !strstr(err->message, fx.path)) {
            g_error("%s: %s", d->what, err ? err->message : "taken");
        }
        fx_end(&fx);
    }
}

static void assert_refused(const char *path, int code)
{
    g_autoptr(GError) err = NULL;

    g_assert_null(hostvlan_table_open(path, &err));
    g_assert_error(err, HOSTVLAN_TABLE_ERROR, code);
    g_assert_nonnull(strstr(err->message, path));
}

static void test_no_file(void)
{
    Fx fx = fx_begin(1, 0);
    g_autofree char *below = g_build_filename(fx.path, "x", NULL);
    g_autofree char *fifo = g_build_filename(fx.dir, "fifo", NULL);

    assert_refused(fx.dir, HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    assert_refused("/dev/null", HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    assert_refused(below, HOSTVLAN_TABLE_ERROR_MISSING);
    assert_refused(fifo, HOSTVLAN_TABLE_ERROR_MISSING);
    /* Nobody writes to it, and it is not waited for. */
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    assert_refused(fifo, HOSTVLAN_TABLE_ERROR_NOT_A_FILE);
    g_unlink(fifo);
    fx_end(&fx);
}

/* Zeros that are written into a record in force stand for no LNID. */
static void test_zeros(void)
{
    Fx fx = fx_begin(16, 64);
    g_autoptr(HostvlanTable) t = open_good(fx.path);
    HostvlanLnids lnids;
    uint32_t at;

    hv_set_lnids(fx.w, MAC_B, 3, 0, 2, 3);
    g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 3);
    at = hostvlan_value_number(hv_slot(fx.w, MAC_B)->value);
    for (unsigned i = 3; i > 0; i--) {
        fx.w->word[at + i] = 0;
        g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 0);
    }
    fx.w->word[at] = 0;
    g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 0);
    /* A value that points out of the file. */
    hv_slot(fx.w, MAC_B)->value = hostvlan_value(HOSTVLAN_VALUE_RECORD, 64);
    g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 0);
    fx_end(&fx);
}

/* --- changes while somebody reads --------------------------------------- */

/* The last change is no removal. */
enum { SETS = 4, CHANGES = 20001, READERS = 2 };

/* What MAC_A has in turn; a reader sees one of them as a whole. */
static HvEntry set_number(unsigned n)
{
    HvEntry e = { .num_lnids = n == 0 ? 1 : n * 20 };

    for (unsigned i = 0; i < e.num_lnids; i++) {
        e.lnid[i] = 1000 * (n + 1) + i;
    }
    return e;
}

static void assert_one_set(const HostvlanLnids *lnids)
{
    unsigned n = lnids->lnid[0] / 1000 - 1;
    HvEntry e;

    g_assert_cmpuint(n, <, SETS);
    e = set_number(n);
    g_assert_cmpuint(lnids->num, ==, e.num_lnids);
    g_assert_cmpint(memcmp(lnids->lnid, e.lnid, 4 * e.num_lnids), ==, 0);
}

typedef struct Reader {
    const char *path;
    int *stop;
    GAsyncQueue *started;
    GThread *thread;
    uint64_t seen, taken;
} Reader;

static void *read_along(void *opaque)
{
    Reader *r = opaque;
    HostvlanFollow f;
    HostvlanLnids lnids;

    hostvlan_follow_init(&f, r->path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_async_queue_push(r->started, r);
    /* Once more after the end, so that the last change is seen. */
    for (bool last = false; !last;) {
        last = __atomic_load_n(r->stop, __ATOMIC_ACQUIRE);
        if (hostvlan_follow_is_due(&f)) {
            r->taken += hostvlan_follow_look(&f) == HOSTVLAN_FOLLOW_TAKEN;
        }
        g_assert_no_error(f.error);
        /* MAC_A comes and goes, MAC_B stays, MAC_C is never there. */
        if (lnids_of(f.table, MAC_A, &lnids)) {
            assert_one_set(&lnids);
            r->seen++;
        }
        g_assert_cmpuint(lnids_of(f.table, MAC_B, &lnids), ==, 2);
        g_assert_cmpuint(lnids.lnid[1], ==, 43);
        g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_C), ==, 0);
    }
    hostvlan_follow_destroy(&f);
    return NULL;
}

/* One change; the table grows, or is cleared up, where there is no room. */
static void change(Fx *fx, unsigned n)
{
    HvEntry e = set_number(n % SETS);
    bool fits;

    if (n % 7 == 0 && hv_slot(fx->w, MAC_A)) {
        hv_remove(fx->w, MAC_A);
        return;
    }
    /* A new address now and then, so that searches grow longer. */
    fits = hv_set(fx->w, MAC_A, &e) &&
           (n % 16 || hv_set(fx->w, 0x060000000000ull + n, &e));
    if (!fits) {
        uint32_t buckets = fx->w->header->buckets;

        fx->w = hv_replace(fx->w, buckets + buckets / 4,
                           fx->w->header->words + 40000);
        g_assert_true(hv_set(fx->w, MAC_A, &e));
    }
}

static void test_changes(void)
{
    Fx fx = fx_begin(64, 4000);
    g_autoptr(GAsyncQueue) started = g_async_queue_new();
    Reader r[READERS];
    int stop = 0;

    hv_set_lnids(fx.w, MAC_B, 2, 42, 43);
    for (int i = 0; i < READERS; i++) {
        r[i] = (Reader) {
            .path = fx.path, .stop = &stop, .started = started,
        };
        r[i].thread = g_thread_new("reader", read_along, &r[i]);
    }
    for (int i = 0; i < READERS; i++) {
        g_async_queue_pop(started);
    }
    for (unsigned n = 0; n < CHANGES; n++) {
        change(&fx, n);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < READERS; i++) {
        g_thread_join(r[i].thread);
        g_assert_cmpuint(r[i].seen, >, 0);
        g_assert_cmpuint(r[i].taken, >, 0);
    }
    fx_end(&fx);
}

/* --- following a path --------------------------------------------------- */

static void assert_kept(HostvlanFollow *f, int code)
{
    g_assert_cmpint(hostvlan_follow_look(f), ==, HOSTVLAN_FOLLOW_KEPT);
    g_assert_error(f->error, HOSTVLAN_TABLE_ERROR, code);
    g_assert_nonnull(f->table);
    g_assert_false(hostvlan_follow_is_settled(f));
    /* It is not looked into twice. */
    g_assert_cmpint(hostvlan_follow_look(f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_due(f));
}

static void test_follow(void)
{
    Fx fx = fx_begin(16, 64);
    HostvlanFollow f;

    hv_close(g_steal_pointer(&fx.w));
    g_unlink(fx.path);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
    g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, HOSTVLAN_TABLE_ERROR_MISSING);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_settled(&f));
    g_assert_false(hostvlan_follow_is_due(&f));

    /* It appears, and changes in place without any need to look. */
    fx.w = hv_create(fx.path, 16, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_no_error(f.error);
    g_assert_true(hostvlan_follow_is_settled(&f));
    hv_set_lnids(fx.w, MAC_A, 1, 1);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);

    /* A bigger one takes its place. */
    fx.w = hv_replace(fx.w, 32, 64);
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);

    /* Another one comes and is wrong, is mended, and is taken away. */
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 32, 64);
    fx.w->header->checksum ^= 1;
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_CHECKSUM);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 32, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_unlink(fx.path);
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_MISSING);
    hostvlan_follow_destroy(&f);
    fx_end(&fx);
}

/* The file that was wrong, in place made right. */
static void test_follow_mended(void)
{
    Fx fx = fx_begin(16, 64);
    HostvlanFollow f;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 16, 64);
    g_assert_cmpint(truncate(fx.path, 5000), ==, 0);
    assert_kept(&f, HOSTVLAN_TABLE_ERROR_SIZE);
    g_assert_cmpint(truncate(fx.path, fx.w->size), ==, 0);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hostvlan_follow_destroy(&f);
    fx_end(&fx);
}

/* Superseded, and nothing newer is there: it stays, and asks once. */
static void test_follow_old(void)
{
    Fx fx = fx_begin(16, 64);
    HostvlanFollow f;

    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    fx.w->header->superseded = 1;
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    g_assert_false(hostvlan_follow_is_due(&f));
    g_assert_false(hostvlan_follow_is_settled(&f));
    g_assert_nonnull(f.table);
    fx.w = hv_replace(fx.w, 16, 64);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_true(hostvlan_follow_is_settled(&f));
    hostvlan_follow_destroy(&f);
    fx_end(&fx);
}

/* --- files that are shortened while they are mapped ---------------------- */

static void test_truncated(void)
{
    Fx fx = fx_begin(4096, 4096);
    HostvlanFollow f;

    hv_set_lnids(fx.w, MAC_A, 1, 1);
    hv_set_lnids(fx.w, MAC_B, 2, 1, 2);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);
    resize(fx.w, HOSTVLAN_HEADER_SIZE);
    g_assert_false(hostvlan_table_lost(f.table));
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_B), ==, 0);
    g_assert_true(hostvlan_table_lost(f.table));

    /* There is nothing left of it; another one is taken when it comes. */
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
    g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, HOSTVLAN_TABLE_ERROR_SIZE);
    g_assert_null(f.table);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 16, 0);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hostvlan_follow_destroy(&f);
    fx_end(&fx);
}

/* Nobody has read it since, but the look sees that it is shorter, or other. */
static void test_shortened_seen(void)
{
    static const int codes[] = {
        HOSTVLAN_TABLE_ERROR_SIZE, HOSTVLAN_TABLE_ERROR_VERSION,
    };

    for (int other = 0; other < 2; other++) {
        Fx fx = fx_begin(4096, 0);
        HostvlanFollow f;

        hv_set_lnids(fx.w, MAC_A, 1, 1);
        hostvlan_follow_init(&f, fx.path);
        g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
        if (other) {
            fx.w->header->version = 2;
        } else {
            resize(fx.w, fx.w->size - 4096);
        }
        g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
        g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, codes[other]);
        g_assert_null(f.table);
        hostvlan_follow_destroy(&f);
        fx_end(&fx);
    }
}

/* Only the records are gone: the value is there, and leads nowhere. */
static void test_records_truncated(void)
{
    Fx fx = fx_begin(64, 4096);
    g_autoptr(HostvlanTable) t = NULL;
    HostvlanLnids lnids;

    hv_set_lnids(fx.w, MAC_B, 2, 0, 2);
    t = open_good(fx.path);
    resize(fx.w, HOSTVLAN_HEADER_SIZE + 64 * 64);
    g_assert_cmpuint(lnids_of(t, MAC_B, &lnids), ==, 0);
    g_assert_true(hostvlan_table_lost(t));
    fx_end(&fx);
}

/* Overwritten by "cp" with the same size: told by the header. */
static void test_overwritten(void)
{
    Fx fx = fx_begin(16, 64);
    g_autofree char *other = g_strdup_printf("%s.other", fx.path);
    HvWriter *w = hv_create(other, 8, 64 + 8 * 16);
    g_autofree char *bytes = NULL;
    HostvlanFollow f;
    gsize size;
    int fd;

    hv_set_lnids(fx.w, MAC_A, 1, 1);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(w->size, ==, fx.w->size);
    hv_close(w);
    g_assert_true(g_file_get_contents(other, &bytes, &size, NULL));
    fd = open(fx.path, O_WRONLY);
    g_assert_cmpint(write(fd, bytes, size), ==, size);
    close(fd);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_assert_false(hostvlan_table_lost(f.table));
    g_unlink(other);
    hostvlan_follow_destroy(&f);
    fx_end(&fx);
}

/* QEMU's threads block SIGBUS, and it would end the process. */
static void *with_sigbus_blocked(void *opaque)
{
    void (*func)(void) = opaque;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    func();
    return NULL;
}

static void test_truncated_blocked(void)
{
    g_thread_join(g_thread_new("blocked", with_sigbus_blocked,
                               test_truncated));
}

/* --- the SIGBUS of others ------------------------------------------------ */

static sigjmp_buf others_jump;
static volatile sig_atomic_t others_signals;

/* Installed before any table is opened. */
static void others_handler(int signal, siginfo_t *info, void *context)
{
    others_signals++;
    if (info->si_code > 0) {
        siglongjmp(others_jump, 1);
    }
}

/* A page behind the end of a file; volatile, so that reading it is reading. */
static volatile char *others_page(void)
{
    g_autofree char *name = NULL;
    int fd = g_file_open_tmp("hostvlan-table-XXXXXX", &name, NULL);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    g_unlink(name);
    close(fd);
    g_assert_true(page != MAP_FAILED);
    return page;
}

static void test_others_fault(void)
{
    Fx fx = fx_begin(16, 64);
    g_autoptr(HostvlanTable) t = open_good(fx.path);
    volatile char *page = others_page();        /* see there */
    int signals = others_signals;

    if (sigsetjmp(others_jump, 1) == 0) {
        (void)*page;
        g_assert_not_reached();
    }
    g_assert_cmpint(others_signals, ==, signals + 1);
    g_assert_false(hostvlan_table_lost(t));
    munmap((void *)page, 4096);
    fx_end(&fx);
}

/* As without us, it ends the process in a thread that had blocked it. */
static void fault_elsewhere(void)
{
    hostvlan_guard_arm();
    (void)*others_page();
}

static void test_others_fault_blocked(void)
{
    if (g_test_subprocess()) {
        Fx fx = fx_begin(16, 64);
        g_autoptr(HostvlanTable) t = open_good(fx.path);

        fx_end(&fx);
        g_thread_join(g_thread_new("blocked", with_sigbus_blocked,
                                   fault_elsewhere));
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

/* What the kernel tells ahead of time of memory that is broken. */
static void broken_memory(void *where)
{
    siginfo_t info = {
        .si_signo = SIGBUS, .si_code = BUS_MCEERR_AO, .si_addr = where,
    };

    g_assert_cmpint(syscall(SYS_rt_tgsigqueueinfo, getpid(),
                            syscall(SYS_gettid), SIGBUS, &info), ==, 0);
}

/* As without us, it waits for a signalfd. */
static void signal_waits(void)
{
    struct timespec patience = { .tv_sec = 10 };
    int signals = others_signals;
    siginfo_t info;
    sigset_t set;

    for (int i = 0; i < 2; i++) {
        hostvlan_guard_arm();
        broken_memory(&set);
        g_assert_false(hostvlan_guard_is_armed);
        sigemptyset(&set);
        sigaddset(&set, SIGBUS);
        g_assert_cmpint(sigtimedwait(&set, &info, &patience), ==, SIGBUS);
        g_assert_cmpint(info.si_code, ==, BUS_MCEERR_AO);
        g_assert_true(info.si_addr == &set);
        g_assert_cmpint(others_signals, ==, signals);
    }
    /* And tables are guarded again. */
    test_truncated();
}

static void test_others_signal(void)
{
    Fx fx = fx_begin(16, 64);
    g_autoptr(HostvlanTable) t = open_good(fx.path);
    int signals = others_signals;

    g_thread_join(g_thread_new("blocked", with_sigbus_blocked, signal_waits));
    /* Where it was not blocked, its handler has it. */
    g_assert_cmpint(pthread_kill(pthread_self(), SIGBUS), ==, 0);
    g_assert_cmpint(others_signals, ==, signals + 1);
    fx_end(&fx);
}

/* More tables than can be guarded are refused, and room comes back. */
static void test_too_many(void)
{
    Fx fx = fx_begin(1, 0);
    HostvlanTable *t[HOSTVLAN_GUARD_RANGES];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
            t[i] = open_good(fx.path);
        }
        assert_refused(fx.path, HOSTVLAN_TABLE_ERROR_RESOURCES);
        for (int i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
            hostvlan_table_close(t[i]);
        }
    }
    fx_end(&fx);
}

int main(int argc, char **argv)
{
    struct sigaction action = {
        .sa_sigaction = others_handler,
        .sa_flags = SA_SIGINFO,
    };

    sigaction(SIGBUS, &action, NULL);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostvlan/table/lookup", test_lookup);
    g_test_add_func("/hostvlan/table/addresses", test_addresses);
    g_test_add_func("/hostvlan/table/many", test_many);
    g_test_add_func("/hostvlan/table/small", test_small);
    g_test_add_func("/hostvlan/table/refused", test_refused);
    g_test_add_func("/hostvlan/table/no-file", test_no_file);
    g_test_add_func("/hostvlan/table/zeros", test_zeros);
    g_test_add_func("/hostvlan/table/changes", test_changes);
    g_test_add_func("/hostvlan/table/truncated", test_truncated);
    g_test_add_func("/hostvlan/table/shortened-seen", test_shortened_seen);
    g_test_add_func("/hostvlan/table/records-truncated",
                    test_records_truncated);
    g_test_add_func("/hostvlan/table/truncated-blocked",
                    test_truncated_blocked);
    g_test_add_func("/hostvlan/table/overwritten", test_overwritten);
    g_test_add_func("/hostvlan/table/too-many", test_too_many);
    g_test_add_func("/hostvlan/follow", test_follow);
    g_test_add_func("/hostvlan/follow/mended", test_follow_mended);
    g_test_add_func("/hostvlan/follow/old", test_follow_old);
    g_test_add_func("/hostvlan/guard/others-fault", test_others_fault);
    g_test_add_func("/hostvlan/guard/others-fault-blocked",
                    test_others_fault_blocked);
    g_test_add_func("/hostvlan/guard/others-signal", test_others_signal);
    return hv_test_run();
}
