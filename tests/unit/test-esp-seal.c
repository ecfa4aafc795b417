/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ESP: packets of the RFCs, of another implementation, and invalid ones */
#include <glib.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/octets.h"
#include "net/esp/esp.h"
#include "tests/fixtures/esp-fixture.h"

#define PAYLOAD_MAX     200u
#define PACKET          400u    /* room for an encrypted packet */

/* --- known packets -------------------------------------------------------- */

typedef struct Known {
    const char *name;           /* of the algorithm */
    bool esn;
    uint64_t sequence;
    uint32_t epoch;
    const char *hex;
} Known;

/*
 * Made with Python's cryptography. The key is fixture_key(), the payload are
 * the 21 octets from 0xa0 on, its protocol is 41, and CBC's IV is 0, 1, ... 15.
 */
static const Known known[] = {
    {
        "aes-gcm-128", false, 0x1, 0x0,
        "1234567800000001000000000000000173b4a7a197341eacb4d232e8"
        "84823c3df70885dc5dcfdf993977ed145676bccaf2d44e34beaf4708",
    }, {
        "aes-gcm-128", false, 0xffffffff, 0x65000000,
        "12345678ffffffff65000000ffffffff5736e8743ccf645ded437644"
        "5cb14c8f903c0865ccff4cb73a9c969700e319795bdbdc82961e2691",
    }, {
        "aes-gcm-128", true, 0x300000002, 0x65000000,
        "12345678000000026500000300000002cc3cf9ae9de7fd368106a304"
        "77b57034cdd7ba6b7f3ce67e7cfd674c870928ef0a84dcf0fd8ac63e",
    }, {
        "aes-gcm-256", false, 0x1, 0x0,
        "123456780000000100000000000000010c6e037b02d223fb33ecf2ae"
        "f32283f061b8eedac29ab15492a8bb9cbed38252d7cb9e8496dbcb56",
    }, {
        "aes-gcm-256", false, 0xffffffff, 0x65000000,
        "12345678ffffffff65000000ffffffffab4a13a9ebaf8b93bd2b02ca"
        "4f3170c5b1410a1ae3fa914819da4709b6e0e892de575f61bfc0e0cc",
    }, {
        "aes-gcm-256", true, 0x300000002, 0x65000000,
        "12345678000000026500000300000002acd30c20ce76a4bb58a59c2d"
        "a6afc802630a28dfc21ec37769f83bfaa4bde8744f2aa31efc8ff2f2",
    }, {
        "aes-cbc-128-hmac-sha1", false, 0x1, 0x0,
        "1234567800000001000102030405060708090a0b0c0d0e0f457a7f92"
        "b424bf31830770ce75b1e2bfc4eef22a37d274ec89d66abd023d302d"
        "a055578a43b5f10ca0175c61",
    }, {
        "aes-cbc-128-hmac-sha1", true, 0x300000002, 0x0,
        "1234567800000002000102030405060708090a0b0c0d0e0f457a7f92"
        "b424bf31830770ce75b1e2bfc4eef22a37d274ec89d66abd023d302d"
        "1f4b9e317f77f9d821f7340b",
    }, {
        "aes-cbc-128-hmac-sha256", false, 0x1, 0x0,
        "1234567800000001000102030405060708090a0b0c0d0e0f457a7f92"
        "b424bf31830770ce75b1e2bfc4eef22a37d274ec89d66abd023d302d"
        "4434137159849ee13dcd4dc01054e900",
    }, {
        "aes-cbc-128-hmac-sha256", true, 0x300000002, 0x0,
        "1234567800000002000102030405060708090a0b0c0d0e0f457a7f92"
        "b424bf31830770ce75b1e2bfc4eef22a37d274ec89d66abd023d302d"
        "4888d1e6dd5a23304e272b5a0623816c",
    }, {
        "aes-cbc-256-hmac-sha1", false, 0x1, 0x0,
        "1234567800000001000102030405060708090a0b0c0d0e0fb5c60642"
        "d1a386386301ca8ff131858d2b2c312ff23bebc11ae7d84833c9f640"
        "803a2d233d88be5effc4fd3c",
    }, {
        "aes-cbc-256-hmac-sha1", true, 0x300000002, 0x0,
        "1234567800000002000102030405060708090a0b0c0d0e0fb5c60642"
        "d1a386386301ca8ff131858d2b2c312ff23bebc11ae7d84833c9f640"
        "788e115a56481b286e7a35bd",
    }, {
        "aes-cbc-256-hmac-sha256", false, 0x1, 0x0,
        "1234567800000001000102030405060708090a0b0c0d0e0fb5c60642"
        "d1a386386301ca8ff131858d2b2c312ff23bebc11ae7d84833c9f640"
        "393a10e1614a4a864b144407ce360950",
    }, {
        "aes-cbc-256-hmac-sha256", true, 0x300000002, 0x0,
        "1234567800000002000102030405060708090a0b0c0d0e0fb5c60642"
        "d1a386386301ca8ff131858d2b2c312ff23bebc11ae7d84833c9f640"
        "17b42b4f9e0c8dfca6fa5a38f7ef9e13",
    }, {
        "null-hmac-sha1", false, 0x1, 0x0,
        "1234567800000001a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"
        "b4010129fce9b92885f6b9caa71bab3f",
    }, {
        "null-hmac-sha1", true, 0x300000002, 0x0,
        "1234567800000002a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"
        "b40101291586b83fd22f2e0f4a4fc346",
    }, {
        "null-hmac-sha256", false, 0x1, 0x0,
        "1234567800000001a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"
        "b4010129b37e4199fc61e2dfd74b17f0ecedd50c",
    }, {
        "null-hmac-sha256", true, 0x300000002, 0x0,
        "1234567800000002a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"
        "b40101293bcd8370b2d72467bf779efe3df50b8e",
    },
};

