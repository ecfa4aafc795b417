/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ClientHello at the beginning of a TLS stream
 *
 * Theory of operation
 * ===================
 *
 * A hello is a message in one or more records, which the client may cut as it
 * likes, and TCP cuts again.  So the octets are kept until the message is
 * complete, and each call walks the kept records from their beginning: the
 * state between two calls is that of a record's or a message's boundary only.
 *
 * A server may ask for a second hello (HelloRetryRequest).  A client could put
 * the allowed name in the first one and another name in the second, so both are
 * read.  What can follow the first hello, and what ends the watch:
 *
 *   application data     TLS 1.3, keys are there: done.  Not so after an offer
 *                        of early data (0-RTT): the server may reject it, skip
 *                        those records, and then wait for a second hello.
 *   ChangeCipherSpec     TLS 1.3 without a meaning, before a second hello, too;
 *                        TLS 1.2 before encrypted records
 *   handshake records    clear: a second hello, or the certificate and the key
 *                        exchange of TLS 1.2, which pass.  After a
 *                        ChangeCipherSpec: encrypted in TLS 1.2, a second
 *                        hello in TLS 1.3.
 *   alerts               pass
 *
 * After ClientKeyExchange and ChangeCipherSpec no server takes a hello: done.
 * A client that resumes a session of TLS 1.2 sends no ClientKeyExchange.  Its
 * Finished is encrypted and looks like random octets; a hello begins with its
 * type, a length that its vectors can have, a version (servers of TLS 1.3 take
 * 3.0 and all above it) and a session of at most 32 octets, which one in 170,000
 * random records does, too.  That one is refused; to take it for a Finished
 * would let a hello pass.
 *
 * One reader and one server must not understand a hello differently.  So it is
 * refused if an extension that is read here comes twice, if a length is wrong
 * anywhere, if anything follows it in its record, or another record comes
 * between its parts.
 */
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/said/hello.h"
#include "hw/vmrpc/wire/uninitialized.h"

/* ContentType, RFC 8446 section 5.1 */
#define CHANGE_CIPHER_SPEC      20
#define ALERT                   21
#define HANDSHAKE               22
#define APPLICATION_DATA        23

#define RECORD_HEADER           5
#define RECORD_MAX              16384
/* Of an encrypted record, TLS 1.2 (RFC 5246, section 6.2.3) */
#define RECORD_MAX_ENCRYPTED    (RECORD_MAX + 2048)

/* HandshakeType */
#define CLIENT_HELLO            1
#define CLIENT_KEY_EXCHANGE     16
#define MESSAGE_HEADER          4

/* Message header, version, random, the session's length */
#define HELLO_BEGIN             (MESSAGE_HEADER + 2 + 32 + 1)
#define SESSION_MAX             32

/* Octets 16 to 23 of the length: all vectors together have up to 131,397. */
#define LENGTH_HIGH_MAX         2

/* ExtensionType */
#define SERVER_NAME             0
#define ALPN                    16
#define EARLY_DATA              42
#define ECH                     0xfe0d
#define ECH_DRAFT_FIRST         0xfe08
#define ESNI                    0xffce

/* --- the message -------------------------------------------------------- */

typedef struct Reader {
    const uint8_t *at;
    size_t left;
} Reader;

/* A vector with a length of @size octets before it */
static bool read_vector(Reader *r, unsigned size, Reader *vector)
{
    size_t len = 0;

    if (r->left < size) {
        return false;
    }
    for (unsigned i = 0; i < size; i++) {
        len = len << 8 | r->at[i];
    }
    if (r->left - size < len) {
        return false;
    }
    *vector = (Reader) { r->at + size, len };
    r->at += size + len;
    r->left -= size + len;
    return true;
}

/* RFC 6066, section 3: a list, but of one name (RFC 9325, section 3.7) */
static VmrpcSaidReason read_server_name(Reader extension, VmrpcSaid *said)
{
    Reader list, name;

    if (!read_vector(&extension, 2, &list) || extension.left ||
        list.left < 1 || list.at[0] != 0) {
        return VMRPC_SAID_MALFORMED;
    }
    list.at++;
    list.left--;
    if (!read_vector(&list, 2, &name) || list.left) {
        return VMRPC_SAID_MALFORMED;
    }
    return vmrpc_said_name(name.at, name.left, said->name);
}

