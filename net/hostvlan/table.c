/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LNID table, for readers
 *
 * Theory of operation
 *
 * The file is mapped shared and read-only. include/vmmnet/hostvlan.h explains
 * what a writer may do to it and why a reader without locks gets the old or the
 * new value. This file adds the checks of a reader, because the writer is
 * another program, which may have bugs, be killed, or be replaced by "cp":
 *
 * - The header's numbers are copied when the file is opened; later reads never
 *   use the header in the mapping.
 * - At that time everything is checked: the header, every slot, every record. A
 *   file that our writers cannot have created is refused completely. A
 *   concurrent change does no harm: keys are only added, after existing ones,
 *   and a value is complete before it is visible.
 * - Memory and disks flip bits, also in a file that has been checked. So key
 *   and value are checked again at each use, and a record is copied and checked
 *   for bounds, order and check word. A damaged entry has no LNIDs and no
 *   addresses, and is distinguished from an absent one.
 * - The mapping is guarded (guard.h): if the file is truncated, all look-ups
 *   fail. Then nothing passes. This differs from "the last valid table stays in
 *   force", but the last valid table does not exist any more.
 *
 * Speed: a bucket is a cache line with four addresses, so a search costs one
 * cache miss; with 60 % of the slots in use, one search in ten reads a second
 * bucket. The cost of an unknown address is limited by HOSTVLAN_PROBE_MAX.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/hostvlan/guard.h"
#include "net/hostvlan/table.h"

G_STATIC_ASSERT(sizeof(struct hostvlan_header) == HOSTVLAN_HEADER_SIZE);
G_STATIC_ASSERT(sizeof(struct hostvlan_bucket) == 64);
G_STATIC_ASSERT(offsetof(struct hostvlan_header, checksum) ==
                HOSTVLAN_CHECKED_SIZE);
G_STATIC_ASSERT(offsetof(struct hostvlan_header, superseded) == 64);
G_STATIC_ASSERT(offsetof(struct hostvlan_header, counted) == 88);

struct HostvlanTable {
    /* The members that a search needs: constant, and next to each other. */
    const struct hostvlan_bucket *bucket;
    const uint32_t *word;
    uint32_t buckets, words;
    int range;                  /* number of the guard; -1: none yet */
    const struct hostvlan_header *header;       /* the mapping; NULL: none */
    uint64_t size;              /* of the mapping and of the file */
    struct hostvlan_header copy;        /* the header at opening */
    dev_t dev;
    ino_t ino;
};

G_DEFINE_QUARK(hostvlan_table, hostvlan_table_error)

/* --- reading ------------------------------------------------------------ */

static inline uint64_t load64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline uint32_t load32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/*
 * The first slot of a bucket that has @key; if none has it, any slot.
 *
 * Which slot has it cannot be predicted, and a wrong prediction is noticed only
 * when the bucket has come from memory. Until then the processor cannot begin
 * the next search. So these are conditional moves, and not branches. They
 * are few, because each one occupies the scheduler until the bucket comes.
 */
static inline const struct hostvlan_slot *
choose(const struct hostvlan_slot *slot, uint64_t key)
{
    const struct hostvlan_slot *at = &slot[3];

    G_STATIC_ASSERT(HOSTVLAN_SLOTS == 4);
    at = load64(&slot[2].key) == key ? &slot[2] : at;
    at = load64(&slot[1].key) == key ? &slot[1] : at;
    at = load64(&slot[0].key) == key ? &slot[0] : at;
    /* Without this, GCC makes a branch of the last one. */
    __asm__("" : "+r" (at));
    return at;
}

/*
 * Looks at a bucket without @key. Returns: true if an empty slot ends the
 * search
 */
static bool is_last(const struct hostvlan_slot *slot, uint64_t key,
                    bool *damaged)
{
    for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
        uint64_t found = load64(&slot[i].key);

        /* The same key: a writer has just added it. */
        if (found == 0 || found == key) {
            return true;
        }
        *damaged |= hostvlan_differ_in_one(found ^ key);
    }
    return false;
}

