/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Validates for a VM
 *
 * Theory of operation
 *
 * One process is for one VM.  So what a hostile server does to it is done to one
 * VM: another has another cache, other servers, another source address and other
 * trust anchors, and systemd lets this one send to its servers only.  One
 * process for a host would need all of that for each VM, and a fault in one of
 * the contexts would be a fault in all.
 *
 * A client sends queries, each behind its length, and gets replies in the order
 * in which they are known.  Of a client that does not read its replies nothing
 * more is read.  What a client sends is hostile, too: a message that is no query
 * ends its connection.
 *
 * libunbound asks forwarders and has the cache.  It takes no other servers once
 * it runs, so when these change there is another context, with an empty cache,
 * and what is under way is asked again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/octets.h"
#include "base/units.h"
#include "dnsd/validate/service.h"
#include "net/dns/client/net/validate.h"
#include "net/dns/upstream/checked.h"
#include "net/dns/upstream/origin.h"
#include "net/dns/upstream/verdict.h"

/* A VM that moves within a host has two.  Each may take 30 MB: ASKS_MAX */
#define CLIENTS_MAX     2
#define ASKS_MAX        1024            /* of a client, under way */
/* Octets of replies to be sent: nothing more is read; it is hung up on */
#define QUEUED_MAX      (256u << 10)
#define QUEUED_MOST     (4u << 20)
#define TIME            (8 * (int64_t)US_PER_S)
#define CACHE           (8u << 20)      /* octets, of libunbound */
#define LOOK_GAP        (US_PER_S / 100)
#define LOOK_EVERY      (US_PER_S / 4)  /* while something is under way */
#define EDNS_DO         0x8000
#define IN_MAX          (DNS_PREFIX_LEN + DNS_UDP_MIN)

typedef struct Client Client;
typedef struct Ask Ask;

struct Ask {
    Ask *next, **at;            /* in the list of the service */
    ValidateService *service;
    Client *client;             /* NULL: it has gone */
    uint16_t id;
    DnscQuery query;
    DnscValidation *validation;
};

struct Client {
    Client *next, **at;
    ValidateService *service;
    DnscSource socket;
    uint32_t events;
    size_t asks;
    uint8_t in[IN_MAX];
    size_t in_len;
    uint8_t *out;
    size_t out_at, out_len, out_room;
};

struct ValidateService {
    DnscLoop *loop;
    const ValidateOptions *options;
    DnsOrigin origin;
    int64_t looked;
    bool is_behind;             /* the validator does not have the servers */
    bool is_troubled;           /* and that was logged */
    DnscValidator *validator;
    VmmnetDnsCounters counters; /* required by the validator */
    DnscTimer look;
    BaseLogLimit wrong;
    ValidateShown shown;        /* its counters */
    Client *clients;
    size_t client_count;
    Ask *asks;
    uint8_t buf[DNS_MSG_MAX], msg[DNS_MSG_MAX];
};

/* --- clients -------------------------------------------------------------- */

static void hang_up(Client *client)
{
    for (Ask *ask = client->service->asks; ask; ask = ask->next) {
        ask->client = ask->client == client ? NULL : ask->client;
    }
    *client->at = client->next;
    if (client->next) {
        client->next->at = client->at;
    }
    client->service->client_count--;
    dnsc_loop_forget(client->service->loop, &client->socket);
    close(client->socket.fd);
    free(client->out);
    free(client);
}

/* Read only if there is room for what follows from it. */
static void set_events(Client *client)
{
    size_t queued = client->out_len - client->out_at;
    uint32_t events = (queued ? EPOLLOUT : 0) |
                      (queued < QUEUED_MAX && client->asks < ASKS_MAX
                       ? EPOLLIN : 0);

    if (events != client->events) {
        client->events = events;
        dnsc_loop_change(client->service->loop, &client->socket, events);
    }
}

