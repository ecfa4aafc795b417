/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table file, and changes of it while it is mapped
 *
 * The first octet is the number of buckets, the second that of words / 4, the
 * third says how many octets of the header the input replaces; then those, then
 * slots and records, until they are full. What is left over is written over
 * slots and records once the file is open. The header's checksum is made right,
 * and those of keys, values and records, unless the third octet is 128 or more.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/hostvlan/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUCKETS_MAX     16u

typedef struct Input {
    const uint8_t *data;
    size_t size;
} Input;

static size_t take(Input *in, void *to, size_t num)
{
    num = MIN(num, in->size);
    memcpy(to, in->data, num);
    in->data += num;
    in->size -= num;
    return num;
}

static uint32_t crc32_of(const uint8_t *p, size_t size)
{
    uint32_t crc = ~0u;

    while (size--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

/* Returns: shall all other fields be valid, too? */
static bool make_header(Input *in, struct hostvlan_header *h)
{
    uint8_t shape[3] = { 0 };

    take(in, shape, sizeof(shape));
    memcpy(h->magic, HOSTVLAN_MAGIC, sizeof(h->magic));
    h->version = HOSTVLAN_VERSION;
    h->header_size = HOSTVLAN_HEADER_SIZE;
    h->buckets = 1 + shape[0] % BUCKETS_MAX;
    h->words = shape[1] * 4;
    h->file_size = HOSTVLAN_HEADER_SIZE + 64 * h->buckets + 4 * h->words;
    take(in, h, shape[2] % 96);
    h->checksum = crc32_of((const uint8_t *)h, HOSTVLAN_CHECKED_SIZE);
    return shape[2] < 128;
}

static uint64_t sum_up(uint64_t sum, const uint32_t *word, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        sum = hostvlan_sum(sum, word[i]);
    }
    return sum;
}

/* @room words are at @word. */
static void make_record(uint32_t *word, uint32_t room, uint64_t value)
{
    uint32_t head = HOSTVLAN_RECORD_HEAD(*word & 0xff, *word >> 8 & 0xff,
                                         *word >> 16 & 0xff);
    uint32_t num = hostvlan_record_words(head);
    uint32_t lnids = HOSTVLAN_RECORD_LNIDS(head);
    uint32_t addresses = hostvlan_address_words(head);
    uint32_t also = 2 * HOSTVLAN_RECORD_ALSO(head);
    uint64_t sum;

    *word = head;
    if (num == 0 || num > room) {
        return;
    }
    sum = sum_up(hostvlan_sum(0, value), word, 1 + lnids);
    word[1 + lnids] = sum >> 32;
    word += 2 + lnids;
    if (addresses) {
        word[addresses - 1] = sum_up(sum, word, addresses - 1) >> 32;
    }
    word += addresses;
    if (also) {
        word[also] = sum_up(sum, word, also) >> 32;
    }
}

static void make_slot(struct hostvlan_slot *s, uint32_t *word, uint32_t words)
{
    uint32_t kind = hostvlan_value_kind(s->value);
    uint32_t number = hostvlan_value_number(s->value);

    if (s->key == 0) {
        return;
    }
    s->key = hostvlan_key(hostvlan_key_mac(s->key));
    s->value = hostvlan_value(s->key, kind, number);
    if (kind == HOSTVLAN_VALUE_RECORD && number < words) {
        make_record(word + number, words - number, s->value);
    }
}

/* The part that the header, which may have any value, names and that exists. */
static void make_slots(uint8_t *file, size_t body)
{
    struct hostvlan_header *h = (void *)file;
    struct hostvlan_slot *slots = (void *)(h + 1);
    size_t records = HOSTVLAN_HEADER_SIZE + 64 * (size_t)h->buckets;

    if (records > body) {
        return;
    }
    for (unsigned i = 0; i < h->buckets * HOSTVLAN_SLOTS; i++) {
        make_slot(&slots[i], (uint32_t *)(file + records),
                  (body - records) / 4);
    }
}

/* The result may be wrong, but must have a valid form. */
static void look(const HostvlanTable *t, uint64_t mac, uint64_t port)
{
    uint64_t value = hostvlan_table_lookup(t, mac);
    uint8_t frame[14] = { 0 };
    HostvlanAddresses addresses;
    HostvlanRights rights;
    HostvlanLnids lnids;
    size_t fixed;

    g_assert(hostvlan_table_lnids(t, value, &lnids) <= HOSTVLAN_LNIDS_MAX);
    for (unsigned i = 1; i < lnids.num; i++) {
        g_assert(lnids.lnid[i] > lnids.lnid[i - 1]);
    }
    hostvlan_table_addresses(t, value, &addresses);
    g_assert(addresses.num_ip4 <= HOSTVLAN_IP4_MAX);
    g_assert(addresses.num_ip6 <= HOSTVLAN_IP6_MAX);
    hostvlan_table_rights(t, value, &rights);
    g_assert(rights.num_also <= HOSTVLAN_ALSO_MAX && rights.offers <= 3);
    for (int i = 0; i < 6; i++) {
        frame[6 + i] = mac >> (40 - 8 * i) & 0xff;
    }
    g_assert(hostvlan_verdict_receive(t, port, frame, 14, 14) <
             HOSTVLAN_REASONS);
    g_assert(hostvlan_verdict_send(t, port, false, frame, 14, &fixed) <
             HOSTVLAN_REASONS);
}

static void look_at_all(const HostvlanTable *t, const struct hostvlan_slot *s,
                        unsigned num)
{
    for (unsigned i = 0; i < num; i++) {
        uint64_t mac = hostvlan_key_mac(s[i].key);

        look(t, mac, hostvlan_key_mac(s[0].key));
        look(t, mac ^ 1, mac);
        look(t, s[i].key, s[i].key);
    }
}

/* Each key of an accepted file is found. */
static void check_all(const HostvlanTable *t, const struct hostvlan_slot *s,
                      unsigned num)
{
    HostvlanAddresses addresses;
    HostvlanRights rights;
    HostvlanLnids lnids;

    for (unsigned i = 0; i < num; i++) {
        if (s[i].key) {
            uint64_t value = s[i].value;
            bool none = hostvlan_value_kind(value) == HOSTVLAN_VALUE_NONE;

            g_assert(hostvlan_table_lookup(t, hostvlan_key_mac(s[i].key)) ==
                     (none ? 0 : value));
            g_assert(none || hostvlan_table_lnids(t, value, &lnids));
            g_assert(none || hostvlan_table_addresses(t, value, &addresses));
            for (unsigned n = 0; !none && n < addresses.num_ip4; n++) {
                g_assert(addresses.host_bits4[n] < 32);
            }
            for (unsigned n = 0; !none && n < addresses.num_ip6; n++) {
                g_assert(addresses.host_bits6[n] < 128);
            }
            g_assert(none || hostvlan_table_rights(t, value, &rights));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[HOSTVLAN_HEADER_SIZE + 64 * BUCKETS_MAX + 4 * 1020];
    struct hostvlan_header *h = (void *)file;
    struct hostvlan_slot *slots = (void *)(h + 1);
    Input in = { data, size };
    g_autoptr(HostvlanTable) t = NULL;
    g_autofree char *path = NULL;
    size_t body;
    bool right;
    int fd = memfd_create("table", MFD_CLOEXEC);

    memset(file, 0, sizeof(file));
    right = make_header(&in, h);
    body = MIN(h->file_size, sizeof(file));
    if (body > HOSTVLAN_HEADER_SIZE) {
        take(&in, h + 1, body - HOSTVLAN_HEADER_SIZE);
    }
    if (right) {
        make_slots(file, body);
    }
    g_assert(write(fd, file, body) == (ssize_t)body);
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    t = hostvlan_table_open(path, NULL);
    if (t) {
        unsigned num = h->buckets * HOSTVLAN_SLOTS;

        check_all(t, slots, num);
        look_at_all(t, slots, num);
        take(&in, h + 1, body - HOSTVLAN_HEADER_SIZE);
        g_assert(pwrite(fd, file, body, 0) == (ssize_t)body);
        look_at_all(t, slots, num);
        g_assert(ftruncate(fd, in.size ? in.data[0] * 32 : body) == 0);
        look_at_all(t, slots, num);
    }
    close(fd);
    return 0;
}
