/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file: written and read again; invalid files are refused */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/units.h"
#include "ha/service/state.h"

#define BOOT_A  "0a7c1f3e-0000-4000-8000-00000000000a"
#define BOOT_B  "0a7c1f3e-0000-4000-8000-00000000000b"
#define HEAD    "vmmnet-ha-state 1 " BOOT_A "\n"
#define HOME    "2001:db8:2000::10"
#define COA     "2001:db8:3000::b"

static const Mip6HaClock written = { 1000 * SECOND, 500000 * SECOND, BOOT_A };

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static Mip6AgentBinding binding(const char *home)
{
    return (Mip6AgentBinding) {
        .home = address(home),
        .care_of = address(COA),
        .sequence = 65535,
        .lifetime = 25,
        .expires = written.boot + 100 * SECOND,
    };
}

static GString *text_of_one(void)
{
    GString *text = g_string_new(NULL);
    Mip6AgentBinding b = binding(HOME);

    mip6_ha_state_head(text, &written);
    mip6_ha_state_bind(text, &b, &written);
    return text;
}

static GHashTable *parse(const char *text, const Mip6HaClock *clock)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(Mip6HaSeen));
    g_autoptr(GError) err = NULL;
    uint32_t sent;
    GHashTable *found = mip6_ha_state_parse(text, strlen(text), "ha.state",
                                            clock, seen, &sent, damage, &err);

    g_assert_no_error(err);
    g_assert_cmpuint(damage->len, ==, 0);
    return found;
}

/* The remaining lifetime at @clock of the binding of text_of_one(); 0: none. */
static int64_t left(const Mip6HaClock *clock)
{
    GString *text = text_of_one();
    g_autoptr(GHashTable) found = parse(text->str, clock);
    struct in6_addr home = address(HOME), care_of = address(COA);
    const Mip6AgentBinding *b = g_hash_table_lookup(found, &home);

    g_string_free(text, TRUE);
    if (!b) {
        return 0;
    }
    g_assert_cmpmem(&b->care_of, 16, &care_of, 16);
    g_assert_cmpuint(b->sequence, ==, 65535);
    g_assert_cmpuint(b->lifetime, ==, 25);
    return b->expires - clock->boot;
}

static void test_times(void)
{
    const struct {
        Mip6HaClock now;
        int64_t left;           /* s */
    } cases[] = {
        { { 1000 * SECOND, 500000 * SECOND, BOOT_A }, 100 },
        { { 1030 * SECOND, 500030 * SECOND, BOOT_A }, 70 },
        /* The wall clock was set meanwhile: it does not count. */
        { { 1030 * SECOND, 900000 * SECOND, BOOT_A }, 70 },
        { { 1100 * SECOND, 500100 * SECOND, BOOT_A }, 0 },
        /* The system has booted. */
        { { 5 * SECOND, 500060 * SECOND, BOOT_B }, 40 },
        { { 5 * SECOND, 500101 * SECOND, BOOT_B }, 0 },
        /* With a wrong clock no binding gets more than its granted lifetime. */
        { { 5 * SECOND, 1 * SECOND, BOOT_B }, 100 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(left(&cases[i].now), ==, cases[i].left * SECOND);
    }
}

static void test_later_lines(void)
{
    GString *text = text_of_one();
    struct in6_addr home = address(HOME), other = address("2001:db8:2000::11");
    Mip6AgentBinding b = binding("2001:db8:2000::11"), *read;
    GHashTable *found;

    mip6_ha_state_bind(text, &b, &written);
    b = binding(HOME);
    b.sequence = 3;
    mip6_ha_state_bind(text, &b, &written);
    found = parse(text->str, &written);
    g_assert_cmpuint(g_hash_table_size(found), ==, 2);
    read = g_hash_table_lookup(found, &home);
    g_assert_cmpuint(read->sequence, ==, 3);
    g_hash_table_destroy(found);

    mip6_ha_state_end(text, &home);
    found = parse(text->str, &written);
    g_assert_cmpuint(g_hash_table_size(found), ==, 1);
    g_assert_true(g_hash_table_contains(found, &other));
    g_hash_table_destroy(found);
    g_string_free(text, TRUE);
}

/* An invalid line is reported; the other lines count. */
static void test_damaged_line(void)
{
    GString *text = text_of_one();
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    Mip6AgentBinding b = binding("2001:db8:2000::11");
    GHashTable *found;
    uint32_t sent;

    g_string_append(text, "bind " HOME "\nend x\n");
    mip6_ha_state_bind(text, &b, &written);
    found = mip6_ha_state_parse(text->str, text->len, "ha.state", &written,
                                NULL, &sent, damage, NULL);
    g_assert_cmpuint(g_hash_table_size(found), ==, 2);
    g_assert_cmpuint(damage->len, ==, 2);
    g_assert_cmpstr(g_ptr_array_index(damage, 1), ==,
                    "ha.state:4: 'x' is not an IPv6 address");
    g_hash_table_destroy(found);
    g_string_free(text, TRUE);
}

/* For a file cut at any place, the complete lines are read. */
static void test_cut(void)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    GString *text = text_of_one();
    size_t first = text->len;
    Mip6AgentBinding b = binding("2001:db8:2000::11");
    uint32_t sent;

    mip6_ha_state_bind(text, &b, &written);
    for (size_t len = first; len < text->len; len++) {
        GHashTable *found = mip6_ha_state_parse(text->str, len, "ha.state",
                                                &written, NULL, &sent,
                                                damage, NULL);

        g_assert_nonnull(found);
        g_assert_cmpuint(damage->len, ==, 0);
        g_assert_cmpuint(g_hash_table_size(found), ==, 1);
        g_hash_table_destroy(found);
    }
    g_string_free(text, TRUE);
}

