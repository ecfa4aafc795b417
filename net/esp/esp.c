/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP: seal and open packets (RFC 4303)
 *
 * Theory of operation
 * ===================
 *
 *      0       4        8         8+iv                        -icv    end
 *      +-------+--------+---------+---------+-----+---+----+--------+
 *      |  SPI  | number |   IV    | payload | pad | n | nh |  ICV   |
 *      +-------+--------+---------+---------+-----+---+----+--------+
 *                                 |<------ encrypted ----->|
 *      |<------------ authenticated, and with ESN ------------->| + high half
 *
 * This code is the same for transport and tunnel mode. Its input and output are
 * a payload and the payload's protocol; in tunnel mode the payload is an IPv6
 * packet. The caller writes the headers before the SPI, and finds the
 * association of a received packet by its SPI.
 *
 * Memory. A packet is copied once into the caller's buffer, and all work is
 * done there, in place. Others may share the memory that the packet comes from,
 * so it is read only once: the octets that the ICV covers are the octets that
 * are decrypted. The contexts of libcrypto are created with the association, so
 * a packet needs no allocation, with one exception: libcrypto 3.0 allocates the
 * state of a hash, about 100 octets, each time a hash starts, which is twice in
 * an HMAC. AES-GCM uses no hash, and is the recommended algorithm for traffic.
 *
 * Order. Cheap checks come first: the lengths and the replay window. Then the
 * ICV is verified, in constant time; then the window is updated, and then the
 * padding is read. AES-GCM decrypts before it can verify the ICV; the plaintext
 * is overwritten if the ICV is wrong. A dropped packet causes no answer,
 * whatever the reason, so an attacker learns nothing from the reason; it is
 * only counted.
 *
 * Sequence numbers. The receiver infers the upper half of an extended number
 * (replay.c). The ICV covers the upper half, so it proves that the inferred
 * value is correct. Numbers never wrap (section 3.3.3): after the last one the
 * association cannot be used any more. A guest that sends a million packets a
 * second uses up 2^32 numbers in 72 minutes: use ESN.
 *
 * IVs. With AES-GCM, a pair of key and IV must be unique for as long as the key
 * is used anywhere. RFC 4106 section 2 therefore requires negotiated keys. Our
 * keys are configured, and a VM that is restarted with the same secret starts
 * with number 1 again, so the number alone cannot be the IV. The IV is
 *
 *      epoch * 2^32 + number
 *
 * where the epoch is the time in seconds at which the association was created.
 * The IV increases with each packet and with each restart, as long as the clock
 * does not go back and less than 2^32 packets a second are sent. After a
 * migration, both the number and the epoch are higher than any that the source
 * uses (sa.h). For AES-CBC an IV must be unpredictable (RFC 3602 section 3): it
 * is the number, encrypted with a random key that never leaves the association
 * (NIST SP 800-38A appendix C).
 *
 * If a sender restarts without its state, a receiver with a replay window takes
 * the new packets for old ones. So with configured keys and without saved
 * state, the window must be off (size 0); section 3.3.3 describes this for such
 * keys. Numbers never wrap in this case either.
 *
 * Not implemented: algorithms without integrity (RFC 8221 section 4 forbids
 * them), IKE, and UDP encapsulation.
 */
#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <string.h>

#include "net/esp/esp.h"
#include "base/octets.h"
#include "net/esp/sa-internal.h"
#include "net/packet/segment.h"

#define TRAILER_LEN     2u      /* pad length, next header */
#define NONCE_LEN       12u     /* nonce of GCM: salt and IV */
#define MAC_MAX         32u     /* before truncation to the ICV */

/* Pointers to the parts of a packet. */
typedef struct Parts {
    uint64_t sequence;
    const uint8_t *head;        /* SPI to IV */
    uint8_t *text;              /* payload, padding, trailer */
    size_t text_len;
    uint8_t *icv;
} Parts;

