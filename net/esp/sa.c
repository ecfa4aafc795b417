/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Security associations of ESP: algorithms, keys, sequence numbers */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

#include "net/esp/sa-internal.h"

/* --- algorithms ----------------------------------------------------------- */

#define GCM(bits) { \
    .name = "aes-gcm-" #bits, .cipher = ESP_CIPHER_AES_GCM, \
    .key_len = bits / 8, .salt_len = ESP_SALT_LEN, \
    .iv_len = 8, .icv_len = 16, .block = 4, \
    .fetch = "AES-" #bits "-GCM", \
}
/* RFC 2404: a key of 160 bits, an ICV of 96 bits. */
#define HMAC_SHA1       .auth_key_len = 20, .icv_len = 12, .digest = "SHA1"
/* RFC 4868: a key of 256 bits, an ICV of 128 bits. */
#define HMAC_SHA256     .auth_key_len = 32, .icv_len = 16, .digest = "SHA256"
#define CBC(bits, hmac_name, hmac) { \
    .name = "aes-cbc-" #bits "-" hmac_name, .cipher = ESP_CIPHER_AES_CBC, \
    .key_len = bits / 8, .iv_len = 16, .block = ESP_BLOCK, \
    .fetch = "AES-" #bits "-CBC", hmac, \
}
#define NO_CIPHER(hmac_name, hmac) { \
    .name = "null-" hmac_name, .cipher = ESP_CIPHER_NULL, .block = 4, hmac, \
}

static const EspAlgorithm algorithms[] = {
    GCM(128),
    GCM(256),
    CBC(128, "hmac-sha1", HMAC_SHA1),
    CBC(128, "hmac-sha256", HMAC_SHA256),
    CBC(256, "hmac-sha1", HMAC_SHA1),
    CBC(256, "hmac-sha256", HMAC_SHA256),
    NO_CIPHER("hmac-sha1", HMAC_SHA1),
    NO_CIPHER("hmac-sha256", HMAC_SHA256),
};

const EspAlgorithm *esp_algorithm_at(unsigned i)
{
    return i < sizeof(algorithms) / sizeof(algorithms[0]) ? &algorithms[i]
                                                          : NULL;
}

const EspAlgorithm *esp_algorithm_by_name(const char *name)
{
    const EspAlgorithm *algorithm;

    for (unsigned i = 0; (algorithm = esp_algorithm_at(i)); i++) {
        if (!strcmp(name, algorithm->name)) {
            return algorithm;
        }
    }
    return NULL;
}

size_t esp_algorithm_key_len(const EspAlgorithm *algorithm)
{
    return algorithm->key_len + algorithm->salt_len + algorithm->auth_key_len;
}

/* --- names ---------------------------------------------------------------- */

const char *esp_result_name(EspResult result)
{
    static const char *const names[] = {
        [ESP_GOOD] = "good",
        [ESP_SHORT] = "short",
        [ESP_REPLAYED] = "replayed",
        [ESP_ICV] = "icv",
        [ESP_PADDING] = "padding",
        [ESP_DUMMY] = "dummy",
        [ESP_OVERFLOW] = "overflow",
        [ESP_TOO_BIG] = "too-big",
        [ESP_LIBCRYPTO] = "libcrypto",
    };

    return names[result];
}

const char *esp_sa_fault_text(EspSaFault fault)
{
    static const char *const texts[] = {
        [ESP_SA_GOOD] = "is good",
        [ESP_SA_SPI] = "is below 256, which is reserved",
        [ESP_SA_WINDOW] = "is not 64, 128, ... 1024, nor 0 without ESN",
        [ESP_SA_KEY_LEN] = "does not have the length of the algorithm's keys",
        [ESP_SA_LIBCRYPTO] = "is not offered by libcrypto",
    };

    return texts[fault];
}

/* --- life ----------------------------------------------------------------- */

static EVP_CIPHER_CTX *make_cipher(const char *name, const uint8_t *key,
                                   bool encrypts)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *ctx = cipher ? EVP_CIPHER_CTX_new() : NULL;

    /*
     * ESP adds its own padding. GCM has none: if it were turned off there, too,
     * libcrypto would turn it off again with each IV.
     */
    if (ctx && (!EVP_CipherInit_ex2(ctx, cipher, key, NULL, encrypts, NULL) ||
                (EVP_CIPHER_get_mode(cipher) != EVP_CIPH_GCM_MODE &&
                 !EVP_CIPHER_CTX_set_padding(ctx, 0)))) {
        EVP_CIPHER_CTX_free(ctx);
        ctx = NULL;
    }
    EVP_CIPHER_free(cipher);
    return ctx;
}

/* Uses a random key: it only makes IVs unpredictable (see esp.c: IVs). */
static EVP_CIPHER_CTX *make_iv_cipher(void)
{
    EVP_CIPHER_CTX *ctx = NULL;
    uint8_t key[16];

    if (RAND_priv_bytes(key, sizeof(key)) == 1) {
        ctx = make_cipher("AES-128-ECB", key, true);
    }
    OPENSSL_cleanse(key, sizeof(key));
    return ctx;
}

static EVP_MAC_CTX *make_mac(const char *digest, const uint8_t *key, size_t len)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
                                         (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;

    if (ctx && !EVP_MAC_init(ctx, key, len, params)) {
        EVP_MAC_CTX_free(ctx);
        ctx = NULL;
    }
    EVP_MAC_free(mac);
    return ctx;
}

