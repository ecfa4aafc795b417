/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes a frame in the switch */
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/frame/answer.h"
#include "hw/net/cvsw/frame/rewrite.h"
#include "hw/net/cvsw/run/fit.h"
#include "hw/net/cvsw/run/leave.h"
#include "hw/net/cvsw/run/run.h"
#include "hw/net/cvsw/tunnel/super.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"

/* A frame while its actions are executed. */
typedef struct Pass {
    CvswRun *run;
    CvswFrame *frame;
    const CvswEntry *entry;
    uint32_t in_port;
    const struct iovec *iov;    /* the frame as received */
    int iovcnt;
    uint64_t now_ms;
    CvswLeave leave;            /* how outputs send it */
    bool left;                  /* sent to a port or the controller */
    bool inside;                /* it was decapsulated */
    bool opened;                /* the run's buffer for ESP is in use */
    bool icmp_sent;             /* the guest got an ICMP error for the frame */
    unsigned copies;            /* made for buckets so far */
} Pass;

const char *cvsw_drop_name(CvswDrop drop)
{
    static const char *const names[CVSW_DROPS] = {
        [CVSW_DROP_FLOW] = "flow",
        [CVSW_DROP_MISS] = "miss",
        [CVSW_DROP_MALFORMED] = "malformed",
        [CVSW_DROP_TTL] = "ttl",
        [CVSW_DROP_ROOM] = "room",
        [CVSW_DROP_NOT_TUNNEL] = "not-tunnel",
        [CVSW_DROP_TUNNEL_CHECKSUM] = "tunnel-checksum",
        [CVSW_DROP_NOT_ND] = "not-nd",
        [CVSW_DROP_NOT_ARP] = "not-arp",
        [CVSW_DROP_NO_SA] = "no-sa",
        [CVSW_DROP_NOT_SEALED] = "not-sealed",
        [CVSW_DROP_ESP] = "esp",
        [CVSW_DROP_SEGMENT] = "segment",
        [CVSW_DROP_TOO_BIG] = "too-big",
        [CVSW_DROP_CONTROLLER] = "controller",
        [CVSW_DROP_QUEUE] = "queue",
        [CVSW_DROP_COPIES] = "copies",
    };

    return names[drop];
}

static void drop(CvswRun *run, uint32_t in_port, CvswDrop why)
{
    run->dropped[in_port != CVSW_PORT_GUEST][why]++;
    if (run->on_drop) {
        run->on_drop(run->opaque, in_port, why);
    }
}

static bool stop(Pass *c, CvswDrop why)
{
    drop(c->run, c->in_port, why);
    c->left = true;
    return false;
}

/* --- output --------------------------------------------------------------- */

static uint32_t other_port(uint32_t port)
{
    return port == CVSW_PORT_GUEST ? CVSW_PORT_WIRE : CVSW_PORT_GUEST;
}

/* OpenFlow: only IN_PORT sends a frame back to the port that it came from. */
static uint32_t port_of(const Pass *c, uint32_t out)
{
    switch (out) {
    case CVSW_OUT_IN_PORT:
        return c->in_port;
    case CVSW_OUT_NORMAL:
    case CVSW_OUT_FLOOD:
    case CVSW_OUT_ALL:
        return other_port(c->in_port);
    default:
        return out == c->in_port ? 0 : out;
    }
}

static bool leave(Pass *c, uint32_t port)
{
    bool was_inside = c->inside || c->opened;
    CvswLost lost;

    c->run->out_of_tunnel = was_inside;
    if (cvsw_leave(c->run, &c->leave, c->frame, port, &lost)) {
        c->left = true;
        return true;
    }
    if (lost.why == CVSW_DROP_TOO_BIG && lost.room != SIZE_MAX &&
        c->in_port == CVSW_PORT_GUEST && !was_inside && !c->icmp_sent) {
        c->icmp_sent = true;
        cvsw_too_big(c->run, c->iov, c->iovcnt, lost.room, c->now_ms);
    }
    return stop(c, lost.why);
}

