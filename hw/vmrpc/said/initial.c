/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ClientHello in the first datagrams of a QUIC flow
 *
 * Theory of operation
 * ===================
 *
 * A datagram has one or more packets.  Those with a long header say how long
 * they are; a short header, of a packet with the connection's own keys, is the
 * last one.  An Initial has frames, of which CRYPTO carry the TLS messages, at
 * any offset and in any order: clients shuffle them on purpose.  They are put
 * together in a buffer of 16 KiB; what comes twice must be the same.
 *
 * Keys.  They are derived from the destination's connection id in the client's
 * first Initial.  Later Initials have the same keys and another id, which the
 * server has chosen; after a Retry the client begins anew with the id and the
 * keys of that.  A client may also open a second connection in the same flow,
 * for the server tells them apart by their ids.  So each Initial of the flow is
 * read, with the keys at hand and with those of its own id.  If the latter fit,
 * a connection begins, and its hello is awaited.
 *
 * AES-GCM does not commit to a key: a hostile client can make one packet that
 * is valid with two keys and says something else with each.  So a packet that
 * both keys open is refused.
 *
 * The second hello, after a HelloRetryRequest, continues the stream of the
 * first one, and is read like it.
 *
 * Other versions are refused: nobody can read them.  So is what is not QUIC.
 */
#include "hw/vmrpc/said/initial.h"

#include <glib.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/octets.h"
#include "hw/vmrpc/said/hello.h"

#define VERSION_1       0x00000001u
#define VERSION_2       0x6b3343cfu

#define ID_MAX          20
#define HASH_LEN        32
#define KEY_LEN         16
#define IV_LEN          12
#define TAG_LEN         16
#define SAMPLE_LEN      16
#define NUMBER_MAX      4       /* octets of a packet number */

/* A datagram cannot be larger. */
#define PACKET_MAX      65535

#define CLIENT_HELLO    1
#define MESSAGE_HEADER  4

typedef struct Keys {
    bool known;
    uint32_t version;
    uint8_t key[KEY_LEN];
    uint8_t iv[IV_LEN];
    uint8_t hp[KEY_LEN];        /* header protection */
} Keys;

/* The CRYPTO frames of a connection that are not whole messages yet */
typedef struct Stream {
    uint8_t octets[VMRPC_SAID_KEEP_MAX];
    uint8_t has[VMRPC_SAID_KEEP_MAX / 8];       /* a bit for each octet */
} Stream;

/* The connection that began last */
typedef struct Connection {
    Keys keys;
    bool greeted;               /* a hello was whole */
    unsigned waiting;           /* datagrams since the last whole hello */
    uint8_t *hellos;            /* whole messages */
    size_t done;                /* octets of these */
    size_t end;                 /* behind the last octet that has come */
    Stream *stream;             /* NULL: nothing beyond done */
} Connection;

struct VmrpcInitial {
    VmrpcSaidReason reason;
    bool greeted;               /* any connection had a whole hello */
    unsigned connections;
    Connection now;
};

/* A long header */
typedef struct Header {
    uint32_t version;
    bool is_initial;
    const uint8_t *id;          /* of the destination */
    size_t id_len;
    size_t number_at;           /* offset of the protected packet number */
    size_t len;                 /* of the whole packet */
} Header;

VmrpcInitial *vmrpc_initial_new(void)
{
    return g_new0(VmrpcInitial, 1);
}

static void end(Connection *c)
{
    g_free(c->hellos);
    g_free(c->stream);
}

void vmrpc_initial_free(VmrpcInitial *initial)
{
    if (initial) {
        end(&initial->now);
        g_free(initial);
    }
}

unsigned vmrpc_initial_connections(const VmrpcInitial *initial)
{
    return initial->connections;
}

size_t vmrpc_initial_size(const VmrpcInitial *initial)
{
    return sizeof(*initial) + initial->now.done +
           (initial->now.stream ? sizeof(Stream) : 0);
}