static bool take_keys(EspSa *sa, const uint8_t *key)
{
    const EspAlgorithm *a = sa->algorithm;
    bool is_outbound = sa->direction == ESP_OUTBOUND;

    memcpy(sa->salt, key + a->key_len, a->salt_len);
    if (a->fetch) {
        sa->cipher = make_cipher(a->fetch, key, is_outbound);
        if (!sa->cipher) {
            return false;
        }
    }
    if (a->cipher == ESP_CIPHER_AES_CBC && is_outbound) {
        sa->iv = make_iv_cipher();
        if (!sa->iv) {
            return false;
        }
    }
    if (a->digest) {
        sa->mac = make_mac(a->digest, key + a->key_len + a->salt_len,
                           a->auth_key_len);
        return sa->mac;
    }
    return true;
}

static uint64_t last_number(const EspSa *sa)
{
    return sa->esn ? UINT64_MAX : UINT32_MAX;
}

static EspSaFault make_sa(EspSa *sa, const EspSaConfig *config)
{
    sa->algorithm = config->algorithm;
    sa->direction = config->direction;
    sa->spi = config->spi;
    sa->esn = config->esn;
    sa->epoch = config->epoch;
    sa->next = 1;               /* section 3.3.3 */
    sa->limit = last_number(sa);
    if (sa->spi < ESP_SPI_MIN) {
        return ESP_SA_SPI;
    }
    if (sa->direction == ESP_INBOUND &&
        !esp_replay_init(&sa->replay, config->window, sa->esn)) {
        return ESP_SA_WINDOW;
    }
    if (config->key_len != esp_algorithm_key_len(sa->algorithm)) {
        return ESP_SA_KEY_LEN;
    }
    return take_keys(sa, config->key) ? ESP_SA_GOOD : ESP_SA_LIBCRYPTO;
}

EspSa *esp_sa_new(const EspSaConfig *config, EspSaFault *fault)
{
    EspSa *sa = OPENSSL_zalloc(sizeof(*sa));
    EspSaFault found = sa ? make_sa(sa, config) : ESP_SA_LIBCRYPTO;

    if (fault) {
        *fault = found;
    }
    if (found != ESP_SA_GOOD) {
        esp_sa_free(sa);
        return NULL;
    }
    return sa;
}

void esp_sa_free(EspSa *sa)
{
    if (!sa) {
        return;
    }
    /* These functions overwrite the keys. */
    EVP_CIPHER_CTX_free(sa->cipher);
    EVP_CIPHER_CTX_free(sa->iv);
    EVP_MAC_CTX_free(sa->mac);
    OPENSSL_clear_free(sa, sizeof(*sa));
}

uint32_t esp_sa_spi(const EspSa *sa)
{
    return sa->spi;
}

const EspAlgorithm *esp_sa_algorithm(const EspSa *sa)
{
    return sa->algorithm;
}

const EspSaCounters *esp_sa_counters(const EspSa *sa)
{
    return &sa->counters;
}

/* --- sequence numbers ----------------------------------------------------- */

uint64_t esp_sa_next(const EspSa *sa)
{
    return sa->next <= sa->limit ? sa->next : 0;
}

uint64_t esp_sa_highest(const EspSa *sa)
{
    return sa->replay.top;
}

bool esp_sa_is_spent(const EspSa *sa)
{
    return sa->direction == ESP_OUTBOUND && !sa->is_handed_over &&
           esp_sa_next(sa) == 0;
}

/* Returns: the number @steps after @number; 0 if that is beyond the last */
static uint64_t number_after(const EspSa *sa, uint64_t number, uint64_t steps)
{
    return number && steps <= last_number(sa) - number ? number + steps : 0;
}

uint64_t esp_sa_take_number(EspSa *sa)
{
    uint64_t number = esp_sa_next(sa);

    if (number) {
        sa->next = number_after(sa, number, 1);
    }
    return number;
}

/* Returns: the first number that belongs to the other host */
static uint64_t handed_over_from(const EspSa *sa)
{
    return sa->limit < last_number(sa) ? sa->limit + 1 : 0;
}

void esp_sa_hand_over(EspSa *sa, uint32_t keep, EspSaState *state)
{
    uint64_t first;

    memset(state, 0, sizeof(*state));
    if (sa->direction == ESP_INBOUND) {
        esp_replay_save(&sa->replay, &state->replay);
        return;
    }
    if (!sa->is_handed_over) {
        first = number_after(sa, sa->next, keep);
        sa->limit = first ? first - 1 : last_number(sa);
        sa->is_handed_over = true;
    }
    state->next = handed_over_from(sa);
}

void esp_sa_take_back(EspSa *sa, uint32_t used)
{
    if (!sa->is_handed_over) {
        return;
    }
    if (used) {
        sa->next = number_after(sa, handed_over_from(sa), used);
    }
    sa->limit = last_number(sa);
    sa->is_handed_over = false;
}

bool esp_sa_load(EspSa *sa, const EspSaState *state)
{
    uint64_t mine;

    if (sa->direction == ESP_INBOUND) {
        return esp_replay_load(&sa->replay, &state->replay);
    }
    if (state->next > last_number(sa)) {
        return false;
    }
    mine = sa->is_handed_over ? handed_over_from(sa) : sa->next;
    if (mine && (state->next == 0 || state->next > mine)) {
        mine = state->next;
    }
    sa->next = mine;
    sa->limit = last_number(sa);
    sa->is_handed_over = false;
    return true;
}
