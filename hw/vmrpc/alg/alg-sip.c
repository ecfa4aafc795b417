/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: SIP
 *
 * Theory of operation
 * ===================
 *
 * A user agent in the guest writes its own IPv4 address and the virtual
 * address of its peer into messages.  The peer must find IPv6 addresses there,
 * and the reverse.  An address is rewritten if the owner's map knows it, in
 * the places where the receiver uses it:
 *
 *   Request-URI; URIs in Contact, From, To, Path, Record-Route, Refer-To,
 *   Route, Service-Route; their maddr=; Via, with received= and maddr=;
 *   SDP: o=, c= and a=rtcp:
 *
 * RFC 3261 identifies a dialog by tags; From and To are rewritten all the same.
 * Each side then sees in replies what it wrote, as the gateway rewrites both
 * directions.  The rest stays: names, addresses that the map does not know,
 * the Call-ID, which is only compared, and the input of digests.  ICE
 * candidates stay, too: they do not match the c= line then, so both sides do
 * without ICE (RFC 8839, section 4.2.5).
 *
 * A message is rewritten as a whole or not at all.  Content-Length follows a
 * change of the SDP.  A message that does not parse, is too long or has too
 * many addresses passes unchanged.
 *
 * A datagram is one message (vmrpc_sip_datagram()).  A stream is a sequence of
 * messages, whose Content-Length gives their length (section 18.3), with empty
 * lines between them, which keep the connection alive (RFC 5626).  The header
 * is held until it is complete, and so is an SDP; any other body passes.  All
 * the rest of a direction passes if the end of a message cannot be found: the
 * first line is not one of SIP, the header does not end within
 * VMRPC_ALG_SIP_MAX bytes, or there is not exactly one Content-Length.
 *
 * Another protocol on SIP's port must not be delayed.  So the first line is
 * judged while it arrives: by control characters, by a method longer than
 * METHOD_MAX, and at its end.
 */
#include "hw/vmrpc/alg/alg-flow.h"
#include "hw/vmrpc/alg/alg-sip.h"
#include "hw/vmrpc/alg/alg-sip-edit.h"

#include <string.h>

#define VERSION         "SIP/2.0"

/* Bytes of the longest method; registered ones have up to nine. */
#define METHOD_MAX      32

/* The most digits of a Content-Length */
#define LENGTH_DIGITS   9

/* Bytes of the longest UDP payload over IPv4 */
#define UDP_MAX         65507

typedef enum Kind {
    KIND_OTHER,
    KIND_URI,
    KIND_VIA,
    KIND_LENGTH,
    KIND_TYPE,
} Kind;

/* Names and their registered compact forms (section 20) */
static const struct {
    const char *name;
    char compact;
    Kind kind;
} headers[] = {
    { "Contact", 'm', KIND_URI },
    { "Content-Length", 'l', KIND_LENGTH },
    { "Content-Type", 'c', KIND_TYPE },
    { "From", 'f', KIND_URI },
    { "Path", 0, KIND_URI },
    { "Record-Route", 0, KIND_URI },
    { "Refer-To", 'r', KIND_URI },
    { "Route", 0, KIND_URI },
    { "Service-Route", 0, KIND_URI },
    { "To", 't', KIND_URI },
    { "Via", 'v', KIND_VIA },
};

/* A header field; the pointers point into the message. */
typedef struct Field {
    Kind kind;
    const char *value, *end;    /* with folds, without the last CR LF */
} Field;

/* A message, by its header */
typedef struct Message {
    const char *start;
    const char *fields;         /* behind the first line */
    const char *fields_end;     /* behind the CR LF of the last field */
    const char *body;
    const char *length, *length_end; /* digits of Content-Length, or NULL */
    size_t body_len;
    bool is_sdp;
} Message;

/* --- the header ----------------------------------------------------------- */

static const char *find_crlf(const char *p, const char *end)
{
    return memmem(p, end - p, "\r\n", 2);
}

