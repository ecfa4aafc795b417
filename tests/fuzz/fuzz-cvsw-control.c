/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A NIC's controller, and forged messages
 *
 * Input: messages, each of a type, two octets of length and a payload. With the
 * type's highest bit it is sent as it stands, without a tag that is right; else
 * it is the next command of a controller who has the key, whose SET_SAs are
 * sealed here.
 *
 * What is answered is a frame of the NIC's own, and a command without the key
 * changes nothing.
 */
#include <glib.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/control/commands.h"

#define AS_IT_STANDS    0x80u
#define KEY_LEN         32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t nic_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 0xc };
static const uint8_t key[KEY_LEN];

typedef struct Nic {
    CvswSession *session;
    CvswCommanded commanded;
    unsigned sent, commands;
    uint64_t sequence;
    CvswSecret to_nic, secrets;
} Nic;

static void take_frame(void *opaque, const void *frame, size_t len)
{
    CvswMessage message;

    g_assert(len <= CVSW_FRAME_MAX);
    g_assert(cvsw_message_parse(&message, frame, len));
    g_assert(!memcmp(message.mac, nic_mac, sizeof(nic_mac)));
    ((Nic *)opaque)->sent++;
}

static bool make_random(void *opaque, void *buf, size_t len)
{
    memset(buf, 0x11, len);
    return true;
}

static void describe(void *opaque, struct cvsw_register *about)
{
}

static void carry_out(void *opaque, const CvswMessage *command,
                      const CvswSecret *secrets, CvswAnswer *answer)
{
    Nic *nic = opaque;

    nic->commands++;
    cvsw_command(&nic->commanded, command, secrets, 1000, answer);
    g_assert(answer->type == CVSW_ACK || answer->type == CVSW_ERROR);
    g_assert(answer->len <= CVSW_PAYLOAD_MAX);
}

static bool set_mtu(void *opaque, uint16_t mtu)
{
    g_assert(mtu >= 68);
    return true;
}

static bool set_offload(void *opaque, uint32_t on, uint32_t mask)
{
    return !(on & ~mask);
}

static void put_in(Nic *nic, uint8_t type, uint64_t sequence,
                   const void *payload, size_t len, const CvswSecret *secret)
{
    uint8_t frame[CVSW_FRAME_MAX];
    CvswMessage message = {
        .type = type,
        .sequence = sequence,
        .payload = payload,
        .len = len,
    };
    size_t size;

    memcpy(message.mac, nic_mac, sizeof(nic_mac));
    size = cvsw_message_build(frame, nic_mac, our_mac, &message);
    if (secret) {
        cvsw_message_sign(frame, size - CVSW_TAG_LEN, secret);
    }
    cvsw_session_input(nic->session, frame, size, 1000);
}

static void derive(Nic *nic)
{
    uint8_t a[CVSW_NONCE_LEN], b[CVSW_NONCE_LEN] = { 0 };
    CvswSecret base, session;

    memset(a, 0x11, sizeof(a));
    cvsw_secret_derive(&base, key, sizeof(key), "vmmnet-cvsw-1", nic_mac, 6,
                       NULL, 0);
    cvsw_secret_derive(&session, &base, sizeof(base), "session", a, sizeof(a),
                       b, sizeof(b));
    cvsw_secret_derive(&nic->to_nic, &session, sizeof(session), "controller",
                       NULL, 0, NULL, 0);
    cvsw_secret_derive(&nic->secrets, &session, sizeof(session), "secrets",
                       NULL, 0, NULL, 0);
}

static void open_session(Nic *nic)
{
    struct cvsw_accept accept = { 0 };

    derive(nic);
    memset(accept.nic, 0x11, sizeof(accept.nic));
    cvsw_session_begin(nic->session, 0);
    cvsw_session_tick(nic->session, 0);
    put_in(nic, CVSW_ACCEPT, 0, &accept, sizeof(accept), &nic->to_nic);
    g_assert(cvsw_session_stats(nic->session)->open);
}

/* @payload has the keying material in clear, with room for the tag. */
static void seal(const Nic *nic, uint8_t *payload, size_t len)
{
    struct cvsw_set_sa *set = (void *)payload;
    size_t clear = len - sizeof(*set) - 16;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int done;

    put_be16(&set->sealed_len, len - sizeof(*set));
    g_assert(EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL,
                                nic->secrets.octets, set->iv));
    g_assert(EVP_EncryptUpdate(context, NULL, &done, payload, sizeof(*set)));
    g_assert(EVP_EncryptUpdate(context, set->sealed, &done, set->sealed,
                               clear));
    g_assert(EVP_EncryptFinal_ex(context, set->sealed + done, &done));
    g_assert(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16,
                                 set->sealed + clear));
    EVP_CIPHER_CTX_free(context);
}

static void say(Nic *nic, uint8_t type, const uint8_t *data, size_t len)
{
    g_autofree uint8_t *payload = g_memdup2(data, len);
    unsigned before = nic->commands, sent = nic->sent;

    if (type & AS_IT_STANDS) {
        put_in(nic, type & ~AS_IT_STANDS, nic->sequence + 1, payload, len,
               NULL);
        g_assert(nic->commands == before);
        return;
    }
    if (type == CVSW_SET_SA && len > sizeof(struct cvsw_set_sa) + 16) {
        seal(nic, payload, len);
    }
    if (type == CVSW_HELLO || type == CVSW_ACCEPT) {
        uint64_t sessions = cvsw_session_stats(nic->session)->sessions;

        put_in(nic, type, 0, payload, len, &nic->to_nic);
        if (cvsw_session_stats(nic->session)->sessions != sessions) {
            nic->sequence = 0;
        }
        return;
    }
    put_in(nic, type, ++nic->sequence, payload, len, &nic->to_nic);
    g_assert(nic->commands == before + 1 && nic->sent == sent + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const CvswSessionOps ops = {
        .send = take_frame,
        .random = make_random,
        .describe = describe,
        .command = carry_out,
    };
    Nic nic = {
        .commanded = {
            .table = cvsw_table_new(16, 4, 1, NULL, NULL),
            .sas = cvsw_sas_new(),
            .set_mtu = set_mtu,
            .set_offload = set_offload,
        },
    };

    nic.session = cvsw_session_new(&ops, &nic, key, sizeof(key), nic_mac);
    open_session(&nic);
    while (size >= 3) {
        size_t len = MIN(get_be16(data + 1), size - 3);

        len = MIN(len, CVSW_PAYLOAD_MAX);
        say(&nic, data[0], data + 3, len);
        data += 3 + len;
        size -= 3 + len;
    }
    cvsw_session_free(nic.session);
    cvsw_table_free(nic.commanded.table);
    cvsw_sas_free(nic.commanded.sas);
    return 0;
}
