/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys of TSIG (RFC 8945), and the files that hold them
 *
 * A set of keys does not change once it is in use, so any thread may look up.
 */
#ifndef NET_DNS_UPDATE_TSIG_KEYS_H
#define NET_DNS_UPDATE_TSIG_KEYS_H

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
    uint16_t mac_len;           /* octets sent, and asked for at least */
    uint16_t secret_len;
    uint8_t secret[TSIG_SECRET_MAX];
    void *hmac;                 /* libcrypto's; of a key in a set only */
} TsigKey;

typedef struct TsigKeys TsigKeys;

/* Where a key file is wrong, for people: "line 3: ..." */
typedef struct TsigKeysError {
    unsigned line;
    char text[160];
} TsigKeysError;

/** tsig_keys_new: an empty set; NULL without memory. */
TsigKeys *tsig_keys_new(void);

/** tsig_keys_free: secrets are wiped. */
void tsig_keys_free(TsigKeys *keys);

/** tsig_mac_min: octets that a truncated MAC must have, section 5.2.2.1 */
unsigned tsig_mac_min(TsigAlgorithm algorithm);

/**
 * tsig_keys_add: a copy of @key
 *
 * Returns: 0, -EEXIST if there is one of that name, -EINVAL if its numbers
 * are out of bounds, or -ENOMEM.
 */
int tsig_keys_add(TsigKeys *keys, const TsigKey *key);

/**
 * tsig_keys_read: the keys of a file as BIND has it
 * @text: key "name" { algorithm hmac-sha256; secret "base64"; }; ...
 *
 * Comments are those of C, C++ and the shell.  An algorithm may end in the
 * bits of a truncated MAC ("hmac-sha256-128").
 *
 * Returns: 0; -EINVAL, with the reason in @error; -ENOMEM.
 */
int tsig_keys_read(TsigKeys *keys, const char *text, size_t len,
                   TsigKeysError *error);

/** tsig_keys_find: the key of a name in any case, or NULL. */
const TsigKey *tsig_keys_find(const TsigKeys *keys, const DnsName *name);

/** tsig_algorithm_name: "hmac-sha256" and so on */
const char *tsig_algorithm_name(TsigAlgorithm algorithm);

/** tsig_algorithm_len: octets of its whole MAC */
unsigned tsig_algorithm_len(TsigAlgorithm algorithm);

/** tsig_algorithm_find: of a name, in text; TSIG_ALGORITHMS if unknown. */
TsigAlgorithm tsig_algorithm_find(const char *text);

#endif /* NET_DNS_UPDATE_TSIG_KEYS_H */
