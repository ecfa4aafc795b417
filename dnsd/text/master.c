/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Master files
 *
 * Theory of operation
 *
 * A file is read in large pieces, and each is parsed in the buffer.  If the end
 * of the piece cuts a record, the lexer is starved, and that record is parsed
 * again with the next piece.  So the size of a file is unlimited, and nothing
 * is copied except the rest of a record.  If the file is truncated meanwhile,
 * the result is a read error or a wrong record.  With a mapping it would be a
 * signal.
 *
 * Each line changes the state (DnsMasterState) or passes on a record.  After a
 * fault the parser skips to the end of the record, reports the fault and
 * continues.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnsd/text/master-internal.h"
#include "dnsd/text/master.h"

#define PIECE       (1 << 20)

typedef struct Buffer {
    char *text;
    size_t len;
    size_t room;
    bool is_whole;              /* the file has no more octets */
} Buffer;

static int read_file(DnsMasterReader *r, const char *path);

/* --- lines --------------------------------------------------------------- */

/* Report that a file cannot be read, at the line that includes it if any. */
static int cannot_read(DnsMasterReader *r, const char *path, int error)
{
    int ret;

    r->fault = (DnsFault) { .line = r->depth ? r->state->line : 0 };
    snprintf(r->fault.text, sizeof(r->fault.text), "%.200s cannot be read: %s",
             path, strerror(-error));
    ret = dns_master_report(r);
    return ret ? ret : r->depth ? 0 : error;
}