/* draft-mcgrew-gcm-test-01; "next header" is 1 in all of them. */
static const struct {
    const char *name;
    bool esn;
    uint32_t spi;
    uint64_t sequence;
    const char *key, *rest;     /* the packet from its IV on */
    const char *payload;
} mcgrew[] = {
    {
        "aes-gcm-128", true, 0x4321, 0x8765432100000000,
        "4c80cdefbb5d10da906ac73c3613a6342e443b68",
        "4956ed7e3b244cfefecf537e729d5b07dc30df528dd22b768d1b98736696a6fd"
        "348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff62"
        "47aeabb786b93bce61bc17d768fd9732459018148f6cbe722fd04796562dfdb4",
        "45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000"
        "00000000045f736970045f756470037369700963796265726369747902646b00"
        "00210001",
    }, {
        "aes-gcm-128", false, 0xa5f8, 0xa,
        "feffe9928665731c6d6a8f9467308308cafebabe",
        "facedbaddecaf888deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f"
        "1ba76d5d114d2a5c3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4"
        "ec3b9ba95d918bd183b70d3aa8bc6ee4c309e9d85a41ad4a",
        "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100"
        "0001000000000000037369700963796265726369747902646b0000010001",
    }, {
        "aes-gcm-256", false, 0x4a2cbfe3, 0x2,
        "abbccddef00112233445566778899aababbccddef00112233445566778899aab"
        "11223344",
        "0102030405060708ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf"
        "06efae9d65a5d763748a637985771d347f0545659f14e99def842d8eb335f4ee"
        "cfdbf831824b4c4915956c96",
        "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee000000000"
        "7002400020bf0000020405b401010402",
    }, {
        "aes-gcm-256", true, 0x17405e67, 0x156f3126dd0db99b,
        "abbccddef00112233445566778899aababbccddef00112233445566778899aab"
        "73616c74",
        "616e640169766563f2d69ecdbd5a0d5b8d5ef38bad4da58d1f278fde98ef6754"
        "9d524a3018d9a57ff4d3a31ce673119e451626c2415771e3b7eebca614c89b35",
        "45080028732c00004006e9f90a0106120a01038f06b88023dd6bafbecb712602"
        "50101f646d54",
    },
};