static bool output(Pass *c, const CvswAction *a)
{
    uint32_t port;

    if (a->output.port == CVSW_OUT_CONTROLLER) {
        c->run->punt(c->run->opaque, c->frame, c->in_port, a->output.max_len,
                     c->entry);
        c->left = true;
        return true;
    }
    port = port_of(c, a->output.port);
    return port ? leave(c, port) : true;
}

/* --- into and out of tunnels ---------------------------------------------- */

static bool decap(Pass *c, const CvswAction *a)
{
    CvswFrame *outer = c->frame;
    CvswFrame *inner = outer == &c->run->frame ? &c->run->inner
                                               : &c->run->frame;
    uint32_t vni;

    switch (cvsw_vxlan_decap(outer, a->number ? a->number : CVSW_VXLAN_PORT,
                             inner, &vni)) {
    case CVSW_DECAP_DONE:
        c->frame = inner;
        c->inside = true;
        return true;
    case CVSW_DECAP_CHECKSUM:
        return stop(c, CVSW_DROP_TUNNEL_CHECKSUM);
    default:
        return stop(c, CVSW_DROP_NOT_TUNNEL);
    }
}

/* Sets length and protocol of a decrypted packet's IP header. */
static void fix_ip(CvswFrame *f, uint8_t *l3, uint8_t protocol, size_t len)
{
    size_t header = f->flow.l4 - f->flow.l3;

    if (f->flow.has & PACKET_FLOW_IP6) {
        put_be16(l3 + 4, header - PACKET_IP6_LEN + len);
        l3[6] = protocol;
        return;
    }
    put_be16(l3 + 2, header + len);
    l3[9] = protocol;
    packet_ip4_seal(l3, header);
}

static bool is_esp(const CvswFrame *f)
{
    bool plain = f->flow.has & PACKET_FLOW_IP4 ||
                 f->flow.l4 == f->flow.l3 + PACKET_IP6_LEN;

    return f->flow.has & (PACKET_FLOW_IP4 | PACKET_FLOW_IP6) && plain &&
           f->flow.protocol == ESP_PROTOCOL && f->flow.l4 &&
           !(f->flow.has & PACKET_FLOW_FRAGMENT);
}

/*
 * Returns: length of the packet after the IP header, without Ethernet padding
 */
static size_t packet_left(const CvswFrame *f)
{
    const uint8_t *l3 = f->head + f->flow.l3;
    size_t end = f->flow.has & PACKET_FLOW_IP4 ?
                 f->flow.l3 + get_be16(l3 + 2) :
                 f->flow.l3 + PACKET_IP6_LEN + get_be16(l3 + 4);

    return end <= f->size && end > f->flow.l4 ? end - f->flow.l4 : 0;
}

static bool decrypt(Pass *c, const CvswAction *a)
{
    CvswFrame *f = c->frame;
    CvswFrame *clear = f == &c->run->frame ? &c->run->inner : &c->run->frame;
    struct iovec iov[CVSW_PARTS_MAX + 1], part[CVSW_PARTS_MAX];
    uint8_t head[PACKET_FLOW_LOOK], next;
    PacketOffload none = { 0 };
    size_t left, len;
    EspResult result;
    uint32_t spi;
    EspSa *sa;
    int parts;

    left = is_esp(f) ? packet_left(f) : 0;
    parts = cvsw_frame_iov(f, iov);
    parts = packet_iov_slice(iov, parts, f->flow.l4, left, part,
                             CVSW_PARTS_MAX);
    if (c->opened || !left || parts < 0 || !esp_spi(part, parts, &spi)) {
        return stop(c, CVSW_DROP_NOT_SEALED);
    }
    sa = cvsw_sas_inbound(c->run->sas, spi, a->sa);
    if (!sa) {
        return stop(c, CVSW_DROP_NO_SA);
    }
    result = esp_open(sa, part, parts, c->run->opened, sizeof(c->run->opened),
                      &len, &next);
    if (result != ESP_GOOD) {
        c->run->esp[result]++;
        return stop(c, CVSW_DROP_ESP);
    }
    memcpy(head, f->head, f->flow.l4);
    fix_ip(f, head + f->flow.l3, next, len);
    iov[0] = (struct iovec) { head, f->flow.l4 };
    iov[1] = (struct iovec) { c->run->opened, len };
    if (!cvsw_frame_take(clear, iov, 2, &none)) {
        return stop(c, CVSW_DROP_MALFORMED);
    }
    c->frame = clear;
    c->opened = true;
    return true;
}