/* The path of an included file is relative to the file that includes it. */
static int beside(const DnsMasterReader *r, char path[PATH_MAX])
{
    const char *slash = strrchr(r->path, '/');
    int dir = slash && r->include[0] != '/' ? slash - r->path + 1 : 0;
    int len = snprintf(path, PATH_MAX, "%.*s%s", dir, r->path, r->include);

    return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* RFC 1035 section 5.1: behind the file, origin and owner are as before it. */
static int include(DnsMasterReader *r)
{
    DnsMasterState before = *r->state;
    const char *outer = r->path;
    char path[PATH_MAX];
    int ret = beside(r, path);

    r->depth++;
    if (!ret) {
        r->state->origin = r->include_origin;
        ret = read_file(r, path);
    } else {
        ret = cannot_read(r, path, ret);
    }
    r->depth--;
    r->path = outer;
    r->state->origin = before.origin;
    r->state->owner = before.owner;
    r->state->has_owner = before.has_owner;
    r->state->line = before.line;
    /* The fault in the included file was reported already. */
    r->fault.line = 0;
    return ret;
}

static int follow(DnsMasterReader *r, DnsLex *lex, uint64_t line)
{
    if (r->depth + 1 >= DNS_MASTER_INCLUDES_MAX) {
        return dns_fault(lex, lex->line_start, "files include one another "
                         "more than %u deep: does one include itself?",
                         DNS_MASTER_INCLUDES_MAX);
    }
    r->state->line = line;
    return include(r);
}

/* Read one record or directive; after a fault, skip to its end. */
static int run_line(DnsMasterReader *r, DnsLex *lex)
{
    uint64_t line = lex->line;
    int ret;

    r->fault.line = 0;
    r->include[0] = 0;
    ret = dns_master_line(r, lex);
    if (!ret && r->include[0] && !lex->starved) {
        ret = follow(r, lex, line);
    }
    if (ret == -EINVAL && r->fault.line && !lex->starved) {
        dns_lex_skip(lex);
        ret = lex->starved ? 0 : dns_master_report(r);
    }
    return lex->starved ? 0 : ret;
}

int dns_master_lines(DnsMasterReader *r, DnsLex *lex)
{
    bool goes_on = lex->at < lex->end;

    while (goes_on) {
        DnsLex before = *lex;
        int ret = run_line(r, lex);

        if (lex->starved) {
            *lex = before;
            break;
        }
        if (ret) {
            return ret;
        }
        goes_on = dns_lex_begin(lex);
    }
    return 0;
}

/* --- files --------------------------------------------------------------- */

static int fill(Buffer *b, int fd)
{
    while (b->len < b->room && !b->is_whole) {
        ssize_t len = read(fd, b->text + b->len, b->room - b->len);

        if (len < 0 && errno != EINTR) {
            return -errno;
        }
        b->is_whole = !len;
        b->len += len > 0 ? len : 0;
    }
    return 0;
}

/* Enlarge the buffer for a record that is longer than it. */
static int grow(DnsMasterReader *r, Buffer *b)
{
    char *more;

    if (b->room >= DNS_MASTER_RECORD_MAX) {
        r->fault = (DnsFault) { .line = r->state->line };
        snprintf(r->fault.text, sizeof(r->fault.text), "the record that "
                 "begins here has more than %u octets: is a ) missing?",
                 DNS_MASTER_RECORD_MAX);
        dns_master_report(r);
        return -EINVAL;
    }
    more = realloc(b->text, 2 * b->room);
    if (!more) {
        return -ENOMEM;
    }
    b->text = more;
    b->room *= 2;
    return 0;
}

static int run_buffer(DnsMasterReader *r, Buffer *b)
{
    DnsLex lex;
    size_t done;
    int ret;

    dns_lex_init(&lex, b->text, b->len, r->state->line, &r->fault);
    lex.has_more = !b->is_whole;
    ret = dns_master_lines(r, &lex);
    if (ret) {
        return ret;
    }
    done = lex.at - b->text;
    r->state->line = lex.line;
    memmove(b->text, lex.at, b->len - done);
    b->len -= done;
    return b->len == b->room ? grow(r, b) : 0;
}

static int run_descriptor(DnsMasterReader *r, const char *path, int fd)
{
    Buffer b = { .text = malloc(PIECE), .room = PIECE };
    int ret = b.text ? 0 : -ENOMEM;

    while (!ret && !b.is_whole) {
        ret = fill(&b, fd);
        if (ret) {
            ret = cannot_read(r, path, ret);
            break;
        }
        ret = run_buffer(r, &b);
    }
    free(b.text);
    return ret;
}

static int read_file(DnsMasterReader *r, const char *path)
{
    int fd = r->ops->open ? r->ops->open(r->opaque, path) :
             open(path, O_RDONLY | O_CLOEXEC);
    int ret;

    if (fd < 0) {
        return cannot_read(r, path, r->ops->open ? fd : -errno);
    }
    r->path = path;
    r->state->line = 1;
    ret = run_descriptor(r, path, fd);
    close(fd);
    return ret;
}

/* --- life ---------------------------------------------------------------- */

void dns_master_state(DnsMasterState *state, const DnsMasterOptions *options)
{
    *state = (DnsMasterState) {
        .origin = *options->origin,
        .has_default_ttl = options->has_default_ttl,
        .default_ttl = options->default_ttl,
        .line = 1,
    };
}

static DnsMasterReader *reader_new(const DnsMasterOps *ops, void *opaque,
                                   const DnsMasterOptions *options,
                                   DnsMasterState *state)
{
    DnsMasterReader *r = malloc(sizeof(*r));

    if (r) {
        r->ops = ops;
        r->opaque = opaque;
        r->options = options;
        r->state = state;
        r->path = options->path;
        r->depth = 0;
        r->errors = 0;
        r->owner_is_bad = false;
        r->has_warned = false;
    }
    return r;
}

int dns_master_read(const DnsMasterOps *ops, void *opaque,
                    const DnsMasterOptions *options)
{
    DnsMasterState state;
    DnsMasterReader *r = reader_new(ops, opaque, options, &state);
    int ret;

    if (!r) {
        return -ENOMEM;
    }
    dns_master_state(&state, options);
    ret = read_file(r, options->path);
    ret = !ret && r->errors ? -EINVAL : ret;
    free(r);
    return ret;
}

int dns_master_parse(const DnsMasterOps *ops, void *opaque,
                     const DnsMasterOptions *options, DnsMasterState *state,
                     const char *text, size_t len)
{
    DnsMasterReader *r = reader_new(ops, opaque, options, state);
    DnsLex lex;
    int ret;

    if (!r) {
        return -ENOMEM;
    }
    dns_lex_init(&lex, text, len, state->line, &r->fault);
    ret = dns_master_lines(r, &lex);
    ret = !ret && r->errors ? -EINVAL : ret;
    state->line = lex.line;
    free(r);
    return ret;
}