/* RFC 7301, section 3.1 */
static bool read_alpn(Reader extension, VmrpcSaid *said)
{
    Reader list, first;
    size_t len;

    if (!read_vector(&extension, 2, &list) || extension.left ||
        !read_vector(&list, 1, &first) || !first.left) {
        return false;
    }
    len = MIN(first.left, sizeof(said->alpn) - 1);
    for (size_t i = 0; i < len; i++) {
        said->alpn[i] = g_ascii_isgraph(first.at[i]) ? first.at[i] : '?';
    }
    said->alpn[len] = '\0';
    return true;
}

static VmrpcSaidReason read_extensions(Reader list, VmrpcSaid *said,
                                       bool *early)
{
    VmrpcSaidReason named = VMRPC_SAID_NO_NAME;
    bool has_name = false, has_alpn = false;

    while (list.left) {
        Reader extension;
        unsigned type;

        if (list.left < 2) {
            return VMRPC_SAID_MALFORMED;
        }
        type = list.at[0] << 8 | list.at[1];
        list.at += 2;
        list.left -= 2;
        if (!read_vector(&list, 2, &extension)) {
            return VMRPC_SAID_MALFORMED;
        }
        if (type == SERVER_NAME) {
            if (has_name) {
                return VMRPC_SAID_MALFORMED;
            }
            has_name = true;
            named = read_server_name(extension, said);
        } else if (type == ALPN) {
            if (has_alpn || !read_alpn(extension, said)) {
                return VMRPC_SAID_MALFORMED;
            }
            has_alpn = true;
        } else if (type == EARLY_DATA) {
            *early = true;
        } else if ((type >= ECH_DRAFT_FIRST && type <= ECH) || type == ESNI) {
            said->ech = true;
        }
    }
    return named;
}

VmrpcSaidReason vmrpc_hello_parse(const uint8_t *body, size_t len,
                                  VmrpcSaid *said, bool *early)
{
    Reader r = { body, len }, session, suites, compression, extensions;
    VmrpcSaidReason reason;

    *said = (VmrpcSaid) { };
    *early = false;
    /* legacy_version, random */
    if (r.left < 34 || r.at[0] != 3) {
        return VMRPC_SAID_MALFORMED;
    }
    r.at += 34;
    r.left -= 34;
    if (!read_vector(&r, 1, &session) || session.left > SESSION_MAX ||
        !read_vector(&r, 2, &suites) || !suites.left || suites.left % 2 ||
        !read_vector(&r, 1, &compression) || !compression.left) {
        return VMRPC_SAID_MALFORMED;
    }
    if (!r.left) {
        return VMRPC_SAID_NO_NAME;
    }
    if (!read_vector(&r, 2, &extensions) || r.left) {
        return VMRPC_SAID_MALFORMED;
    }
    reason = read_extensions(extensions, said, early);
    if (reason != VMRPC_SAID_OK) {
        said->name[0] = '\0';
    }
    return reason;
}

/* --- the stream --------------------------------------------------------- */

/* A walk through the kept octets; its state is that of the hello's beginning */
typedef struct Walk {
    const uint8_t *kept;
    size_t len;
    size_t at;
    uint32_t record_left;
    uint8_t record_type;
    VmrpcSaidReason reason;     /* what the walk has met */
} Walk;

/* What a part of the walk ends with */
typedef enum Found {
    FOUND,
    NEEDS_MORE,
    WRONG,                      /* Walk.reason */
} Found;

static Found wrong(Walk *w, VmrpcSaidReason reason)
{
    w->reason = reason;
    return WRONG;
}

