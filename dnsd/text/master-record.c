/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a master file: the fields before RDATA, and the TTL */
#include <errno.h>
#include <stdio.h>

#include "base/octets.h"
#include "dnsd/text/master-internal.h"
#include "dnsd/text/number.h"
#include "dnsd/text/types.h"
#include "net/dns/wire/rrtype.h"

/* --- reports ------------------------------------------------------------- */

static int report(DnsMasterReader *r, const DnsMasterError *error)
{
    return r->ops->error(r->opaque, error) ? 0 : -ECANCELED;
}

int dns_master_report(DnsMasterReader *r)
{
    unsigned max = r->options->errors_max ? r->options->errors_max :
                   DNS_MASTER_ERRORS_MAX;
    DnsMasterError error = {
        .file = r->path, .line = r->fault.line, .column = r->fault.column,
        .text = r->fault.text,
    };
    int ret = report(r, &error);

    if (ret || ++r->errors < max) {
        return ret;
    }
    error.column = 0;
    error.text = "too many errors: the rest was not checked";
    ret = report(r, &error);
    return ret ? ret : -EINVAL;
}

int dns_master_warn(DnsMasterReader *r, uint64_t line, const char *text)
{
    const DnsMasterError error = {
        .file = r->path, .line = line, .is_warning = true, .text = text,
    };

    return report(r, &error);
}

/* --- TTL ----------------------------------------------------------------- */

int dns_master_limit_ttl(DnsMasterReader *r, uint64_t line, uint32_t *ttl)
{
    if (*ttl <= DNS_TTL_MAX) {
        return 0;
    }
    *ttl = 0;
    return dns_master_warn(r, line, "a TTL above 2147483647 counts as 0");
}

/* The TTL without $TTL: RFC 2308 section 4; for SOA the same as in BIND */
static int without_default(DnsMasterReader *r, const DnsMasterHead *head,
                           size_t rdlength, uint64_t line, uint32_t *ttl)
{
    DnsMasterState *state = r->state;

    if (state->has_last_ttl) {
        *ttl = state->last_ttl;
        if (r->has_warned) {
            return 0;
        }
        r->has_warned = true;
        return dns_master_warn(r, line, "without $TTL, records without a TTL "
                               "get that of the record before");
    }
    if (head->type != DNS_TYPE_SOA) {
        r->fault = (DnsFault) { .line = line };
        snprintf(r->fault.text, sizeof(r->fault.text), "this record has no "
                 "TTL, and nothing before it says one: $TTL 1h");
        return -EINVAL;
    }
    *ttl = get_be32(r->rdata + rdlength - 4);
    *ttl = *ttl > DNS_TTL_MAX ? 0 : *ttl;
    state->has_default_ttl = true;
    state->default_ttl = *ttl;
    return dns_master_warn(r, line, "without $TTL, the SOA record's last "
                           "number is taken for it");
}

static int choose_ttl(DnsMasterReader *r, const DnsMasterHead *head,
                      size_t rdlength, uint64_t line, uint32_t *ttl)
{
    DnsMasterState *state = r->state;
    int ret;

    if (head->has_ttl) {
        *ttl = head->ttl;
        ret = dns_master_limit_ttl(r, line, ttl);
        state->has_last_ttl = true;
        state->last_ttl = *ttl;
        return ret;
    }
    if (state->has_default_ttl) {
        *ttl = state->default_ttl;
        return 0;
    }
    return without_default(r, head, rdlength, line, ttl);
}

int dns_master_emit(DnsMasterReader *r, const DnsName *owner,
                    const DnsMasterHead *head, size_t rdlength, uint64_t line)
{
    DnsMasterRecord record = {
        .owner = owner, .type = head->type, .rrclass = r->options->rrclass,
        .rdlength = rdlength, .rdata = r->rdata, .file = r->path,
        .line = line,
    };
    int ret = choose_ttl(r, head, rdlength, line, &record.ttl);

    return ret ? ret : r->ops->record(r->opaque, &record);
}

/* --- the fields before RDATA ---------------------------------------------- */

static int read_ttl(DnsLex *lex, const DnsToken *token, DnsMasterHead *head)
{
    int64_t ttl = dns_ttl_parse(token->text, token->len);

    if (ttl < 0) {
        return dns_token_fault(lex, token, "is no TTL: seconds up to "
                               "2147483647, or units as in 1h30m");
    }
    if (head->has_ttl) {
        return dns_token_fault(lex, token, "is a second TTL");
    }
    head->has_ttl = true;
    head->ttl = ttl;
    return 0;
}

static int check_class(const DnsMasterReader *r, DnsLex *lex,
                       const DnsToken *token, int rrclass, bool *has_class)
{
    char name[DNS_MNEMONIC_MAX];

    if (rrclass != r->options->rrclass) {
        dns_class_to_text(r->options->rrclass, name);
        return dns_token_fault(lex, token, "is not the zone's class, which is "
                               "%s", name);
    }
    if (*has_class) {
        return dns_token_fault(lex, token, "is a second class");
    }
    *has_class = true;
    return 0;
}

static int read_type(DnsLex *lex, const DnsToken *token, DnsMasterHead *head)
{
    int type = dns_type_from_text(token->text, token->len);

    if (type < 0) {
        return dns_token_fault(lex, token, "is no type of records, such as A "
                               "or TYPE1, and no TTL or class");
    }
    if (dns_rrtype_is_meta(type)) {
        return dns_token_fault(lex, token, "is a type of questions only: no "
                               "zone has such records");
    }
    head->type = type;
    return 0;
}

int dns_master_head(DnsMasterReader *r, DnsLex *lex, DnsToken *token,
                    DnsMasterHead *head)
{
    bool has_class = false;

    *head = (DnsMasterHead) { 0 };
    for (;; dns_lex_next(lex, token)) {
        int rrclass, ret;

        if (token->kind == DNS_TOKEN_END) {
            return dns_fault(lex, token->text,
                             "the record ends before its type");
        }
        if (token->kind != DNS_TOKEN_WORD) {
            return dns_token_fault(lex, token, "is in quotes, but a type must "
                                   "stand here");
        }
        if (*token->text >= '0' && *token->text <= '9') {
            ret = read_ttl(lex, token, head);
        } else {
            rrclass = dns_class_from_text(token->text, token->len);
            if (rrclass < 0) {
                return read_type(lex, token, head);
            }
            ret = check_class(r, lex, token, rrclass, &has_class);
        }
        if (ret) {
            return ret;
        }
    }
}
