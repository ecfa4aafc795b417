/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of a security association: for net/esp only */
#ifndef NET_ESP_SA_INTERNAL_H
#define NET_ESP_SA_INTERNAL_H

#include <openssl/evp.h>

#include "net/esp/sa.h"

#define ESP_SALT_LEN            4u
#define ESP_BLOCK               16u     /* of AES */

/*
 * Rules: what stands before @next never changes after esp_sa_new(). The
 * contexts hold the keys; a packet brings only its IV.
 */
struct EspSa {
    const EspAlgorithm *algorithm;
    EspDirection direction;
    uint32_t spi;
    bool esn;
    uint32_t epoch;
    uint8_t salt[ESP_SALT_LEN];
    EVP_CIPHER_CTX *cipher;     /* NULL: none */
    EVP_CIPHER_CTX *iv;         /* outbound CBC: numbers to IVs */
    EVP_MAC_CTX *mac;           /* NULL: the cipher makes the ICV */

    uint64_t next;              /* outbound: to be used next; 0: none */
    uint64_t limit;             /* outbound: the last number of this host */
    bool is_lent;               /* what is behind @limit is another host's */
    EspReplay replay;           /* inbound */
    EspSaCounters counters;
};

/**
 * esp_sa_take_number: the number of a packet that is sealed now
 *
 * Returns: 0 if none is left; numbers never wrap (RFC 4303 section 3.3.3)
 */
uint64_t esp_sa_take_number(EspSa *sa);

#endif /* NET_ESP_SA_INTERNAL_H */