/* The header of the next record; what is there of it is checked at once. */
static Found open_record(Walk *w, const VmrpcHello *hello)
{
    const uint8_t *header = w->kept + w->at;
    size_t there = w->len - w->at;
    unsigned len;

    if (!hello->greeted && there > 0 && header[0] != HANDSHAKE) {
        /* Between the parts of a hello? */
        return wrong(w, w->at ? VMRPC_SAID_MALFORMED : VMRPC_SAID_NOT_TLS);
    }
    if (there > 0 && (header[0] < CHANGE_CIPHER_SPEC ||
                      header[0] > APPLICATION_DATA)) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    if (there > 1 && header[1] != 3) {
        return wrong(w, w->at || hello->greeted ? VMRPC_SAID_MALFORMED
                                                : VMRPC_SAID_NOT_TLS);
    }
    if (there < RECORD_HEADER) {
        return NEEDS_MORE;
    }
    len = header[3] << 8 | header[4];
    if (!len || len > (hello->changed || header[0] == APPLICATION_DATA
                       ? RECORD_MAX_ENCRYPTED : RECORD_MAX)) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    w->at += RECORD_HEADER;
    w->record_type = header[0];
    w->record_left = len;
    return FOUND;
}

/*
 * Copies @want octets of handshake messages, across records.  *@got: how many
 * there are.
 */
static Found take(Walk *w, const VmrpcHello *hello, uint8_t *to, size_t want,
                  size_t *got)
{
    for (*got = 0; *got < want;) {
        size_t n;
        Found found;

        if (!w->record_left) {
            found = open_record(w, hello);
            if (found != FOUND) {
                return found;
            }
            if (w->record_type != HANDSHAKE) {
                return wrong(w, VMRPC_SAID_MALFORMED);
            }
        }
        n = MIN(MIN(want - *got, w->record_left), w->len - w->at);
        if (!n) {
            return NEEDS_MORE;
        }
        memcpy(to + *got, w->kept + w->at, n);
        w->at += n;
        w->record_left -= n;
        *got += n;
    }
    return FOUND;
}

/*
 * After a ChangeCipherSpec: can a message that begins with these octets be a
 * clear ClientHello, for any server?
 */
static bool may_be_hello(const uint8_t octets[HELLO_BEGIN], size_t num)
{
    return (num < 1 || octets[0] == CLIENT_HELLO) &&
           (num < 2 || octets[1] <= LENGTH_HIGH_MAX) &&
           (num < 5 || octets[4] >= 3) &&
           (num < HELLO_BEGIN || octets[HELLO_BEGIN - 1] <= SESSION_MAX);
}

/* Skips what has come of the record, or of @*left octets in it. */
static void skip(Walk *w, uint32_t *left)
{
    size_t n = MIN(MIN(*left, w->record_left), w->len - w->at);

    w->at += n;
    w->record_left -= n;
    if (left != &w->record_left) {
        *left -= n;
    }
}

/* The whole body of a hello was read. */
static Found read_body(VmrpcHello *hello, Walk *w, const uint8_t *body,
                       size_t len, VmrpcSaid *said)
{
    bool early;

    w->reason = vmrpc_hello_parse(body, len, said, &early);
    if (w->record_left) {
        w->reason = VMRPC_SAID_MALFORMED;       /* something follows it */
    }
    if (w->reason != VMRPC_SAID_OK) {
        return WRONG;
    }
    hello->greeted = true;
    hello->early_left = early ? VMRPC_HELLO_EARLY_MAX : 0;
    return FOUND;
}

static Found read_parts(VmrpcHello *hello, Walk *w, size_t len,
                        VmrpcSaid *said)
{
    uint8_t body[VMRPC_SAID_KEEP_MAX] VMRPC_UNINITIALIZED;
    size_t got;
    Found found = take(w, hello, body, len, &got);

    return found == FOUND ? read_body(hello, w, body, len, said) : found;
}

/* A hello with a body of @len octets, whose header was read */
static Found read_hello(VmrpcHello *hello, Walk *w, size_t len,
                        VmrpcSaid *said)
{
    const uint8_t *body = w->kept + w->at;

    if (len > VMRPC_SAID_KEEP_MAX) {
        return wrong(w, VMRPC_SAID_TOO_LONG);
    }
    if (len > MIN(w->record_left, w->len - w->at)) {
        return read_parts(hello, w, len, said);
    }
    w->at += len;
    w->record_left -= len;
    return read_body(hello, w, body, len, said);
}