/*
 * Finds the slot of @key; NULL: none. @damaged is set to true if a key differs
 * from it in a single bit.
 */
static inline const struct hostvlan_slot *find(const HostvlanTable *t,
                                               uint64_t key, bool *damaged)
{
    uint32_t n = hostvlan_first_bucket(hostvlan_key_mac(key), t->buckets);

    for (unsigned probe = 0; probe < HOSTVLAN_PROBE_MAX; probe++) {
        const struct hostvlan_slot *slot = t->bucket[n].slot;
        const struct hostvlan_slot *at = choose(slot, key);

        if (G_LIKELY(load64(&at->key) == key)) {
            return at;
        }
        if (is_last(slot, key, damaged)) {
            return NULL;
        }
        n = n + 1 == t->buckets ? 0 : n + 1;
    }
    return NULL;
}

void hostvlan_table_prefetch(const HostvlanTable *t, uint64_t mac)
{
    __builtin_prefetch(&t->bucket[hostvlan_first_bucket(mac, t->buckets)]);
}

uint64_t hostvlan_table_lookup(const HostvlanTable *t, uint64_t mac)
{
    const uint64_t damaged = (uint64_t)HOSTVLAN_VALUE_DAMAGED << 62;
    const struct hostvlan_slot *slot;
    uint64_t key, value;
    bool near = false;

    hostvlan_guard_arm();
    /* The key 0 means an empty slot, so it must not be searched. */
    if (mac == 0 || mac >> 48) {
        return 0;
    }
    key = hostvlan_key(mac);
    slot = find(t, key, &near);
    if (!slot) {
        return near ? damaged : 0;
    }
    value = load64(&slot->value);
    if (G_LIKELY(hostvlan_value_is_one(key, value))) {
        return value;
    }
    if (!hostvlan_value_valid(key, value)) {
        return damaged;
    }
    return hostvlan_value_kind(value) == HOSTVLAN_VALUE_NONE ? 0 : value;
}

/*
 * Finds the record of @value, which has @head; NULL if it is not completely
 * inside the file.
 */
static const uint32_t *record(const HostvlanTable *t, uint64_t value,
                              uint32_t *head)
{
    uint32_t at = hostvlan_value_number(value), length;

    if (hostvlan_value_kind(value) != HOSTVLAN_VALUE_RECORD ||
        at >= t->words) {
        return NULL;
    }
    hostvlan_guard_arm();
    *head = load32(&t->word[at]);
    length = hostvlan_record_words(*head);
    return length && length <= t->words - at ? &t->word[at] : NULL;
}

/* Copies @num words and adds them to @sum. */
static void copy(uint32_t *to, const uint32_t *from, unsigned num,
                 uint64_t *sum)
{
    for (unsigned i = 0; i < num; i++) {
        to[i] = load32(&from[i]);
        *sum = hostvlan_sum(*sum, to[i]);
    }
}

static bool is_ascending(const HostvlanLnids *lnids)
{
    for (unsigned i = 1; i < lnids->num; i++) {
        if (lnids->lnid[i] <= lnids->lnid[i - 1]) {
            return false;
        }
    }
    return true;
}

/*
 * Copies the LNIDs of a record with @head at @at; @sum is set to the sum of the
 * words before the check. Returns: false if they are damaged.
 */
static bool copy_lnids(const uint32_t *at, uint32_t head, uint64_t value,
                       HostvlanLnids *lnids, uint64_t *sum)
{
    lnids->num = HOSTVLAN_RECORD_LNIDS(head);
    *sum = hostvlan_sum(hostvlan_sum(0, value), head);
    copy(lnids->lnid, at + 1, lnids->num, sum);
    return load32(at + 1 + lnids->num) == *sum >> 32 && is_ascending(lnids);
}

