/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transaction signatures, RFC 8945
 *
 * Theory of operation
 *
 * The digest is made of (section 4.3): the MAC of the message before with its
 * length, if there is one; the message without its record; and the fields of
 * the record, or only its times in later messages of a stream.
 *
 * A server checks in the order of section 5.2: key, MAC, time, truncation.  If
 * the MAC was right, a refusal is signed; otherwise it is not.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/octets.h"
#include "dnsd/update/tsig/record.h"
#include "net/dns/zone/fold.h"
#include "dnsd/update/tsig/tsig.h"

#define TIME_MAX        ((UINT64_C(1) << 48) - 1)

/* --- digests -------------------------------------------------------------- */

static bool add(EVP_MAC_CTX *mac, const void *data, size_t len)
{
    return !len || EVP_MAC_update(mac, data, len);
}

static bool add_name(EVP_MAC_CTX *mac, const DnsName *name)
{
    uint8_t folded[DNS_NAME_MAX];

    zone_fold(folded, name->wire, name->len);
    return add(mac, folded, name->len);
}

static bool add_times(EVP_MAC_CTX *mac, const TsigRecord *record)
{
    uint8_t times[8];

    put_be16(times, record->when >> 32);
    put_be32(times + 2, record->when);
    put_be16(times + 6, record->fudge);
    return add(mac, times, sizeof(times));
}

/* Section 4.3.3 */
static bool add_variables(EVP_MAC_CTX *mac, const TsigRecord *record)
{
    static const uint8_t class_ttl[6] = { 0, DNS_CLASS_ANY };
    uint8_t tail[4];

    put_be16(tail, record->error);
    put_be16(tail + 2, record->other_len);
    return add_name(mac, &record->name) &&
           add(mac, class_ttl, sizeof(class_ttl)) &&
           add_name(mac, &record->algorithm) && add_times(mac, record) &&
           add(mac, tail, sizeof(tail)) &&
           add(mac, record->other, record->other_len);
}

/* Begin a digest with the MAC of the message before. */
static EVP_MAC_CTX *begin(const Tsig *tsig)
{
    EVP_MAC_CTX *mac = EVP_MAC_CTX_dup(tsig->key->hmac);
    uint8_t len[2];

    put_be16(len, tsig->mac_len);
    if (mac && tsig->mac_len &&
        !(add(mac, len, sizeof(len)) && add(mac, tsig->mac, tsig->mac_len))) {
        EVP_MAC_CTX_free(mac);
        return NULL;
    }
    return mac;
}

/* Make the untruncated MAC of a message without its record. */
static bool digest(Tsig *tsig, const uint8_t *msg, size_t len,
                   const TsigRecord *record, uint8_t mac[TSIG_MAC_MAX])
{
    EVP_MAC_CTX *ctx = tsig->pending ? tsig->pending : begin(tsig);
    size_t mac_len;
    bool ok;

    tsig->pending = NULL;
    ok = ctx && add(ctx, msg, len) &&
         (tsig->is_chain ? add_times(ctx, record)
                         : add_variables(ctx, record)) &&
         EVP_MAC_final(ctx, mac, &mac_len, TSIG_MAC_MAX);
    EVP_MAC_CTX_free(ctx);
    return ok;
}

static void name_algorithm(const TsigKey *key, DnsName *name)
{
    dns_name_from_text(name, tsig_algorithm_name(key->algorithm));
}

static void remember(Tsig *tsig, const TsigRecord *record)
{
    tsig->mac_len = record->mac_len;
    tsig->when = record->when;
    memcpy(tsig->mac, record->mac, record->mac_len);
}

/* --- sign ----------------------------------------------------------------- */

