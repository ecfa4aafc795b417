/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transaction signatures, RFC 8945
 *
 * A Tsig is one transaction: a request and its reply, or its replies where
 * these are a stream over TCP.  The server verifies the request and then signs
 * replies; the client signs the request and then verifies replies.  Nothing
 * here keeps state elsewhere.
 */
#ifndef NET_DNS_UPDATE_TSIG_TSIG_H
#define NET_DNS_UPDATE_TSIG_TSIG_H

#include "net/dns/update/tsig/keys.h"

#define TSIG_FUDGE          300     /* seconds, RFC 8945 section 10 */
/* Messages of a stream without a TSIG record in a row, section 5.3.1 */
#define TSIG_UNSIGNED_MAX   99
/* Two names, the record's fixed parts, a MAC, and 6 octets of other data */
#define TSIG_ROOM           (2 * DNS_NAME_MAX + 10 + 16 + TSIG_MAC_MAX + 6)

/* The field "error" of the record, section 3 */
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
    TSIG_REFUSED,       /* answer NOTAUTH; tsig->error says why */
} TsigVerdict;

typedef struct Tsig {
    const TsigKey *key;         /* of a set; NULL: sign nothing */
    uint16_t error;             /* of the request: TSIG_BAD..., or 0 */
    uint16_t mac_len;           /* 0 if there is none before */
    uint8_t mac[TSIG_MAC_MAX];  /* of the message before */
    uint64_t when;              /* "time signed" of that */
    bool is_chain;              /* not the first message of the replies */
    /* Client, in a stream: messages since the last TSIG record */
    unsigned unsigned_count;
    void *pending;              /* their digest; tsig_free() frees it */
    /* With BADKEY: what the request named, to be named in the reply */
    DnsName unknown_name;
    DnsName unknown_algorithm;
} Tsig;

/**
 * tsig_verify_request: the server's first step
 * @len: of the message; without the TSIG record afterwards
 * @now: seconds since 1970
 *
 * The message becomes what it was before it was signed: without the record,
 * with its original ID and ARCOUNT.  @tsig is initialised whatever comes out,
 * for tsig_sign_reply().  It refers to a key of @keys.
 */
TsigVerdict tsig_verify_request(Tsig *tsig, const TsigKeys *keys, uint8_t *msg,
                                size_t *len, uint64_t now);

/**
 * tsig_room: octets to leave free at the end of a reply; 0 if there will be
 * no record.
 */
size_t tsig_room(const Tsig *tsig);

/**
 * tsig_sign_reply: append the record, to one reply or to each of a stream
 * @room: of @msg
 *
 * The reply to TSIG_REFUSED is signed by BADTIME and BADTRUNC only (section
 * 5.3.2).  To TSIG_NONE and TSIG_MALFORMED this adds nothing.
 *
 * Returns: 0, -EMSGSIZE, or -EIO where libcrypto failed.
 */
int tsig_sign_reply(Tsig *tsig, uint8_t *msg, size_t *len, size_t room,
                    uint64_t now);

/** tsig_sign_request: the client's first step; errors as above. */
int tsig_sign_request(Tsig *tsig, const TsigKey *key, uint8_t *msg,
                      size_t *len, size_t room, uint64_t now);

/**
 * tsig_verify_reply: one reply, or the next one of a stream
 * @may_be_unsigned: it is one within a stream: TSIG_NONE is no failure
 *
 * The message is restored as by tsig_verify_request().  The last message of a
 * stream must be TSIG_GOOD: what came as TSIG_NONE is covered by it.
 *
 * Returns: TSIG_REFUSED also if the server says that it refused the request,
 * with its reason in tsig->error, or if a signature is missing (error 0).
 */
TsigVerdict tsig_verify_reply(Tsig *tsig, uint8_t *msg, size_t *len,
                              bool may_be_unsigned, uint64_t now);

/** tsig_free: what @tsig refers to, not @tsig. */
void tsig_free(Tsig *tsig);

/** tsig_error_name: "BADSIG" and so on, for messages */
const char *tsig_error_name(uint16_t error);

#endif /* NET_DNS_UPDATE_TSIG_TSIG_H */