/* Returns: false if the client has gone. */
static bool send_queued(Client *client)
{
    while (client->out_at < client->out_len) {
        ssize_t done = send(client->socket.fd, client->out + client->out_at,
                            client->out_len - client->out_at,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return errno == EAGAIN;
        }
        client->out_at += done;
    }
    client->out_at = client->out_len = 0;
    if (client->out_room > QUEUED_MAX) {
        free(client->out);
        client->out = NULL;
        client->out_room = 0;
    }
    return true;
}

/* Returns: false without memory, or if the client does not read. */
static bool queue(Client *client, const uint8_t *msg, size_t len)
{
    size_t need = client->out_len + DNS_PREFIX_LEN + len;

    if (need > QUEUED_MOST) {
        return false;
    }
    if (need > client->out_room) {
        uint8_t *more = realloc(client->out, 2 * need);

        if (!more) {
            return false;
        }
        client->out = more;
        client->out_room = 2 * need;
    }
    put_be16(client->out + client->out_len, len);
    memcpy(client->out + client->out_len + DNS_PREFIX_LEN, msg, len);
    client->out_len = need;
    return true;
}

/* --- questions ------------------------------------------------------------ */

/* The client is not freed here: it may be what has called this. */
static void answer(Ask *ask, DnscResult *judged)
{
    bool wants_bogus = ask->query.flags & DNS_FLAG_CD;
    ValidateService *s = ask->service;
    Client *client = ask->client;
    DnscResult *r = dns_verdict(&ask->query, judged, wants_bogus ?
                                DNS_DNSSEC_PERMISSIVE : DNS_DNSSEC_STRICT,
                                s->buf);
    size_t len = dns_checked_write(&ask->query, r, s->msg);

    dns_msg_set_id(s->msg, ask->id);
    dnsc_result_unref(r);
    client->asks--;
    if (!queue(client, s->msg, len) || !send_queued(client)) {
        shutdown(client->socket.fd, SHUT_RDWR);
    }
    set_events(client);
}

static void forget(Ask *ask)
{
    ValidateService *s = ask->service;

    *ask->at = ask->next;
    if (ask->next) {
        ask->next->at = ask->at;
    }
    if (!s->asks) {
        dnsc_timer_clear(s->loop, &s->look);
    }
    free(ask);
}

static void count(ValidateShown *shown, const DnscResult *judged)
{
    uint64_t *const counters[] = {
        [VMMNET_DNS_INDETERMINATE] = &shown->indeterminate,
        [VMMNET_DNS_INSECURE] = &shown->insecure,
        [VMMNET_DNS_SECURE] = &shown->secure,
        [VMMNET_DNS_BOGUS_DATA] = &shown->bogus,
    };

    shown->questions++;
    (*counters[judged->security])++;
    shown->unanswered += dnsc_error_is_failure(judged->error) &&
                         judged->security == VMMNET_DNS_INDETERMINATE;
}

static void validated(void *opaque, DnscResult *judged)
{
    Ask *ask = opaque;

    ask->validation = NULL;
    count(&ask->service->shown, judged);
    if (ask->client) {
        answer(ask, judged);
    } else {
        dnsc_result_unref(judged);
    }
    forget(ask);
}

static void begin(ValidateService *s, Ask *ask)
{
    ask->validation = dnsc_validate_whole(s->validator, &ask->query.question,
                                          validated, ask);
    if (!ask->validation) {
        validated(ask, dnsc_result_error(VMMNET_DNS_RESOURCES,
                                         "out of memory"));
    }
}

/* --- servers -------------------------------------------------------------- */

static DnscValidator *make_validator(ValidateService *s, const char **mistake)
{
    VmmnetDnsAddress servers[DNSC_SERVERS_MAX];
    const ValidateOptions *o = s->options;
    const DnscValidatorOptions options = {
        .servers = servers,
        .count = dnsc_list_present(&s->origin.list, servers),
        .trust_anchor = o->trust_anchor,
        .timeout = TIME,
        .from6 = o->has_address6 ? &o->address6 : NULL,
        .cache_octets = CACHE,
        .insecure = o->insecure,
        .insecures = o->insecures,
        .bogus_ttl = DNS_BOGUS_TTL,
    };

    *mistake = NULL;
    return dnsc_validator_new(s->loop, &s->counters, &options, mistake);
}