/* --- the list ------------------------------------------------------------- */

static bool change(Pass *c, const CvswAction *a)
{
    switch (cvsw_rewrite(c->frame, a)) {
    case CVSW_REWRITE_TTL:
        return stop(c, CVSW_DROP_TTL);
    case CVSW_REWRITE_ROOM:
        return stop(c, CVSW_DROP_ROOM);
    default:
        return true;
    }
}

static bool run_group(Pass *c, uint32_t id);

/* Returns: false if the list must stop here */
static bool execute(Pass *c, const CvswAction *a)
{
    switch (a->type) {
    case CVSW_ACTION_OUTPUT:
        return output(c, a);
    case CVSW_ACTION_TUNNEL_ENCAP:
        c->leave.tunnel = &a->tunnel;
        return true;
    case CVSW_ACTION_ENCRYPT:
        c->leave.sealed = true;
        c->leave.sa = a->sa;
        return true;
    case CVSW_ACTION_TUNNEL_DECAP:
        return decap(c, a);
    case CVSW_ACTION_DECRYPT:
        return decrypt(c, a);
    case CVSW_ACTION_ANSWER_ND:
        return cvsw_answer_nd(c->frame, a->mac) || stop(c, CVSW_DROP_NOT_ND);
    case CVSW_ACTION_ANSWER_ARP:
        return cvsw_answer_arp(c->frame, a->mac) || stop(c, CVSW_DROP_NOT_ARP);
    case CVSW_ACTION_GROUP:
        return run_group(c, a->group);
    default:
        return change(c, a);
    }
}

static void execute_all(Pass *c, const CvswAction *actions, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        if (!execute(c, &actions[i])) {
            break;
        }
    }
}

/* --- groups --------------------------------------------------------------- */

static bool may_copy(Pass *c)
{
    if (c->copies++ < CVSW_COPIES_MAX) {
        return true;
    }
    if (c->copies == CVSW_COPIES_MAX + 1) {
        stop(c, CVSW_DROP_COPIES);
    }
    return false;
}

/*
 * A bucket that forwards to another group gets here a second time.  Its frame
 * is still equal to @run->copy, because the bucket has no other action.
 */
static bool run_group(Pass *c, uint32_t id)
{
    CvswGroup *group = cvsw_groups_find(cvsw_table_groups(c->run->table), id);
    const CvswLeave leave = c->leave;

    group->packets++;
    group->octets += c->frame->size;
    cvsw_frame_copy(&c->run->copy, c->frame);
    for (unsigned i = 0; i < group->buckets_len; i++) {
        CvswGroupBucket *bucket = &group->buckets[i];

        if (!may_copy(c)) {
            return false;
        }
        bucket->packets++;
        bucket->octets += c->frame->size;
        execute_all(c, bucket->actions, bucket->actions_len);
        cvsw_frame_copy(c->frame, &c->run->copy);
        c->leave = leave;
    }
    return true;
}