static size_t head_len(const EspSa *sa)
{
    return ESP_HEAD_LEN + sa->algorithm->iv_len;
}

/* --- ICV and cipher ------------------------------------------------------- */

/* The packet and, with ESN, the upper half of its number (section 2.2.1). */
static bool make_hmac(EspSa *sa, const Parts *p, uint8_t mac[MAC_MAX])
{
    uint8_t high[4];
    size_t len;

    put_be32(high, p->sequence >> 32);
    return EVP_MAC_init(sa->mac, NULL, 0, NULL) &&
           EVP_MAC_update(sa->mac, p->head, head_len(sa)) &&
           EVP_MAC_update(sa->mac, p->text, p->text_len) &&
           EVP_MAC_update(sa->mac, high, sa->esn ? sizeof(high) : 0) &&
           EVP_MAC_final(sa->mac, mac, &len, MAC_MAX);
}

/* RFC 4106 section 5: with ESN the AAD has the complete number. */
static size_t make_aad(const EspSa *sa, const Parts *p, uint8_t aad[12])
{
    size_t len = 4;

    memcpy(aad, p->head, len);
    if (sa->esn) {
        put_be32(aad + len, p->sequence >> 32);
        len += 4;
    }
    put_be32(aad + len, p->sequence);
    return len + 4;
}

static bool run_gcm(EspSa *sa, const Parts *p)
{
    uint8_t nonce[NONCE_LEN], aad[12];
    size_t aad_len = make_aad(sa, p, aad);
    int len;

    memcpy(nonce, sa->salt, ESP_SALT_LEN);
    memcpy(nonce + ESP_SALT_LEN, p->head + ESP_HEAD_LEN, sa->algorithm->iv_len);
    return EVP_CipherInit_ex2(sa->cipher, NULL, NULL, nonce, -1, NULL) &&
           EVP_CipherUpdate(sa->cipher, NULL, &len, aad, aad_len) &&
           EVP_CipherUpdate(sa->cipher, p->text, &len, p->text, p->text_len);
}

static bool run_cbc(EspSa *sa, const Parts *p)
{
    const uint8_t *iv = p->head + ESP_HEAD_LEN;
    int len;

    return EVP_CipherInit_ex2(sa->cipher, NULL, NULL, iv, -1, NULL) &&
           EVP_CipherUpdate(sa->cipher, p->text, &len, p->text, p->text_len);
}

static bool run_cipher(EspSa *sa, const Parts *p)
{
    switch (sa->algorithm->cipher) {
    case ESP_CIPHER_AES_GCM:
        return run_gcm(sa, p);
    case ESP_CIPHER_AES_CBC:
        return run_cbc(sa, p);
    case ESP_CIPHER_NULL:
        break;
    }
    return true;
}

static OSSL_PARAM tag_param(const EspSa *sa, uint8_t *icv)
{
    return OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv,
                                             sa->algorithm->icv_len);
}

static bool encrypt(EspSa *sa, const Parts *p)
{
    OSSL_PARAM params[] = { tag_param(sa, p->icv), OSSL_PARAM_construct_end() };
    uint8_t mac[MAC_MAX];
    int len;

    if (!run_cipher(sa, p)) {
        return false;
    }
    if (!sa->mac) {
        return EVP_CipherFinal_ex(sa->cipher, p->icv, &len) &&
               EVP_CIPHER_CTX_get_params(sa->cipher, params);
    }
    if (!make_hmac(sa, p, mac)) {
        return false;
    }
    memcpy(p->icv, mac, sa->algorithm->icv_len);
    return true;
}