static void tell_servers(const ValidateService *s)
{
    char text[DNSC_SERVERS_MAX * (DNSC_SERVER_TEXT_MAX + 1)] = "";
    char *end = text;

    for (size_t i = 0; i < s->origin.list.count; i++) {
        *end++ = ' ';
        dnsc_list_text(&s->origin.list, i, end);
        end += strlen(end);
    }
    base_log(LOG_NOTICE, "the DNS servers are%s", text);
}

static void renew(ValidateService *s)
{
    const char *mistake;
    DnscValidator *fresh = make_validator(s, &mistake), *former = s->validator;

    if (!fresh) {
        if (!s->is_troubled) {
            base_log(LOG_WARNING, "other DNS servers cannot be asked: %s",
                     mistake ? mistake : strerror(errno));
        }
        s->is_troubled = true;
        return;
    }
    s->is_behind = s->is_troubled = false;
    s->validator = fresh;
    for (Ask *ask = s->asks, *next; ask; ask = next) {
        next = ask->next;
        dnsc_validation_cancel(ask->validation);
        begin(s, ask);
    }
    dnsc_validator_release(former);
    tell_servers(s);
}

static void follow(ValidateService *s)
{
    const DnscServerList before = s->origin.list;
    int64_t now = dnsc_now();

    if (now < s->looked + LOOK_GAP || !dns_origin_may_change(&s->origin)) {
        return;
    }
    s->looked = now;
    dns_origin_look(&s->origin);
    s->is_behind |= !dnsc_list_same(&before, &s->origin.list);
    if (s->is_behind) {
        renew(s);
    }
}

static void look(DnscTimer *timer)
{
    ValidateService *s = (ValidateService *)((char *)timer -
                                             offsetof(ValidateService, look));

    dnsc_timer_set(s->loop, timer, dnsc_now() + LOOK_EVERY);
    follow(s);
}

/* --- queries -------------------------------------------------------------- */

/* Returns: 0; -EINVAL: it is no query; or -ENOMEM. */
static int take_query(Client *client, const uint8_t *msg, size_t len)
{
    ValidateService *s = client->service;
    Ask *ask = calloc(1, sizeof(*ask));
    DnsHeader header;
    DnsCursor cursor;
    DnsRr rr;

    if (!ask) {
        return -ENOMEM;
    }
    if (dns_header_parse(msg, len, &header) || header.qdcount != 1 ||
        header.flags & (DNS_FLAG_QR | DNS_FLAGS_OPCODE) ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &ask->query.question) <= 0) {
        free(ask);
        return -EINVAL;
    }
    ask->service = s;
    ask->client = client;
    ask->id = header.id;
    ask->query.flags = header.flags & (DNS_FLAG_RD | DNS_FLAG_CD);
    ask->query.dnssec_ok = dns_cursor_rr(&cursor, &rr) > 0 &&
                           rr.type == DNS_TYPE_OPT && rr.raw_ttl & EDNS_DO;
    client->asks++;
    if (!s->asks) {
        dnsc_timer_set(s->loop, &s->look, dnsc_now() + LOOK_EVERY);
    }
    ask->next = s->asks;
    ask->at = &s->asks;
    s->asks = ask;
    if (ask->next) {
        ask->next->at = &ask->next;
    }
    begin(s, ask);
    return 0;
}

/* The first whole query of the buffer.  Returns: 1, 0 if none, or -EINVAL. */
static int take_first(Client *client)
{
    size_t len = client->in_len < DNS_PREFIX_LEN ? 0 : get_be16(client->in);
    int ret;

    if (client->in_len < DNS_PREFIX_LEN ||
        (len <= DNS_UDP_MIN && client->in_len < DNS_PREFIX_LEN + len)) {
        return 0;
    }
    if (len > DNS_UDP_MIN) {
        return -EINVAL;
    }
    ret = take_query(client, client->in + DNS_PREFIX_LEN, len);
    client->in_len -= DNS_PREFIX_LEN + len;
    memmove(client->in, client->in + DNS_PREFIX_LEN + len, client->in_len);
    return ret ? ret : 1;
}

