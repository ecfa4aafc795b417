/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heads of all requests of an HTTP/1 stream
 *
 * Theory of operation
 * ===================
 *
 * A client may send one request behind the other, each to another host.  So
 * the end of each must be known, as the server will see it.  Where two readers
 * could see it in two places, the stream is refused:
 *
 *   lines       end with CR LF; no line is folded or empty before a request
 *   request     method, target and version with one blank between them
 *   fields      have no blank before the colon, and no control octets
 *   Host        once, a name, and the same as in an absolute target
 *   length      one Content-Length of digits, or "Transfer-Encoding: chunked",
 *               not both; as "Content_Length" neither
 *   chunks      a size in hexadecimal digits: no extensions, no trailer fields
 *
 * What turns the stream into something else is refused, too: CONNECT, Upgrade,
 * and the preface of HTTP/2.
 *
 * A head is read again from its beginning with each part that comes, up to its
 * last whole line; so nothing of it is stored.  It has at most 16 KiB.
 */
#include "hw/vmrpc/said/head.h"

#include <glib.h>
#include <string.h>

/* Digits of a chunk's size, and of a length: less than 2^60 */
#define CHUNK_DIGITS    15
#define LENGTH_DIGITS   18

typedef enum Found {
    FOUND,
    NEEDS_MORE,
    WRONG,
} Found;

typedef struct Text {
    const uint8_t *at;
    size_t len;
} Text;

/* The octets that are there, and what was found in them */
typedef struct Walk {
    const uint8_t *kept;
    size_t len;
    size_t at;
    VmrpcSaidReason reason;
} Walk;

/* A head as far as it was read */
typedef struct Request {
    VmrpcSaid *said;
    char absolute[VMRPC_SAID_NAME_MAX]; /* of the target; "": it has none */
    bool is_old;                /* HTTP/1.0 */
    bool has_host, has_length, is_chunked;
    uint64_t length;
} Request;

static Found wrong(Walk *w, VmrpcSaidReason reason)
{
    w->reason = reason;
    return WRONG;
}

/* RFC 9110, section 5.6.2 */
static const bool token_octets[256] = {
    ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true,
    ['!'] = true, ['#'] = true, ['$'] = true, ['%'] = true, ['&'] = true,
    ['\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true,
    ['^'] = true, ['_'] = true, ['`'] = true, ['|'] = true, ['~'] = true,
};

static bool is_token(Text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!token_octets[text.at[i]]) {
            return false;
        }
    }
    return text.len;
}

/*
 * The next line, without its end.  An octet that no line has is told at once.
 */
static Found next_line(Walk *w, Text *line)
{
    *line = (Text) { w->kept + w->at, 0 };
    for (; w->at + line->len < w->len; line->len++) {
        uint8_t c = line->at[line->len];

        if (c == '\r') {
            if (w->at + line->len + 1 == w->len) {
                return NEEDS_MORE;
            }
            if (line->at[line->len + 1] == '\n') {
                w->at += line->len + 2;
                return FOUND;
            }
        }
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            /* Has a request begun? */
            return wrong(w, w->at || memchr(line->at, ' ', line->len)
                         ? VMRPC_SAID_MALFORMED : VMRPC_SAID_NOT_HTTP);
        }
    }
    return NEEDS_MORE;
}

/* Cuts off what is before @c, and @c; false if it has none. */
static bool cut(Text *text, uint8_t c, Text *before)
{
    const uint8_t *end = memchr(text->at, c, text->len);

    if (!end) {
        return false;
    }
    *before = (Text) { text->at, end - text->at };
    text->len -= before->len + 1;
    text->at = end + 1;
    return true;
}

static bool is_text(Text text, const char *known)
{
    return text.len == strlen(known) &&
           !g_ascii_strncasecmp((const char *)text.at, known, text.len);
}

/* "NAME" or "NAME:PORT", as Host and an absolute target have it */
static VmrpcSaidReason read_host(Text text, char name[VMRPC_SAID_NAME_MAX])
{
    Text host = text, port = text;

    if (!text.len) {
        return VMRPC_SAID_NO_NAME;
    }
    if (text.at[0] == '[') {
        return VMRPC_SAID_NO_NAME;      /* an IPv6 address */
    }
    if (cut(&port, ':', &host)) {
        for (size_t i = 0; i < port.len; i++) {
            if (!g_ascii_isdigit(port.at[i]) || i == 5) {
                return VMRPC_SAID_MALFORMED;
            }
        }
    }
    return vmrpc_said_name(host.at, host.len, name);
}