static EspResult decrypt(EspSa *sa, const Parts *p)
{
    OSSL_PARAM params[] = { tag_param(sa, p->icv), OSSL_PARAM_construct_end() };
    uint8_t mac[MAC_MAX];
    int len;

    if (sa->mac) {
        if (!make_hmac(sa, p, mac)) {
            return ESP_LIBCRYPTO;
        }
        if (CRYPTO_memcmp(mac, p->icv, sa->algorithm->icv_len)) {
            return ESP_ICV;
        }
        return run_cipher(sa, p) ? ESP_GOOD : ESP_LIBCRYPTO;
    }
    if (!run_cipher(sa, p) || !EVP_CIPHER_CTX_set_params(sa->cipher, params)) {
        return ESP_LIBCRYPTO;
    }
    return EVP_CipherFinal_ex(sa->cipher, mac, &len) ? ESP_GOOD : ESP_ICV;
}

/* --- lengths -------------------------------------------------------------- */

/* A division would take tens of cycles; a block is a power of 2. */
static size_t text_len(const EspSa *sa, size_t payload)
{
    size_t block = sa->algorithm->block;

    return (payload + TRAILER_LEN + block - 1) & ~(block - 1);
}

size_t esp_sealed_len(const EspSa *sa, size_t len)
{
    return head_len(sa) + text_len(sa, len) + sa->algorithm->icv_len;
}

size_t esp_payload_max(const EspSa *sa, size_t room)
{
    size_t rest = head_len(sa) + sa->algorithm->icv_len;
    size_t text = room < rest ? 0 : room - rest;

    text &= ~(size_t)(sa->algorithm->block - 1);
    return text < TRAILER_LEN ? 0 : text - TRAILER_LEN;
}

/* --- sealing -------------------------------------------------------------- */

/* Writes the IV for a number; see "IVs" above. */
static bool put_iv(EspSa *sa, uint64_t sequence, uint8_t *iv)
{
    uint8_t block[ESP_BLOCK] = { 0 };
    uint64_t unique;
    int len;

    switch (sa->algorithm->cipher) {
    case ESP_CIPHER_AES_GCM:
        unique = ((uint64_t)sa->epoch << 32) + sequence;
        put_be32(iv, unique >> 32);
        put_be32(iv + 4, unique);
        break;
    case ESP_CIPHER_AES_CBC:
        put_be32(block, sequence >> 32);
        put_be32(block + 4, sequence);
        return EVP_CipherUpdate(sa->iv, iv, &len, block, sizeof(block));
    case ESP_CIPHER_NULL:
        break;
    }
    return true;
}

static void put_trailer(const Parts *p, size_t payload, uint8_t next)
{
    size_t pad = p->text_len - TRAILER_LEN - payload;

    for (size_t i = 0; i < pad; i++) {
        p->text[payload + i] = i + 1;
    }
    p->text[p->text_len - 2] = pad;
    p->text[p->text_len - 1] = next;
}

static bool is_sealable(const EspSa *sa, size_t payload, size_t room)
{
    return payload <= ESP_PACKET_MAX &&
           esp_sealed_len(sa, payload) <= ESP_PACKET_MAX &&
           esp_sealed_len(sa, payload) <= room;
}

/* The caller has checked that @out is large enough. */
static EspResult seal(EspSa *sa, uint8_t next, const struct iovec *iov,
                      int iovcnt, uint8_t *out, size_t payload)
{
    Parts p = {
        .head = out,
        .text = out + head_len(sa),
        .text_len = text_len(sa, payload),
        .icv = out + head_len(sa) + text_len(sa, payload),
    };

    p.sequence = esp_sa_take_number(sa);
    if (!p.sequence) {
        return ESP_OVERFLOW;
    }
    put_be32(out, sa->spi);
    put_be32(out + 4, p.sequence);
    packet_iov_copy(iov, iovcnt, 0, p.text, payload);
    put_trailer(&p, payload, next);
    if (!put_iv(sa, p.sequence, out + ESP_HEAD_LEN) || !encrypt(sa, &p)) {
        OPENSSL_cleanse(out, esp_sealed_len(sa, payload));
        ERR_clear_error();
        return ESP_LIBCRYPTO;
    }
    return ESP_GOOD;
}

