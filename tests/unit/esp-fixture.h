/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ESP's peer in tests: it makes packets by itself, good and bad ones */
#ifndef TESTS_UNIT_ESP_FIXTURE_H
#define TESTS_UNIT_ESP_FIXTURE_H

#include "net/esp/sa.h"

#define FIXTURE_SPI             0x12345678u
#define FIXTURE_ROOM            (66u * 1024)

typedef struct FixturePacket {
    const EspAlgorithm *algorithm;
    const uint8_t *key;         /* for cipher and HMAC */
    uint32_t spi;
    uint64_t sequence;
    bool esn;
    const uint8_t *iv;          /* NULL: zeros */
    const uint8_t *text;        /* payload, padding, trailer */
    size_t text_len;            /* of CBC: whole blocks */
} FixturePacket;

/* Encrypts and signs, with one-shot calls. Returns octets at @out. */
size_t fixture_wrap(const FixturePacket *packet, uint8_t *out);

/* Octet i is i * 7 + 1: ESP_KEY_MAX of them. */
const uint8_t *fixture_key(void);

/* Associations with fixture_key() and FIXTURE_SPI. */
EspSa *fixture_outbound(const EspAlgorithm *algorithm, bool esn);
EspSa *fixture_inbound(const EspAlgorithm *algorithm, bool esn,
                       uint32_t window);

#endif /* TESTS_UNIT_ESP_FIXTURE_H */