/* "/path", "http://NAME/path" or "*" */
static VmrpcSaidReason read_target(Text target, Request *request)
{
    static const char scheme[] = "http://";
    size_t len = sizeof(scheme) - 1, end;

    if (target.len && (target.at[0] == '/' || is_text(target, "*"))) {
        return VMRPC_SAID_OK;
    }
    if (target.len <= len ||
        !is_text((Text) { target.at, len }, scheme)) {
        return VMRPC_SAID_MALFORMED;
    }
    target.at += len;
    target.len -= len;
    for (end = 0; end < target.len && !strchr("/?#", target.at[end]); end++) {
        continue;
    }
    return read_host((Text) { target.at, end }, request->absolute);
}

static bool is_version(Text text)
{
    return text.len == 8 && !memcmp(text.at, "HTTP/1.", 7) &&
           (text.at[7] == '1' || text.at[7] == '0');
}

static Found read_request_line(Walk *w, Text line, Request *request)
{
    Text method, target;
    VmrpcSaidReason reason;

    if (!cut(&line, ' ', &method) || !is_token(method) ||
        !cut(&line, ' ', &target) || !is_version(line) ||
        is_text(method, "CONNECT")) {
        return wrong(w, VMRPC_SAID_NOT_HTTP);
    }
    request->is_old = line.at[7] == '0';
    if (memchr(target.at, '\t', target.len)) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    reason = read_target(target, request);
    return reason == VMRPC_SAID_OK ? FOUND : wrong(w, reason);
}

/* Is it this field?  Some servers take '_' for '-'. */
static bool is_field(Text name, const char *known)
{
    if (name.len != strlen(known)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i] == '_' ? '-' : g_ascii_tolower(name.at[i]);

        if (c != known[i]) {
            return false;
        }
    }
    return true;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static bool read_length(Text value, uint64_t *length)
{
    *length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (!g_ascii_isdigit(value.at[i]) || i == LENGTH_DIGITS) {
            return false;
        }
        *length = *length * 10 + value.at[i] - '0';
    }
    return value.len;
}

static Found read_field(Walk *w, Text line, Request *request)
{
    VmrpcSaidReason reason = VMRPC_SAID_OK;
    Text name, value = line;
    bool odd;

    if (!cut(&value, ':', &name) || !is_token(name)) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    odd = memchr(name.at, '_', name.len);
    while (value.len && is_blank(value.at[0])) {
        value.at++;
        value.len--;
    }
    while (value.len && is_blank(value.at[value.len - 1])) {
        value.len--;
    }
    if (is_field(name, "host")) {
        reason = request->has_host ? VMRPC_SAID_MALFORMED
                                   : read_host(value, request->said->name);
        request->has_host = true;
    } else if (is_field(name, "content-length")) {
        reason = odd || request->has_length ||
                 !read_length(value, &request->length)
                 ? VMRPC_SAID_MALFORMED : VMRPC_SAID_OK;
        request->has_length = true;
    } else if (is_field(name, "transfer-encoding")) {
        reason = odd || request->is_chunked || !is_text(value, "chunked")
                 ? VMRPC_SAID_MALFORMED : VMRPC_SAID_OK;
        request->is_chunked = true;
    } else if (is_field(name, "upgrade")) {
        reason = VMRPC_SAID_NOT_HTTP;
    }
    return reason == VMRPC_SAID_OK ? FOUND : wrong(w, reason);
}

/* Do the fields of a whole head agree? */
static Found check_request(Walk *w, const Request *request)
{
    if (!request->has_host) {
        return wrong(w, VMRPC_SAID_NO_NAME);
    }
    if ((request->absolute[0] &&
         strcmp(request->absolute, request->said->name) != 0) ||
        (request->is_chunked && (request->has_length || request->is_old))) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    return FOUND;
}

