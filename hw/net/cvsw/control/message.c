/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control frames of CVSW */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "hw/net/cvsw/control/message.h"
#include "base/octets.h"

#define GCM_TAG_LEN     16u

bool cvsw_is_control(const void *frame, size_t len)
{
    const uint8_t *p = frame;

    return len >= CVSW_ETH_LEN && get_be16(p + 12) == CVSW_ETHERTYPE;
}

bool cvsw_message_parse(CvswMessage *message, const void *frame, size_t len)
{
    const uint8_t *p = frame;
    struct cvsw_head head;
    size_t room;

    if (!cvsw_is_control(frame, len) ||
        len < CVSW_ETH_LEN + sizeof(head) + CVSW_TAG_LEN) {
        return false;
    }
    memcpy(&head, p + CVSW_ETH_LEN, sizeof(head));
    room = len - CVSW_ETH_LEN - sizeof(head) - CVSW_TAG_LEN;
    message->type = head.type;
    message->len = get_be16(&head.length);
    message->sequence = get_be64(&head.sequence);
    memcpy(message->mac, head.mac, sizeof(message->mac));
    message->payload = p + CVSW_ETH_LEN + sizeof(head);
    message->signed_len = CVSW_ETH_LEN + sizeof(head) + message->len;
    return get_be32(&head.magic) == CVSW_MAGIC &&
           head.version == CVSW_VERSION && message->len <= CVSW_PAYLOAD_MAX &&
           message->len <= room;
}

size_t cvsw_message_build(void *frame, const uint8_t dst[6],
                          const uint8_t src[6], const CvswMessage *message)
{
    struct cvsw_head head = {
        .version = CVSW_VERSION,
        .type = message->type,
    };
    uint8_t *p = frame;
    uint8_t *payload = p + CVSW_ETH_LEN + sizeof(head);

    if (message->len) {
        memmove(payload, message->payload, message->len);
    }
    memset(payload + message->len, 0, CVSW_TAG_LEN);
    put_be32(&head.magic, CVSW_MAGIC);
    put_be16(&head.length, message->len);
    put_be64(&head.sequence, message->sequence);
    memcpy(head.mac, message->mac, sizeof(head.mac));
    memcpy(p + CVSW_ETH_LEN, &head, sizeof(head));
    memcpy(p, dst, 6);
    memcpy(p + 6, src, 6);
    put_be16(p + 12, CVSW_ETHERTYPE);
    return CVSW_ETH_LEN + sizeof(head) + message->len + CVSW_TAG_LEN;
}

bool cvsw_secret_derive(CvswSecret *out, const void *key, size_t key_len,
                        const char *label, const void *a, size_t a_len,
                        const void *b, size_t b_len)
{
    uint8_t data[96];
    size_t len = strlen(label);
    unsigned out_len = sizeof(out->octets);
    bool done;

    if (len + a_len + b_len > sizeof(data)) {
        return false;
    }
    memcpy(data, label, len);
    if (a) {
        memcpy(data + len, a, a_len);
        len += a_len;
    }
    if (b) {
        memcpy(data + len, b, b_len);
        len += b_len;
    }
    done = HMAC(EVP_sha256(), key, key_len, data, len, out->octets, &out_len);
    OPENSSL_cleanse(data, sizeof(data));
    return done;
}

void cvsw_secret_wipe(CvswSecret *secret)
{
    OPENSSL_cleanse(secret, sizeof(*secret));
}

static bool make_tag(uint8_t tag[EVP_MAX_MD_SIZE], const void *frame,
                     size_t signed_len, const CvswSecret *secret)
{
    return HMAC(EVP_sha256(), secret->octets, sizeof(secret->octets), frame,
                signed_len, tag, NULL);
}

bool cvsw_message_sign(void *frame, size_t signed_len,
                       const CvswSecret *secret)
{
    uint8_t tag[EVP_MAX_MD_SIZE];

    if (!make_tag(tag, frame, signed_len, secret)) {
        return false;
    }
    memcpy((uint8_t *)frame + signed_len, tag, CVSW_TAG_LEN);
    return true;
}

bool cvsw_message_is_signed(const void *frame, size_t signed_len,
                            const CvswSecret *secret)
{
    uint8_t tag[EVP_MAX_MD_SIZE];

    return make_tag(tag, frame, signed_len, secret) &&
           CRYPTO_memcmp(tag, (const uint8_t *)frame + signed_len,
                         CVSW_TAG_LEN) == 0;
}

static bool open_gcm(EVP_CIPHER_CTX *context, uint8_t *key,
                     const struct cvsw_set_sa *set, size_t len,
                     const CvswSecret *secret)
{
    uint8_t tag[GCM_TAG_LEN];
    int done;

    memcpy(tag, set->sealed + len, sizeof(tag));
    return EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL,
                              secret->octets, set->iv) &&
           EVP_DecryptUpdate(context, NULL, &done, (const uint8_t *)set,
                             sizeof(*set)) &&
           EVP_DecryptUpdate(context, key, &done, set->sealed, len) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, sizeof(tag),
                               tag) &&
           EVP_DecryptFinal_ex(context, key + done, &done);
}

size_t cvsw_secret_open(uint8_t key[CVSW_SA_KEY_MAX],
                        const struct cvsw_set_sa *set, size_t sealed_len,
                        const CvswSecret *secret)
{
    EVP_CIPHER_CTX *context;
    size_t len = sealed_len - GCM_TAG_LEN;
    bool done;

    if (sealed_len <= GCM_TAG_LEN || len > CVSW_SA_KEY_MAX) {
        return 0;
    }
    context = EVP_CIPHER_CTX_new();
    done = context && open_gcm(context, key, set, len, secret);
    EVP_CIPHER_CTX_free(context);
    if (!done) {
        OPENSSL_cleanse(key, CVSW_SA_KEY_MAX);
    }
    return done ? len : 0;
}
