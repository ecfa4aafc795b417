/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Security associations of ESP: algorithms, keys, sequence numbers (RFC 4301,
 * RFC 4303)
 *
 * An association is for one direction. Only one thread at a time may use it.
 */
#ifndef NET_ESP_SA_H
#define NET_ESP_SA_H

#include <stddef.h>

#include "net/esp/replay.h"

#define ESP_HEAD_LEN            8u      /* SPI, sequence number */
#define ESP_IV_MAX              16u
#define ESP_ICV_MAX             16u
#define ESP_KEY_MAX             64u     /* maximum of all algorithms */
#define ESP_SPI_MIN             256u    /* lower: reserved (section 2.1) */

/* The result for a packet; one counter each. */
typedef enum EspResult {
    ESP_GOOD,
    ESP_SHORT,                  /* truncated, or a partial cipher block */
    ESP_REPLAYED,               /* seen before, or before the window */
    ESP_ICV,                    /* not from the peer, or modified */
    ESP_PADDING,                /* not 1, 2, 3, ..., or too long */
    ESP_DUMMY,                  /* next header 59: a dummy packet */
    ESP_OVERFLOW,               /* no sequence number left */
    ESP_TOO_BIG,                /* for IPv6, or for the caller's buffer */
    ESP_LIBCRYPTO,              /* the library failed */
    ESP_RESULTS
} EspResult;

/** esp_result_name: name for messages and QMP, e.g. "replayed" */
const char *esp_result_name(EspResult result);

typedef enum EspCipher {
    ESP_CIPHER_NULL,            /* RFC 2410 */
    ESP_CIPHER_AES_CBC,         /* RFC 3602 */
    ESP_CIPHER_AES_GCM,         /* RFC 4106, ICV of 16 octets */
} EspCipher;

/*
 * An algorithm that both peers have configured. The keying material is one
 * string of octets, in the order of RFC 7296 section 2.17: key of the cipher,
 * salt (GCM only), key of the HMAC.
 */
typedef struct EspAlgorithm {
    const char *name;           /* "aes-gcm-128" */
    EspCipher cipher;
    uint8_t key_len, salt_len, auth_key_len;
    uint8_t iv_len, icv_len;
    uint8_t block;              /* encrypted text is a multiple; 2^n */
    const char *fetch;          /* cipher in libcrypto, or NULL */
    const char *digest;         /* HMAC's digest in libcrypto, or NULL */
} EspAlgorithm;

/** esp_algorithm_by_name: find by exact name; NULL: unknown */
const EspAlgorithm *esp_algorithm_by_name(const char *name);

/** esp_algorithm_at: iterate, for help texts; NULL: @i is too large */
const EspAlgorithm *esp_algorithm_at(unsigned i);

/** esp_algorithm_key_len: octets of keying material, at most ESP_KEY_MAX */
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
    uint32_t window;            /* inbound: see esp_replay_init() */
    uint32_t epoch;             /* outbound: real time in s, see esp.c: IVs */
    const uint8_t *key;         /* keying material; not copied */
    size_t key_len;
} EspSaConfig;

/* Reasons why an association cannot be created. */
typedef enum EspSaFault {
    ESP_SA_GOOD,
    ESP_SA_SPI,                 /* reserved */
    ESP_SA_WINDOW,              /* see esp_replay_init() */
    ESP_SA_KEY_LEN,             /* not esp_algorithm_key_len() */
    ESP_SA_LIBCRYPTO,           /* no memory, or algorithm missing */
} EspSaFault;

/**
 * esp_sa_fault_text: text for a fault, to follow the name of an option: "is
 * below 256, which is reserved"
 */
const char *esp_sa_fault_text(EspSaFault fault);

typedef struct EspSa EspSa;

/**
 * esp_sa_new: create an association; the caller owns it
 * @fault: set if the result is NULL; may be NULL
 *
 * All memory for esp_seal() and esp_open() is allocated here.
 */
EspSa *esp_sa_new(const EspSaConfig *config, EspSaFault *fault);

/** esp_sa_free: free and overwrite the keys; @sa may be NULL */
void esp_sa_free(EspSa *sa);

uint32_t esp_sa_spi(const EspSa *sa);
const EspAlgorithm *esp_sa_algorithm(const EspSa *sa);

typedef struct EspSaCounters {
    uint64_t packets[ESP_RESULTS];      /* [ESP_GOOD]: sealed or delivered */
    uint64_t octets;                    /* payload of the good packets */
} EspSaCounters;

const EspSaCounters *esp_sa_counters(const EspSa *sa);

/** esp_sa_next: the number of the next packet; 0: none is left */
uint64_t esp_sa_next(const EspSa *sa);

/** esp_sa_highest: the highest number that was accepted; 0: none yet */
uint64_t esp_sa_highest(const EspSa *sa);

/**
 * esp_sa_is_spent: are the numbers used up, other than by esp_sa_hand_over()?
 */
bool esp_sa_is_spent(const EspSa *sa);

/* --- migration ------------------------------------------------------------ */

/*
 * The state of an association for migration. Its keys are configured on both
 * hosts and are not included.
 */
typedef struct EspSaState {
    uint64_t next;              /* outbound: first number of the new owner */
    EspReplayState replay;      /* inbound */
} EspSaState;

/**
 * esp_sa_hand_over: give sequence numbers to another host
 * @keep: number of packets that this host may still seal
 *
 * A pair of key and number must never be used twice: with GCM that reveals both
 * plaintexts and the key of the ICV. So the numbers are divided: this host
 * keeps the next @keep numbers, and then gets ESP_OVERFLOW; the other host
 * starts after them. If fewer than @keep are used, there is a gap in the
 * sequence, which RFC 4303 allows. @keep should be less than the peer's window.
 * Otherwise the last packets of this host are too old as soon as the first
 * packet of the other host arrives.
 *
 * A second call returns the same numbers again, for a state that is saved more
 * than once. For an inbound association the call only saves the window, and
 * this host continues to accept packets: the new owner would accept these
 * packets once more.
 */
void esp_sa_hand_over(EspSa *sa, uint32_t keep, EspSaState *state);

/**
 * esp_sa_take_back: continue on this host, because the other host did not
 * @used: maximum number of packets that the other host may have sealed
 */
void esp_sa_take_back(EspSa *sa, uint32_t used);

/**
 * esp_sa_load: take over from another host
 *
 * Numbers and window never go back: the higher ones of @state and @sa are used.
 *
 * Returns: false, with nothing changed, if @state does not fit the association
 */
bool esp_sa_load(EspSa *sa, const EspSaState *state);

#endif /* NET_ESP_SA_H */