static Found read_head(VmrpcHead *head, Walk *all, VmrpcSaid *said)
{
    /* Its positions are those of the head. */
    Walk w = { .kept = all->kept + all->at, .len = all->len - all->at };
    Request request = { .said = said };
    Found found;
    Text line;

    *said = (VmrpcSaid) { };
    for (bool first = true;; first = false) {
        found = next_line(&w, &line);
        if (found == FOUND && !first && !line.len) {
            found = check_request(&w, &request);
            break;
        }
        if (found == FOUND) {
            found = first ? read_request_line(&w, line, &request)
                          : read_field(&w, line, &request);
        }
        if (found != FOUND) {
            break;
        }
    }
    all->reason = w.reason;
    if (found != FOUND) {
        return found;
    }
    all->at += w.at;
    head->body_left = request.length;
    head->stage = request.is_chunked ? VMRPC_HEAD_CHUNK :
                  request.length ? VMRPC_HEAD_BODY : VMRPC_HEAD_HEAD;
    return FOUND;
}

/* "1f" CR LF */
static Found read_chunk(VmrpcHead *head, Walk *w)
{
    uint64_t size = 0;
    size_t i;

    for (i = 0; w->at + i < w->len; i++) {
        int digit = g_ascii_xdigit_value(w->kept[w->at + i]);

        if (digit < 0) {
            break;
        }
        if (i == CHUNK_DIGITS) {
            return wrong(w, VMRPC_SAID_MALFORMED);
        }
        size = size << 4 | digit;
    }
    if (w->at + i < w->len && (!i || w->kept[w->at + i] != '\r')) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    if (w->at + i + 1 < w->len && w->kept[w->at + i + 1] != '\n') {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    if (w->at + i + 1 >= w->len) {
        return NEEDS_MORE;
    }
    w->at += i + 2;
    head->body_left = size;
    head->stage = size ? VMRPC_HEAD_CHUNK_BODY : VMRPC_HEAD_LAST_END;
    return FOUND;
}

/* CR LF behind a chunk, or behind the last one instead of trailer fields */
static Found read_end(VmrpcHead *head, Walk *w)
{
    size_t there = w->len - w->at;

    if (w->kept[w->at] != '\r' || (there > 1 && w->kept[w->at + 1] != '\n')) {
        return wrong(w, VMRPC_SAID_MALFORMED);
    }
    if (there < 2) {
        return NEEDS_MORE;
    }
    w->at += 2;
    head->stage = head->stage == VMRPC_HEAD_CHUNK_END ? VMRPC_HEAD_CHUNK
                                                      : VMRPC_HEAD_HEAD;
    return FOUND;
}

uint64_t vmrpc_head_unread(const VmrpcHead *head)
{
    return head->stage == VMRPC_HEAD_BODY ||
           head->stage == VMRPC_HEAD_CHUNK_BODY ? head->body_left : 0;
}

void vmrpc_head_skip(VmrpcHead *head, uint64_t num)
{
    head->body_left -= num;
    if (!head->body_left) {
        head->stage = head->stage == VMRPC_HEAD_BODY ? VMRPC_HEAD_HEAD
                                                     : VMRPC_HEAD_CHUNK_END;
    }
}

static Found read_part(VmrpcHead *head, Walk *w, VmrpcSaid *said)
{
    uint64_t skip;

    switch (head->stage) {
    case VMRPC_HEAD_HEAD:
        return read_head(head, w, said);
    case VMRPC_HEAD_CHUNK:
        return read_chunk(head, w);
    case VMRPC_HEAD_CHUNK_END:
    case VMRPC_HEAD_LAST_END:
        return read_end(head, w);
    default:
        skip = MIN(head->body_left, w->len - w->at);
        w->at += skip;
        vmrpc_head_skip(head, skip);
        return FOUND;
    }
}

VmrpcSaidStep vmrpc_head_look(VmrpcHead *head, const uint8_t *kept, size_t len,
                              VmrpcSaid *said, size_t *pass)
{
    Walk w = { .kept = kept, .len = len };

    for (*pass = 0; w.at < len; *pass = w.at) {
        bool is_head = head->stage == VMRPC_HEAD_HEAD;
        Found found = read_part(head, &w, said);

        if (found == NEEDS_MORE) {
            break;
        }
        if (found == WRONG) {
            head->reason = w.reason;
            *pass = 0;
            return VMRPC_SAID_REFUSED;
        }
        if (is_head) {
            *pass = w.at;
            return VMRPC_SAID_SAID;
        }
    }
    if (len - *pass < VMRPC_SAID_KEEP_MAX) {
        return VMRPC_SAID_MORE;
    }
    head->reason = VMRPC_SAID_TOO_LONG;
    *pass = 0;
    return VMRPC_SAID_REFUSED;
}
