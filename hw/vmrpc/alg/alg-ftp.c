/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the control connection of FTP
 *
 * Theory of operation
 * ===================
 *
 * The guest speaks FTP over IPv4, its peer over IPv6.  Each gets the commands
 * and replies of its own family:
 *
 *   guest is the client               the server sees
 *   PASV                              EPSV
 *   EPSV 1                            EPSV 2
 *   PORT own address, port            EPRT |2|the VM's IPv6 address|port|
 *   EPRT |1|own address|port|         the same
 *   PORT, EPRT with another address   PORT, EPRT without an argument
 *
 *   the server replies                the guest sees
 *   229 (|||port|) to that EPSV       227 (the server's address, port)
 *   229 without a port to it          425
 *
 *   guest is the server, client says  it sees
 *   EPSV 2                            EPSV 1
 *   EPRT |2|address|port|             EPRT |1|its virtual address|port|
 *   EPRT that cannot be translated,   EPRT, PORT without an argument
 *   PORT
 *
 * This mirrors RFC 6384, which has an IPv6 client and an IPv4 server.
 * Everything else passes unchanged:
 *
 *   EPSV and its reply       carry no address
 *   EPSV ALL                 the gateway turns no EPSV into the PASV that this
 *                            forbids; RFC 6384 does, and must refuse it
 *   EPSV 2 from the guest    the guest reaches the port all the same
 *   500, 502 to EPSV         tell a client that PASV is not available
 *   227 of the guest's own   answers a PASV that came over IPv6, where PASV
 *   server                   does not exist; clients that send it use the
 *                            port and ignore the address
 *
 * A refusal must come in its place among the replies, and in the language on
 * which client and server have agreed.  Only the server knows both.  So the
 * gateway sends it the command without its argument, which RFC 959 lets it
 * answer with 501 only (RFC 6384, section 12, sends NOOP for the same reason).
 *
 * The gateway counts to find the reply to a PASV: each command gets one final
 * reply (not 1yz), and so does the greeting.  Servers deviate from that (ABOR,
 * STAT in a transfer, empty lines).  So the count only decides whether a
 * refusal belongs to the EPSV or to a command before it.  A 229 always answers
 * the oldest EPSV, and no other command.
 *
 * A reply of 234 or 235 after AUTH (RFC 2228) announces TLS or GSSAPI: both
 * directions pass from then on, also after CCC, which returns to plain text.
 *
 * Telnet (RFC 854), as far as FTP uses it: commands before a line pass and are
 * no part of it; a line with a command inside is not rewritten.
 *
 * A line ends with LF, with or without CR, and its replacement ends likewise.
 * A line is held while it begins like one that may be rewritten, up to
 * VMRPC_ALG_FTP_LINE_MAX bytes; a longer one passes.  A reply that is going to
 * be replaced never passes: bytes beyond that limit are ignored.
 */
#include "hw/vmrpc/alg/alg-flow.h"
#include "hw/vmrpc/alg/alg-ftp.h"
#include "hw/vmrpc/alg/alg-ftp-command.h"

#include <string.h>

#define HELD_MAX        VMRPC_ALG_FTP_LINE_MAX

/* A reply's code and the byte behind it */
#define HEAD_LEN        4
G_STATIC_ASSERT(sizeof(((VmrpcAlgLine *)NULL)->head) == HEAD_LEN);

#define CODE_AUTH_DONE  234
#define CODE_ADAT_DONE  235
#define CODE_EPSV       229

/* Telnet, RFC 854 */
#define IAC             255
#define IAC_WILL        251     /* the first command with an option */
enum {
    TELNET_TEXT,
    TELNET_COMMAND,             /* after IAC */
    TELNET_OPTION,              /* after WILL, WONT, DO, DONT */
};

/* --- lines ---------------------------------------------------------------- */

/* Is the next byte of a line part of a Telnet command, not of the text? */
static bool telnet_byte(VmrpcAlgLine *line, uint8_t c)
{
    switch (line->telnet) {
    case TELNET_COMMAND:
        line->telnet = c >= IAC_WILL && c < IAC ? TELNET_OPTION : TELNET_TEXT;
        return c != IAC;        /* IAC IAC is the byte 255 */
    case TELNET_OPTION:
        line->telnet = TELNET_TEXT;
        return true;
    default:
        line->telnet = c == IAC ? TELNET_COMMAND : TELNET_TEXT;
        return c == IAC;
    }
}

/* The number of bytes of Telnet commands before a line */
static size_t telnet_bytes(VmrpcAlgLine *line, const uint8_t *data, size_t len)
{
    size_t i;

    for (i = 0; i < len && line->head_len == 0; i++) {
        VmrpcAlgLine next = *line;

        if (!telnet_byte(&next, data[i])) {
            break;
        }
        *line = next;
    }
    return i;
}

/*
 * Continues a line, up to and including its LF.  Returns the number of bytes;
 * *@ended tells whether the LF was among them.
 */
static size_t line_bytes(VmrpcAlgLine *line, const uint8_t *data, size_t len,
                         bool *ended)
{
    const uint8_t *lf;
    size_t i = 0;

    *ended = false;
    while (i < len && line->head_len < HEAD_LEN) {
        uint8_t c = data[i++];

        if (telnet_byte(line, c)) {
            continue;
        }
        if (c == '\n') {
            *ended = true;
            return i;
        }
        line->head[line->head_len++] = c;
    }
    lf = memchr(data + i, '\n', len - i);
    *ended = lf != NULL;
    return lf ? (size_t)(lf + 1 - data) : len;
}

static bool line_is_empty(const VmrpcAlgLine *line)
{
    return line->head_len == 0 || line->head[0] == '\r';
}

/* The direction of commands; replies go the other way. */
static VmrpcAlgDir dir_of_commands(const VmrpcAlg *alg)
{
    return alg->config.guest_is_server ? VMRPC_ALG_TO_GUEST
                                       : VMRPC_ALG_TO_HOST;
}

/* --- commands and replies, counted ---------------------------------------- */

static void command_ended(VmrpcAlgFtp *ftp, const VmrpcAlgLine *line)
{
    if (!line_is_empty(line) && ftp->outstanding < UINT_MAX) {
        ftp->outstanding++;
    }
}

static void reply_final(VmrpcAlg *alg, unsigned code)
{
    VmrpcAlgFtp *ftp = &alg->ftp;
    VmrpcAlgPassive *first = ftp->passive;

    if (ftp->auth && (code == CODE_AUTH_DONE || code == CODE_ADAT_DONE)) {
        alg->flow[VMRPC_ALG_TO_HOST].opaque = true;
        alg->flow[VMRPC_ALG_TO_GUEST].opaque = true;
    }
    if (ftp->passive_num == 0) {
        ftp->outstanding -= ftp->outstanding > 0;
    } else if (code == CODE_EPSV || (code >= 400 && first->ahead == 0)) {
        ftp->passive_num--;
        memmove(first, first + 1, ftp->passive_num * sizeof(*first));
    } else {
        first->ahead -= first->ahead > 0;
    }
}

/* The code at the beginning of a line, or 0; *@more: the reply goes on */
static unsigned reply_code(const VmrpcAlgLine *line, bool *more)
{
    const uint8_t *c = line->head;

    if (line->head_len < 3 || c[0] < '1' || c[0] > '6' ||
        !g_ascii_isdigit(c[1]) || !g_ascii_isdigit(c[2]) ||
        (line->head_len > 3 && !memchr(" -\r", c[3], 3))) {
        return 0;
    }
    *more = line->head_len > 3 && c[3] == '-';
    return (c[0] - '0') * 100 + (c[1] - '0') * 10 + c[2] - '0';
}

static void reply_ended(VmrpcAlg *alg, const VmrpcAlgLine *line)
{
    VmrpcAlgFtp *ftp = &alg->ftp;
    bool more = false;
    unsigned code = reply_code(line, &more);

    /* All lines between the first and the last are text. */
    if (code == 0 || (ftp->multi && code != ftp->multi)) {
        return;
    }
    ftp->multi = more ? code : 0;
    if (!more && code >= 200) {
        reply_final(alg, code);
    }
}

static void ftp_passed(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                       size_t len)
{
    VmrpcAlgLine *line = &alg->ftp.line[dir];

    while (len > 0) {
        bool ended;
        size_t n = line_bytes(line, data, len, &ended);

        if (ended) {
            VmrpcAlgLine whole = *line;

            *line = (VmrpcAlgLine) { };
            if (dir == dir_of_commands(alg)) {
                command_ended(&alg->ftp, &whole);
            } else {
                reply_ended(alg, &whole);
            }
        }
        data += n;
        len -= n;
    }
}

/* Releases the held bytes, which then count as passed. */
static void release(VmrpcAlg *alg, VmrpcAlgDir dir)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];

    vmrpc_alg_release(flow);
    ftp_passed(alg, dir, flow->out->data, flow->out->len);
}