unsigned hostvlan_table_lnids(const HostvlanTable *t, uint64_t value,
                              HostvlanLnids *lnids)
{
    const uint32_t *at;
    uint32_t head;
    uint64_t sum;

    lnids->num = 0;
    if (hostvlan_value_kind(value) == HOSTVLAN_VALUE_ONE) {
        lnids->lnid[0] = hostvlan_value_number(value);
        return lnids->num = 1;
    }
    at = record(t, value, &head);
    if (at && !copy_lnids(at, head, value, lnids, &sum)) {
        lnids->num = 0;
    }
    return lnids->num;
}

/* Copies the numbers of host bits, without which all addresses are single. */
static void copy_host_bits(const uint32_t *at, uint32_t head, uint64_t *sum,
                           HostvlanAddresses *addresses)
{
    uint32_t word[(HOSTVLAN_IP4_MAX + HOSTVLAN_IP6_MAX) / 4] = { 0 };
    unsigned ip4 = HOSTVLAN_RECORD_IP4(head), ip6 = HOSTVLAN_RECORD_IP6(head);

    copy(word, at, hostvlan_host_bits_words(head), sum);
    for (unsigned i = 0; i < ip4; i++) {
        addresses->host_bits4[i] = word[i / 4] >> i % 4 * 8;
    }
    for (unsigned i = 0; i < ip6; i++) {
        addresses->host_bits6[i] = word[(ip4 + i) / 4] >> (ip4 + i) % 4 * 8;
    }
}

/* Copies the addresses after the LNIDs' check; @sum: of the LNIDs. */
static bool copy_addresses(const uint32_t *at, uint32_t head, uint64_t sum,
                           HostvlanAddresses *addresses)
{
    unsigned ip4 = HOSTVLAN_RECORD_IP4(head), ip6 = HOSTVLAN_RECORD_IP6(head);

    if (!ip4 && !ip6) {
        return true;
    }
    copy(addresses->ip4, at, ip4, &sum);
    copy(addresses->ip6[0], at + ip4, 4 * ip6, &sum);
    copy_host_bits(at + ip4 + 4 * ip6, head, &sum, addresses);
    if (load32(at + hostvlan_address_words(head) - 1) != sum >> 32) {
        return false;
    }
    addresses->num_ip4 = ip4;
    addresses->num_ip6 = ip6;
    return true;
}

bool hostvlan_table_addresses(const HostvlanTable *t, uint64_t value,
                              HostvlanAddresses *addresses)
{
    HostvlanLnids lnids;
    const uint32_t *at;
    uint32_t head;
    uint64_t sum;

    addresses->num_ip4 = addresses->num_ip6 = 0;
    if (value == 0 || hostvlan_value_kind(value) == HOSTVLAN_VALUE_ONE) {
        return true;
    }
    at = record(t, value, &head);
    return at && copy_lnids(at, head, value, &lnids, &sum) &&
           copy_addresses(at + 1 + lnids.num + 1, head, sum, addresses);
}

/* @at: after the checks of LNIDs and addresses; @sum: of the LNIDs */
static bool copy_also(const uint32_t *at, uint32_t head, uint64_t sum,
                      HostvlanRights *rights)
{
    unsigned num = HOSTVLAN_RECORD_ALSO(head);
    uint32_t word[2 * HOSTVLAN_ALSO_MAX];

    if (num) {
        copy(word, at, 2 * num, &sum);
        if (load32(at + 2 * num) != sum >> 32) {
            return false;
        }
    }
    for (unsigned i = 0; i < num; i++) {
        rights->also[i] = (uint64_t)word[2 * i] << 32 | word[2 * i + 1];
    }
    rights->num_also = num;
    rights->offers = HOSTVLAN_RECORD_OFFERS(head);
    return true;
}

bool hostvlan_table_rights(const HostvlanTable *t, uint64_t value,
                           HostvlanRights *rights)
{
    HostvlanLnids lnids;
    const uint32_t *at;
    uint32_t head;
    uint64_t sum;

    rights->offers = rights->num_also = 0;
    if (value == 0 || hostvlan_value_kind(value) == HOSTVLAN_VALUE_ONE) {
        return true;
    }
    at = record(t, value, &head);
    return at && copy_lnids(at, head, value, &lnids, &sum) &&
           copy_also(at + 1 + lnids.num + 1 + hostvlan_address_words(head),
                     head, sum, rights);
}