static size_t octets(uint8_t *buf, const char *hex)
{
    size_t len = strlen(hex) / 2;

    for (size_t i = 0; i < len; i++) {
        buf[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                 g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return len;
}

static EspResult seal(EspSa *sa, uint8_t next, const uint8_t *payload,
                      size_t payload_len, uint8_t *out, size_t *len)
{
    struct iovec iov = { (uint8_t *)payload, payload_len };

    return esp_seal(sa, next, &iov, 1, out, FIXTURE_ROOM, len);
}

static EspResult open_it(EspSa *sa, const uint8_t *packet, size_t packet_len,
                         uint8_t *out, size_t *len, uint8_t *next)
{
    struct iovec iov = { (uint8_t *)packet, packet_len };

    return esp_open(sa, &iov, 1, out, packet_len, len, next);
}

/* Lets the next packet of either direction have @sequence. */
static void expect(EspSa *sa, uint64_t sequence)
{
    EspSaState state = {
        .next = sequence,
        .replay = { .top = sequence - 1, .seen = { 1 } },
    };

    g_assert_true(esp_sa_load(sa, &state));
}

static void check_known(const Known *k)
{
    const EspAlgorithm *algorithm = esp_algorithm_by_name(k->name);
    EspSaConfig config = {
        .algorithm = algorithm, .spi = FIXTURE_SPI, .esn = k->esn,
        .epoch = k->epoch, .window = 64, .key = fixture_key(),
        .key_len = esp_algorithm_key_len(algorithm),
    };
    uint8_t packet[PACKET], got[PACKET], payload[21], next;
    size_t packet_len = octets(packet, k->hex), len;
    EspSa *sa;

    g_test_message("%s, number %" G_GINT64_MODIFIER "x", k->name, k->sequence);
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = 0xa0 + i;
    }
    config.direction = ESP_INBOUND;
    sa = esp_sa_new(&config, NULL);
    expect(sa, k->sequence);
    g_assert_cmpint(open_it(sa, packet, packet_len, got, &len, &next), ==,
                    ESP_GOOD);
    g_assert_cmpmem(got, len, payload, sizeof(payload));
    g_assert_cmpint(next, ==, ESP_NEXT_IP6);
    esp_sa_free(sa);
    if (algorithm->cipher == ESP_CIPHER_AES_CBC) {
        return;                 /* its IV is random */
    }
    config.direction = ESP_OUTBOUND;
    sa = esp_sa_new(&config, NULL);
    expect(sa, k->sequence);
    g_assert_cmpint(seal(sa, ESP_NEXT_IP6, payload, sizeof(payload), got, &len),
                    ==, ESP_GOOD);
    g_assert_cmpmem(got, len, packet, packet_len);
    esp_sa_free(sa);
}

static void test_known(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        check_known(&known[i]);
    }
}

static void test_mcgrew(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mcgrew); i++) {
        uint8_t key[ESP_KEY_MAX], packet[PACKET], payload[PACKET], got[PACKET];
        EspSaConfig config = {
            .algorithm = esp_algorithm_by_name(mcgrew[i].name),
            .direction = ESP_INBOUND, .esn = mcgrew[i].esn,
            .spi = mcgrew[i].spi, .window = 64, .key = key,
            .key_len = octets(key, mcgrew[i].key),
        };
        size_t packet_len = 8 + octets(packet + 8, mcgrew[i].rest);
        size_t payload_len = octets(payload, mcgrew[i].payload), len;
        EspSa *sa = esp_sa_new(&config, NULL);
        uint8_t next;

        put_be32(packet, mcgrew[i].spi);
        put_be32(packet + 4, mcgrew[i].sequence);
        expect(sa, mcgrew[i].sequence);
        g_assert_cmpint(open_it(sa, packet, packet_len, got, &len, &next), ==,
                        ESP_GOOD);
        g_assert_cmpmem(got, len, payload, payload_len);
        g_assert_cmpint(next, ==, 1);
        esp_sa_free(sa);
    }
}

/* RFC 3602 section 4, case 5: a ping in transport mode; it has no ICV. */
static void test_rfc3602(void)
{
    static const char text_hex[] =
        "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f1011121314151617"
        "18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637"
        "0102030405060708090a0b0c0d0e0e01";
    static const char want_hex[] =
        "0000432100000001e96e8c08ab465763fd098d45dd3ff893"
        "f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856"
        "a4699e523a55db080b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874a"
        "a269add047ad2d5913ac19b7cfbad4a6";
    uint8_t key[ESP_KEY_MAX] = { 0 }, iv[16], text[80], want[104];
    uint8_t packet[PACKET], got[PACKET], next;
    FixturePacket p = {
        .algorithm = esp_algorithm_by_name("aes-cbc-128-hmac-sha1"),
        .key = key, .spi = 0x4321, .sequence = 1, .iv = iv, .text = text,
        .text_len = octets(text, text_hex),
    };
    EspSaConfig config = {
        .algorithm = p.algorithm, .direction = ESP_INBOUND, .spi = p.spi,
        .window = 64, .key = key, .key_len = 36,
    };
    size_t len;
    EspSa *sa;

    octets(key, "90d382b410eeba7ad938c46cec1a82bf");
    octets(iv, "e96e8c08ab465763fd098d45dd3ff893");
    octets(want, want_hex);
    len = fixture_wrap(&p, packet);
    g_assert_cmpmem(packet, len - 12, want, sizeof(want));
    sa = esp_sa_new(&config, NULL);
    g_assert_cmpint(open_it(sa, packet, len, got, &len, &next), ==, ESP_GOOD);
    g_assert_cmpmem(got, len, text, 64);
    g_assert_cmpint(next, ==, 1);
    esp_sa_free(sa);
}

/* --- both ways ------------------------------------------------------------ */

typedef struct Pair {
    const EspAlgorithm *algorithm;
    EspSa *out, *in;
} Pair;