/* Replaces the held line by @text with the same end. */
static void replace(VmrpcAlgFlow *flow, const char *text)
{
    const uint8_t *held = flow->held->data;
    size_t len = flow->held->len;
    const char *end = len >= 2 && held[len - 2] == '\r' ? "\r\n" : "\n";
    GByteArray *out = g_byte_array_new();

    g_byte_array_append(out, (const uint8_t *)text, strlen(text));
    g_byte_array_append(out, (const uint8_t *)end, strlen(end));
    vmrpc_alg_replace(flow, out);
}

/* --- commands ------------------------------------------------------------- */

/* A whole line is held. */
static void command_taken(VmrpcAlg *alg, VmrpcAlgDir dir)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    VmrpcAlgLine *line = &alg->ftp.line[dir];
    char out[VMRPC_FTP_TEXT_MAX];
    bool ended;

    line_bytes(line, flow->held->data, flow->held->len, &ended);
    command_ended(&alg->ftp, line);
    *line = (VmrpcAlgLine) { };
    if (vmrpc_ftp_rewrite(alg, flow->held->data, flow->held->len, out)) {
        replace(flow, out);
    } else {
        vmrpc_alg_release(flow);
    }
}

/* Reads the copy to find the line's end: the guest may change @data. */
static size_t take_command(VmrpcAlg *alg, VmrpcAlgDir dir,
                           const uint8_t *data, size_t len)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t before = flow->held ? flow->held->len : 0;
    size_t n = MIN(len, HELD_MAX - before);
    const uint8_t *lf;

    vmrpc_alg_hold(flow, data, n);
    lf = memchr(flow->held->data + before, '\n', n);
    if (lf) {
        g_byte_array_set_size(flow->held, lf + 1 - flow->held->data);
        n = flow->held->len - before;
        command_taken(alg, dir);
    } else if (!vmrpc_ftp_find_verb(alg, flow->held->data, flow->held->len)) {
        release(alg, dir);
    } else if (flow->held->len == HELD_MAX) {
        alg->ops->counters->alg_too_long++;
        release(alg, dir);
    }
    return n;
}