bool hostvlan_table_superseded(const HostvlanTable *t)
{
    hostvlan_guard_arm();
    return load32(&t->header->superseded) != 0;
}

bool hostvlan_table_lost(const HostvlanTable *t)
{
    return hostvlan_guard_lost(t->range);
}

uint64_t hostvlan_table_generation(const HostvlanTable *t)
{
    hostvlan_guard_arm();
    return load64(&t->header->generation);
}

uint32_t hostvlan_table_macs(const HostvlanTable *t)
{
    hostvlan_guard_arm();
    return load32(&t->header->macs);
}

bool hostvlan_table_is_at(const HostvlanTable *t, const struct stat *st)
{
    return t->dev == st->st_dev && t->ino == st->st_ino;
}

bool hostvlan_table_is_current(HostvlanTable *t, const struct stat *st)
{
    hostvlan_guard_arm();
    if (!hostvlan_table_is_at(t, st) || hostvlan_table_lost(t)) {
        return false;
    }
    if ((uint64_t)st->st_size != t->size ||
        memcmp(t->header, &t->copy,
               offsetof(struct hostvlan_header, superseded)) != 0) {
        hostvlan_guard_lose(t->range);
        return false;
    }
    return true;
}

/* --- opening ------------------------------------------------------------ */

/* zlib's CRC-32, bit by bit: it covers a few octets, once for each file. */
static uint32_t crc32_of(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint32_t crc = ~0u;

    while (size--) {
        crc ^= *p++;
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static bool refuse(GError **errp, HostvlanTableError code, const char *format,
                   ...) G_GNUC_PRINTF(3, 4);

/* Always returns false, for the caller's return statement. */
static bool refuse(GError **errp, HostvlanTableError code, const char *format,
                   ...)
{
    va_list args;

    if (errp) {
        va_start(args, format);
        *errp = g_error_new_valist(HOSTVLAN_TABLE_ERROR, code, format, args);
        va_end(args);
    }
    return false;
}

static bool check_ranges(const struct hostvlan_header *h, GError **errp)
{
    static const uint8_t zero[sizeof(h->zero)];

    if (h->header_size != HOSTVLAN_HEADER_SIZE) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_HEADER,
                      "a header of %u octets, not %u", h->header_size,
                      HOSTVLAN_HEADER_SIZE);
    }
    if (h->buckets == 0 || h->buckets > HOSTVLAN_BUCKETS_MAX) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_HEADER,
                      "%u buckets, not 1 to %u", h->buckets,
                      HOSTVLAN_BUCKETS_MAX);
    }
    if (h->words > HOSTVLAN_WORDS_MAX) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_HEADER,
                      "%u words of records, not 0 to %u", h->words,
                      HOSTVLAN_WORDS_MAX);
    }
    if (memcmp(h->zero, zero, sizeof(zero))) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_HEADER,
                      "octets 36 to 63 of the header are not 0");
    }
    return true;
}

