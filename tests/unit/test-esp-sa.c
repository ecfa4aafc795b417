/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Security associations: names, keys, and numbers that are never used twice */
#include <glib.h>
#include <string.h>

#include "net/esp/esp.h"
#include "tests/fixtures/esp-fixture.h"

/* Octets of keying material: RFC 4106, 3602, 2404, 4868. */
static const struct {
    const char *name;
    size_t key_len;
} names[] = {
    { "aes-gcm-128", 16 + 4 },
    { "aes-gcm-256", 32 + 4 },
    { "aes-cbc-128-hmac-sha1", 16 + 20 },
    { "aes-cbc-128-hmac-sha256", 16 + 32 },
    { "aes-cbc-256-hmac-sha1", 32 + 20 },
    { "aes-cbc-256-hmac-sha256", 32 + 32 },
    { "null-hmac-sha1", 20 },
    { "null-hmac-sha256", 32 },
};

static void test_names(void)
{
    static const char *const none[] = {
        "", "null", "aes-gcm", "aes-gcm-192", "AES-GCM-128", "aes-gcm-128 ",
        "aes-cbc-128",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const EspAlgorithm *a = esp_algorithm_by_name(names[i].name);

        g_assert_true(a == esp_algorithm_at(i));
        g_assert_cmpstr(a->name, ==, names[i].name);
        g_assert_cmpint(esp_algorithm_key_len(a), ==, names[i].key_len);
        g_assert_cmpint(names[i].key_len, <=, ESP_KEY_MAX);
    }
    g_assert_null(esp_algorithm_at(G_N_ELEMENTS(names)));
    for (size_t i = 0; i < G_N_ELEMENTS(none); i++) {
        g_assert_null(esp_algorithm_by_name(none[i]));
    }
    for (int i = 0; i < ESP_RESULTS; i++) {
        g_assert_nonnull(esp_result_name(i));
    }
}

static EspSaFault fault_of(const EspSaConfig *config)
{
    EspSaFault fault;
    EspSa *sa = esp_sa_new(config, &fault);

    g_assert_cmpint(!sa, ==, fault != ESP_SA_GOOD);
    g_assert_nonnull(esp_sa_fault_text(fault));
    esp_sa_free(sa);
    return fault;
}

static void test_faults(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        EspSaConfig good = {
            .algorithm = esp_algorithm_at(i), .direction = ESP_INBOUND,
            .spi = 256, .window = 64, .key = fixture_key(),
            .key_len = names[i].key_len,
        };
        EspSaConfig c = good;

        g_assert_cmpint(fault_of(&good), ==, ESP_SA_GOOD);
        c.key_len--;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_KEY_LEN);
        c.key_len += 2;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_KEY_LEN);
        c = good;
        c.spi = 255;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_SPI);
        c = good;
        c.window = 63;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_WINDOW);
        c.window = 0;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_GOOD);
        c.esn = true;
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_WINDOW);
        c.direction = ESP_OUTBOUND;     /* it has no window */
        g_assert_cmpint(fault_of(&c), ==, ESP_SA_GOOD);
    }
    esp_sa_free(NULL);
}

static EspSa *outbound(bool esn)
{
    return fixture_outbound(esp_algorithm_by_name("null-hmac-sha1"), esn);
}

static EspSa *inbound(bool esn)
{
    return fixture_inbound(esp_algorithm_by_name("null-hmac-sha1"), esn, 64);
}

/* Returns the low half of the number that was used; 0 at an overflow. */
static uint32_t use(EspSa *sa)
{
    uint8_t out[64];
    size_t len;

    if (esp_seal(sa, 17, NULL, 0, out, sizeof(out), &len) == ESP_OVERFLOW) {
        g_assert_cmpint(len, ==, 0);
        return 0;
    }
    g_assert_cmpint(len, >, 8);
    return (uint32_t)out[4] << 24 | out[5] << 16 | out[6] << 8 | out[7];
}

static void load(EspSa *sa, uint64_t next)
{
    EspSaState state = { .next = next };

    g_assert_true(esp_sa_load(sa, &state));
}

/* Section 3.3.3: numbers never begin again. */
static void test_overflow(void)
{
    EspSa *sa = outbound(false);

    g_assert_cmpint(use(sa), ==, 1);
    load(sa, UINT32_MAX - 1);
    g_assert_cmphex(use(sa), ==, UINT32_MAX - 1);
    g_assert_cmphex(use(sa), ==, UINT32_MAX);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(use(sa), ==, 0);
    }
    g_assert_cmpint(esp_sa_next(sa), ==, 0);
    g_assert_cmpint(esp_sa_counters(sa)->packets[ESP_OVERFLOW], ==, 3);
    g_assert_cmpint(esp_sa_counters(sa)->packets[ESP_GOOD], ==, 3);
    load(sa, 5);
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_free(sa);

    sa = outbound(true);
    load(sa, UINT32_MAX);
    g_assert_cmphex(use(sa), ==, UINT32_MAX);
    g_assert_cmpint(esp_sa_next(sa), ==, 1ull << 32);
    load(sa, UINT64_MAX);
    g_assert_cmphex(use(sa), ==, UINT32_MAX);
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_free(sa);
}