static void for_each(void (*test)(const Pair *pair))
{
    for (unsigned i = 0; esp_algorithm_at(i); i++) {
        for (int esn = 0; esn < 2; esn++) {
            Pair pair = { .algorithm = esp_algorithm_at(i) };

            g_test_message("%s, esn %d", pair.algorithm->name, esn);
            pair.out = fixture_outbound(pair.algorithm, esn);
            pair.in = fixture_inbound(pair.algorithm, esn, 64);
            test(&pair);
            esp_sa_free(pair.out);
            esp_sa_free(pair.in);
        }
    }
}

static const uint8_t *some_payload(void)
{
    static uint8_t payload[ESP_PACKET_MAX + 1];

    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = i ^ i >> 8 ^ 0x5a;
    }
    return payload;
}

static void lengths(const Pair *pair)
{
    const uint8_t *payload = some_payload();
    uint8_t packet[PACKET], got[PACKET], next;
    EspSaCounters want = { 0 };
    size_t len;

    for (size_t n = 0; n <= PAYLOAD_MAX; n++) {
        g_assert_cmpint(seal(pair->out, n % 59, payload, n, packet, &len), ==,
                        ESP_GOOD);
        g_assert_cmpint(len, ==, esp_sealed_len(pair->out, n));
        g_assert_cmpint(len % 4, ==, 0);
        g_assert_cmpint(open_it(pair->in, packet, len, got, &len, &next), ==,
                        ESP_GOOD);
        g_assert_cmpmem(got, len, payload, n);
        g_assert_cmpint(next, ==, n % 59);
        want.packets[ESP_GOOD]++;
        want.octets += n;
    }
    g_assert_cmpmem(esp_sa_counters(pair->in), sizeof(want), &want,
                    sizeof(want));
    g_assert_cmpmem(esp_sa_counters(pair->out), sizeof(want), &want,
                    sizeof(want));
}

static void test_lengths(void)
{
    for_each(lengths);
}

/* The largest packet; a larger one uses no number. */
static void largest(const Pair *pair)
{
    g_autofree uint8_t *packet = g_malloc(FIXTURE_ROOM);
    g_autofree uint8_t *got = g_malloc(FIXTURE_ROOM);
    size_t max = esp_payload_max(pair->out, ESP_PACKET_MAX), len;
    const uint8_t *payload = some_payload();
    struct iovec iov[2];
    uint8_t next;

    g_assert_cmpint(seal(pair->out, 41, payload, max + 1, packet, &len), ==,
                    ESP_TOO_BIG);
    g_assert_cmpint(len, ==, 0);
    g_assert_cmpint(seal(pair->out, 41, payload, ESP_PACKET_MAX + 1, packet,
                         &len), ==, ESP_TOO_BIG);
    iov[0] = iov[1] = (struct iovec) { NULL, SIZE_MAX / 2 };
    g_assert_cmpint(esp_seal(pair->out, 41, iov, 2, packet, FIXTURE_ROOM, &len),
                    ==, ESP_TOO_BIG);
    g_assert_cmpint(esp_sa_next(pair->out), ==, 1);
    g_assert_cmpint(seal(pair->out, 41, payload, max, packet, &len), ==,
                    ESP_GOOD);
    g_assert_cmpint(open_it(pair->in, packet, len, got, &len, &next), ==,
                    ESP_GOOD);
    g_assert_cmpmem(got, len, payload, max);
    memset(packet, 0, FIXTURE_ROOM);
    g_assert_cmpint(open_it(pair->in, packet, 65536 + 96, got, &len, &next),
                    !=, ESP_GOOD);
}

static void test_largest(void)
{
    for_each(largest);
}

static void rooms(const Pair *pair)
{
    uint8_t packet[PACKET], got[PACKET], next;
    size_t sealed = esp_sealed_len(pair->out, 60), max, len;
    struct iovec iov = { (uint8_t *)some_payload(), 60 };

    for (size_t room = 0; room < 300; room++) {
        max = esp_payload_max(pair->out, room);
        g_assert_true(max == 0 || esp_sealed_len(pair->out, max) <= room);
        g_assert_cmpint(esp_sealed_len(pair->out, max + 1), >, room);
    }
    for (size_t room = 0; room < sealed; room++) {
        g_assert_cmpint(esp_seal(pair->out, 6, &iov, 1, packet, room, &len), ==,
                        ESP_TOO_BIG);
    }
    g_assert_cmpint(esp_seal(pair->out, 6, &iov, 1, packet, sealed, &len), ==,
                    ESP_GOOD);
    iov = (struct iovec) { packet, sealed };
    for (size_t room = 0; room < 60; room++) {
        g_assert_cmpint(esp_open(pair->in, &iov, 1, got, room, &len, &next), ==,
                        ESP_TOO_BIG);
    }
    g_assert_cmpint(esp_open(pair->in, &iov, 1, got, sealed, &len, &next), ==,
                    ESP_GOOD);
}