VmrpcSaidReason vmrpc_initial_reason(const VmrpcInitial *initial)
{
    return initial->reason;
}

/* --- headers ------------------------------------------------------------ */

typedef struct Reader {
    const uint8_t *at;
    size_t left;
} Reader;

static bool skip(Reader *r, size_t len)
{
    if (len > r->left) {
        return false;
    }
    r->at += len;
    r->left -= len;
    return true;
}

/* RFC 9000, section 16 */
static bool read_varint(Reader *r, uint64_t *value)
{
    size_t len = r->left ? 1u << (r->at[0] >> 6) : 1;

    if (len > r->left) {
        return false;
    }
    *value = r->at[0] & 0x3f;
    for (size_t i = 1; i < len; i++) {
        *value = *value << 8 | r->at[i];
    }
    return skip(r, len);
}

/* A connection id, behind its length */
static bool read_id(Reader *r, const uint8_t **id, size_t *len)
{
    if (!r->left || r->at[0] > ID_MAX) {
        return false;
    }
    *len = r->at[0];
    *id = r->at + 1;
    return skip(r, 1 + *len);
}

/* RFC 9000, section 17.2; false: it is none of ours, for this reason */
static bool read_header(const uint8_t *packet, size_t len, Header *h,
                        VmrpcSaidReason *reason)
{
    Reader r = { packet, len };
    const uint8_t *source;
    uint64_t token = 0, rest;
    size_t source_len;
    unsigned type;

    *reason = VMRPC_SAID_NOT_TLS;
    if (len < 5) {
        return false;
    }
    h->version = get_be32(packet + 1);
    if ((h->version != VERSION_1 && h->version != VERSION_2) ||
        !(packet[0] & 0x40)) {
        return false;
    }
    *reason = VMRPC_SAID_MALFORMED;
    type = (packet[0] >> 4 & 3) - (h->version == VERSION_2);
    h->is_initial = !(type & 3);
    skip(&r, 5);
    if ((type & 3) == 3 ||              /* Retry, which servers send */
        !read_id(&r, &h->id, &h->id_len) ||
        !read_id(&r, &source, &source_len) ||
        (h->is_initial && (!read_varint(&r, &token) ||
                           !skip(&r, MIN(token, PACKET_MAX)))) ||
        !read_varint(&r, &rest) || rest > r.left ||
        rest < NUMBER_MAX + SAMPLE_LEN) {
        return false;
    }
    h->number_at = len - r.left;
    h->len = h->number_at + rest;
    return true;
}

/* --- keys, RFC 9001 section 5.2 ----------------------------------------- */

/* Algorithms of libcrypto, looked up once */
typedef struct Algorithms {
    EVP_MD *sha256;
    EVP_CIPHER *ecb, *gcm;
} Algorithms;

static const Algorithms *algorithms(void)
{
    static Algorithms known;
    static gsize once;

    if (g_once_init_enter(&once)) {
        known = (Algorithms) {
            EVP_MD_fetch(NULL, "SHA256", NULL),
            EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL),
            EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL),
        };
        g_once_init_leave(&once, 1);
    }
    return &known;
}

static bool hmac(const uint8_t *key, size_t key_len, const uint8_t *data,
                 size_t len, uint8_t out[HASH_LEN])
{
    const EVP_MD *sha256 = algorithms()->sha256;
    unsigned out_len;

    return sha256 && HMAC(sha256, key, key_len, data, len, out, &out_len);
}

/* HKDF-Expand-Label of RFC 8446, without context, of at most one hash */
static bool expand(const uint8_t secret[HASH_LEN], const char *label,
                   uint8_t *out, size_t len)
{
    uint8_t info[40] = { len >> 8, len, 6 + strlen(label), 't', 'l', 's', '1',
                         '3', ' ' };
    size_t used = 9 + strlen(label);
    uint8_t hash[HASH_LEN];

    memcpy(info + 9, label, strlen(label));
    info[used++] = 0;
    info[used++] = 1;
    if (!hmac(secret, HASH_LEN, info, used, hash)) {
        return false;
    }
    memcpy(out, hash, len);
    return true;
}

