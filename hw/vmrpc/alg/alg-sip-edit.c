/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: addresses in messages of SIP
 *
 * A message is a private copy.  The parser goes as far as is needed to tell an
 * address from other text: the user part of a URI, a quoted name and a name
 * that only begins like an address stay unchanged.  Each address becomes an
 * edit; the new text is made once, at the end.
 *
 * An IPv6 address stands in brackets where the grammar (RFC 3261, section
 * 25.1) has "host".  It has none in received= and in SDP.  Some agents write
 * them in received= (RFC 5118, section 4.5), and the parser accepts them there.
 */
#include "hw/vmrpc/alg/alg-sip-edit.h"

#include <arpa/inet.h>
#include <string.h>

void vmrpc_sip_edit(VmrpcSipEdits *edits, const char *at, size_t len,
                    const char *text)
{
    VmrpcSipEdit *edit;

    g_assert(edits->num < G_N_ELEMENTS(edits->edit));
    edit = &edits->edit[edits->num++];
    edit->at = at;
    edit->len = len;
    g_strlcpy(edit->text, text, sizeof(edit->text));
}

ssize_t vmrpc_sip_edits_growth(const VmrpcSipEdits *edits, unsigned first)
{
    ssize_t growth = 0;

    for (unsigned i = first; i < edits->num; i++) {
        growth += strlen(edits->edit[i].text) - edits->edit[i].len;
    }
    return growth;
}

GByteArray *vmrpc_sip_edits_apply(const VmrpcSipEdits *edits, const char *p,
                                  const char *end)
{
    GByteArray *out;

    out = g_byte_array_sized_new(end - p + vmrpc_sip_edits_growth(edits, 0));
    for (unsigned i = 0; i < edits->num; i++) {
        const VmrpcSipEdit *edit = &edits->edit[i];

        g_byte_array_append(out, (const uint8_t *)p, edit->at - p);
        g_byte_array_append(out, (const uint8_t *)edit->text,
                            strlen(edit->text));
        p = edit->at + edit->len;
    }
    return g_byte_array_append(out, (const uint8_t *)p, end - p);
}

/* --- one address ---------------------------------------------------------- */

/* Copies a literal for inet_pton(); false if it is too long for one. */
static bool copy_literal(const char *p, const char *end,
                         char text[INET6_ADDRSTRLEN])
{
    size_t len = end - p;

    if (len >= INET6_ADDRSTRLEN) {
        return false;
    }
    memcpy(text, p, len);
    text[len] = '\0';
    return true;
}

/*
 * The other side's address for the address from @p to @end.  False if that is
 * no address, or the map does not know it.
 */
static bool counterpart(VmrpcSipEdits *edits, const char *p, const char *end,
                        char text[INET6_ADDRSTRLEN])
{
    bool to_host = edits->dir == VMRPC_ALG_TO_HOST;
    const VmrpcAlgOps *ops = edits->ops;
    struct in6_addr addr6;
    struct in_addr addr4;

    if (!copy_literal(p, end, text) ||
        inet_pton(to_host ? AF_INET : AF_INET6, text,
                  to_host ? (void *)&addr4 : &addr6) != 1) {
        return false;
    }
    if (edits->addresses == VMRPC_ALG_ADDRESSES_MAX) {
        edits->full = true;
        return false;
    }
    edits->addresses++;
    if (!(to_host ? ops->to6(ops->opaque, addr4, &addr6)
                  : ops->to4(ops->opaque, &addr6, &addr4))) {
        ops->counters->alg_unmapped++;
        return false;
    }
    return inet_ntop(to_host ? AF_INET6 : AF_INET,
                     to_host ? (void *)&addr6 : &addr4, text,
                     INET6_ADDRSTRLEN) != NULL;
}

static bool is_host_char(char c)
{
    return g_ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
}

/*
 * Edits the host at @p, which ends before a port.  With @may_be_bare, an IPv6
 * address may lack brackets, and a new one is written without.
 * Returns the end of the host.
 */
static const char *edit_host(VmrpcSipEdits *edits, const char *p,
                             const char *end, bool may_be_bare)
{
    char text[INET6_ADDRSTRLEN], host[VMRPC_SIP_TEXT_MAX];
    bool bracket = p < end && *p == '[';
    const char *start = p, *stop;

    if (bracket) {
        stop = memchr(p, ']', end - p);
        if (!stop) {
            return end;
        }
        start++;
        p = stop + 1;
    } else {
        while (p < end && (is_host_char(*p) || (may_be_bare && *p == ':'))) {
            p++;
        }
        stop = p;
    }
    /* IPv4 addresses have no brackets; IPv6 ones do, unless they may be bare */
    if ((edits->dir == VMRPC_ALG_TO_HOST ? bracket
                                         : !bracket && !may_be_bare) ||
        !counterpart(edits, start, stop, text)) {
        return p;
    }
    if (edits->dir == VMRPC_ALG_TO_HOST && !may_be_bare) {
        g_snprintf(host, sizeof(host), "[%s]", text);
    } else {
        g_strlcpy(host, text, sizeof(host));
    }
    start -= bracket;
    vmrpc_sip_edit(edits, start, p - start, host);
    return p;
}

/* --- headers -------------------------------------------------------------- */

const char *vmrpc_sip_skip_lws(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) && *p) {
        p++;
    }
    return p;
}

/* Returns the end of the quoted string at @p. */
static const char *skip_quoted(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        if (*p == '\\' && p + 1 < end) {
            p++;
        }
    }
    return p < end ? p + 1 : end;
}

