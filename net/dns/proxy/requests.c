/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS proxy: the table of requests
 *
 * No function here builds an answer, so the functions that do can end requests.
 */
#include "net/dns/proxy/requests.h"

#define SLOT_BITS 11
G_STATIC_ASSERT(DNS_PROXY_MAX_REQUESTS == 1 << SLOT_BITS);

uint64_t dns_proxy_request_number(const DnsProxy *p, const Request *r,
                                  Ask ask)
{
    return (r->generation << SLOT_BITS | (r - p->requests)) << 1 | ask;
}

Request *dns_proxy_find_request(DnsProxy *p, uint64_t number)
{
    size_t slot = (number >> 1) % DNS_PROXY_MAX_REQUESTS;
    Request *r = &p->requests[slot];

    if (!p->used[slot] || r->generation != number >> (1 + SLOT_BITS)) {
        return NULL;
    }
    return r;
}

Request *dns_proxy_new_request(DnsProxy *p, const Client *client)
{
    size_t slot = p->free_slots[--p->free_count];
    Request *r = &p->requests[slot];

    p->used[slot] = true;
    p->tokens[slot] = client->token;
    r->client = *client;
    r->generation = ++p->generation;
    r->state[ASK_MAIN] = ASK_UNUSED;
    r->state[ASK_PLAIN] = ASK_UNUSED;
    r->failure = DNS_EDE_OTHER;
    r->answered = false;
    r->blocked = false;
    r->left_out = false;
    r->has_hints = false;
    r->lease = 0;
    return r;
}

static void drop_held(DnsProxy *p, Request *r)
{
    if (r->state[ASK_PLAIN] == ASK_HELD) {
        p->held_count--;
        p->held_bytes -= r->held_len;
        g_clear_pointer(&r->held, g_free);
        r->state[ASK_PLAIN] = ASK_UNUSED;
    }
}

void dns_proxy_end_request(DnsProxy *p, Request *r)
{
    size_t slot = r - p->requests;

    for (Ask ask = ASK_MAIN; ask <= ASK_PLAIN; ask++) {
        if (r->state[ask] == ASK_WAITING) {
            p->upstream_ops->cancel(p->upstream, p,
                                    dns_proxy_request_number(p, r, ask));
        }
    }
    drop_held(p, r);
    p->answered_count -= r->answered;
    p->used[slot] = false;
    p->free_slots[p->free_count++] = slot;
}

void dns_proxy_make_room(DnsProxy *p)
{
    for (size_t i = 0; !p->free_count && i < DNS_PROXY_MAX_REQUESTS; i++) {
        if (p->requests[i].answered) {
            dns_proxy_end_request(p, &p->requests[i]);
        }
    }
}

/*** A beside AAAA ***/

void dns_proxy_parse_held(const Request *r, Reply *reply)
{
    dns_reply_parse(reply, &r->asked[ASK_PLAIN], r->held, r->held_len);
}

void dns_proxy_tell_plain(DnsProxy *p, const Request *r,
                          const PlainAddresses *found)
{
    if (found->num) {
        p->ops->resolved(p->opaque, &r->client.question.name, found->addr,
                         found->num);
    }
}

void dns_proxy_note_plain(DnsProxy *p, const Request *r, const Reply *reply)
{
    PlainAddresses found;

    dns_proxy_plain_addresses(p, r, reply, &found);
    dns_proxy_tell_plain(p, r, &found);
}

void dns_proxy_answered(DnsProxy *p, Request *r)
{
    Reply reply;

    if (r->state[ASK_PLAIN] == ASK_HELD) {
        dns_proxy_parse_held(r, &reply);
        dns_proxy_note_plain(p, r, &reply);
    }
    if (r->state[ASK_PLAIN] != ASK_WAITING) {
        dns_proxy_end_request(p, r);
        return;
    }
    /* The socket may be closed meanwhile, so the proxy becomes the owner. */
    r->answered = true;
    p->answered_count++;
    p->tokens[r - p->requests] = p;
}
