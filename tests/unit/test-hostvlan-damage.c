/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flipped bits of an LNID table: readers detect each of them, and other entries
 * stay usable
 */
#include <string.h>

#include "tests/fixtures/hostvlan-file.h"
#include "net/hostvlan/verdict.h"

#define NOBODY  0x0200dead0000ull

/* --- by construction ------------------------------------------------------ */

/*
 * A bit that is wrong in a number changes the sum by 2^bit * factor^n, n - 1
 * numbers being after it. The upper 30 bits of any sum change if that is not
 * nearer to 0 than 2^34. A number of more than 34 bits is at least two numbers
 * before the end, but its upper bits are multiples of 2^34 in any case.
 */
static void test_sum(void)
{
    const uint64_t near = 1ull << 34;
    uint64_t power = 1;

    for (unsigned n = 1; n <= HOSTVLAN_RECORD_WORDS_MAX + 2; n++) {
        power = hostvlan_sum(0, power);
        for (unsigned bit = 0; bit < 64; bit++) {
            g_assert_cmphex(power << bit, >=, near);
            g_assert_cmphex(-(power << bit), >=, near);
        }
    }
    /* The factor is the same for all positions of the sum. */
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t sum = 0x123456789abcdef0ull, number = 0xfedcba9876543210ull;

        g_assert_cmphex(hostvlan_sum(sum, number + (1ull << bit)) -
                        hostvlan_sum(sum, number), ==,
                        hostvlan_sum(0, 1ull << bit));
        g_assert_cmphex(hostvlan_sum(sum + (1ull << bit), number) -
                        hostvlan_sum(sum, number), ==,
                        hostvlan_sum(0, 1ull << bit));
    }
}

/* The keys of two addresses differ in two bits, and so does one from 0. */
static void test_key(void)
{
    /* The check is linear: it suffices to test the difference of two values. */
    for (unsigned a = 0; a < 48; a++) {
        g_assert_cmpint(__builtin_popcountll(hostvlan_key(1ull << a)), ==, 2);
        for (unsigned b = 0; b < 48; b++) {
            g_assert_cmphex(hostvlan_key(1ull << a) ^ hostvlan_key(1ull << b),
                            ==, hostvlan_key(1ull << a ^ 1ull << b));
        }
    }
}

/* One flipped bit never turns a record's head into another valid head. */
static void test_head(void)
{
    for (unsigned lnids = 1; lnids <= HOSTVLAN_LNIDS_MAX; lnids++) {
        for (unsigned ip4 = 0; ip4 <= HOSTVLAN_IP4_MAX; ip4++) {
            for (unsigned ip6 = 0; ip6 <= HOSTVLAN_IP6_MAX; ip6++) {
                uint32_t offers = ip4 & 3, also = (lnids + 5 * ip6) & 31;
                uint32_t prefixes = (ip4 || ip6) && (lnids + ip4 + ip6) & 1;
                uint32_t head = hostvlan_record_head(lnids, ip4, ip6, prefixes,
                                                     offers, also);

                g_assert_cmpuint(hostvlan_record_words(head), !=, 0);
                g_assert_cmpuint(HOSTVLAN_RECORD_PREFIXES(head), ==, prefixes);
                g_assert_cmpuint(HOSTVLAN_RECORD_LNIDS(head), ==, lnids);
                g_assert_cmpuint(HOSTVLAN_RECORD_IP4(head), ==, ip4);
                g_assert_cmpuint(HOSTVLAN_RECORD_IP6(head), ==, ip6);
                g_assert_cmpuint(HOSTVLAN_RECORD_OFFERS(head), ==, offers);
                g_assert_cmpuint(HOSTVLAN_RECORD_ALSO(head), ==, also);
                for (unsigned bit = 0; bit < 32; bit++) {
                    g_assert_cmpuint(hostvlan_record_words(head ^ 1u << bit),
                                     ==, 0);
                }
            }
        }
    }
}

/* --- in a table ----------------------------------------------------------- */

static HvEntry with_addresses(void)
{
    HvEntry e = {
        .num_lnids = 3, .lnid = { 2, 3, 5 },
        .num_ip4 = 1, .ip4 = { 0xc0000201u },
        .num_ip6 = 2, .ip6 = { { 0x20010db8u, 0, 0, 1 },
                               { 0x20010db8u, 0, 0, 2 } },
    };

    return e;
}

static enum hostvlan_reason receive(const HostvlanTable *t, uint64_t port,
                                    uint64_t source)
{
    uint8_t frame[14] = { 0 };

    for (int i = 0; i < 6; i++) {
        frame[6 + i] = source >> (40 - 8 * i) & 0xff;
    }
    return hostvlan_verdict_receive(t, port, frame, sizeof(frame),
                                    sizeof(frame));
}

/* MAC_A has the LNIDs of the test, MAC_B only LNID 2, MAC_C was removed. */
static HvFile begin(const HvEntry *a)
{
    HvFile fx = hv_begin(16, 64);

    g_assert_true(hv_set(fx.w, MAC_A, a));
    hv_set_lnids(fx.w, MAC_B, 1, 2);
    hv_set_lnids(fx.w, MAC_C, 1, 2);
    hv_remove(fx.w, MAC_C);
    return fx;
}