/* The URI of a request's first line.  False for a response. */
static bool request_uri(const Message *m, const char **uri, const char **end)
{
    const char *space = memchr(m->start, ' ', m->fields - m->start);
    const char *stop = m->fields - strlen(" " VERSION "\r\n");

    *uri = space + 1;
    *end = stop;
    return g_ascii_strncasecmp(m->start, VERSION " ",
                               strlen(VERSION " ")) != 0 && stop > space;
}

/* A whole first line: "METHOD URI SIP/2.0" or "SIP/2.0 CODE TEXT" */
static bool is_start_line(const char *p, const char *end)
{
    size_t len = end - p, version = strlen(VERSION);

    return len > version + 1 &&
           (g_ascii_strncasecmp(p, VERSION " ", version + 1) == 0 ||
            (g_ascii_strncasecmp(end - version - 1, " " VERSION,
                                 version + 1) == 0 &&
             memchr(p, ' ', len - version - 1)));
}

/*
 * Can the bytes from @p to @end be a first line, or its beginning?  Those
 * before @p + @seen were judged before.  *@complete: it is a whole first line.
 */
static bool judge_start(const char *p, size_t seen, const char *end,
                        bool *complete)
{
    *complete = false;
    for (const char *c = p + seen; c < end; c++) {
        if (*c == '\n' && c > p && c[-1] == '\r') {
            *complete = is_start_line(p, c - 1);
            return *complete;
        }
        if (((uint8_t)*c < ' ' && *c != '\r') ||
            (c > p && c[-1] == '\r') ||
            (c - p == METHOD_MAX && !memchr(p, ' ', METHOD_MAX))) {
            return false;
        }
    }
    return true;
}

static Kind kind_of(const char *name, size_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        if (len == 1 ? *name && g_ascii_tolower(*name) == headers[i].compact
                     : len == strlen(headers[i].name) &&
                       g_ascii_strncasecmp(name, headers[i].name, len) == 0) {
            return headers[i].kind;
        }
    }
    return KIND_OTHER;
}

/* Parses the field at @p; returns the next one, NULL if it is malformed. */
static const char *next_field(const char *p, const char *end, Field *field)
{
    const char *name = p, *colon, *stop = find_crlf(p, end);

    while (stop && stop + 2 < end && (stop[2] == ' ' || stop[2] == '\t')) {
        stop = find_crlf(stop + 2, end);
    }
    colon = stop ? memchr(p, ':', stop - p) : NULL;
    if (!colon) {
        return NULL;
    }
    while (p < colon && *p != ' ' && *p != '\t') {
        p++;
    }
    if (p == name || vmrpc_sip_skip_lws(p, colon) != colon) {
        return NULL;
    }
    field->kind = kind_of(name, p - name);
    field->value = vmrpc_sip_skip_lws(colon + 1, stop);
    field->end = stop;
    return stop + 2;
}

static bool parse_length(const Field *field, Message *m)
{
    const char *p = field->value;

    if (m->length) {
        return false;
    }
    m->length = p;
    while (p < field->end && g_ascii_isdigit(*p)) {
        m->body_len = m->body_len * 10 + (*p++ - '0');
        if (p - m->length > LENGTH_DIGITS) {
            return false;
        }
    }
    m->length_end = p;
    return p > m->length && vmrpc_sip_skip_lws(p, field->end) == field->end;
}

static bool is_sdp(const Field *field)
{
    static const char sdp[] = "application/sdp";
    size_t len = field->end - field->value;

    return len >= strlen(sdp) &&
           g_ascii_strncasecmp(field->value, sdp, strlen(sdp)) == 0 &&
           (len == strlen(sdp) || memchr("; \t\r", field->value[strlen(sdp)],
                                         4));
}

