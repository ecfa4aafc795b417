/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transaction signatures, RFC 8945
 *
 * A Tsig is one transaction: a request and its reply, or its replies if these
 * are a stream over TCP.  The server verifies the request and signs the
 * replies.  The client signs the request and verifies the replies.  There is no
 * other state.
 */
#ifndef DNSD_UPDATE_TSIG_TSIG_H
#define DNSD_UPDATE_TSIG_TSIG_H

#include "dnsd/update/tsig/keys.h"

#define TSIG_FUDGE          300     /* seconds, RFC 8945 section 10 */
/* The most messages without TSIG record in a row in a stream, section 5.3.1 */
#define TSIG_UNSIGNED_MAX   99
/*
 * Two names, the fixed parts of the record, a MAC, and 6 octets of other data
 */
#define TSIG_ROOM           (2 * DNS_NAME_MAX + 10 + 16 + TSIG_MAC_MAX + 6)

/* Values of the field "error", section 3 */
enum {
    TSIG_BADSIG = 16,
    TSIG_BADKEY = 17,
    TSIG_BADTIME = 18,
    TSIG_BADTRUNC = 22,
};

typedef enum TsigVerdict {
    TSIG_NONE,          /* the message has no TSIG record */
    TSIG_GOOD,
    TSIG_MALFORMED,     /* answer FORMERR, without a TSIG record */
    TSIG_REFUSED,       /* answer NOTAUTH; tsig->error is the reason */
} TsigVerdict;

typedef struct Tsig {
    const TsigKey *key;         /* from a set; NULL: do not sign */
    uint16_t error;             /* of the request: TSIG_BAD..., or 0 */
    uint16_t mac_len;           /* 0 if there is no message before */
    uint8_t mac[TSIG_MAC_MAX];  /* of the message before */
    uint64_t when;              /* "time signed" of the message before */
    bool is_chain;              /* not the first reply */
    /* For a client, in a stream: messages since the last TSIG record */
    unsigned unsigned_count;
    void *pending;              /* their digest; tsig_free() frees it */
    /* For BADKEY: the key that the request named, for the reply */
    DnsName unknown_name;
    DnsName unknown_algorithm;
} Tsig;

/**
 * tsig_verify_request: the first step of a server
 * @len: octets of the message; on return without the TSIG record
 * @now: seconds since 1970
 *
 * Restores the message to its state before it was signed: without the record,
 * with the original ARCOUNT.  The ID stays as it came.  @tsig is always initialised, for
 * tsig_sign_reply().  It points to a key of @keys.
 */
TsigVerdict tsig_verify_request(Tsig *tsig, const TsigKeys *keys, uint8_t *msg,
                                size_t *len, uint64_t now);

/**
 * tsig_room: octets to leave free at the end of a reply; 0 if there will be no
 * record
 */
size_t tsig_room(const Tsig *tsig);

/**
 * tsig_sign_reply: append the record to one reply, or to each reply of a stream
 * @room: octets of the buffer
 *
 * A reply to TSIG_REFUSED is only signed for BADTIME and BADTRUNC (section
 * 5.3.2).  For TSIG_NONE and TSIG_MALFORMED nothing is appended.
 *
 * Returns: 0; -EMSGSIZE; or -EIO if libcrypto failed.
 */
int tsig_sign_reply(Tsig *tsig, uint8_t *msg, size_t *len, size_t room,
                    uint64_t now);

/**
 * tsig_sign_request: the first step of a client; errors: as tsig_sign_reply()
 */
int tsig_sign_request(Tsig *tsig, const TsigKey *key, uint8_t *msg,
                      size_t *len, size_t room, uint64_t now);

/**
 * tsig_verify_reply: verify a reply, or the next one of a stream
 * @may_be_unsigned: it is within a stream, so TSIG_NONE is not an error
 *
 * Restores the message as tsig_verify_request() does.  The last message of a
 * stream must be TSIG_GOOD: it also covers the messages with TSIG_NONE.
 *
 * Returns: TSIG_REFUSED also if the server reports that it refused the request,
 * with its reason in tsig->error, or if a signature is missing (error 0).
 */
TsigVerdict tsig_verify_reply(Tsig *tsig, uint8_t *msg, size_t *len,
                              bool may_be_unsigned, uint64_t now);

/** tsig_free: free what @tsig points to, but not @tsig */
void tsig_free(Tsig *tsig);

/** tsig_error_name: a name like "BADSIG", for messages */
const char *tsig_error_name(uint16_t error);

#endif /* DNSD_UPDATE_TSIG_TSIG_H */