/* Flips each bit of @octets at @at, one after another. */
static void each_bit(HvFile *fx, void *at, size_t octets,
                     void (*look)(HvFile *fx, const HostvlanTable *t))
{
    g_autoptr(HostvlanTable) t = hv_open(fx->path);
    uint8_t *octet = at;

    for (size_t bit = 0; bit < 8 * octets; bit++) {
        g_autoptr(HostvlanTable) refused = NULL;
        uint8_t before = octet[bit / 8];

        octet[bit / 8] ^= 1 << bit % 8;
        look(fx, t);
        /* A reader refuses the file when it opens it. */
        refused = hostvlan_table_open(fx->path, NULL);
        g_assert_null(refused);
        octet[bit / 8] = before;
    }
}

/* MAC_A seems missing, for both directions; MAC_B is as before. */
static void a_is_damaged(HvFile *fx, const HostvlanTable *t)
{
    uint64_t value = hostvlan_table_lookup(t, MAC_A);
    HostvlanAddresses addresses;
    HostvlanLnids lnids;

    g_assert_cmpuint(value, !=, 0);
    g_assert_cmpuint(hostvlan_table_lnids(t, value, &lnids), ==, 0);
    g_assert_false(hostvlan_table_addresses(t, value, &addresses));
    g_assert_cmpuint(addresses.num_ip4 + addresses.num_ip6, ==, 0);
    g_assert_cmpint(receive(t, MAC_A, MAC_B), ==, HOSTVLAN_DAMAGED);
    g_assert_cmpint(receive(t, MAC_B, MAC_A), ==, HOSTVLAN_DAMAGED);
    g_assert_cmpint(receive(t, MAC_B, MAC_B), ==, HOSTVLAN_PASSED);
    /* A missing entry is the first reason. */
    g_assert_cmpint(receive(t, NOBODY, MAC_A), ==, HOSTVLAN_NO_PORT);
    g_assert_cmpint(receive(t, MAC_A, NOBODY), ==, HOSTVLAN_UNKNOWN_SOURCE);
}

static void test_one(void)
{
    static const uint32_t lnids[] = { 0, 1, 2, 3, 0x80000000u, 0xffffffffu };

    for (size_t i = 0; i < G_N_ELEMENTS(lnids); i++) {
        HvEntry e = { .num_lnids = 1, .lnid = { lnids[i] } };
        HvFile fx = begin(&e);

        each_bit(&fx, hv_slot(fx.w, MAC_A), sizeof(struct hostvlan_slot),
                 a_is_damaged);
        hv_end(&fx);
    }
}

static void test_record(void)
{
    HvEntry e = with_addresses();
    HvFile fx = begin(&e);
    struct hostvlan_slot *slot = hv_slot(fx.w, MAC_A);
    uint32_t *word = fx.w->word + hostvlan_value_number(slot->value);

    each_bit(&fx, slot, sizeof(*slot), a_is_damaged);
    /* The head, the LNIDs, and the check of them. */
    each_bit(&fx, word, 4 * (1 + 3 + 1), a_is_damaged);
    hv_end(&fx);
}

static void addresses_are_damaged(HvFile *fx, const HostvlanTable *t)
{
    HostvlanAddresses addresses;

    g_assert_false(hostvlan_table_addresses(t, hostvlan_table_lookup(t, MAC_A),
                                            &addresses));
    g_assert_cmpuint(addresses.num_ip4 + addresses.num_ip6, ==, 0);
    /* All other entries are as they were. */
    g_assert_cmpint(receive(t, MAC_A, MAC_B), ==, HOSTVLAN_PASSED);
}

static void test_addresses(void)
{
    HvEntry e = with_addresses();
    HvFile fx = begin(&e);
    uint64_t value = hv_slot(fx.w, MAC_A)->value;
    uint32_t *word = fx.w->word + hostvlan_value_number(value);

    each_bit(&fx, word + 5, 4 * (1 + 2 * 4 + 1), addresses_are_damaged);
    hv_end(&fx);
}

static void test_prefixes(void)
{
    HvEntry e = with_addresses();
    HvFile fx;
    uint64_t value;

    e.ip4[0] = 0xc0000200u;
    e.host_bits4[0] = 8;
    e.ip6[1][3] = 0;
    e.host_bits6[1] = 64;
    fx = begin(&e);
    value = hv_slot(fx.w, MAC_A)->value;
    /* One more word has the numbers of host bits. */
    each_bit(&fx, fx.w->word + hostvlan_value_number(value) + 5,
             4 * (1 + 2 * 4 + 1 + 1), addresses_are_damaged);
    hv_end(&fx);
}