static void test_rooms(void)
{
    for_each(rooms);
}

/* A packet in parts of any length. */
static void parts(const Pair *pair)
{
    uint8_t *payload = (uint8_t *)some_payload();
    uint8_t packet[PACKET], got[PACKET], next;
    size_t len, sealed;
    struct iovec iov[4];
    uint32_t spi;

    for (size_t cut = 0; cut <= 50; cut++) {
        iov[0] = (struct iovec) { payload, cut / 2 };
        iov[1] = (struct iovec) { payload + cut / 2, cut - cut / 2 };
        iov[2] = (struct iovec) { NULL, 0 };
        iov[3] = (struct iovec) { payload + cut, 50 - cut };
        g_assert_cmpint(esp_seal(pair->out, 6, iov, 4, packet, PACKET, &sealed),
                        ==, ESP_GOOD);
        cut = cut % sealed;
        iov[0] = (struct iovec) { packet, cut / 3 };
        iov[1] = (struct iovec) { packet + cut / 3, cut - cut / 3 };
        iov[3] = (struct iovec) { packet + cut, sealed - cut };
        g_assert_true(esp_spi(iov, 4, &spi));
        g_assert_cmphex(spi, ==, FIXTURE_SPI);
        g_assert_cmpint(esp_open(pair->in, iov, 4, got, PACKET, &len, &next),
                        ==, ESP_GOOD);
        g_assert_cmpmem(got, len, payload, 50);
    }
    iov[0].iov_len = 3;
    iov[1].iov_len = 4;
    g_assert_false(esp_spi(iov, 2, &spi));
}

static void test_parts(void)
{
    for_each(parts);
}

/* --- from strangers ------------------------------------------------------- */

static void refused(const Pair *pair, const uint8_t *packet, size_t packet_len)
{
    static const uint8_t zeros[PACKET];
    uint8_t got[PACKET], next;
    EspResult result;
    size_t len;

    memset(got, 0, sizeof(got));
    result = open_it(pair->in, packet, packet_len, got, &len, &next);
    g_assert_true(result == ESP_ICV || result == ESP_REPLAYED ||
                  result == ESP_SHORT);
    g_assert_cmpint(len, ==, 0);
    g_assert_cmpint(next, ==, 0);
    g_assert_cmpmem(got, PACKET, zeros, PACKET);
}

/* One bit is flipped, anywhere; or there are too few or too many octets. */
static void changed(const Pair *pair)
{
    uint8_t packet[PACKET] = { 0 }, got[PACKET], next;
    size_t sealed, len;

    g_assert_cmpint(seal(pair->out, 6, some_payload(), 37, packet, &sealed), ==,
                    ESP_GOOD);
    for (size_t bit = 0; bit < sealed * 8; bit++) {
        packet[bit / 8] ^= 1 << bit % 8;
        refused(pair, packet, sealed);
        packet[bit / 8] ^= 1 << bit % 8;
    }
    for (size_t n = 0; n < PACKET; n++) {
        if (n != sealed) {
            refused(pair, packet, n);
        }
    }
    /* They have not moved the window. */
    g_assert_cmpint(open_it(pair->in, packet, sealed, got, &len, &next), ==,
                    ESP_GOOD);
    g_assert_cmpmem(got, len, some_payload(), 37);
    g_assert_cmpint(open_it(pair->in, packet, sealed, got, &len, &next), ==,
                    ESP_REPLAYED);
}

static void test_changed(void)
{
    for_each(changed);
}

/* One bit of the keying material differs, or the mode of the numbers. */
static void strange_key(const Pair *pair)
{
    size_t key_len = esp_algorithm_key_len(pair->algorithm), sealed;
    size_t salt = pair->algorithm->key_len;
    uint8_t key[ESP_KEY_MAX], packet[PACKET], got[PACKET], next;
    EspSaConfig config = {
        .algorithm = pair->algorithm, .direction = ESP_INBOUND,
        .spi = FIXTURE_SPI, .window = 64, .key = key, .key_len = key_len,
    };
    bool has_mac = pair->algorithm->digest;
    size_t len;

    seal(pair->out, 6, some_payload(), 37, packet, &sealed);
    memcpy(key, fixture_key(), key_len);
    /* With a wrong key of CBC only, the ICV is right. */
    for (size_t i = has_mac ? salt : 0; i < key_len; i++) {
        EspSa *sa;

        key[i] ^= 0x10;
        sa = esp_sa_new(&config, NULL);
        g_assert_cmpint(open_it(sa, packet, sealed, got, &len, &next), ==,
                        ESP_ICV);
        g_assert_cmpint(esp_sa_counters(sa)->packets[ESP_ICV], ==, 1);
        esp_sa_free(sa);
        key[i] ^= 0x10;
    }
}

