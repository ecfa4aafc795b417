/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of TSIG keys */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dnsd/update/tsig/keys.h"
#include "net/dns/zone/fold.h"

#define MAC_LEN_MIN     10      /* RFC 8945 section 5.2.2.1 */

struct TsigKeys {
    size_t count;
    TsigKey **key;              /* their addresses do not change */
};

static const struct {
    const char *name;
    const char *digest;
    unsigned len;
} algorithms[TSIG_ALGORITHMS] = {
    [TSIG_HMAC_SHA1] = { "hmac-sha1", "SHA1", 20 },
    [TSIG_HMAC_SHA224] = { "hmac-sha224", "SHA224", 28 },
    [TSIG_HMAC_SHA256] = { "hmac-sha256", "SHA256", 32 },
    [TSIG_HMAC_SHA384] = { "hmac-sha384", "SHA384", 48 },
    [TSIG_HMAC_SHA512] = { "hmac-sha512", "SHA512", 64 },
};

const char *tsig_algorithm_name(TsigAlgorithm algorithm)
{
    return algorithms[algorithm].name;
}

unsigned tsig_algorithm_len(TsigAlgorithm algorithm)
{
    return algorithms[algorithm].len;
}

TsigAlgorithm tsig_algorithm_find(const char *text)
{
    TsigAlgorithm found = 0;

    while (found < TSIG_ALGORITHMS &&
           strcasecmp(text, algorithms[found].name)) {
        found++;
    }
    return found;
}

unsigned tsig_mac_min(TsigAlgorithm algorithm)
{
    unsigned half = algorithms[algorithm].len / 2;

    return half < MAC_LEN_MIN ? MAC_LEN_MIN : half;
}

TsigKeys *tsig_keys_new(void)
{
    return calloc(1, sizeof(TsigKeys));
}

static void free_key(TsigKey *key)
{
    EVP_MAC_CTX_free(key->hmac);
    OPENSSL_cleanse(key, sizeof(*key));
    free(key);
}

void tsig_keys_free(TsigKeys *keys)
{
    if (keys) {
        for (size_t i = 0; i < keys->count; i++) {
            free_key(keys->key[i]);
        }
        free(keys->key);
        free(keys);
    }
}

/* A context with the key, which is copied for each message */
static EVP_MAC_CTX *make_hmac(const TsigKey *key)
{
    char *digest = (char *)algorithms[key->algorithm].digest;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;

    EVP_MAC_free(mac);
    if (ctx && !EVP_MAC_init(ctx, key->secret, key->secret_len, params)) {
        EVP_MAC_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

int tsig_keys_add(TsigKeys *keys, const TsigKey *key)
{
    TsigKey **more, *copy;

    if (key->algorithm >= TSIG_ALGORITHMS || !key->secret_len ||
        key->secret_len > TSIG_SECRET_MAX || !key->name.len ||
        key->mac_len < tsig_mac_min(key->algorithm) ||
        key->mac_len > algorithms[key->algorithm].len) {
        return -EINVAL;
    }
    if (tsig_keys_find(keys, &key->name)) {
        return -EEXIST;
    }
    more = realloc(keys->key, (keys->count + 1) * sizeof(*more));
    if (!more) {
        return -ENOMEM;
    }
    keys->key = more;
    copy = malloc(sizeof(*copy));
    if (!copy) {
        return -ENOMEM;
    }
    *copy = *key;
    zone_fold(copy->name.wire, key->name.wire, key->name.len);
    copy->hmac = make_hmac(copy);
    if (!copy->hmac) {
        free_key(copy);
        return -ENOMEM;
    }
    keys->key[keys->count++] = copy;
    return 0;
}

const TsigKey *tsig_keys_find(const TsigKeys *keys, const DnsName *name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (dns_name_equal(&keys->key[i]->name, name)) {
            return keys->key[i];
        }
    }
    return NULL;
}
