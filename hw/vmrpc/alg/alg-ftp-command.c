/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the commands of FTP
 *
 * Implements the table of alg-ftp.c.  A command is a private copy of one whole
 * line.
 */
#include "hw/vmrpc/alg/alg-ftp-command.h"

#include <arpa/inet.h>
#include <string.h>

/* --- addresses ------------------------------------------------------------ */

typedef struct Endpoint {
    int family;
    struct in_addr addr4;
    struct in6_addr addr6;
    unsigned port;
} Endpoint;

/* Parses a decimal number up to @max and moves *@p behind it. */
static bool parse_number(const char **p, unsigned max, unsigned *value)
{
    const char *start = *p;

    for (*value = 0; g_ascii_isdigit(**p); (*p)++) {
        *value = *value * 10 + (**p - '0');
        if (*value > max) {
            return false;
        }
    }
    return *p > start;
}

/* h1,h2,h3,h4,p1,p2 (RFC 959 section 4.1.2) */
static bool parse_port(const char *p, Endpoint *ep)
{
    unsigned v[6];

    for (int i = 0; i < 6; i++) {
        if ((i > 0 && *p++ != ',') || !parse_number(&p, 255, &v[i])) {
            return false;
        }
    }
    ep->family = AF_INET;
    ep->addr4.s_addr = htonl(v[0] << 24 | v[1] << 16 | v[2] << 8 | v[3]);
    ep->port = v[4] << 8 | v[5];
    return *p == '\0';
}

/* |protocol|address|port| with any delimiter (RFC 2428 section 2) */
static bool parse_eprt(const char *p, Endpoint *ep)
{
    char delim = *p++;
    char addr[INET6_ADDRSTRLEN];
    const char *end;
    unsigned proto;

    if (delim < '!' || delim > '~' || !parse_number(&p, 99, &proto) ||
        *p++ != delim) {
        return false;
    }
    end = strchr(p, delim);
    if (!end || (size_t)(end - p) >= sizeof(addr)) {
        return false;
    }
    memcpy(addr, p, end - p);
    addr[end - p] = '\0';
    p = end + 1;
    if (!parse_number(&p, 65535, &ep->port) || p[0] != delim || p[1] != '\0') {
        return false;
    }
    ep->family = proto == 1 ? AF_INET : AF_INET6;
    return (proto == 1 && inet_pton(AF_INET, addr, &ep->addr4) == 1) ||
           (proto == 2 && inet_pton(AF_INET6, addr, &ep->addr6) == 1);
}

unsigned vmrpc_ftp_find_port(const char *p)
{
    while ((p = strchr(p, '(')) != NULL) {
        char delim = *++p;
        unsigned port;

        if (delim < '!' || delim > '~' || p[1] != delim || p[2] != delim) {
            continue;
        }
        p += 3;
        if (parse_number(&p, 65535, &port) && p[0] == delim && p[1] == ')') {
            return port;
        }
    }
    return 0;
}

/* --- commands ------------------------------------------------------------- */

typedef enum Action {
    KEEP,
    REWRITE,
    REFUSE,                     /* make the server refuse it */
} Action;

/* Decides on a command; REWRITE puts the new command in @out. */
typedef Action Rewrite(VmrpcAlg *alg, const char *arg, char *out);

/* The last command was PASV or EPSV.  False: too many replies are due. */
static bool expect_passive(VmrpcAlgFtp *ftp, bool translated)
{
    if (ftp->passive_num == VMRPC_ALG_FTP_PASSIVE_MAX) {
        return false;
    }
    ftp->passive[ftp->passive_num++] = (VmrpcAlgPassive) {
        .translated = translated,
        .ahead = ftp->outstanding - 1,
    };
    ftp->outstanding = 0;
    return true;
}

static Action rewrite_auth(VmrpcAlg *alg, const char *arg, char *out)
{
    alg->ftp.auth = true;
    return KEEP;
}

static Action rewrite_pasv(VmrpcAlg *alg, const char *arg, char *out)
{
    if (*arg || !expect_passive(&alg->ftp, true)) {
        return KEEP;
    }
    strcpy(out, "EPSV");
    return REWRITE;
}

static Action rewrite_client_epsv(VmrpcAlg *alg, const char *arg, char *out)
{
    if (g_ascii_strcasecmp(arg, "ALL") == 0) {
        return KEEP;
    }
    expect_passive(&alg->ftp, false);
    if (strcmp(arg, "1") != 0) {
        return KEEP;
    }
    strcpy(out, "EPSV 2");
    return REWRITE;
}