static void test_strange_key(void)
{
    for_each(strange_key);
}

static void test_esn_is_not_mixed(void)
{
    for (unsigned i = 0; esp_algorithm_at(i); i++) {
        EspSa *out = fixture_outbound(esp_algorithm_at(i), true);
        EspSa *in = fixture_inbound(esp_algorithm_at(i), false, 64);
        uint8_t packet[PACKET], got[PACKET], next;
        size_t len;

        seal(out, 6, some_payload(), 20, packet, &len);
        g_assert_cmpint(open_it(in, packet, len, got, &len, &next), ==,
                        ESP_ICV);
        esp_sa_free(out);
        esp_sa_free(in);
    }
}

/* Section 2.2.1: the upper half is not sent, and both sides count it. */
static void test_across_2_32(void)
{
    for (unsigned i = 0; esp_algorithm_at(i); i++) {
        EspSa *out = fixture_outbound(esp_algorithm_at(i), true);
        EspSa *in = fixture_inbound(esp_algorithm_at(i), true, 64);
        uint8_t packet[200][PACKET], got[PACKET], next;
        size_t len;

        expect(out, 0x7ffffff9c);
        expect(in, 0x7ffffff9c);
        for (int n = 0; n < 200; n++) {
            seal(out, 6, some_payload(), 9, packet[n], &len);
        }
        g_assert_cmphex(esp_sa_next(out), ==, 0x800000064);
        for (int n = 0; n < 200; n++) {
            int late = n ^ 31;  /* out of order by up to 31 */

            late = late < 200 ? late : n;
            len = esp_sealed_len(out, 9);
            g_assert_cmpint(open_it(in, packet[late], len, got, &len, &next),
                            ==, ESP_GOOD);
            len = esp_sealed_len(out, 9);
            g_assert_cmpint(open_it(in, packet[late], len, got, &len, &next),
                            ==, ESP_REPLAYED);
        }
        /* Numbers below the window are taken for the next 2^32. */
        len = esp_sealed_len(out, 9);
        g_assert_cmpint(open_it(in, packet[0], len, got, &len, &next), ==,
                        ESP_ICV);
        esp_sa_free(out);
        esp_sa_free(in);
    }
}

/* --- from a peer with the key --------------------------------------------- */

static EspResult open_text(const Pair *pair, uint64_t sequence,
                           const uint8_t *text, size_t text_len, size_t *len)
{
    FixturePacket p = {
        .algorithm = pair->algorithm, .key = fixture_key(),
        .spi = FIXTURE_SPI, .sequence = sequence, .text = text,
        .text_len = text_len,
    };
    static const uint8_t zeros[512];
    uint8_t packet[1024], got[1024] = { 0 }, next;
    EspResult result, again;
    size_t none;

    result = open_it(pair->in, packet, fixture_wrap(&p, packet), got, len,
                     &next);
    if (result != ESP_GOOD) {
        g_assert_cmpint(*len, ==, 0);
        g_assert_cmpint(next, ==, 0);
        g_assert_cmpmem(got, text_len, zeros, text_len);
    }
    again = open_it(pair->in, packet, fixture_wrap(&p, packet), got, &none,
                    &next);
    g_assert_cmpint(again, ==, ESP_REPLAYED);
    return result;
}

/* Section 2.4. The texts have 256 + 16 octets; numbers go on. */
static void padding(const Pair *pair)
{
    uint8_t text[272];
    uint64_t number = 0;
    size_t len;

    for (unsigned pad = 0; pad < 256; pad++) {
        memset(text, 0x77, sizeof(text));
        for (unsigned i = 0; i < pad; i++) {
            text[sizeof(text) - 2 - pad + i] = i + 1;
        }
        text[sizeof(text) - 2] = pad;
        text[sizeof(text) - 1] = 6;
        g_assert_cmpint(open_text(pair, ++number, text, sizeof(text),
                                  &len), ==, ESP_GOOD);
        g_assert_cmpint(len, ==, sizeof(text) - 2 - pad);
        if (pad) {
            text[sizeof(text) - 3 - number % pad] ^= 1;
            g_assert_cmpint(open_text(pair, ++number, text, sizeof(text),
                                      &len), ==, ESP_PADDING);
        }
    }
    /* Nothing but padding, and more padding than there is. */
    for (unsigned i = 0; i < 16; i++) {
        text[i] = i + 1;
    }
    text[15] = 6;
    text[14] = 14;
    g_assert_cmpint(open_text(pair, ++number, text, 16, &len), ==,
                    ESP_GOOD);
    g_assert_cmpint(len, ==, 0);
    for (unsigned pad = 15; pad < 256; pad++) {
        text[14] = pad;
        g_assert_cmpint(open_text(pair, ++number, text, 16, &len), ==,
                        ESP_PADDING);
    }
    g_assert_cmpint(esp_sa_counters(pair->in)->packets[ESP_PADDING], ==,
                    255 + 241);
}

