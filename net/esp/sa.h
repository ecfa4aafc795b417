/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Security associations of ESP: algorithms, keys, numbers (RFC 4301, RFC 4303)
 *
 * An association has one direction. It belongs to one thread at a time.
 */
#ifndef NET_ESP_SA_H
#define NET_ESP_SA_H

#include <stddef.h>

#include "net/esp/replay.h"

#define ESP_HEAD_LEN            8u      /* SPI, sequence number */
#define ESP_IV_MAX              16u
#define ESP_ICV_MAX             16u
#define ESP_KEY_MAX             64u     /* of all algorithms */
#define ESP_SPI_MIN             256u    /* below are reserved (section 2.1) */

/* The verdict on a packet. Each is counted. */
typedef enum EspResult {
    ESP_GOOD,
    ESP_SHORT,                  /* cut, or not of whole blocks */
    ESP_REPLAYED,               /* seen, or before the window */
    ESP_ICV,                    /* not from the peer, or changed on its way */
    ESP_PADDING,                /* not 1, 2, 3, ..., or longer than all */
    ESP_DUMMY,                  /* next header 59: traffic to hide traffic */
    ESP_OVERFLOW,               /* no sequence number is left */
    ESP_TOO_BIG,                /* for IPv6, or for the caller's buffer */
    ESP_LIBCRYPTO,              /* the library failed */
    ESP_RESULTS
} EspResult;

/** esp_result_name: for people, and for QMP: "replayed" */
const char *esp_result_name(EspResult result);

typedef enum EspCipher {
    ESP_CIPHER_NULL,            /* RFC 2410 */
    ESP_CIPHER_AES_CBC,         /* RFC 3602 */
    ESP_CIPHER_AES_GCM,         /* RFC 4106, ICV of 16 octets */
} EspCipher;

/*
 * The agreement of two peers. The keying material is one string of octets, in
 * the order of RFC 7296 section 2.17: key of the cipher, its salt (GCM only),
 * key of the HMAC.
 */
typedef struct EspAlgorithm {
    const char *name;           /* "aes-gcm-128" */
    EspCipher cipher;
    uint8_t key_len, salt_len, auth_key_len;
    uint8_t iv_len, icv_len;
    uint8_t block;              /* what is encrypted is a multiple of it */
    const char *fetch;          /* libcrypto's name of the cipher, or NULL */
    const char *digest;         /* libcrypto's, of the HMAC, or NULL */
} EspAlgorithm;

/** esp_algorithm_by_name: exactly as esp_algorithm_at() has it; NULL: none */
const EspAlgorithm *esp_algorithm_by_name(const char *name);

/** esp_algorithm_at: all of them, for help texts; NULL: there are no more */
const EspAlgorithm *esp_algorithm_at(unsigned i);

/** esp_algorithm_key_len: octets of keying material, ESP_KEY_MAX at most */
size_t esp_algorithm_key_len(const EspAlgorithm *algorithm);

typedef enum EspDirection {
    ESP_OUTBOUND,               /* esp_seal() */
    ESP_INBOUND,                /* esp_open() */
} EspDirection;

typedef struct EspSaConfig {
    const EspAlgorithm *algorithm;
    EspDirection direction;
    uint32_t spi;               /* ESP_SPI_MIN.. */
    bool esn;                   /* extended sequence numbers (section 2.2.1) */
    uint32_t window;            /* inbound: as esp_replay_init() has it */
    uint32_t epoch;             /* outbound: real time in s, see esp.c: IVs */
    const uint8_t *key;         /* keying material; not kept */
    size_t key_len;
} EspSaConfig;

/* Why there is no association. */
typedef enum EspSaFault {
    ESP_SA_GOOD,
    ESP_SA_SPI,                 /* reserved */
    ESP_SA_WINDOW,              /* as esp_replay_init() has it */
    ESP_SA_KEY_LEN,             /* not esp_algorithm_key_len() */
    ESP_SA_LIBCRYPTO,           /* no memory, or the algorithm is not there */
} EspSaFault;

/**
 * esp_sa_fault_text: the fault as the end of a sentence, to stand behind the
 * name of the option: "is below 256, which is reserved"
 */
const char *esp_sa_fault_text(EspSaFault fault);

typedef struct EspSa EspSa;

/**
 * esp_sa_new: make an association; the caller owns it
 * @fault: says why there is none; may be NULL
 *
 * Everything that sealing and opening need is allocated here.
 */
EspSa *esp_sa_new(const EspSaConfig *config, EspSaFault *fault);

/** esp_sa_free: keys are overwritten; NULL is allowed */
void esp_sa_free(EspSa *sa);

uint32_t esp_sa_spi(const EspSa *sa);
const EspAlgorithm *esp_sa_algorithm(const EspSa *sa);

typedef struct EspSaCounters {
    uint64_t packets[ESP_RESULTS];      /* [ESP_GOOD]: sealed or delivered */
    uint64_t octets;                    /* of payload, of the good ones */
} EspSaCounters;

const EspSaCounters *esp_sa_counters(const EspSa *sa);

/** esp_sa_next: the number that the next packet gets; 0: none is left */
uint64_t esp_sa_next(const EspSa *sa);

/** esp_sa_highest: the highest number that was accepted; 0: none yet */
uint64_t esp_sa_highest(const EspSa *sa);

/**
 * esp_sa_is_spent: is no number left, and not because another host has them?
 */
bool esp_sa_is_spent(const EspSa *sa);

/* --- migration ------------------------------------------------------------ */

/*
 * An association's knowledge. Its keys are configured on both sides and
 * do not travel.
 */
typedef struct EspSaState {
    uint64_t next;              /* outbound: where the new owner begins */
    EspReplayState replay;      /* inbound */
} EspSaState;

/**
 * esp_sa_hand_over: give the numbers of an association to another host
 * @keep: how many packets this host may still seal
 *
 * A pair of key and number must never be used twice: with GCM that gives away
 * both plaintexts and the key of the ICV. So the numbers are divided. This host
 * keeps the next @keep of them, and gets ESP_OVERFLOW then; the other one
 * begins behind them. If less than @keep are used, a gap remains in the
 * sequence, which RFC 4303 allows. @keep should be less than the peer's window,
 * else the last packets of this host are too old as soon as the first of the
 * new one arrives.
 *
 * A second call gives the same numbers again, for a state that is written more
 * than once. An inbound association only reports its window; it goes on
 * accepting, so what it accepts after the call, the new owner would accept
 * once more.
 */
void esp_sa_hand_over(EspSa *sa, uint32_t keep, EspSaState *state);

/**
 * esp_sa_take_back: the other host has not taken over; this one goes on
 * @used: how many packets the other one may have sealed at most
 */
void esp_sa_take_back(EspSa *sa, uint32_t used);

/**
 * esp_sa_load: take over from another host
 *
 * Numbers and window never go back: the higher ones of @state and @sa hold.
 *
 * Returns: false, and changes nothing, if @state does not fit the association
 */
bool esp_sa_load(EspSa *sa, const EspSaState *state);

#endif /* NET_ESP_SA_H */