/* The guest waits for a connection at @ep. */
static Action rewrite_own(VmrpcAlg *alg, const Endpoint *ep, char *out)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr6;

    if (ep->family != AF_INET ||
        ep->addr4.s_addr != alg->config.own4.s_addr) {
        return REFUSE;
    }
    if (!alg->ops->to6(alg->ops->opaque, ep->addr4, &addr6)) {
        alg->ops->counters->alg_unmapped++;
        return REFUSE;
    }
    inet_ntop(AF_INET6, &addr6, text, sizeof(text));
    g_snprintf(out, VMRPC_FTP_TEXT_MAX, "EPRT |2|%s|%u|", text, ep->port);
    return REWRITE;
}

static Action malformed(VmrpcAlg *alg)
{
    alg->ops->counters->alg_malformed++;
    return KEEP;                /* the server reports the error */
}

static Action rewrite_client_port(VmrpcAlg *alg, const char *arg, char *out)
{
    Endpoint ep;

    return parse_port(arg, &ep) ? rewrite_own(alg, &ep, out) : malformed(alg);
}

static Action rewrite_client_eprt(VmrpcAlg *alg, const char *arg, char *out)
{
    Endpoint ep;

    return parse_eprt(arg, &ep) ? rewrite_own(alg, &ep, out) : malformed(alg);
}

static Action rewrite_server_epsv(VmrpcAlg *alg, const char *arg, char *out)
{
    if (strcmp(arg, "2") != 0) {
        return KEEP;
    }
    strcpy(out, "EPSV 1");
    return REWRITE;
}

static Action rewrite_server_eprt(VmrpcAlg *alg, const char *arg, char *out)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr addr4;
    Endpoint ep;

    if (!parse_eprt(arg, &ep)) {
        return malformed(alg);
    }
    if (ep.family != AF_INET6) {
        return REFUSE;          /* IPv4 has another meaning in the guest */
    }
    if (!alg->ops->to4(alg->ops->opaque, &ep.addr6, &addr4)) {
        alg->ops->counters->alg_unmapped++;
        return REFUSE;
    }
    inet_ntop(AF_INET, &addr4, text, sizeof(text));
    g_snprintf(out, VMRPC_FTP_TEXT_MAX, "EPRT |1|%s|%u|", text, ep.port);
    return REWRITE;
}

static Action rewrite_server_port(VmrpcAlg *alg, const char *arg, char *out)
{
    return REFUSE;
}

#define VERB_LEN        4

struct VmrpcFtpVerb {
    char name[VERB_LEN + 1];
    Rewrite *rewrite;
};

/* An empty name ends each table. */
static const VmrpcFtpVerb client_verbs[] = {
    { "AUTH", rewrite_auth },
    { "EPRT", rewrite_client_eprt },
    { "EPSV", rewrite_client_epsv },
    { "PASV", rewrite_pasv },
    { "PORT", rewrite_client_port },
    { "", NULL }
};

static const VmrpcFtpVerb server_verbs[] = {
    { "AUTH", rewrite_auth },
    { "EPRT", rewrite_server_eprt },
    { "EPSV", rewrite_server_epsv },
    { "PORT", rewrite_server_port },
    { "", NULL }
};

const VmrpcFtpVerb *vmrpc_ftp_find_verb(const VmrpcAlg *alg,
                                        const uint8_t *data, size_t len)
{
    const VmrpcFtpVerb *v = alg->config.guest_is_server ? server_verbs
                                                        : client_verbs;

    while (v->rewrite && g_ascii_strncasecmp(v->name, (const char *)data,
                                             MIN(len, VERB_LEN)) != 0) {
        v++;
    }
    return v->rewrite ? v : NULL;
}

bool vmrpc_ftp_rewrite(VmrpcAlg *alg, const uint8_t *data, size_t len,
                       char out[VMRPC_FTP_TEXT_MAX])
{
    const VmrpcFtpVerb *verb = vmrpc_ftp_find_verb(alg, data, len);
    g_autofree char *line = g_strndup((const char *)data, len);

    if (!verb || len <= VERB_LEN || strlen(line) != len) {
        return false;
    }
    g_strchomp(line);
    if (line[VERB_LEN] != ' ' && line[VERB_LEN] != '\0') {
        return false;
    }
    switch (verb->rewrite(alg, g_strchug(line + VERB_LEN), out)) {
    case REFUSE:
        alg->ops->counters->alg_refused++;
        g_strlcpy(out, verb->name, VMRPC_FTP_TEXT_MAX);
        return true;
    case REWRITE:
        alg->ops->counters->alg_rewritten++;
        return true;
    default:
        return false;
    }
}