/* In the first line, the file is refused; in another, that line is. */
static void check_mistake(const char *text, size_t len, const char *message)
{
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(Mip6HaSeen));
    g_autoptr(GError) err = NULL;
    uint32_t sent;
    GHashTable *found = mip6_ha_state_parse(text, len, "ha.state", &written,
                                            seen, &sent, damage, &err);

    if (g_str_has_prefix(message, "ha.state:1:")) {
        g_assert_null(found);
        g_assert_nonnull(err);
        g_assert_cmpstr(err->message, ==, message);
        return;
    }
    g_assert_no_error(err);
    g_assert_cmpuint(damage->len, ==, 1);
    g_assert_cmpstr(g_ptr_array_index(damage, 0), ==, message);
    g_assert_cmpuint(g_hash_table_size(found), ==, 0);
    g_assert_cmpuint(seen->len, ==, 0);
    g_hash_table_destroy(found);
}

static void test_refused(void)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        { "", "ha.state:1: this is not a state file of vmmnet-ha" },
        { "interface eth0\n",
          "ha.state:1: this is not a state file of vmmnet-ha" },
        { "vmmnet-ha-state 2 " BOOT_A "\n",
          "ha.state:1: version '2' is not 1" },
        { HEAD "\n", "ha.state:2: '' is neither 'bind' with six values, "
          "'end' or 'sent' with one nor 'seen' with three" },
        { HEAD "end\n", "ha.state:2: 'end' is neither 'bind' with six "
          "values, 'end' or 'sent' with one nor 'seen' with three" },
        { HEAD "end " HOME "\nend x\n", "ha.state:3: 'x' is not an IPv6 "
          "address" },
        { HEAD "bind " HOME " y 1 2 3 4\n", "ha.state:2: 'y' is not an IPv6 "
          "address" },
        { HEAD "bind " HOME " " COA " 65536 2 3 4\n",
          "ha.state:2: sequence '65536' is not a number from 0 to 65535" },
        { HEAD "bind " HOME " " COA " 1 -2 3 4\n",
          "ha.state:2: lifetime '-2' is not a number from 0 to 65535" },
        { HEAD "bind " HOME " " COA " 1 2 9223372036854775807 4\n",
          "ha.state:2: time '9223372036854775807' is not a number from 0 to "
          "9223372036854" },
        { HEAD "seen " HOME " 4294967296 1\n", "ha.state:2: SPI '4294967296' "
          "is not a number from 0 to 4294967295" },
        { HEAD "sent 4294967296\n", "ha.state:2: number '4294967296' is not "
          "a number from 0 to 4294967295" },
        { HEAD "seen " HOME " 4098 -1\n", "ha.state:2: number '-1' is not a "
          "number from 0 to 18446744073709551615" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        check_mistake(cases[i].text, strlen(cases[i].text), cases[i].message);
    }
}