static void derive(Keys *keys, const Header *h)
{
    static const uint8_t salt1[] = {
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
        0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
    }, salt2[] = {
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
        0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
    };
    bool is2 = h->version == VERSION_2;
    uint8_t secret[HASH_LEN], client[HASH_LEN];

    keys->version = h->version;
    keys->known =
        hmac(is2 ? salt2 : salt1, sizeof(salt1), h->id, h->id_len, secret) &&
        expand(secret, "client in", client, sizeof(client)) &&
        expand(client, is2 ? "quicv2 key" : "quic key", keys->key, KEY_LEN) &&
        expand(client, is2 ? "quicv2 iv" : "quic iv", keys->iv, IV_LEN) &&
        expand(client, is2 ? "quicv2 hp" : "quic hp", keys->hp, KEY_LEN);
}

/* --- packets ------------------------------------------------------------ */

static bool make_mask(const Keys *keys, const uint8_t *sample, uint8_t mask[16])
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int len;
    bool ok = ctx && EVP_EncryptInit_ex2(ctx, algorithms()->ecb, keys->hp,
                                         NULL, NULL) &&
              EVP_EncryptUpdate(ctx, mask, &len, sample, SAMPLE_LEN);

    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

static bool decrypt(const Keys *keys, const uint8_t *nonce,
                    const uint8_t *header, size_t header_len,
                    const uint8_t *sealed, size_t len, uint8_t *plain)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const uint8_t *tag = sealed + len;
    int out;
    bool ok = ctx && EVP_DecryptInit_ex2(ctx, algorithms()->gcm, keys->key,
                                         nonce, NULL) &&
              EVP_DecryptUpdate(ctx, NULL, &out, header, header_len) &&
              EVP_DecryptUpdate(ctx, plain, &out, sealed, len) &&
              EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN,
                                  (void *)tag) &&
              EVP_DecryptFinal_ex(ctx, plain + out, &out) > 0;

    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

/*
 * Opens an Initial (RFC 9001, sections 5.3 and 5.4).  Returns the octets of
 * frames in @plain, which has room for the packet; 0: these are not its keys.
 */
static size_t open_packet(const Keys *keys, const uint8_t *packet,
                          const Header *h, uint8_t *plain)
{
    const uint8_t *number = packet + h->number_at;
    uint8_t mask[16], nonce[IV_LEN];
    g_autofree uint8_t *header = NULL;
    size_t number_len, header_len, len;

    if (!keys->known || keys->version != h->version ||
        !make_mask(keys, number + NUMBER_MAX, mask)) {
        return 0;
    }
    number_len = 1 + ((packet[0] ^ mask[0]) & 3);
    header_len = h->number_at + number_len;
    len = h->len - header_len - TAG_LEN;
    header = g_memdup2(packet, header_len);
    header[0] ^= mask[0] & 0x0f;
    memcpy(nonce, keys->iv, sizeof(nonce));
    for (size_t i = 0; i < number_len; i++) {
        header[h->number_at + i] ^= mask[1 + i];
        nonce[IV_LEN - number_len + i] ^= header[h->number_at + i];
    }
    return decrypt(keys, nonce, header, header_len, packet + header_len, len,
                   plain) ? len : 0;
}

/* --- frames ------------------------------------------------------------- */

static bool has_octet(const Stream *stream, size_t at)
{
    return stream->has[at / 8] & 1u << at % 8;
}

/*
 * Octets of the TLS stream, from @offset on.  A client whose first packets do
 * not arrive, as it knows, must not put others in their place.
 */