static int sign(Tsig *tsig, uint8_t *msg, size_t *len, size_t room,
                TsigRecord *record)
{
    uint8_t mac[TSIG_MAC_MAX];
    int ret;

    record->name = tsig->key->name;
    name_algorithm(tsig->key, &record->algorithm);
    record->fudge = TSIG_FUDGE;
    record->id = get_be16(msg);
    record->mac = mac;
    record->mac_len = tsig->key->mac_len;
    if (!digest(tsig, msg, *len, record, mac)) {
        return -EIO;
    }
    ret = tsig_record_put(msg, len, room, record);
    if (!ret) {
        remember(tsig, record);
        tsig->is_chain = true;
    }
    return ret;
}

/* BADKEY and BADSIG: put a record with the error and without a MAC. */
static int tell(const Tsig *tsig, uint8_t *msg, size_t *len, size_t room,
                uint64_t now)
{
    TsigRecord record = {
        .name = tsig->unknown_name,
        .algorithm = tsig->unknown_algorithm,
        .when = now,
        .fudge = TSIG_FUDGE,
        .id = get_be16(msg),
        .error = tsig->error,
        .mac = msg,
        .other = msg,
    };

    return tsig_record_put(msg, len, room, &record);
}

static bool is_told_unsigned(const Tsig *tsig)
{
    return tsig->error == TSIG_BADKEY || tsig->error == TSIG_BADSIG;
}

size_t tsig_room(const Tsig *tsig)
{
    const TsigKey *key = tsig->key;

    if (!key || is_told_unsigned(tsig)) {
        return is_told_unsigned(tsig) ? TSIG_ROOM : 0;
    }
    /* Reserve no more than needed: a UDP reply without EDNS has 512 octets. */
    return TSIG_ROOM - 2 * DNS_NAME_MAX - TSIG_MAC_MAX + key->name.len +
           strlen(tsig_algorithm_name(key->algorithm)) + 2 + key->mac_len;
}

int tsig_sign_reply(Tsig *tsig, uint8_t *msg, size_t *len, size_t room,
                    uint64_t now)
{
    uint8_t clock[6];
    TsigRecord record = { .when = now & TIME_MAX, .error = tsig->error,
                          .other = clock };

    if (is_told_unsigned(tsig)) {
        return tell(tsig, msg, len, room, now & TIME_MAX);
    }
    if (!tsig->key) {
        return 0;
    }
    if (tsig->error == TSIG_BADTIME) {
        record.when = tsig->when;
        record.other_len = sizeof(clock);
        put_be16(clock, now >> 32);
        put_be32(clock + 2, now);
    }
    return sign(tsig, msg, len, room, &record);
}

int tsig_sign_request(Tsig *tsig, const TsigKey *key, uint8_t *msg,
                      size_t *len, size_t room, uint64_t now)
{
    TsigRecord record = { .when = now & TIME_MAX, .other = msg };
    int ret;

    *tsig = (Tsig) { .key = key };
    ret = sign(tsig, msg, len, room, &record);
    tsig->is_chain = false;
    return ret;
}

/* --- verify --------------------------------------------------------------- */

static bool is_in_time(const TsigRecord *record, uint64_t now)
{
    uint64_t away = now > record->when ? now - record->when
                                       : record->when - now;

    return away <= record->fudge;
}

/* Has the record the key of the transaction, and its algorithm? */
static bool is_of_key(const TsigKey *key, const TsigRecord *record)
{
    DnsName algorithm;

    name_algorithm(key, &algorithm);
    return dns_name_equal(&key->name, &record->name) &&
           dns_name_equal(&algorithm, &record->algorithm);
}

static TsigVerdict refuse(Tsig *tsig, uint16_t error)
{
    tsig->error = error;
    return TSIG_REFUSED;
}

/*
 * Check MAC, time and truncation.  The record was removed from the message.
 * The MAC is of the original ID (section 4.3.2), the reply has the one that
 * came: a forwarder changes it (section 5.5).
 */
