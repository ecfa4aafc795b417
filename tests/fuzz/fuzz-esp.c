/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP: packets of strangers and of peers that have the key, in any order
 *
 * Octet 0 chooses algorithm, ESN and window. Then each step has an octet for
 * its kind and one for how many octets it takes. A stranger's packet must never
 * be good, and a peer's exactly when the window and its padding say so. Numbers
 * that are sealed only grow.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "net/esp/esp.h"
#include "tests/fixtures/esp-fixture.h"

#define TAKE_MAX        256u
#define ROOM            (TAKE_MAX + 128)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Fuzz {
    const EspAlgorithm *algorithm;
    EspSa *out, *in;
    bool esn;
    uint64_t sealed;            /* the number of the last packet */
} Fuzz;

static EspResult open_it(Fuzz *f, const uint8_t *packet, size_t packet_len,
                         uint8_t got[ROOM], size_t *len, uint8_t *next)
{
    struct iovec iov[2] = {
        { (uint8_t *)packet, packet_len / 3 },
        { (uint8_t *)packet + packet_len / 3, packet_len - packet_len / 3 },
    };
    EspResult result;

    memset(got, 0, ROOM);
    result = esp_open(f->in, iov, 2, got, ROOM, len, next);
    g_assert(result < ESP_RESULTS && result != ESP_LIBCRYPTO);
    g_assert(*len <= packet_len);
    if (result != ESP_GOOD) {
        g_assert(*len == 0 && *next == 0);
        for (size_t i = 0; i < ROOM; i++) {
            g_assert(got[i] == 0);
        }
    }
    return result;
}

/* Packets of any content, without an ICV of ours. */
static void from_stranger(Fuzz *f, const uint8_t *data, size_t size)
{
    uint8_t got[ROOM], next;
    size_t len;

    g_assert(open_it(f, data, size, got, &len, &next) != ESP_GOOD);
}

static EspResult judge(const uint8_t *text, size_t len)
{
    size_t pad = text[len - 2];

    if (pad + 2 > len) {
        return ESP_PADDING;
    }
    for (size_t i = 0; i < pad; i++) {
        if (text[len - 2 - pad + i] != i + 1) {
            return ESP_PADDING;
        }
    }
    return text[len - 1] == ESP_NEXT_NONE ? ESP_DUMMY : ESP_GOOD;
}

/* Four octets: distance of the number from the highest. Then the text. */
static void from_peer(Fuzz *f, const uint8_t *data, size_t size)
{
    uint8_t packet[ROOM], got[ROOM], next;
    FixturePacket p = {
        .algorithm = f->algorithm, .key = fixture_key(), .spi = FIXTURE_SPI,
        .esn = f->esn, .text = data + 4,
        .text_len = size < 4 ? 0 : size - 4,
    };
    EspResult result, expected;
    EspSaState state;
    size_t packet_len, len;

    p.text_len -= p.text_len % f->algorithm->block;
    if (p.text_len == 0) {
        return;
    }
    esp_sa_hand_over(f->in, 0, &state);
    p.sequence = state.replay.top + (int32_t)get_be32(data);
    if (!f->esn && p.sequence > UINT32_MAX) {
        return;
    }
    packet_len = fixture_wrap(&p, packet);
    expected = judge(p.text, p.text_len);
    result = open_it(f, packet, packet_len, got, &len, &next);
    if (result == expected) {
        if (result == ESP_GOOD) {
            g_assert(len == p.text_len - 2 - p.text[p.text_len - 2]);
            g_assert(!memcmp(got, p.text, len));
            g_assert(next == p.text[p.text_len - 1]);
        }
        result = open_it(f, packet, packet_len, got, &len, &next);
        g_assert(result == ESP_REPLAYED || (f->esn && result == ESP_ICV));
        packet[data[3] % packet_len] ^= 1 << data[2] % 8;
        from_stranger(f, packet, packet_len);
    } else {
        g_assert(result == ESP_REPLAYED || (f->esn && result == ESP_ICV));
    }
}

/* To ourselves. */
static void round_trip(Fuzz *f, const uint8_t *data, size_t size)
{
    struct iovec iov = { (uint8_t *)data, size };
    uint64_t number = esp_sa_next(f->out);
    uint8_t packet[ROOM], got[ROOM], next;
    size_t packet_len, len;
    EspResult result;

    result = esp_seal(f->out, 41, &iov, 1, packet, ROOM, &packet_len);
    if (result != ESP_GOOD) {
        g_assert(result == ESP_OVERFLOW && number == 0);
        return;
    }
    g_assert(number > f->sealed);
    g_assert(get_be32(packet + 4) == (uint32_t)number);
    f->sealed = number;
    g_assert(packet_len == esp_sealed_len(f->out, size));
    result = open_it(f, packet, packet_len, got, &len, &next);
    if (result == ESP_GOOD) {
        g_assert(len == size && next == 41 && !memcmp(got, data, size));
    } else {
        g_assert(result == ESP_REPLAYED || (f->esn && result == ESP_ICV));
    }
}

/* A migration's stream may have any contents. */
static void load(Fuzz *f, const uint8_t *data, size_t size)
{
    EspSaState state = { 0 }, before, after;

    memcpy(&state, data, MIN(size, sizeof(state)));
    esp_sa_hand_over(f->in, 0, &before);
    esp_sa_load(f->in, &state);
    esp_sa_hand_over(f->in, 0, &after);
    g_assert(after.replay.top >= before.replay.top);
    esp_sa_load(f->out, &state);
}

static void hand_over(Fuzz *f, const uint8_t *data, size_t size)
{
    EspSaState state;

    if (size) {
        esp_sa_hand_over(f->out, data[0] & 15, &state);
        g_assert(state.next == 0 || state.next > esp_sa_next(f->out));
        if (data[0] & 16) {
            esp_sa_take_back(f->out, data[0] >> 5);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(Fuzz *, const uint8_t *, size_t) = {
        from_stranger, from_peer, round_trip, load, hand_over, from_peer,
    };
    uint8_t choice;
    Fuzz f = { 0 };

    if (size == 0 || size > 4096) {
        return 0;
    }
    choice = *data++;
    size--;
    f.algorithm = esp_algorithm_at(choice & 7);
    f.esn = choice >> 3 & 1;
    f.out = fixture_outbound(f.algorithm, f.esn);
    f.in = fixture_inbound(f.algorithm, f.esn, 64 << (choice >> 4 & 3));
    while (size >= 2) {
        size_t take = MIN(data[1], size - 2);

        steps[data[0] % G_N_ELEMENTS(steps)](&f, data + 2, take);
        data += 2 + take;
        size -= 2 + take;
    }
    esp_sa_free(f.out);
    esp_sa_free(f.in);
    return 0;
}