static VmrpcSaidReason add_octets(Connection *c, uint64_t offset, Reader data)
{
    Stream *stream;

    if (offset > VMRPC_SAID_KEEP_MAX ||
        data.left > VMRPC_SAID_KEEP_MAX - offset) {
        return VMRPC_SAID_TOO_LONG;
    }
    if (offset < c->done) {
        size_t again = MIN(c->done - offset, data.left);

        if (memcmp(c->hellos + offset, data.at, again) != 0) {
            return VMRPC_SAID_MALFORMED;
        }
        skip(&data, again);
        offset += again;
    }
    if (!data.left) {
        return VMRPC_SAID_OK;
    }
    if (!c->stream) {
        c->stream = g_new0(Stream, 1);
    }
    stream = c->stream;
    for (size_t i = 0; i < data.left; i++) {
        size_t at = offset + i;

        if (has_octet(stream, at) && stream->octets[at] != data.at[i]) {
            return VMRPC_SAID_MALFORMED;
        }
        stream->octets[at] = data.at[i];
        stream->has[at / 8] |= 1u << at % 8;
    }
    c->end = MAX(c->end, offset + data.left);
    return VMRPC_SAID_OK;
}

static bool skip_varints(Reader *r, unsigned num)
{
    uint64_t value;

    while (num && read_varint(r, &value)) {
        num--;
    }
    return !num;
}

/* RFC 9000, section 19.3 */
static bool skip_ack(Reader *r, bool has_counts)
{
    uint64_t ranges, value;

    if (!skip_varints(r, 2) || !read_varint(r, &ranges) ||
        !read_varint(r, &value)) {
        return false;
    }
    for (; ranges; ranges--) {
        if (!skip_varints(r, 2)) {
            return false;
        }
    }
    return !has_counts || skip_varints(r, 3);
}

/* CONNECTION_CLOSE */
static bool skip_close(Reader *r)
{
    uint64_t len;

    return skip_varints(r, 2) && read_varint(r, &len) &&
           len <= r->left && skip(r, len);
}

/* RFC 9000, section 17.2.2: the frames that an Initial may have */
static VmrpcSaidReason read_frames(Connection *c, Reader r)
{
    while (r.left) {
        uint8_t type = r.at[0];
        uint64_t offset, len;
        VmrpcSaidReason reason;

        skip(&r, 1);
        switch (type) {
        case 0x00:                      /* PADDING, PING */
        case 0x01:
            continue;
        case 0x02:
        case 0x03:
            if (!skip_ack(&r, type == 0x03)) {
                return VMRPC_SAID_MALFORMED;
            }
            continue;
        case 0x06:
            if (!read_varint(&r, &offset) || !read_varint(&r, &len) ||
                len > r.left) {
                return VMRPC_SAID_MALFORMED;
            }
            reason = add_octets(c, offset, (Reader) { r.at, len });
            if (reason != VMRPC_SAID_OK) {
                return reason;
            }
            skip(&r, len);
            continue;
        case 0x1c:
            if (!skip_close(&r)) {
                return VMRPC_SAID_MALFORMED;
            }
            continue;
        default:
            return VMRPC_SAID_MALFORMED;
        }
    }
    return VMRPC_SAID_OK;
}

/*
 * Opens an Initial with the keys at hand, or with those of its id, by which a
 * connection begins: only with the first Initial of a datagram.
 */
static VmrpcSaidReason read_initial(VmrpcInitial *initial,
                                    const uint8_t *packet, const Header *h,
                                    bool is_first)
{
    Connection *c = &initial->now;
    g_autofree uint8_t *plain = g_malloc(h->len);
    g_autofree uint8_t *other = NULL;
    size_t len = open_packet(&c->keys, packet, h, plain), other_len;
    Keys own = { };

    derive(&own, h);
    if (!c->keys.known || own.version != c->keys.version ||
        memcmp(own.key, c->keys.key, sizeof(own.key)) != 0) {
        other = g_malloc(h->len);
        other_len = open_packet(&own, packet, h, other);
        if (!len == !other_len || (other_len && !is_first)) {
            return VMRPC_SAID_MALFORMED;        /* neither, or both */
        }
        if (other_len) {
            initial->connections++;
            end(c);
            *c = (Connection) { .keys = own };
            return read_frames(c, (Reader) { other, other_len });
        }
    }
    return len ? read_frames(c, (Reader) { plain, len })
               : VMRPC_SAID_MALFORMED;
}