/* The first number of the longest record. */
static void test_longest(void)
{
    HvEntry e = {
        .num_lnids = HOSTVLAN_LNIDS_MAX, .num_ip4 = HOSTVLAN_IP4_MAX,
        .num_ip6 = HOSTVLAN_IP6_MAX, .num_also = HOSTVLAN_ALSO_MAX,
        .offers = HOSTVLAN_OFFER_ROUTER | HOSTVLAN_OFFER_DHCP,
        .host_bits4 = { 1 },
    };
    const unsigned also_at = HOSTVLAN_RECORD_WORDS_MAX -
                             (2 * HOSTVLAN_ALSO_MAX + 1);
    HvFile fx = hv_begin(16, HOSTVLAN_RECORD_WORDS_MAX);
    HostvlanAddresses addresses;
    HostvlanRights rights;
    g_autoptr(HostvlanTable) t = NULL;
    HostvlanLnids lnids;

    for (unsigned i = 0; i < HOSTVLAN_LNIDS_MAX; i++) {
        e.lnid[i] = 7 * i;
    }
    for (unsigned i = 0; i < HOSTVLAN_ALSO_MAX; i++) {
        e.also[i] = MAC_B + 3 * i;
    }
    g_assert_true(hv_set(fx.w, MAC_A, &e));
    t = hv_open(fx.path);
    for (unsigned bit = 0; bit < 32 * HOSTVLAN_RECORD_WORDS_MAX; bit++) {
        bool in_lnids = bit / 32 < 2 + HOSTVLAN_LNIDS_MAX;
        bool in_also = bit / 32 >= also_at;
        uint64_t value = hostvlan_table_lookup(t, MAC_A);

        fx.w->word[bit / 32] ^= 1u << bit % 32;
        g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==,
                         in_lnids ? 0 : HOSTVLAN_LNIDS_MAX);
        g_assert_true(hostvlan_table_addresses(t, value, &addresses) ==
                      in_also);
        g_assert_true(hostvlan_table_rights(t, value, &rights) ==
                      (!in_lnids && !in_also));
        fx.w->word[bit / 32] ^= 1u << bit % 32;
    }
    hv_end(&fx);
}

/* The removed entry does not return, and no other replaces it. */
static void c_is_damaged(HvFile *fx, const HostvlanTable *t)
{
    HostvlanLnids lnids;

    g_assert_cmpuint(hv_lnids_of(t, MAC_C, &lnids), ==, 0);
    g_assert_cmpint(receive(t, MAC_B, MAC_C), ==, HOSTVLAN_DAMAGED);
    g_assert_cmpint(receive(t, MAC_B, MAC_B), ==, HOSTVLAN_PASSED);
}

static void test_taken_out(void)
{
    HvEntry e = { .num_lnids = 1, .lnid = { 2 } };
    HvFile fx = begin(&e);

    each_bit(&fx, hv_slot(fx.w, MAC_C), sizeof(struct hostvlan_slot),
             c_is_damaged);
    hv_end(&fx);
}

/* A key appears in a free slot. */
static void nobody_is_damaged(HvFile *fx, const HostvlanTable *t)
{
    g_assert_cmpint(receive(t, MAC_A, MAC_B), ==, HOSTVLAN_PASSED);
    g_assert_cmpint(receive(t, MAC_B, MAC_A), ==, HOSTVLAN_PASSED);
}

static void test_free_slot(void)
{
    HvEntry e = { .num_lnids = 1, .lnid = { 2 } };
    HvFile fx = begin(&e);

    each_bit(&fx, &(hv_slot(fx.w, MAC_A) + 1)->key, sizeof(uint64_t),
             nobody_is_damaged);
    hv_end(&fx);
}

/*
 * An address with one bit has a key with two bits: one flip does not free the
 * slot.
 */
static void test_key_stays(void)
{
    for (unsigned bit = 0; bit < 48; bit++) {
        HvFile fx = hv_begin(1, 0);
        g_autoptr(HostvlanTable) t = NULL;
        HostvlanLnids lnids;

        if (bit == 40) {        /* the bit of groups */
            hv_end(&fx);
            continue;
        }
        hv_set_lnids(fx.w, 1ull << bit, 1, 2);
        hv_set_lnids(fx.w, MAC_A, 1, 2);
        t = hv_open(fx.path);
        hv_slot(fx.w, 1ull << bit)->key ^= 1ull << bit;
        g_assert_cmpint(receive(t, MAC_A, 1ull << bit), ==, HOSTVLAN_DAMAGED);
        g_assert_cmpuint(hv_lnids_of(t, MAC_A, &lnids), ==, 1);
        hv_end(&fx);
    }
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/damage/sum", test_sum);
    g_test_add_func("/hostvlan/damage/key", test_key);
    g_test_add_func("/hostvlan/damage/head", test_head);
    g_test_add_func("/hostvlan/damage/one", test_one);
    g_test_add_func("/hostvlan/damage/record", test_record);
    g_test_add_func("/hostvlan/damage/addresses", test_addresses);
    g_test_add_func("/hostvlan/damage/prefixes", test_prefixes);
    g_test_add_func("/hostvlan/damage/longest", test_longest);
    g_test_add_func("/hostvlan/damage/taken-out", test_taken_out);
    g_test_add_func("/hostvlan/damage/free-slot", test_free_slot);
    g_test_add_func("/hostvlan/damage/key-stays", test_key_stays);
    return g_test_run();
}