static VmrpcSaidStep refuse(VmrpcHello *hello, VmrpcSaidReason reason,
                             size_t *pass)
{
    hello->reason = reason;
    *pass = 0;
    return VMRPC_SAID_REFUSED;
}

/* A clear handshake message, of which nothing was read */
static Found read_message(VmrpcHello *hello, Walk *w, VmrpcSaid *said,
                          bool *is_hello)
{
    uint8_t begin[HELLO_BEGIN];
    size_t want = hello->changed ? sizeof(begin) : MESSAGE_HEADER;
    Walk body = *w;
    size_t got, len;
    Found found = take(w, hello, begin, want, &got);

    if (!hello->greeted && got && begin[0] != CLIENT_HELLO) {
        return wrong(w, VMRPC_SAID_NOT_TLS);
    }
    if (hello->changed && !may_be_hello(begin, got)) {
        return wrong(w, VMRPC_SAID_OK);         /* it is encrypted */
    }
    if (found != FOUND) {
        return found;
    }
    if (want > MESSAGE_HEADER) {
        *w = body;
        take(w, hello, begin, MESSAGE_HEADER, &got);
    }
    len = begin[1] << 16 | begin[2] << 8 | begin[3];
    *is_hello = begin[0] == CLIENT_HELLO;
    if (*is_hello) {
        return read_hello(hello, w, len, said);
    }
    hello->keyed |= begin[0] == CLIENT_KEY_EXCHANGE;
    hello->message_left = len;
    return FOUND;
}

/*
 * Opens the next record.  WRONG with VMRPC_SAID_OK: it and all that follow are
 * encrypted.
 */
static Found next_record(VmrpcHello *hello, Walk *w)
{
    Found found = open_record(w, hello);

    if (found != FOUND) {
        return found;
    }
    if (hello->message_left && w->record_type != HANDSHAKE) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    switch (w->record_type) {
    case CHANGE_CIPHER_SPEC:
        hello->changed = true;
        return w->record_left == 1 ? FOUND : wrong(w, VMRPC_SAID_MALFORMED);
    case APPLICATION_DATA:
        if (hello->early_left <= w->record_left) {
            return wrong(w, VMRPC_SAID_OK);
        }
        hello->early_left -= w->record_left;
        return FOUND;
    case HANDSHAKE:
        return hello->changed && hello->keyed ? wrong(w, VMRPC_SAID_OK) : FOUND;
    default:
        return FOUND;
    }
}

VmrpcSaidStep vmrpc_hello_look(VmrpcHello *hello, const uint8_t *kept,
                                size_t len, VmrpcSaid *said, size_t *pass)
{
    Walk w = { .kept = kept, .len = len, .record_left = hello->record_left,
               .record_type = hello->record_type };

    for (*pass = 0; w.at < len;) {
        Found found = w.record_left ? FOUND : next_record(hello, &w);
        bool is_hello = false;

        if (found != FOUND) {
            /* see below */
        } else if (w.record_type != HANDSHAKE) {
            skip(&w, &w.record_left);
        } else if (hello->message_left) {
            skip(&w, &hello->message_left);
        } else {
            found = read_message(hello, &w, said, &is_hello);
        }
        if (found == NEEDS_MORE) {
            break;
        }
        if (found == WRONG && w.reason == VMRPC_SAID_OK) {
            *pass = len;
            return VMRPC_SAID_DONE;
        }
        if (found == WRONG) {
            return refuse(hello, w.reason, pass);
        }
        /* These octets need not be seen again. */
        hello->record_left = w.record_left;
        hello->record_type = w.record_type;
        *pass = w.at;
        if (is_hello) {
            return VMRPC_SAID_SAID;
        }
    }
    return len - *pass < VMRPC_SAID_KEEP_MAX
           ? VMRPC_SAID_MORE : refuse(hello, VMRPC_SAID_TOO_LONG, pass);
}
