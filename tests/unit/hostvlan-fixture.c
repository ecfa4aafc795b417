/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A writer of LNID tables, for tests */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostvlan-fixture.h"

/* With a table of 16 entries, unlike the reader. */
static uint32_t crc32_nibbles(const uint8_t *p, size_t size)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
        0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = ~0u;

    for (size_t i = 0; i < size; i++) {
        crc = crc >> 4 ^ table[(crc ^ p[i]) & 15];
        crc = crc >> 4 ^ table[(crc ^ p[i] >> 4) & 15];
    }
    return ~crc;
}

void hv_seal(HvWriter *w)
{
    w->header->checksum = crc32_nibbles((const uint8_t *)w->header,
                                        HOSTVLAN_CHECKED_SIZE);
}

/* Builds at a temporary path; hv_publish() renames it. */
static HvWriter *build(const char *path, uint32_t buckets, uint32_t words)
{
    g_autofree char *beside = g_strdup_printf("%s.new", path);
    HvWriter *w = g_new0(HvWriter, 1);
    int fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    g_assert_cmpint(fd, >=, 0);
    w->path = g_strdup(path);
    w->size = HOSTVLAN_HEADER_SIZE +
              buckets * sizeof(struct hostvlan_bucket) + words * 4ul;
    g_assert_cmpint(ftruncate(fd, w->size), ==, 0);
    w->header = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(w->header != MAP_FAILED);
    close(fd);
    w->bucket = (void *)(w->header + 1);
    w->word = (void *)(w->bucket + buckets);
    memcpy(w->header->magic, HOSTVLAN_MAGIC, sizeof(w->header->magic));
    w->header->version = HOSTVLAN_VERSION;
    w->header->header_size = HOSTVLAN_HEADER_SIZE;
    w->header->file_size = w->size;
    w->header->buckets = buckets;
    w->header->words = words;
    w->header->generation = 1;
    hv_seal(w);
    return w;
}

static void publish(HvWriter *w)
{
    g_autofree char *beside = g_strdup_printf("%s.new", w->path);

    g_assert_cmpint(rename(beside, w->path), ==, 0);
}

HvWriter *hv_create(const char *path, uint32_t buckets, uint32_t words)
{
    HvWriter *w = build(path, buckets, words);

    publish(w);
    return w;
}

void hv_close(HvWriter *w)
{
    munmap(w->header, w->size);
    g_free(w->path);
    g_free(w);
}

/* Returns: the slot of @mac, or a free one for it; NULL if there is none. */
static struct hostvlan_slot *search(HvWriter *w, uint64_t mac)
{
    uint32_t n = hostvlan_first_bucket(mac, w->header->buckets);

    for (unsigned probe = 0; probe < HOSTVLAN_PROBE_MAX; probe++) {
        for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
            struct hostvlan_slot *slot = &w->bucket[n].slot[i];

            if (slot->key == hostvlan_key(mac) || slot->key == 0) {
                return slot;
            }
        }
        n = (n + 1) % w->header->buckets;
    }
    return NULL;
}

struct hostvlan_slot *hv_slot(HvWriter *w, uint64_t mac)
{
    struct hostvlan_slot *slot = search(w, mac);

    return slot && slot->key ? slot : NULL;
}

static uint32_t *put(uint32_t *to, const uint32_t *from, unsigned num,
                     uint64_t *sum)
{
    for (unsigned i = 0; i < num; i++) {
        *sum = hostvlan_sum(*sum, from[i]);
        *to++ = from[i];
    }
    return to;
}

static uint32_t *put_macs(uint32_t *to, const uint64_t *from, unsigned num,
                          uint64_t *sum)
{
    for (unsigned i = 0; i < num; i++) {
        uint32_t words[2] = { from[i] >> 32, from[i] };

        to = put(to, words, 2, sum);
    }
    return to;
}