/* All packets of a datagram; *@num: how many Initials there were */
static VmrpcSaidReason read_datagram(VmrpcInitial *initial,
                                     const uint8_t *datagram, size_t len,
                                     unsigned *num)
{
    VmrpcSaidReason reason;
    Header h;

    for (*num = 0; len && vmrpc_initial_is_long(datagram[0]);
         datagram += h.len, len -= h.len) {
        if (!read_header(datagram, len, &h, &reason)) {
            return reason;
        }
        if (!h.is_initial) {
            continue;
        }
        reason = read_initial(initial, datagram, &h, !*num);
        if (reason != VMRPC_SAID_OK) {
            return reason;
        }
        ++*num;
    }
    return *num || initial->greeted ? VMRPC_SAID_OK : VMRPC_SAID_NOT_TLS;
}

/* --- messages ----------------------------------------------------------- */

/* Octets that have come without a gap, from done on */
static size_t count_octets(const Connection *c)
{
    size_t num = 0;

    while (c->done + num < c->end && has_octet(c->stream, c->done + num)) {
        num++;
    }
    return num;
}

/* A hello of @len octets is whole: the last message, for now. */
static void keep_hello(Connection *c, size_t len)
{
    c->hellos = g_realloc(c->hellos, c->done + len);
    memcpy(c->hellos + c->done, c->stream->octets + c->done, len);
    c->done += len;
    c->greeted = true;
    c->waiting = 0;
    g_clear_pointer(&c->stream, g_free);
}

static VmrpcSaidStep refuse(VmrpcInitial *initial, VmrpcSaidReason reason)
{
    initial->reason = reason;
    return VMRPC_SAID_REFUSED;
}

/* A hello, if it is whole. */
static VmrpcSaidStep read_message(VmrpcInitial *initial, VmrpcSaid *said)
{
    Connection *c = &initial->now;
    const uint8_t *message = c->stream->octets + c->done;
    size_t there = count_octets(c), len;
    VmrpcSaidReason reason;
    bool early;

    if (there && message[0] != CLIENT_HELLO) {
        return refuse(initial, VMRPC_SAID_NOT_TLS);
    }
    if (there < MESSAGE_HEADER) {
        return VMRPC_SAID_MORE;
    }
    len = MESSAGE_HEADER + (message[1] << 16 | message[2] << 8 | message[3]);
    if (len > VMRPC_SAID_KEEP_MAX - c->done) {
        return refuse(initial, VMRPC_SAID_TOO_LONG);
    }
    if (there < len) {
        return VMRPC_SAID_MORE;
    }
    if (c->end > c->done + len) {
        return refuse(initial, VMRPC_SAID_MALFORMED);   /* something follows */
    }
    reason = vmrpc_hello_parse(message + MESSAGE_HEADER, len - MESSAGE_HEADER,
                               said, &early);
    if (reason != VMRPC_SAID_OK) {
        return refuse(initial, reason);
    }
    keep_hello(c, len);
    initial->greeted = true;
    return VMRPC_SAID_SAID;
}

VmrpcSaidStep vmrpc_initial_look(VmrpcInitial *initial,
                                 const uint8_t *datagram, size_t len,
                                 VmrpcSaid *said)
{
    VmrpcSaidStep step = VMRPC_SAID_DONE;
    Connection *c = &initial->now;
    VmrpcSaidReason reason;
    unsigned num;

    reason = read_datagram(initial, datagram, len, &num);
    if (reason != VMRPC_SAID_OK) {
        return refuse(initial, reason);
    }
    if (num && c->stream) {
        step = read_message(initial, said);
    } else if (num && !c->greeted) {
        step = VMRPC_SAID_MORE;
    }
    if (step == VMRPC_SAID_MORE && ++c->waiting > VMRPC_INITIAL_DATAGRAMS) {
        return refuse(initial, VMRPC_SAID_TOO_LONG);
    }
    return step;
}