static TsigVerdict judge(Tsig *tsig, uint8_t *msg, size_t len,
                         const TsigRecord *record, uint64_t now)
{
    uint16_t id = get_be16(msg);
    uint8_t mac[TSIG_MAC_MAX];
    bool ok;

    put_be16(msg, record->id);
    ok = digest(tsig, msg, len, record, mac);
    put_be16(msg, id);
    if (!ok || CRYPTO_memcmp(mac, record->mac, record->mac_len)) {
        return refuse(tsig, TSIG_BADSIG);
    }
    remember(tsig, record);
    if (!is_in_time(record, now)) {
        return refuse(tsig, TSIG_BADTIME);
    }
    if (record->mac_len < tsig->key->mac_len) {
        return refuse(tsig, TSIG_BADTRUNC);
    }
    return TSIG_GOOD;
}

/* Section 5.2.2.1 */
static bool has_possible_mac(const TsigKey *key, const TsigRecord *record)
{
    return record->mac_len >= tsig_mac_min(key->algorithm) &&
           record->mac_len <= tsig_algorithm_len(key->algorithm);
}

TsigVerdict tsig_verify_request(Tsig *tsig, const TsigKeys *keys, uint8_t *msg,
                                size_t *len, uint64_t now)
{
    TsigRecord record;
    const TsigKey *key;
    int found = tsig_record_find(msg, *len, &record);

    *tsig = (Tsig) { 0 };
    if (found <= 0) {
        return found ? TSIG_MALFORMED : TSIG_NONE;
    }
    *len = tsig_record_strip(msg, &record);
    tsig->unknown_name = record.name;
    tsig->unknown_algorithm = record.algorithm;
    key = tsig_keys_find(keys, &record.name);
    if (!key || !is_of_key(key, &record)) {
        return refuse(tsig, TSIG_BADKEY);
    }
    if (!has_possible_mac(key, &record)) {
        return TSIG_MALFORMED;
    }
    tsig->key = key;
    return judge(tsig, msg, *len, &record, now);
}

/* A message of a stream without a record is part of the next MAC. */
static TsigVerdict take_unsigned(Tsig *tsig, const uint8_t *msg, size_t len,
                                 bool may_be_unsigned)
{
    if (!may_be_unsigned || !tsig->is_chain ||
        ++tsig->unsigned_count > TSIG_UNSIGNED_MAX) {
        return refuse(tsig, 0);
    }
    tsig->pending = tsig->pending ? tsig->pending : begin(tsig);
    return tsig->pending && add(tsig->pending, msg, len) ? TSIG_NONE
                                                         : refuse(tsig, 0);
}

TsigVerdict tsig_verify_reply(Tsig *tsig, uint8_t *msg, size_t *len,
                              bool may_be_unsigned, uint64_t now)
{
    TsigRecord record;
    TsigVerdict verdict;
    int found = tsig_record_find(msg, *len, &record);

    if (found < 0) {
        return TSIG_MALFORMED;
    }
    if (!found) {
        return take_unsigned(tsig, msg, *len, may_be_unsigned);
    }
    *len = tsig_record_strip(msg, &record);
    if (!record.mac_len && (record.error == TSIG_BADKEY ||
                            record.error == TSIG_BADSIG)) {
        return refuse(tsig, record.error);
    }
    if (!is_of_key(tsig->key, &record)) {
        return refuse(tsig, TSIG_BADKEY);
    }
    if (!has_possible_mac(tsig->key, &record)) {
        return TSIG_MALFORMED;
    }
    verdict = judge(tsig, msg, *len, &record, now);
    if (record.error && (verdict == TSIG_GOOD || tsig->error == TSIG_BADTIME)) {
        return refuse(tsig, record.error);
    }
    tsig->is_chain = true;
    tsig->unsigned_count = 0;
    return verdict;
}

void tsig_free(Tsig *tsig)
{
    EVP_MAC_CTX_free(tsig->pending);
    tsig->pending = NULL;
}

const char *tsig_error_name(uint16_t error)
{
    switch (error) {
    case TSIG_BADSIG:
        return "BADSIG";
    case TSIG_BADKEY:
        return "BADKEY";
    case TSIG_BADTIME:
        return "BADTIME";
    case TSIG_BADTRUNC:
        return "BADTRUNC";
    default:
        return "no signature";
    }
}