/* Returns: is any address a prefix? @words: four numbers in each */
static bool pack_host_bits(const HvEntry *e, uint32_t *words)
{
    uint8_t octets[HOSTVLAN_IP4_MAX + HOSTVLAN_IP6_MAX] = { 0 };
    bool any = false;

    memcpy(octets, e->host_bits4, e->num_ip4);
    memcpy(octets + e->num_ip4, e->host_bits6, e->num_ip6);
    for (unsigned i = 0; i < sizeof(octets); i++) {
        words[i / 4] |= (uint32_t)octets[i] << i % 4 * 8;
        any |= octets[i];
    }
    return any;
}

/* Returns the value; 0 if it does not fit. */
static uint64_t write_record(HvWriter *w, uint64_t mac, const HvEntry *e)
{
    uint32_t host_bits[(HOSTVLAN_IP4_MAX + HOSTVLAN_IP6_MAX) / 4] = { 0 };
    bool prefixes = pack_host_bits(e, host_bits);
    uint32_t head = hostvlan_record_head(e->num_lnids, e->num_ip4, e->num_ip6,
                                         prefixes, e->offers, e->num_also);
    uint32_t at = w->header->words_used, *to = w->word + at;
    uint32_t num = hostvlan_record_words(head);
    uint64_t value = hostvlan_value(hostvlan_key(mac), HOSTVLAN_VALUE_RECORD,
                                    at);
    uint64_t sum = hostvlan_sum(0, value), lnids;

    if (num > w->header->words - at) {
        return 0;
    }
    to = put(to, &head, 1, &sum);
    to = put(to, e->lnid, e->num_lnids, &sum);
    *to++ = sum >> 32;
    lnids = sum;
    if (e->num_ip4 || e->num_ip6) {
        to = put(to, e->ip4, e->num_ip4, &sum);
        to = put(to, e->ip6[0], 4 * e->num_ip6, &sum);
        to = put(to, host_bits, hostvlan_host_bits_words(head), &sum);
        *to++ = sum >> 32;
    }
    if (e->num_also) {
        to = put_macs(to, e->also, e->num_also, &lnids);
        *to++ = lnids >> 32;
    }
    w->header->words_used += num;
    return value;
}

static bool is_none(uint64_t value)
{
    return hostvlan_value_kind(value) == HOSTVLAN_VALUE_NONE;
}

static void finish(HvWriter *w)
{
    __atomic_store_n(&w->header->generation, w->header->generation + 1,
                     __ATOMIC_RELEASE);
}

static void store(HvWriter *w, struct hostvlan_slot *slot, uint64_t mac,
                  uint64_t value)
{
    w->header->macs += is_none(slot->value) - is_none(value);
    __atomic_store_n(&slot->value, value, __ATOMIC_RELEASE);
    if (slot->key == 0) {
        __atomic_store_n(&slot->key, hostvlan_key(mac), __ATOMIC_RELEASE);
        w->header->keys_used++;
    }
    finish(w);
}

bool hv_set(HvWriter *w, uint64_t mac, const HvEntry *e)
{
    struct hostvlan_slot *slot = search(w, mac);
    uint64_t value;

    if (!slot) {
        return false;
    }
    if (e->num_lnids == 1 && !e->num_ip4 && !e->num_ip6 && !e->offers &&
        !e->num_also) {
        value = hostvlan_value(hostvlan_key(mac), HOSTVLAN_VALUE_ONE,
                               e->lnid[0]);
    } else {
        value = write_record(w, mac, e);
    }
    if (value) {
        store(w, slot, mac, value);
    }
    return value;
}

void hv_set_lnids(HvWriter *w, uint64_t mac, unsigned num, ...)
{
    HvEntry e = { .num_lnids = num };
    va_list args;

    va_start(args, num);
    for (unsigned i = 0; i < num; i++) {
        e.lnid[i] = va_arg(args, uint32_t);
    }
    va_end(args);
    g_assert_true(hv_set(w, mac, &e));
}

void hv_remove(HvWriter *w, uint64_t mac)
{
    struct hostvlan_slot *slot = hv_slot(w, mac);

    g_assert_nonnull(slot);
    store(w, slot, mac, hostvlan_value(slot->key, HOSTVLAN_VALUE_NONE, 0));
}