static bool check_header(const struct hostvlan_header *h, uint64_t size,
                         GError **errp)
{
    uint64_t should;

    if (memcmp(h->magic, HOSTVLAN_MAGIC, sizeof(h->magic))) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_MAGIC,
                      "not an LNID table: it does not begin with "
                      HOSTVLAN_MAGIC);
    }
    if (h->version < HOSTVLAN_VERSION_OLD || h->version > HOSTVLAN_VERSION) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_VERSION,
                      "version %u of the format, and this program reads "
                      "versions %u to %u%s", h->version, HOSTVLAN_VERSION_OLD,
                      HOSTVLAN_VERSION,
                      h->version < HOSTVLAN_VERSION_OLD && h->version ?
                      ": 'vmmnet hostvlan convert' makes it that" : "");
    }
    if (h->checksum != crc32_of(h, HOSTVLAN_CHECKED_SIZE)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_CHECKSUM,
                      "the header's checksum is wrong");
    }
    if (!check_ranges(h, errp)) {
        return false;
    }
    should = HOSTVLAN_HEADER_SIZE + 4 * (uint64_t)h->words +
             sizeof(struct hostvlan_bucket) * (uint64_t)h->buckets;
    if (h->file_size != should) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_HEADER,
                      "the header says %" G_GUINT64_FORMAT " octets, and its "
                      "buckets and records are %" G_GUINT64_FORMAT,
                      h->file_size, should);
    }
    if (size != should) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_SIZE,
                      "%" G_GUINT64_FORMAT " octets, and the header says %"
                      G_GUINT64_FORMAT, size, should);
    }
    return true;
}

/* Are they valid, ascending MAC addresses without the port's own? */
static bool are_others(const HostvlanRights *rights, uint64_t mac)
{
    for (unsigned i = 0; i < rights->num_also; i++) {
        if (!hostvlan_mac_valid(rights->also[i]) || rights->also[i] == mac ||
            (i && rights->also[i] <= rights->also[i - 1])) {
            return false;
        }
    }
    return true;
}

/* Does each address have host bits that are 0 and not all bits? */
static bool are_prefixes(const HostvlanAddresses *addresses)
{
    for (unsigned i = 0; i < addresses->num_ip4; i++) {
        uint32_t bits = addresses->host_bits4[i];

        if (bits >= 32 || addresses->ip4[i] & ((1u << bits) - 1)) {
            return false;
        }
    }
    for (unsigned i = 0; i < addresses->num_ip6; i++) {
        const uint32_t *ip6 = addresses->ip6[i];
        uint32_t bits = addresses->host_bits6[i], network[4] = { 0 };

        for (unsigned bit = bits; bit < 128; bit++) {
            network[3 - bit / 32] |= ip6[3 - bit / 32] & 1u << bit % 32;
        }
        if (bits >= 128 || memcmp(network, ip6, sizeof(network))) {
            return false;
        }
    }
    return true;
}

static bool check_record(const HostvlanTable *t, uint64_t value, uint64_t mac,
                         GError **errp)
{
    HostvlanAddresses addresses;
    HostvlanRights rights;
    HostvlanLnids lnids;
    uint32_t head;

    if (!record(t, value, &head)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_RECORD,
                      "the record of %012" G_GINT64_MODIFIER "x, at word %u "
                      "of %u, is incomplete", mac,
                      hostvlan_value_number(value), t->words);
    }
    if (!hostvlan_table_lnids(t, value, &lnids) ||
        !hostvlan_table_addresses(t, value, &addresses) ||
        !hostvlan_table_rights(t, value, &rights) ||
        !are_prefixes(&addresses) || !are_others(&rights, mac)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_RECORD,
                      "the record of %012" G_GINT64_MODIFIER "x, at word %u "
                      "of %u, is damaged", mac,
                      hostvlan_value_number(value), t->words);
    }
    return true;
}

/* @i: the slot's place in its bucket */
static bool check_slot(const HostvlanTable *t, const struct hostvlan_slot *slot,
                       unsigned i, GError **errp)
{
    uint64_t key = load64(&slot->key), mac = hostvlan_key_mac(key), value;
    bool near = false;

    if (key == 0) {
        return true;
    }
    if (!hostvlan_mac_valid(mac) || key != hostvlan_key(mac)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_KEY,
                      "0x%" G_GINT64_MODIFIER "x is not the key of a unicast "
                                              "MAC address", key);
    }
    /* A search does not look for an empty slot in the bucket before the key. */
    if ((i && load64(&slot[-1].key) == 0) || find(t, key, &near) != slot) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_PLACE,
                      "%012" G_GINT64_MODIFIER "x is in a wrong place, or "
                                               "there twice", mac);
    }
    value = load64(&slot->value);
    if (!hostvlan_value_valid(key, value)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_VALUE,
                      "the value of %012" G_GINT64_MODIFIER "x, 0x%"
                      G_GINT64_MODIFIER "x, is damaged", mac, value);
    }
    return hostvlan_value_kind(value) != HOSTVLAN_VALUE_RECORD ||
           check_record(t, value, mac, errp);
}