/*
 * Section 2.6: dummies may have any content; invalid padding is checked first.
 */
static void dummies(const Pair *pair)
{
    uint8_t text[32] = { 0 };
    size_t len;

    text[31] = ESP_NEXT_NONE;
    g_assert_cmpint(open_text(pair, 1, text, sizeof(text), &len), ==,
                    ESP_DUMMY);
    text[30] = 3;
    g_assert_cmpint(open_text(pair, 2, text, sizeof(text), &len), ==,
                    ESP_PADDING);
    g_assert_cmpint(esp_sa_counters(pair->in)->packets[ESP_DUMMY], ==, 1);
    g_assert_cmpint(esp_sa_counters(pair->in)->octets, ==, 0);
}

/* No trailer, or one that is not aligned (section 2.4), with a right ICV. */
static void unaligned(const Pair *pair)
{
    size_t step = pair->algorithm->cipher == ESP_CIPHER_AES_CBC ? 16 : 1;
    uint8_t text[32] = { 0 }, packet[PACKET], got[PACKET], next;
    FixturePacket p = {
        .algorithm = pair->algorithm, .key = fixture_key(),
        .spi = FIXTURE_SPI, .text = text,
    };
    size_t len;

    for (p.text_len = 0; p.text_len <= sizeof(text); p.text_len += step) {
        p.sequence++;
        g_assert_cmpint(open_it(pair->in, packet, fixture_wrap(&p, packet), got,
                                &len, &next), ==,
                        p.text_len == 0 ||
                        p.text_len % pair->algorithm->block ? ESP_SHORT :
                                                              ESP_GOOD);
    }
}

static void without_esn(void (*test)(const Pair *pair))
{
    for (unsigned i = 0; esp_algorithm_at(i); i++) {
        Pair pair = { .algorithm = esp_algorithm_at(i) };

        pair.in = fixture_inbound(pair.algorithm, false, 1024);
        test(&pair);
        esp_sa_free(pair.in);
    }
}

static void test_padding(void)
{
    without_esn(padding);
}

static void test_unaligned(void)
{
    without_esn(unaligned);
}

static void test_dummies(void)
{
    without_esn(dummies);
}

/* The peer recognizes our dummies. */
static void own_dummy(const Pair *pair)
{
    uint8_t packet[PACKET], got[PACKET], next;
    size_t len;

    seal(pair->out, ESP_NEXT_NONE, some_payload(), 100, packet, &len);
    g_assert_cmpint(open_it(pair->in, packet, len, got, &len, &next), ==,
                    ESP_DUMMY);
}

static void test_own_dummy(void)
{
    for_each(own_dummy);
}

/* --- IVs ------------------------------------------------------------------ */

/* GCM: a new IV for each packet, also after a restart. */
static void test_gcm_ivs(void)
{
    const EspAlgorithm *algorithm = esp_algorithm_by_name("aes-gcm-128");
    uint8_t packet[PACKET], last[8] = { 0 };
    size_t len;

    for (uint32_t epoch = 1; epoch < 4; epoch++) {
        EspSaConfig config = {
            .algorithm = algorithm, .spi = FIXTURE_SPI, .epoch = epoch,
            .key = fixture_key(), .key_len = 20,
        };
        EspSa *sa = esp_sa_new(&config, NULL);

        for (int i = 0; i < 100; i++) {
            seal(sa, 6, NULL, 0, packet, &len);
            g_assert_cmpint(memcmp(packet + 8, last, 8), >, 0);
            memcpy(last, packet + 8, 8);
        }
        esp_sa_free(sa);
    }
}