static void tell_wrong(ValidateService *s, const char *why)
{
    static const BaseLogRate rate = { 60 * SECOND, 10 };

    if (base_log_may(&s->wrong, &rate, base_clock(CLOCK_MONOTONIC))) {
        base_log(LOG_WARNING, "a client is hung up on: %s", why);
    }
}

static void on_client(DnscSource *source, uint32_t events)
{
    Client *client = (Client *)((char *)source - offsetof(Client, socket));
    ssize_t len;
    int ret;

    if (!send_queued(client)) {
        hang_up(client);
        return;
    }
    if (!(events & EPOLLIN) && !(events & (EPOLLHUP | EPOLLERR))) {
        set_events(client);
        return;
    }
    follow(client->service);
    len = recv(source->fd, client->in + client->in_len,
               sizeof(client->in) - client->in_len, MSG_DONTWAIT);
    if (!len || (len < 0 && errno != EAGAIN && errno != EINTR)) {
        hang_up(client);
        return;
    }
    client->in_len += len > 0 ? len : 0;
    while ((ret = take_first(client)) > 0) {
        continue;
    }
    if (ret) {
        tell_wrong(client->service, ret == -ENOMEM
                   ? "out of memory" : "what it has sent is no query");
        hang_up(client);
        return;
    }
    set_events(client);
}

void validate_service_take(ValidateService *s, int fd)
{
    Client *client = s->client_count < CLIENTS_MAX ? calloc(1, sizeof(*client))
                                                   : NULL;

    if (!client) {
        tell_wrong(s, s->client_count < CLIENTS_MAX ? "out of memory"
                   : "there are others, and a VM has no more");
        close(fd);
        return;
    }
    client->service = s;
    client->socket = (DnscSource) { fd, on_client };
    client->events = EPOLLIN;
    if (dnsc_loop_watch(s->loop, &client->socket, EPOLLIN)) {
        close(fd);
        free(client);
        return;
    }
    client->next = s->clients;
    client->at = &s->clients;
    if (client->next) {
        client->next->at = &client->next;
    }
    s->clients = client;
    s->client_count++;
}

const DnscServerList *validate_service_show(const ValidateService *s,
                                            ValidateShown *shown)
{
    *shown = s->shown;
    shown->clients = s->client_count;
    for (const Ask *ask = s->asks; ask; ask = ask->next) {
        shown->under_way++;
    }
    return &s->origin.list;
}

/* --- life ----------------------------------------------------------------- */

static int find_servers(ValidateService *s)
{
    if (s->options->servers.count) {
        dns_origin_give(&s->origin, &s->options->servers);
        return 0;
    }
    return dns_origin_read(&s->origin, s->options->resolv_conf);
}

ValidateService *validate_service_new(DnscLoop *loop,
                                      const ValidateOptions *options,
                                      const char **mistake)
{
    ValidateService *s = calloc(1, sizeof(*s));

    *mistake = NULL;
    if (!s || dnsc_loop_reserve(loop)) {
        free(s);
        errno = ENOMEM;
        return NULL;
    }
    s->loop = loop;
    s->options = options;
    s->look.fire = look;
    s->looked = dnsc_now();
    if (find_servers(s)) {
        errno = ENOMEM;
    } else {
        s->validator = make_validator(s, mistake);
    }
    if (!s->validator) {
        int error = errno;

        validate_service_free(s);
        errno = error;
        return NULL;
    }
    tell_servers(s);
    return s;
}

void validate_service_free(ValidateService *s)
{
    if (!s) {
        return;
    }
    while (s->clients) {
        hang_up(s->clients);
    }
    while (s->asks) {
        dnsc_validation_cancel(s->asks->validation);
        forget(s->asks);
    }
    dnsc_timer_clear(s->loop, &s->look);
    dnsc_loop_unreserve(s->loop);
    dnsc_validator_release(s->validator);
    dns_origin_clear(&s->origin);
    free(s);
}
