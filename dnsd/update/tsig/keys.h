/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys of TSIG (RFC 8945), and their files
 *
 * A set of keys does not change while it is used, so any thread may look up.
 */
#ifndef DNSD_UPDATE_TSIG_KEYS_H
#define DNSD_UPDATE_TSIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/dns/wire/wire.h"

#define TSIG_SECRET_MAX     512
#define TSIG_MAC_MAX        64

/* RFC 8945 section 6 without HMAC-MD5 and GSS-TSIG */
typedef enum TsigAlgorithm {
    TSIG_HMAC_SHA1,
    TSIG_HMAC_SHA224,
    TSIG_HMAC_SHA256,
    TSIG_HMAC_SHA384,
    TSIG_HMAC_SHA512,
    TSIG_ALGORITHMS,
} TsigAlgorithm;

typedef struct TsigKey {
    DnsName name;               /* in lower case */
    TsigAlgorithm algorithm;
    uint16_t mac_len;           /* octets to send, and the least to accept */
    uint16_t secret_len;
    uint8_t secret[TSIG_SECRET_MAX];
    void *hmac;                 /* of libcrypto; only for a key in a set */
} TsigKey;

typedef struct TsigKeys TsigKeys;

/* The fault in a key file: "line 3: ..." */
typedef struct TsigKeysError {
    unsigned line;
    char text[160];
} TsigKeysError;

/** tsig_keys_new: an empty set; NULL without memory */
TsigKeys *tsig_keys_new(void);

/** tsig_keys_free: free the set and wipe the secrets */
void tsig_keys_free(TsigKeys *keys);

/** tsig_mac_min: the least octets of a truncated MAC, section 5.2.2.1 */
unsigned tsig_mac_min(TsigAlgorithm algorithm);

/**
 * tsig_keys_add: add a copy of @key
 *
 * Returns: 0; -EEXIST if there is a key of that name; -EINVAL if a number is
 * out of bounds; or -ENOMEM.
 */
int tsig_keys_add(TsigKeys *keys, const TsigKey *key);

/**
 * tsig_keys_read: read a file of keys in BIND's syntax
 * @text: key "name" { algorithm hmac-sha256; secret "base64"; }; ...
 *
 * Comments may be in the style of C, C++ or the shell.  An algorithm may end in
 * the bits of a truncated MAC ("hmac-sha256-128").
 *
 * Returns: 0; -EINVAL, with the reason in @error; -ENOMEM.
 */
int tsig_keys_read(TsigKeys *keys, const char *text, size_t len,
                   TsigKeysError *error);

/** tsig_keys_find: the key of a name, or NULL; case is ignored */
const TsigKey *tsig_keys_find(const TsigKeys *keys, const DnsName *name);

/** tsig_algorithm_name: a name like "hmac-sha256" */
const char *tsig_algorithm_name(TsigAlgorithm algorithm);

/** tsig_algorithm_len: octets of the MAC without truncation */
unsigned tsig_algorithm_len(TsigAlgorithm algorithm);

/** tsig_algorithm_find: the algorithm of a name; TSIG_ALGORITHMS if unknown */
TsigAlgorithm tsig_algorithm_find(const char *text);

#endif /* DNSD_UPDATE_TSIG_KEYS_H */