/* CBC: no two alike, and not the same after a restart. */
static void test_cbc_ivs(void)
{
    const EspAlgorithm *algorithm =
        esp_algorithm_by_name("aes-cbc-128-hmac-sha256");
    g_autoptr(GHashTable) seen = g_hash_table_new_full(
        g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    uint8_t packet[PACKET];
    size_t len;

    for (int restart = 0; restart < 4; restart++) {
        EspSa *sa = fixture_outbound(algorithm, false);

        for (int i = 0; i < 500; i++) {
            seal(sa, 6, NULL, 0, packet, &len);
            g_assert_true(g_hash_table_add(seen, g_bytes_new(packet + 8, 16)));
        }
        esp_sa_free(sa);
    }
}

/* --- memory --------------------------------------------------------------- */

static unsigned long allocations;

static void *count_malloc(size_t size, const char *file, int line)
{
    allocations++;
    return malloc(size);
}

static void *count_realloc(void *p, size_t size, const char *file, int line)
{
    allocations++;
    return realloc(p, size);
}

/* Sets @spilt if freed memory still contains it. */
static const uint8_t *secret;
static size_t secret_len;
static bool spilt;

static void count_free(void *p, const char *file, int line)
{
    if (p && secret && memmem(p, malloc_usable_size(p), secret, secret_len)) {
        spilt = true;
    }
    free(p);
}

/*
 * A packet needs no allocation, also a refused one; an HMAC needs two hashes.
 */
static void no_allocation(const Pair *pair)
{
    unsigned long macs = pair->algorithm->digest ? 10 * 3 : 0;
    uint8_t packet[PACKET], got[PACKET], next;
    size_t sealed, len;

    for (int i = 0; i < 20; i++) {
        if (i == 10) {
            allocations = 0;
        }
        seal(pair->out, 6, some_payload(), 100, packet, &sealed);
        packet[sealed - 1] ^= 1;
        g_assert_cmpint(open_it(pair->in, packet, sealed, got, &len, &next), ==,
                        ESP_ICV);
        packet[sealed - 1] ^= 1;
        g_assert_cmpint(open_it(pair->in, packet, sealed, got, &len, &next), ==,
                        ESP_GOOD);
    }
    g_assert_cmpint(allocations, <=, 2 * macs);
}

static void test_no_allocation(void)
{
    for_each(no_allocation);
}

static void look_for(const EspAlgorithm *algorithm, size_t offset, size_t len)
{
    EspSa *out, *in;
    uint8_t packet[PACKET], got[PACKET], next;
    size_t packet_len;

    secret = fixture_key() + offset;
    secret_len = len;
    out = fixture_outbound(algorithm, false);
    in = fixture_inbound(algorithm, false, 64);
    seal(out, 6, some_payload(), 100, packet, &packet_len);
    open_it(in, packet, packet_len, got, &len, &next);
    esp_sa_free(out);
    esp_sa_free(in);
    secret = NULL;
    g_assert_false(spilt);
}

/* No freed memory contains keying material. */
static void test_keys_are_gone(void)
{
    const EspAlgorithm *a;

    for (unsigned i = 0; (a = esp_algorithm_at(i)); i++) {
        if (a->key_len) {
            look_for(a, 0, a->key_len);
        }
        if (a->salt_len) {
            look_for(a, a->key_len, a->salt_len);
        }
        if (a->auth_key_len) {
            look_for(a, a->key_len, a->auth_key_len);
        }
    }
}

int main(int argc, char **argv)
{
    /* Before libcrypto has allocated anything. */
    g_assert_true(CRYPTO_set_mem_functions(count_malloc, count_realloc,
                                           count_free));
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/esp/seal/known", test_known);
    g_test_add_func("/esp/seal/mcgrew", test_mcgrew);
    g_test_add_func("/esp/seal/rfc3602", test_rfc3602);
    g_test_add_func("/esp/seal/lengths", test_lengths);
    g_test_add_func("/esp/seal/largest", test_largest);
    g_test_add_func("/esp/seal/rooms", test_rooms);
    g_test_add_func("/esp/seal/parts", test_parts);
    g_test_add_func("/esp/seal/changed", test_changed);
    g_test_add_func("/esp/seal/strange-key", test_strange_key);
    g_test_add_func("/esp/seal/esn-is-not-mixed", test_esn_is_not_mixed);
    g_test_add_func("/esp/seal/across-2-32", test_across_2_32);
    g_test_add_func("/esp/seal/padding", test_padding);
    g_test_add_func("/esp/seal/unaligned", test_unaligned);
    g_test_add_func("/esp/seal/dummies", test_dummies);
    g_test_add_func("/esp/seal/own-dummy", test_own_dummy);
    g_test_add_func("/esp/seal/gcm-ivs", test_gcm_ivs);
    g_test_add_func("/esp/seal/cbc-ivs", test_cbc_ivs);
    g_test_add_func("/esp/seal/no-allocation", test_no_allocation);
    g_test_add_func("/esp/seal/keys-are-gone", test_keys_are_gone);
    return g_test_run();
}