EspResult esp_seal(EspSa *sa, uint8_t next, const struct iovec *iov, int iovcnt,
                   void *out, size_t room, size_t *len)
{
    size_t payload = packet_iov_len(iov, iovcnt);
    EspResult result = ESP_TOO_BIG;

    assert(sa->direction == ESP_OUTBOUND);
    *len = 0;
    if (is_sealable(sa, payload, room)) {
        result = seal(sa, next, iov, iovcnt, out, payload);
    }
    sa->counters.packets[result]++;
    if (result == ESP_GOOD) {
        *len = esp_sealed_len(sa, payload);
        sa->counters.octets += payload;
    }
    return result;
}

/* --- opening -------------------------------------------------------------- */

bool esp_spi(const struct iovec *iov, int iovcnt, uint32_t *spi)
{
    uint8_t head[ESP_HEAD_LEN];

    if (packet_iov_copy(iov, iovcnt, 0, head, sizeof(head)) < sizeof(head)) {
        return false;
    }
    *spi = get_be32(head);
    return true;
}

/* Section 2.4: padding is 1, 2, 3, ...; a faulty peer may send other octets. */
static EspResult read_trailer(const Parts *p, size_t *payload, uint8_t *next)
{
    uint8_t pad = p->text[p->text_len - 2];

    if (pad > p->text_len - TRAILER_LEN) {
        return ESP_PADDING;
    }
    *payload = p->text_len - TRAILER_LEN - pad;
    for (size_t i = 0; i < pad; i++) {
        if (p->text[*payload + i] != i + 1) {
            return ESP_PADDING;
        }
    }
    *next = p->text[p->text_len - 1];
    return *next == ESP_NEXT_NONE ? ESP_DUMMY : ESP_GOOD;
}

/* Sets @p->text_len as soon as @p->text has data. */
static EspResult open_packet(EspSa *sa, const struct iovec *iov, int iovcnt,
                             size_t room, Parts *p, size_t *payload,
                             uint8_t *next)
{
    uint8_t head[ESP_HEAD_LEN + ESP_IV_MAX], icv[ESP_ICV_MAX];
    size_t len = packet_iov_len(iov, iovcnt);
    size_t rest = head_len(sa) + sa->algorithm->icv_len;
    EspResult result;

    /* Blocks have at least four octets, so there is space for the trailer. */
    if (len <= rest || (len - rest) & (sa->algorithm->block - 1u)) {
        return ESP_SHORT;
    }
    if (len > ESP_PACKET_MAX || len - rest > room) {
        return ESP_TOO_BIG;
    }
    packet_iov_copy(iov, iovcnt, 0, head, head_len(sa));
    if (!esp_replay_check(&sa->replay, get_be32(head + 4), &p->sequence)) {
        return ESP_REPLAYED;
    }
    p->head = head;
    p->icv = icv;
    p->text_len = packet_iov_copy(iov, iovcnt, head_len(sa), p->text,
                                  len - rest);
    packet_iov_copy(iov, iovcnt, len - sa->algorithm->icv_len, icv,
                    sa->algorithm->icv_len);
    result = decrypt(sa, p);
    if (result == ESP_GOOD) {
        esp_replay_accept(&sa->replay, p->sequence);
        result = read_trailer(p, payload, next);
    }
    return result;
}

EspResult esp_open(EspSa *sa, const struct iovec *iov, int iovcnt, void *out,
                   size_t room, size_t *len, uint8_t *next)
{
    Parts p = { .text = out };
    EspResult result;

    assert(sa->direction == ESP_INBOUND);
    *len = *next = 0;
    result = open_packet(sa, iov, iovcnt, room, &p, len, next);
    sa->counters.packets[result]++;
    if (result == ESP_GOOD) {
        sa->counters.octets += *len;
    } else {
        OPENSSL_cleanse(out, p.text_len);
        ERR_clear_error();      /* must not stay for other users */
        *len = *next = 0;
    }
    return result;
}
