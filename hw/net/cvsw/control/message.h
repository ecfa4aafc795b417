/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's control frames: take apart, put together, seal (vmmnet/cvsw.h)
 *
 * Numbers are in host order here.
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

/* A key of HMAC-SHA-256, or what comes out of it. */
#define CVSW_SECRET_LEN         32u

typedef struct CvswSecret {
    uint8_t octets[CVSW_SECRET_LEN];
} CvswSecret;

typedef struct CvswMessage {
    uint8_t type;               /* enum cvsw_type, or another one */
    uint64_t sequence;
    uint8_t mac[6];             /* of the NIC; 0 in HELLO */
    const uint8_t *payload;
    size_t len;                 /* octets of @payload */
    size_t signed_len;          /* octets of the frame before the tag */
} CvswMessage;

/** cvsw_is_control: does a frame look like one? @len octets of it are here */
bool cvsw_is_control(const void *frame, size_t len);

/**
 * cvsw_message_parse: read a frame; its tag is not looked at
 * @message: refers to @frame
 *
 * Returns: false if it is none, is cut, or has another version
 */
bool cvsw_message_parse(CvswMessage *message, const void *frame, size_t len);

/**
 * cvsw_message_build: write a frame but for its tag
 * @frame: room for CVSW_FRAME_MAX octets
 * @dst, @src: Ethernet addresses
 * @message: @len at most CVSW_PAYLOAD_MAX; its payload may stand in @frame
 *
 * Returns: octets of the whole frame, its tag included, which is 0
 */
size_t cvsw_message_build(void *frame, const uint8_t dst[6],
                          const uint8_t src[6], const CvswMessage *message);

/**
 * cvsw_secret_derive: HMAC-SHA-256 of a label and up to two pieces of data
 * @label: a text, without its final 0
 * @a, @b: NULL if there is none
 *
 * Returns: false if libcrypto fails; @out is of no use then
 */
bool cvsw_secret_derive(CvswSecret *out, const void *key, size_t key_len,
                        const char *label, const void *a, size_t a_len,
                        const void *b, size_t b_len);

/** cvsw_secret_wipe: overwrite, and not optimized away */
void cvsw_secret_wipe(CvswSecret *secret);

/**
 * cvsw_message_sign: write the tag
 * @frame: of @signed_len octets before it
 *
 * Returns: false if libcrypto fails
 */
bool cvsw_message_sign(void *frame, size_t signed_len,
                       const CvswSecret *secret);

/** cvsw_message_is_signed: is the tag right? In constant time. */
bool cvsw_message_is_signed(const void *frame, size_t signed_len,
                            const CvswSecret *secret);

/**
 * cvsw_secret_open: decrypt the keying material in a SET_SA
 * @set: a struct cvsw_set_sa and @set->sealed_len octets, whole
 * @key: room for CVSW_SA_KEY_MAX octets
 *
 * Returns: octets of @key; 0 if the ciphertext is damaged, or libcrypto fails
 */
size_t cvsw_secret_open(uint8_t key[CVSW_SA_KEY_MAX],
                        const struct cvsw_set_sa *set, size_t sealed_len,
                        const CvswSecret *secret);

#endif /* CVSW_CONTROL_MESSAGE_H */