/* Returns: false if no flow matches */
static bool look_up(Pass *c)
{
    CvswEntry *entry;
    CvswKey key;

    cvsw_key_of(&key, &c->frame->flow, c->in_port, c->frame->tunnel_id);
    entry = cvsw_table_find(c->run->table, &key);
    c->entry = entry;
    if (!entry) {
        return false;
    }
    cvsw_entry_hit(entry, c->frame->size, c->now_ms);
    execute_all(c, entry->actions, entry->actions_len);
    return true;
}

static bool ends_in_decap(const CvswEntry *entry)
{
    return entry->actions_len &&
           entry->actions[entry->actions_len - 1].type ==
           CVSW_ACTION_TUNNEL_DECAP;
}

/* Looks up a decapsulated frame a second time, unless it was sent already. */
static void look_up_inner(Pass *c)
{
    if (c->left || !c->inside || !ends_in_decap(c->entry)) {
        return;
    }
    c->leave = (CvswLeave) { 0 };
    if (!look_up(c)) {
        stop(c, CVSW_DROP_MISS);
    }
}

/* Returns: false if the frame has no flow and must be passed on unchanged */
static bool handle_miss(Pass *c)
{
    uint32_t port = other_port(c->in_port);

    if (c->run->drop_misses) {
        return !stop(c, CVSW_DROP_MISS);
    }
    if (!cvsw_leave_changes(c->run, c->frame, port)) {
        return false;
    }
    leave(c, port);
    return true;
}

/* Is it a super-frame in a tunnel that its flow does not decapsulate first? */
static bool must_be_segmented(CvswRun *run, uint32_t in_port)
{
    const CvswEntry *entry;
    CvswKey key;

    if (run->frame.offload.tunnel == PACKET_TUNNEL_NONE) {
        return false;
    }
    cvsw_key_of(&key, &run->frame.flow, in_port, 0);
    entry = cvsw_table_find(run->table, &key);
    return !entry || !entry->actions_len ||
           entry->actions[0].type != CVSW_ACTION_TUNNEL_DECAP;
}

static void run_piece(CvswRun *run, uint32_t in_port, const struct iovec *iov,
                      int parts, uint64_t now_ms)
{
    PacketOffload none = { 0 };

    if (!cvsw_run(run, in_port, iov, parts, &none, now_ms)) {
        run->out_of_tunnel = false;
        run->emit(run->opaque, other_port(in_port), iov, parts, &none);
    }
}

/* Processes the segments that the sender's kernel would have made. */
static void run_in_pieces(CvswRun *run, uint32_t in_port,
                          const struct iovec *iov, int iovcnt,
                          uint64_t now_ms)
{
    struct iovec piece[CVSW_PARTS_MAX];
    CvswPieces p;
    int parts;

    if (!cvsw_pieces_begin(&p, &run->frame, iov, iovcnt)) {
        drop(run, in_port, CVSW_DROP_SEGMENT);
        return;
    }
    while ((parts = cvsw_pieces_next(&p, piece)) >= 0) {
        run_piece(run, in_port, piece, parts, now_ms);
    }
    if (p.segments.done != p.segments.payload) {
        drop(run, in_port, CVSW_DROP_SEGMENT);
    }
}

bool cvsw_run(CvswRun *run, uint32_t in_port, const struct iovec *iov,
              int iovcnt, const PacketOffload *offload, uint64_t now_ms)
{
    Pass c = {
        .run = run,
        .frame = &run->frame,
        .in_port = in_port,
        .iov = iov,
        .iovcnt = iovcnt,
        .now_ms = now_ms,
    };

    if (!cvsw_frame_take(&run->frame, iov, iovcnt, offload)) {
        drop(run, in_port, CVSW_DROP_MALFORMED);
        return true;
    }
    if (must_be_segmented(run, in_port)) {
        run_in_pieces(run, in_port, iov, iovcnt, now_ms);
        return true;
    }
    if (!look_up(&c)) {
        return handle_miss(&c);
    }
    look_up_inner(&c);
    if (!c.left) {
        drop(run, in_port, CVSW_DROP_FLOW);
    }
    return true;
}
