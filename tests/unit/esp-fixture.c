/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ESP's peer in tests: it makes packets by itself, good and bad ones */
#include <glib.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "net/packet/octets.h"
#include "tests/unit/esp-fixture.h"

static void put_head(const FixturePacket *p, uint8_t *out)
{
    packet_put32(out, p->spi);
    packet_put32(out + 4, p->sequence);
    memset(out + ESP_HEAD_LEN, 0, p->algorithm->iv_len);
    if (p->iv) {
        memcpy(out + ESP_HEAD_LEN, p->iv, p->algorithm->iv_len);
    }
}

static void wrap_gcm(const FixturePacket *p, const uint8_t *iv, uint8_t *text)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    uint8_t nonce[12], aad[12];
    size_t at = 0;
    int len;

    memcpy(nonce, p->key + p->algorithm->key_len, 4);
    memcpy(nonce + 4, iv, 8);
    packet_put32(aad, p->spi);
    at += 4;
    if (p->esn) {
        packet_put32(aad + at, p->sequence >> 32);
        at += 4;
    }
    packet_put32(aad + at, p->sequence);
    at += 4;
    g_assert_true(EVP_EncryptInit_ex(ctx, p->algorithm->key_len == 16 ?
                                     EVP_aes_128_gcm() : EVP_aes_256_gcm(),
                                     NULL, p->key, nonce));
    g_assert_true(EVP_EncryptUpdate(ctx, NULL, &len, aad, at));
    g_assert_true(EVP_EncryptUpdate(ctx, text, &len, p->text, p->text_len));
    g_assert_true(EVP_EncryptFinal_ex(ctx, text + len, &len));
    g_assert_true(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16,
                                      text + p->text_len));
    EVP_CIPHER_CTX_free(ctx);
}

static void wrap_cbc(const FixturePacket *p, const uint8_t *iv, uint8_t *text)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int len;

    g_assert_true(EVP_EncryptInit_ex(ctx, p->algorithm->key_len == 16 ?
                                     EVP_aes_128_cbc() : EVP_aes_256_cbc(),
                                     NULL, p->key, iv));
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    g_assert_true(EVP_EncryptUpdate(ctx, text, &len, p->text, p->text_len));
    g_assert_cmpint(len, ==, p->text_len);
    EVP_CIPHER_CTX_free(ctx);
}

/* @out has room for four more octets after @len. */
static void sign(const FixturePacket *p, uint8_t *out, size_t len)
{
    const EVP_MD *md = p->algorithm->auth_key_len == 20 ? EVP_sha1() :
                                                          EVP_sha256();
    size_t covered = len + (p->esn ? 4 : 0);
    uint8_t mac[EVP_MAX_MD_SIZE];

    packet_put32(out + len, p->sequence >> 32);
    g_assert_nonnull(HMAC(md, p->key + p->algorithm->key_len,
                          p->algorithm->auth_key_len, out, covered, mac,
                          NULL));
    memcpy(out + len, mac, p->algorithm->icv_len);
}

size_t fixture_wrap(const FixturePacket *p, uint8_t *out)
{
    uint8_t *iv = out + ESP_HEAD_LEN, *text = iv + p->algorithm->iv_len;

    put_head(p, out);
    switch (p->algorithm->cipher) {
    case ESP_CIPHER_AES_GCM:
        wrap_gcm(p, iv, text);
        break;
    case ESP_CIPHER_AES_CBC:
        wrap_cbc(p, iv, text);
        break;
    case ESP_CIPHER_NULL:
        memcpy(text, p->text, p->text_len);
        break;
    }
    if (p->algorithm->digest) {
        sign(p, out, text + p->text_len - out);
    }
    return text + p->text_len + p->algorithm->icv_len - out;
}

const uint8_t *fixture_key(void)
{
    static uint8_t key[ESP_KEY_MAX];

    for (unsigned i = 0; i < sizeof(key); i++) {
        key[i] = i * 7 + 1;
    }
    return key;
}

static EspSa *make(EspSaConfig *config)
{
    EspSaFault fault;
    EspSa *sa;

    config->spi = FIXTURE_SPI;
    config->key = fixture_key();
    config->key_len = esp_algorithm_key_len(config->algorithm);
    sa = esp_sa_new(config, &fault);
    g_assert_cmpint(fault, ==, ESP_SA_GOOD);
    g_assert_nonnull(sa);
    return sa;
}

EspSa *fixture_outbound(const EspAlgorithm *algorithm, bool esn)
{
    EspSaConfig config = {
        .algorithm = algorithm, .direction = ESP_OUTBOUND, .esn = esn,
    };

    return make(&config);
}

EspSa *fixture_inbound(const EspAlgorithm *algorithm, bool esn,
                       uint32_t window)
{
    EspSaConfig config = {
        .algorithm = algorithm, .direction = ESP_INBOUND, .esn = esn,
        .window = window,
    };

    return make(&config);
}