/* Returns the end of @word at @p, in any case of letters; NULL: not there. */
static const char *skip_word(const char *p, const char *end, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(end - p) < len || g_ascii_strncasecmp(p, word, len) != 0) {
        return NULL;
    }
    return p + len;
}

static const char *skip_scheme(const char *p, const char *end)
{
    const char *next = skip_word(p, end, "sip:");

    return next ? next : skip_word(p, end, "sips:");
}

/*
 * Edits the host of the URI whose scheme ends at @p.  Commas, question marks
 * and semicolons end a URI unless it is between < and > (section 20).  The URI
 * ends where uri_begins() may be true again, so each byte is read for at most
 * two URIs.
 * Returns the end of the host.
 */
static const char *edit_uri(VmrpcSipEdits *edits, const char *p,
                            const char *end, bool enclosed)
{
    const char *ends = enclosed ? "<> \t\r\n\"" : "<>,;? \t\r\n\"";
    const char *stop = p, *at;

    while (stop < end && *stop && !strchr(ends, *stop)) {
        stop++;
    }
    /* Any other "@" in a URI is escaped. */
    at = memchr(p, '@', stop - p);
    return edit_host(edits, at ? at + 1 : p, stop, false);
}

void vmrpc_sip_edit_uri(VmrpcSipEdits *edits, const char *p, const char *end)
{
    const char *next = skip_scheme(p, end);

    if (next) {
        edit_uri(edits, next, end, true);
    }
}

/* Edits the parameter whose semicolon is before @p; returns where to go on. */
static const char *edit_param(VmrpcSipEdits *edits, const char *p,
                              const char *end)
{
    const char *next;
    bool received;

    p = vmrpc_sip_skip_lws(p, end);
    next = skip_word(p, end, "received");
    received = next != NULL;
    if (!received) {
        next = skip_word(p, end, "maddr");
    }
    if (!next) {
        return p;
    }
    next = vmrpc_sip_skip_lws(next, end);
    if (next == end || *next != '=') {
        return next;
    }
    next = vmrpc_sip_skip_lws(next + 1, end);
    return edit_host(edits, next, end, received);
}

/* Edits "SIP/2.0/UDP host" at the beginning of an element of Via. */
static const char *edit_sent_by(VmrpcSipEdits *edits, const char *p,
                                const char *end)
{
    for (int slashes = 0; slashes < 2; slashes++) {
        while (p < end && *p != '/' && *p != ',') {
            p++;
        }
        if (p == end || *p == ',') {
            return p;
        }
        p++;
    }
    p = vmrpc_sip_skip_lws(p, end);
    while (p < end && is_host_char(*p)) {
        p++;                    /* the transport */
    }
    return edit_host(edits, vmrpc_sip_skip_lws(p, end), end, false);
}

/* Can a URI begin at @p, in the value that begins at @start? */
static bool uri_begins(const char *start, const char *p)
{
    return p == start || (p[-1] && strchr("<, \t\r\n", p[-1]));
}

void vmrpc_sip_edit_value(VmrpcSipEdits *edits, const char *p,
                          const char *end, bool via)
{
    const char *start = p, *next;

    if (via) {
        p = edit_sent_by(edits, p, end);
    }
    while (p < end) {
        switch (*p) {
        case '"':
            p = skip_quoted(p, end);
            break;
        case ';':
            p = edit_param(edits, p + 1, end);
            break;
        case ',':
            p = via ? edit_sent_by(edits, p + 1, end) : p + 1;
            break;
        default:
            next = uri_begins(start, p) ? skip_scheme(p, end) : NULL;
            p = next ? edit_uri(edits, next, end, p > start && p[-1] == '<')
                     : p + 1;
        }
    }
}

/* --- session descriptions ------------------------------------------------- */

/*
 * Lines that end in "IN IP4 address" or "IN IP6 address", and the number of
 * fields before that: RFC 8866, sections 5.7 and 5.2, and RFC 3605.
 */
static const struct {
    const char *begin;
    int fields;
} sdp_lines[] = {
    { "c=", 0 },
    { "o=", 3 },
    { "a=rtcp:", 1 },
};

static void edit_sdp_address(VmrpcSipEdits *edits, const char *p,
                             const char *end)
{
    bool to_host = edits->dir == VMRPC_ALG_TO_HOST;
    char text[INET6_ADDRSTRLEN], field[VMRPC_SIP_TEXT_MAX];
    const char *addr = skip_word(p, end, to_host ? "IN IP4 " : "IN IP6 ");

    /* A group has a TTL or a number of addresses; the map knows none. */
    if (addr && counterpart(edits, addr, end, text)) {
        g_snprintf(field, sizeof(field), "IN %s %s", to_host ? "IP6" : "IP4",
                   text);
        vmrpc_sip_edit(edits, p, end - p, field);
    }
}

static void edit_sdp_line(VmrpcSipEdits *edits, const char *p,
                          const char *end)
{
    for (size_t i = 0; i < G_N_ELEMENTS(sdp_lines); i++) {
        const char *field = skip_word(p, end, sdp_lines[i].begin);

        for (int n = 0; field && n < sdp_lines[i].fields; n++) {
            field = memchr(field, ' ', end - field);
            field = field ? field + 1 : NULL;
        }
        if (field) {
            edit_sdp_address(edits, field, end);
            return;
        }
    }
}

void vmrpc_sip_edit_sdp(VmrpcSipEdits *edits, const char *p, const char *end)
{
    while (p < end) {
        const char *lf = memchr(p, '\n', end - p);
        const char *next = lf ? lf + 1 : end;
        const char *stop = lf ? lf : end;

        if (stop > p && stop[-1] == '\r') {
            stop--;
        }
        edit_sdp_line(edits, p, stop);
        p = next;
    }
}