static void read_back(HvWriter *w, uint64_t value, HvEntry *e)
{
    const uint32_t *p = w->word + hostvlan_value_number(value);
    uint8_t octets[HOSTVLAN_IP4_MAX + HOSTVLAN_IP6_MAX] = { 0 };
    uint32_t head;

    *e = (HvEntry) { .num_lnids = 1, .lnid = { hostvlan_value_number(value) } };
    if (hostvlan_value_kind(value) == HOSTVLAN_VALUE_RECORD) {
        head = *p;
        e->num_lnids = HOSTVLAN_RECORD_LNIDS(head);
        e->num_ip4 = HOSTVLAN_RECORD_IP4(head);
        e->num_ip6 = HOSTVLAN_RECORD_IP6(head);
        e->offers = HOSTVLAN_RECORD_OFFERS(head);
        e->num_also = HOSTVLAN_RECORD_ALSO(head);
        p++;
        memcpy(e->lnid, p, 4 * e->num_lnids);
        p += e->num_lnids + 1;
        memcpy(e->ip4, p, 4 * e->num_ip4);
        p += e->num_ip4;
        memcpy(e->ip6, p, 16 * e->num_ip6);
        p += 4 * e->num_ip6;
        memcpy(octets, p, 4 * hostvlan_host_bits_words(head));
        memcpy(e->host_bits4, octets, e->num_ip4);
        memcpy(e->host_bits6, octets + e->num_ip4, e->num_ip6);
        p += hostvlan_host_bits_words(head) + (e->num_ip4 || e->num_ip6);
        for (unsigned i = 0; i < e->num_also; i++) {
            e->also[i] = (uint64_t)p[2 * i] << 32 | p[2 * i + 1];
        }
    }
}

HvWriter *hv_replace(HvWriter *w, uint32_t buckets, uint32_t words)
{
    HvWriter *new = build(w->path, buckets, words);

    for (uint32_t n = 0; n < w->header->buckets * HOSTVLAN_SLOTS; n++) {
        const struct hostvlan_slot *slot = &w->bucket[n / HOSTVLAN_SLOTS]
                                               .slot[n % HOSTVLAN_SLOTS];
        HvEntry e;

        if (slot->key && !is_none(slot->value)) {
            read_back(w, slot->value, &e);
            g_assert_true(hv_set(new, hostvlan_key_mac(slot->key), &e));
        }
    }
    new->header->generation = w->header->generation + 1;
    publish(new);
    __atomic_store_n(&w->header->superseded, 1, __ATOMIC_RELEASE);
    hv_close(w);
    return new;
}

/* --- the tests ------------------------------------------------------------ */

/* In the environment, as tests may execute themselves again. */
#define TMP_VARIABLE    "HOSTVLAN_TEST_TMP"

const char *hv_tmp(void)
{
    return g_getenv(TMP_VARIABLE);
}

static void remove_all(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *below = g_build_filename(path, name, NULL);

        if (g_unlink(below) < 0) {
            remove_all(below);
        }
    }
    g_rmdir(path);
}

/* Our own command line, to execute it again. */
static char **command_line(void)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autofree char *text = NULL;
    gsize len;

    g_assert_true(g_file_get_contents("/proc/self/cmdline", &text, &len, NULL));
    for (gsize at = 0; at < len; at += strlen(text + at) + 1) {
        g_ptr_array_add(words, g_strdup(text + at));
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&words), false);
}

/*
 * The tests run in a process of their own, so that their files are removed even
 * after an abort.  It executes the program again: after a fork() alone, locks
 * of other threads, such as the allocator's, could stay locked.
 */
int hv_test_run(void)
{
    g_auto(GStrv) argv = NULL;
    g_autofree char *dir = NULL;
    int status;
    pid_t pid;

    if (hv_tmp()) {
        return g_test_run();
    }
    dir = g_dir_make_tmp("hostvlan-test-XXXXXX", NULL);
    g_assert_nonnull(dir);
    g_setenv(TMP_VARIABLE, dir, true);
    argv = command_line();
    g_assert_cmpint(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv,
                                environ), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    remove_all(dir);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