/* The numbers of ESP, in the order of the file. */
static void test_seen(void)
{
    const char text[] = HEAD "seen " HOME " 4098 1700000007\n"
                        "seen " HOME " 4098 1700000008\n"
                        "seen 2001:db8:2000::11 4102 18446744073709551615\n"
                        "sent 1700000100\nsent 1700000090\n";
    g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(Mip6HaSeen));
    const struct in6_addr home = address(HOME);
    uint32_t sent;
    GHashTable *found = mip6_ha_state_parse(text, sizeof(text) - 1, "ha.state",
                                            &written, seen, &sent, damage,
                                            NULL);
    const Mip6HaSeen *s = (const void *)seen->data;

    g_assert_cmpuint(sent, ==, 1700000100);
    g_assert_cmpuint(damage->len, ==, 0);
    g_assert_cmpuint(seen->len, ==, 3);
    g_assert_cmpmem(&s[1].home, 16, &home, 16);
    g_assert_cmpuint(s[1].spi, ==, 4098);
    g_assert_cmpuint(s[1].number, ==, 1700000008);
    g_assert_cmpuint(s[2].number, ==, UINT64_MAX);
    g_hash_table_destroy(found);
}

/* Stored numbers of keys are read again. */
static void test_seen_written(void)
{
    const EspAlgorithm *gcm = esp_algorithm_by_name("aes-gcm-128");
    const struct in6_addr home = address(HOME);
    Mip6ProtectConfig config = { .window = 64, .epoch = 1 };
    uint8_t keys[MIP6_PROTECT_SAS][ESP_KEY_MAX];
    g_autoptr(GString) text = g_string_new(NULL);
    Mip6Keyring *ring = mip6_keyring_new();
    Mip6ProtectFault fault;

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        memset(keys[i], i, ESP_KEY_MAX);
        config.sa[i] = (Mip6ProtectSaConfig) {
            gcm, 4097 + i, keys[i], esp_algorithm_key_len(gcm),
        };
    }
    g_assert_true(mip6_keyring_add(ring, &home, &config, &fault));
    mip6_ha_state_seen(text, mip6_keyring_of(ring, &home));
    g_assert_cmpstr(text->str, ==, "");
    g_assert_true(mip6_keyring_restore(ring, &home, 4098, 1700000007));
    /* Numbers of an association without ESN have 32 bits. */
    g_assert_false(mip6_keyring_restore(ring, &home, 4098, 1ull << 32));
    mip6_ha_state_seen(text, mip6_keyring_of(ring, &home));
    g_assert_cmpstr(text->str, ==, "seen " HOME " 4098 1700000007\n");
    mip6_keyring_free(ring);
}

/* Octets that are no text, and a line that is too long. */
static void test_binary(void)
{
    g_autofree char *long_line = g_strnfill(5000, 'a');
    g_autofree char *text = g_strconcat(HEAD, long_line, "\n", NULL);
    const char zeros[] = HEAD "\0\0\0\n";

    check_mistake(text, strlen(text), "ha.state:2: this is not a line of text");
    check_mistake(zeros, sizeof(zeros) - 1,
                  "ha.state:2: this is not a line of text");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-state/times", test_times);
    g_test_add_func("/mip6-state/later-lines", test_later_lines);
    g_test_add_func("/mip6-state/damaged-line", test_damaged_line);
    g_test_add_func("/mip6-state/cut", test_cut);
    g_test_add_func("/mip6-state/refused", test_refused);
    g_test_add_func("/mip6-state/binary", test_binary);
    g_test_add_func("/mip6-state/seen", test_seen);
    g_test_add_func("/mip6-state/seen-written", test_seen_written);
    return g_test_run();
}
