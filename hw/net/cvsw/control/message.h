/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control frames of CVSW: parse, build, authenticate (vmmnet/cvsw.h)
 *
 * Numbers in these structures are in host byte order.
 */
#ifndef CVSW_CONTROL_MESSAGE_H
#define CVSW_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmmnet/cvsw.h"

#define CVSW_ETH_LEN            14u
#define CVSW_FRAME_MAX          (CVSW_ETH_LEN + sizeof(struct cvsw_head) + \
                                 CVSW_PAYLOAD_MAX + CVSW_TAG_LEN)

/* A key of HMAC-SHA-256, or its output. */
#define CVSW_SECRET_LEN         32u

typedef struct CvswSecret {
    uint8_t octets[CVSW_SECRET_LEN];
} CvswSecret;

typedef struct CvswMessage {
    uint8_t type;               /* enum cvsw_type, or an unknown type */
    uint64_t sequence;
    uint8_t mac[6];             /* the NIC's; 0 in HELLO */
    const uint8_t *payload;
    size_t len;                 /* length of @payload */
    size_t signed_len;          /* octets of the frame before the tag */
} CvswMessage;

/** cvsw_is_control: Returns: true if @len octets begin a control frame */
bool cvsw_is_control(const void *frame, size_t len);

/**
 * cvsw_message_parse: parse a frame, without a check of its tag
 * @message: points into @frame
 *
 * Returns: false if it is not a control frame, is truncated, or has another
 * version
 */
bool cvsw_message_parse(CvswMessage *message, const void *frame, size_t len);

/**
 * cvsw_message_build: write a frame without its tag
 * @frame: CVSW_FRAME_MAX octets of memory
 * @dst, @src: Ethernet addresses
 * @message: @len is at most CVSW_PAYLOAD_MAX; the payload may already be in
 *           @frame
 *
 * Returns: length of the whole frame, including the tag, which is 0
 */
size_t cvsw_message_build(void *frame, const uint8_t dst[6],
                          const uint8_t src[6], const CvswMessage *message);

/**
 * cvsw_secret_derive: HMAC-SHA-256 of a label and up to two pieces of data
 * @label: a string; its terminating 0 is not included
 * @a, @b: NULL if unused
 *
 * Returns: false if libcrypto fails; @out is undefined then
 */
bool cvsw_secret_derive(CvswSecret *out, const void *key, size_t key_len,
                        const char *label, const void *a, size_t a_len,
                        const void *b, size_t b_len);

/** cvsw_secret_wipe: overwrite a secret; the compiler must keep this */
void cvsw_secret_wipe(CvswSecret *secret);

/**
 * cvsw_message_sign: write the tag
 * @frame: @signed_len octets, then space for the tag
 *
 * Returns: false if libcrypto fails
 */
bool cvsw_message_sign(void *frame, size_t signed_len,
                       const CvswSecret *secret);

/** cvsw_message_is_signed: verify the tag, in constant time */
bool cvsw_message_is_signed(const void *frame, size_t signed_len,
                            const CvswSecret *secret);

/**
 * cvsw_secret_open: decrypt the keying material of a SET_SA
 * @set: a complete struct cvsw_set_sa with @set->sealed_len octets after it
 * @key: CVSW_SA_KEY_MAX octets of memory
 *
 * Returns: octets of @key; 0 if the ciphertext is damaged or libcrypto fails
 */
size_t cvsw_secret_open(uint8_t key[CVSW_SA_KEY_MAX],
                        const struct cvsw_set_sa *set, size_t sealed_len,
                        const CvswSecret *secret);

#endif /* CVSW_CONTROL_MESSAGE_H */