static size_t scan_commands(const VmrpcAlg *alg, VmrpcAlgDir dir,
                            const uint8_t *data, size_t len)
{
    VmrpcAlgLine line = alg->ftp.line[dir];
    size_t i = 0;

    while (i < len) {
        bool ended;

        i += telnet_bytes(&line, data + i, len - i);
        if (i == len ||
            (line.head_len == 0 &&
             vmrpc_ftp_find_verb(alg, data + i, len - i))) {
            break;
        }
        i += line_bytes(&line, data + i, len - i, &ended);
        if (ended) {
            line = (VmrpcAlgLine) { };
        }
    }
    return i;
}

/* --- replies -------------------------------------------------------------- */

/* Can a line that begins so be one of a 229? */
static bool may_be_229(const uint8_t *data, size_t len)
{
    return memcmp(data, "229", MIN(len, 3)) == 0 &&
           (len <= 3 || memchr(" -\r\n", data[3], 4));
}

/* A whole line of a 229 has come; at most HELD_MAX bytes of it are held. */
static void reply_taken(VmrpcAlg *alg, VmrpcAlgFlow *flow)
{
    VmrpcAlgFtp *ftp = &alg->ftp;
    uint32_t addr = ntohl(alg->config.peer4.s_addr);
    g_autofree char *text = g_strndup((char *)flow->held->data,
                                      flow->held->len);
    char out[VMRPC_FTP_TEXT_MAX] = "425 Can't open data connection.";
    VmrpcAlgLine line = { };
    bool ended;

    if (!ftp->port) {
        ftp->port = vmrpc_ftp_find_port(text);
    }
    line_bytes(&line, flow->held->data, flow->held->len, &ended);
    reply_ended(alg, &line);
    ftp->swallow = ftp->multi != 0;
    if (ftp->swallow) {
        vmrpc_alg_drop(flow);
        return;
    }
    if (ftp->port) {
        alg->ops->counters->alg_rewritten++;
        g_snprintf(out, sizeof(out),
                   "227 Entering Passive Mode (%u,%u,%u,%u,%u,%u).",
                   addr >> 24, addr >> 16 & 255, addr >> 8 & 255, addr & 255,
                   ftp->port >> 8, ftp->port & 255);
    } else {
        alg->ops->counters->alg_malformed++;
    }
    ftp->port = 0;
    replace(flow, out);
}