/* @header_len: includes the empty line at its end */
static bool parse_header(const char *p, size_t header_len, Message *m)
{
    bool complete;

    *m = (Message) {
        .start = p,
        .fields_end = p + header_len - 2,
        .body = p + header_len,
    };
    if (!judge_start(p, 0, m->body, &complete) || !complete) {
        return false;
    }
    m->fields = find_crlf(p, m->body) + 2;
    for (p = m->fields; p < m->fields_end; ) {
        Field field;

        p = next_field(p, m->fields_end, &field);
        if (!p || (field.kind == KIND_LENGTH && !parse_length(&field, m))) {
            return false;
        }
        m->is_sdp |= field.kind == KIND_TYPE && is_sdp(&field);
    }
    return true;
}

/* --- rewriting ------------------------------------------------------------ */

/* Adds the header's edits; returns the index of Content-Length's. */
static unsigned edit_header(VmrpcSipEdits *edits, const Message *m)
{
    const char *uri, *end, *p = m->fields;
    unsigned length = 0;

    if (request_uri(m, &uri, &end)) {
        vmrpc_sip_edit_uri(edits, uri, end);
    }
    while (p < m->fields_end) {
        Field field;

        p = next_field(p, m->fields_end, &field);
        if (field.kind == KIND_URI || field.kind == KIND_VIA) {
            vmrpc_sip_edit_value(edits, field.value, field.end,
                                 field.kind == KIND_VIA);
        } else if (field.kind == KIND_LENGTH) {
            /* Reserve its place, as edits are in order; see edit_length(). */
            length = edits->num;
            vmrpc_sip_edit(edits, m->length, 0, "");
        }
    }
    return length;
}

static void edit_length(VmrpcSipEdit *edit, const Message *m, size_t body_len)
{
    edit->len = m->length_end - m->length;
    g_snprintf(edit->text, sizeof(edit->text), "%zu", body_len);
}

/*
 * The header, and the body up to @end, with the addresses of the other side.
 * NULL: nothing changes.
 */
static GByteArray *rewrite(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                           const Message *m, const char *end)
{
    VmrpcSipEdits edits = { .ops = ops, .dir = dir };
    unsigned length = edit_header(&edits, m), in_header = edits.num;

    if (m->is_sdp) {
        vmrpc_sip_edit_sdp(&edits, m->body, MIN(end, m->body + m->body_len));
    }
    if (edits.full) {
        ops->counters->alg_too_long++;
        return NULL;
    }
    if (edits.num == (m->length ? 1 : 0)) {
        return NULL;
    }
    if (m->length && edits.num > in_header) {
        edit_length(&edits.edit[length], m, m->body_len +
                    vmrpc_sip_edits_growth(&edits, in_header));
    }
    ops->counters->alg_rewritten++;
    return vmrpc_sip_edits_apply(&edits, m->start, end);
}

/* --- datagrams ------------------------------------------------------------ */

GByteArray *vmrpc_sip_datagram(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                               const void *data, size_t len)
{
    const char *p = data, *end, *stop;
    GByteArray *out;
    Message m;

    if (len == 0) {
        return NULL;
    }
    end = p + len;
    if (vmrpc_sip_skip_lws(p, end) == end) {
        return NULL;            /* it keeps a NAT's binding alive */
    }
    stop = memmem(p, len, "\r\n\r\n", 4);
    if (!stop || !parse_header(p, stop + 4 - p, &m) ||
        (m.length && m.body_len > (size_t)(end - m.body))) {
        ops->counters->alg_malformed++;
        return NULL;
    }
    if (!m.length) {
        m.body_len = end - m.body;      /* section 20.14 */
    }
    out = rewrite(ops, dir, &m, end);
    if (out && out->len > UDP_MAX) {
        ops->counters->alg_too_long++;
        g_clear_pointer(&out, g_byte_array_unref);
    }
    return out;
}

/* --- streams -------------------------------------------------------------- */