/* No number occurs twice in packets of the two hosts. */
static void test_hand_over(void)
{
    EspSa *source = outbound(true), *destination = outbound(true);
    EspSaState state, again;

    for (uint32_t i = 1; i <= 100; i++) {
        g_assert_cmpint(use(source), ==, i);
    }
    esp_sa_hand_over(source, 16, &state);
    g_assert_cmpint(state.next, ==, 117);
    g_assert_cmpint(use(source), ==, 101);
    esp_sa_hand_over(source, 16, &again);
    g_assert_cmpmem(&state, sizeof(state), &again, sizeof(again));

    g_assert_true(esp_sa_load(destination, &state));
    g_assert_cmpint(use(destination), ==, 117);
    for (uint32_t i = 102; i <= 116; i++) {
        g_assert_cmpint(use(source), ==, i);
    }
    g_assert_cmpint(use(source), ==, 0);
    g_assert_cmpint(use(source), ==, 0);

    /*
     * The destination has encrypted two packets at most, and the migration was
     * cancelled.
     */
    esp_sa_take_back(source, 2);
    g_assert_cmpint(use(source), ==, 119);
    esp_sa_take_back(source, 1000);     /* there is nothing to take back */
    g_assert_cmpint(use(source), ==, 120);

    /* The destination never ran: no numbers are skipped. */
    esp_sa_hand_over(source, 16, &state);
    esp_sa_take_back(source, 0);
    g_assert_cmpint(use(source), ==, 121);

    /* To the destination and back, into the same association. */
    esp_sa_hand_over(source, 0, &state);
    g_assert_cmpint(state.next, ==, 122);
    g_assert_cmpint(use(source), ==, 0);
    esp_sa_take_back(source, 0);
    esp_sa_hand_over(source, 16, &state);
    g_assert_cmpint(state.next, ==, 138);
    load(source, 50);
    g_assert_cmpint(use(source), ==, 138);
    esp_sa_free(source);
    esp_sa_free(destination);
}

static void test_hand_over_at_the_end(void)
{
    EspSa *sa = outbound(false);
    EspSaState state;

    load(sa, UINT32_MAX - 3);
    esp_sa_hand_over(sa, 3, &state);
    g_assert_cmphex(state.next, ==, UINT32_MAX);
    esp_sa_take_back(sa, 0);
    esp_sa_hand_over(sa, 4, &state);
    g_assert_cmpint(state.next, ==, 0);
    for (uint32_t i = 3; i < 4; i--) {
        g_assert_cmphex(use(sa), ==, UINT32_MAX - i);
    }
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_take_back(sa, 1);
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_free(sa);

    /* 64-bit numbers do not wrap, either. */
    sa = outbound(true);
    load(sa, UINT64_MAX - 3);
    esp_sa_hand_over(sa, 100, &state);
    g_assert_cmpint(state.next, ==, 0);
    esp_sa_take_back(sa, 0);
    esp_sa_hand_over(sa, 1, &state);
    g_assert_cmphex(state.next, ==, UINT64_MAX - 2);
    esp_sa_take_back(sa, 10);
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_free(sa);

    sa = outbound(false);
    load(sa, 0);                /* the source had none left */
    g_assert_cmpint(use(sa), ==, 0);
    esp_sa_free(sa);
}

static void test_load_refused(void)
{
    EspSaState wide = { .next = 1ull << 32, .replay.top = 1ull << 32 };
    EspSa *out = outbound(false), *in = inbound(false);

    g_assert_false(esp_sa_load(out, &wide));
    g_assert_false(esp_sa_load(in, &wide));
    g_assert_cmpint(use(out), ==, 1);
    esp_sa_free(out);
    esp_sa_free(in);
}

/* The destination refuses a packet that the source has opened. */
static void test_window_travels(void)
{
    EspSa *peer = outbound(true), *a = inbound(true), *b = inbound(true);
    uint8_t packet[40][64], out[64], next;
    EspSaState state;
    struct iovec iov;
    size_t len;

    load(peer, UINT32_MAX - 20);
    load(a, 0);
    state = (EspSaState) { .replay.top = UINT32_MAX - 21 };
    g_assert_true(esp_sa_load(a, &state));
    for (int i = 0; i < 40; i++) {
        esp_seal(peer, 17, NULL, 0, packet[i], sizeof(packet[i]), &len);
        iov = (struct iovec) { packet[i], len };
        if (i % 3) {
            g_assert_cmpint(esp_open(a, &iov, 1, out, sizeof(out), &len, &next),
                            ==, ESP_GOOD);
        }
    }
    esp_sa_hand_over(a, 0, &state);
    g_assert_true(esp_sa_load(b, &state));
    for (int i = 0; i < 40; i++) {
        iov = (struct iovec) { packet[i], esp_sealed_len(peer, 0) };
        g_assert_cmpint(esp_open(b, &iov, 1, out, sizeof(out), &len, &next), ==,
                        i % 3 ? ESP_REPLAYED : ESP_GOOD);
    }
    esp_sa_free(peer);
    esp_sa_free(a);
    esp_sa_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/esp/sa/names", test_names);
    g_test_add_func("/esp/sa/faults", test_faults);
    g_test_add_func("/esp/sa/overflow", test_overflow);
    g_test_add_func("/esp/sa/hand-over", test_hand_over);
    g_test_add_func("/esp/sa/hand-over-at-the-end", test_hand_over_at_the_end);
    g_test_add_func("/esp/sa/load-refused", test_load_refused);
    g_test_add_func("/esp/sa/window-travels", test_window_travels);
    return g_test_run();
}