/* @data is no memory of the guest, whose own replies pass: ftp_blind(). */
static size_t take_reply(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                         size_t len)
{
    VmrpcAlgFlow *flow = &alg->flow[dir];
    size_t before = flow->held ? flow->held->len : 0, n = len;
    const uint8_t *lf;

    /* A line that may be released must be held whole: read its head first. */
    if (!alg->ftp.swallow && before < HEAD_LEN) {
        n = MIN(n, HEAD_LEN - before);
    }
    lf = memchr(data, '\n', n);
    if (lf) {
        n = lf + 1 - data;
    }
    vmrpc_alg_hold(flow, data, MIN(n, HELD_MAX - before));
    if (!alg->ftp.swallow && !may_be_229(flow->held->data, flow->held->len)) {
        release(alg, dir);
    } else if (lf) {
        reply_taken(alg, flow);
    }
    return n;
}

/* Can a line that begins so belong to a 229 that answers a PASV? */
static bool answers_pasv(const VmrpcAlgFtp *ftp, const uint8_t *data,
                         size_t len)
{
    return ftp->swallow || (!ftp->multi && ftp->passive_num > 0 &&
                            ftp->passive[0].translated &&
                            may_be_229(data, len));
}

/* Scans one line at a time: its reply decides on the next line. */
static size_t scan_replies(const VmrpcAlg *alg, VmrpcAlgDir dir,
                           const uint8_t *data, size_t len)
{
    VmrpcAlgLine line = alg->ftp.line[dir];
    size_t i = telnet_bytes(&line, data, len);
    bool ended;

    if (i == len || (line.head_len == 0 &&
                     answers_pasv(&alg->ftp, data + i, len - i))) {
        return i;
    }
    return i + line_bytes(&line, data + i, len - i, &ended);
}

/* --- the filter ----------------------------------------------------------- */

static void ftp_init(VmrpcAlg *alg)
{
    alg->ftp.outstanding = 1;   /* the greeting */
}

static size_t ftp_blind(const VmrpcAlg *alg, VmrpcAlgDir dir)
{
    const VmrpcAlgFtp *ftp = &alg->ftp;

    if (dir == dir_of_commands(alg)) {
        return 0;
    }
    for (unsigned i = 0; i < ftp->passive_num; i++) {
        if (ftp->passive[i].translated) {
            return 0;
        }
    }
    return SIZE_MAX;            /* no reply will be rewritten */
}

static size_t ftp_scan(const VmrpcAlg *alg, VmrpcAlgDir dir,
                       const uint8_t *data, size_t len)
{
    return dir == dir_of_commands(alg) ? scan_commands(alg, dir, data, len)
                                       : scan_replies(alg, dir, data, len);
}

static size_t ftp_take(VmrpcAlg *alg, VmrpcAlgDir dir, const uint8_t *data,
                       size_t len)
{
    return dir == dir_of_commands(alg) ? take_command(alg, dir, data, len)
                                       : take_reply(alg, dir, data, len);
}

const VmrpcAlgFilter vmrpc_alg_ftp_filter = {
    .init = ftp_init,
    .blind = ftp_blind,
    .scan = ftp_scan,
    .passed = ftp_passed,
    .take = ftp_take,
};