/* Lets the rest of the direction pass. */
static void give_up(VmrpcAlgFlow *flow, uint64_t *counter)
{
    (*counter)++;
    flow->opaque = true;
    vmrpc_alg_release(flow);
}

/* All of a message that may change is held. */
static void message_taken(VmrpcAlg *alg, VmrpcAlgDir dir, const Message *m)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    GByteArray *out = rewrite(alg->ops, dir, m,
                              m->start + flow->held->len);

    alg->sip.message_len[dir] = 0;
    if (out) {
        vmrpc_alg_replace(flow, out);
    } else {
        vmrpc_alg_release(flow);
    }
}

/* A whole header is held. */
static void header_taken(VmrpcAlg *alg, VmrpcAlgDir dir)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t len = flow->held->len;
    Message m;

    if (!parse_header((char *)flow->held->data, len, &m) || !m.length) {
        give_up(flow, &alg->ops->counters->alg_malformed);
    } else if (!m.is_sdp || m.body_len == 0) {
        alg->sip.body_left[dir] = m.body_len;
        message_taken(alg, dir, &m);
    } else if (m.body_len > VMRPC_ALG_SIP_MAX - len) {
        alg->ops->counters->alg_too_long++;
        alg->sip.body_left[dir] = m.body_len;
        vmrpc_alg_release(flow);
    } else {
        alg->sip.message_len[dir] = len + m.body_len;
    }
}

static size_t take_header(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                          size_t len)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t before = flow->held ? flow->held->len : 0;
    size_t n = MIN(len, VMRPC_ALG_SIP_MAX - before);
    size_t seen = before < 3 ? 0 : before - 3;
    const char *p, *stop;

    vmrpc_alg_hold(flow, data, n);
    p = (char *)flow->held->data;
    stop = memmem(p + seen, flow->held->len - seen, "\r\n\r\n", 4);
    if (stop) {
        g_byte_array_set_size(flow->held, stop + 4 - p);
        n = flow->held->len - before;
    }
    if (!alg->sip.start_seen[dir] &&
        !judge_start(p, before, p + flow->held->len,
                     &alg->sip.start_seen[dir])) {
        give_up(flow, &alg->ops->counters->alg_malformed);
    } else if (stop) {
        alg->sip.start_seen[dir] = false;       /* for the next message */
        header_taken(alg, dir);
    } else if (flow->held->len == VMRPC_ALG_SIP_MAX) {
        give_up(flow, &alg->ops->counters->alg_too_long);
    }
    return n;
}

static size_t sip_take(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                       size_t len)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t total = alg->sip.message_len[dir], n;
    Message m;

    if (total == 0) {
        return take_header(alg, dir, data, len);
    }
    n = MIN(len, total - flow->held->len);
    vmrpc_alg_hold(flow, data, n);
    if (flow->held->len == total) {
        const char *p = (char *)flow->held->data;
        const char *stop = memmem(p, total, "\r\n\r\n", 4);

        parse_header(p, stop + 4 - p, &m);
        message_taken(alg, dir, &m);
    }
    return n;
}

static void sip_init(VmrpcAlg *alg)
{
}

static size_t sip_blind(const VmrpcAlg *alg, VmrpcAlgDir dir)
{
    return alg->sip.body_left[dir];
}

/* Empty lines between messages */
static size_t sip_scan(const VmrpcAlg *alg, VmrpcAlgDir dir,
                       const uint8_t *data, size_t len)
{
    size_t i = 0;

    while (i < len && (data[i] == '\r' || data[i] == '\n')) {
        i++;
    }
    return i;
}

static void sip_passed(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                       size_t len)
{
    size_t *left = &alg->sip.body_left[dir];

    *left -= MIN(*left, len);
}

const VmrpcAlgFilter vmrpc_alg_sip_filter = {
    .init = sip_init,
    .blind = sip_blind,
    .scan = sip_scan,
    .passed = sip_passed,
    .take = sip_take,
};
