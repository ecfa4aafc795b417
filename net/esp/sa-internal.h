/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of a security association: for net/esp only */
#ifndef NET_ESP_SA_INTERNAL_H
#define NET_ESP_SA_INTERNAL_H

#include <openssl/evp.h>

#include "net/esp/sa.h"

#define ESP_SALT_LEN            4u
#define ESP_BLOCK               16u     /* of AES */

/*
 * Rules: the members before @next never change after esp_sa_new(). The contexts
 * hold the keys; only the IV is set for each packet.
 */
struct EspSa {
    const EspAlgorithm *algorithm;
    EspDirection direction;
    uint32_t spi;
    bool esn;
    uint32_t epoch;
    uint8_t salt[ESP_SALT_LEN];
    EVP_CIPHER_CTX *cipher;     /* NULL: none */
    EVP_CIPHER_CTX *iv;         /* outbound CBC: makes IVs from numbers */
    EVP_MAC_CTX *mac;           /* NULL: the cipher computes the ICV */

    uint64_t next;              /* outbound: next number; 0: none left */
    uint64_t limit;             /* outbound: last number of this host */
    bool is_handed_over;        /* another host has those after @limit */
    EspReplay replay;           /* inbound */
    EspSaCounters counters;
};

/**
 * esp_sa_take_number: take the sequence number for a packet
 *
 * Returns: 0 if none is left; numbers never wrap (RFC 4303 section 3.3.3)
 */
uint64_t esp_sa_take_number(EspSa *sa);

#endif /* NET_ESP_SA_INTERNAL_H */