static bool check_slots(const HostvlanTable *t, GError **errp)
{
    for (uint32_t n = 0; n < t->buckets; n++) {
        for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
            if (!check_slot(t, &t->bucket[n].slot[i], i, errp)) {
                return false;
            }
        }
    }
    return true;
}

static bool map(HostvlanTable *t, int fd, GError **errp)
{
    void *base = mmap(NULL, t->size, PROT_READ, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_RESOURCES,
                      "%" G_GUINT64_FORMAT " octets cannot be mapped: %s",
                      t->size, g_strerror(errno));
    }
    t->header = base;
    t->bucket = (const void *)(t->header + 1);
    t->buckets = t->copy.buckets;
    t->word = (const void *)(t->bucket + t->buckets);
    t->words = t->copy.words;
    t->range = hostvlan_guard_add(base, t->size);
    if (t->range < 0) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_RESOURCES,
                      "more than %d tables in one process",
                      HOSTVLAN_GUARD_RANGES);
    }
    hostvlan_guard_arm();
    return true;
}

static bool read_header(HostvlanTable *t, int fd, GError **errp)
{
    ssize_t got = pread(fd, &t->copy, sizeof(t->copy), 0);

    if (got < 0) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_ACCESS,
                      "it cannot be read: %s", g_strerror(errno));
    }
    if (got != sizeof(t->copy)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_SIZE,
                      "%zd octets, less than the header's %u", got,
                      HOSTVLAN_HEADER_SIZE);
    }
    return check_header(&t->copy, t->size, errp);
}

static bool load(HostvlanTable *t, int fd, GError **errp)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_ACCESS, "%s",
                      g_strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return refuse(errp, HOSTVLAN_TABLE_ERROR_NOT_A_FILE,
                      "not a regular file");
    }
    t->size = st.st_size;
    t->dev = st.st_dev;
    t->ino = st.st_ino;
    return read_header(t, fd, errp) && map(t, fd, errp) &&
           check_slots(t, errp);
}

static int open_file(const char *path, GError **errp)
{
    /* Do not block on a FIFO or device. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0) {
        refuse(errp, errno == ENOENT || errno == ENOTDIR ?
               HOSTVLAN_TABLE_ERROR_MISSING : HOSTVLAN_TABLE_ERROR_ACCESS,
               "%s", g_strerror(errno));
    }
    return fd;
}

HostvlanTable *hostvlan_table_open(const char *path, GError **errp)
{
    g_autoptr(HostvlanTable) t = NULL;
    g_autoptr(GError) err = NULL;
    int fd = open_file(path, &err);
    bool good = false;

    if (fd >= 0) {
        t = g_new0(HostvlanTable, 1);
        t->range = -1;
        good = load(t, fd, &err);
        close(fd);
    }
    if (t && t->range >= 0 && hostvlan_table_lost(t)) {
        /* The file was truncated; the faults found in zeros are misleading. */
        g_clear_error(&err);
        good = refuse(&err, HOSTVLAN_TABLE_ERROR_SIZE,
                      "it was truncated while it was being read");
    }
    if (!good) {
        g_propagate_prefixed_error(errp, g_steal_pointer(&err),
                                   "LNID table '%s': ", path);
        return NULL;
    }
    return g_steal_pointer(&t);
}

void hostvlan_table_close(HostvlanTable *t)
{
    if (!t) {
        return;
    }
    if (t->range >= 0) {
        hostvlan_guard_remove(t->range);
    }
    if (t->header) {
        munmap((void *)t->header, t->size);
    }
    g_free(t);
}
