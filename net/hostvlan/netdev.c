/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -netdev hostvlan: separates tenants, between a NIC and its backend
 *
 * Theory of operation
 *
 * This is a room on net/stage. Each frame from and to the guest is judged
 * (verdict.c, sender.c) with the table in force (follow.c), and is passed on,
 * or dropped and counted.
 *
 * A frame from the guest is in guest memory, which the guest may change between
 * our check and the backend's read. So the octets that a check reads are copied
 * first, and the copy is passed on, followed by the rest of the frame in guest
 * memory. The virtio-net header is copied with them: its checksum offload must
 * not write into the checked octets.
 *
 * The port's MAC address is that of the option mac, or the one that the NIC was
 * configured with. An address that the guest sets itself has no effect. The
 * port may also send with other MAC addresses if the table has them in its
 * entry.
 *
 * If the table in force is marked as superseded, frames are held
 * (NET_STAGE_HOLD) until the newer file was checked: once a writer has set the
 * mark, no frame is judged by the old table. If the newer file is invalid, the
 * held frames are judged by the old table. A watch on the path reports new
 * files. While the file at the path is not in force, or the path cannot be
 * watched, a timer looks once a second.
 *
 * A look is a bottom half. If it finds a file to check, the file is opened and
 * checked on a thread of QEMU's pool, which accesses nothing of the port. The
 * rest of QEMU, including the guest's other I/O, continues in the meantime. If
 * another look becomes due, it follows this one. Only the first look of a port
 * is synchronous, so that its table is in force when the port exists.
 */
#include "qemu/osdep.h"

#include "block/thread-pool.h"
#include "net/clients.h"
#include "net/hostvlan/netdev.h"
#include "net/util.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "trace.h"

#define LOOK_EVERY_MS   1000

/* --- frames --------------------------------------------------------------- */

uint64_t hostvlan_port_mac(HostvlanPort *p)
{
    uint8_t mac[6];

    if (p->mac) {
        return p->mac;
    }
    return net_stage_nic_mac(p->stage, mac) ? hostvlan_mac(mac) : 0;
}

/* Returns: true if the frame must wait for a newer table. */
static bool hostvlan_waits(HostvlanPort *p)
{
    if (likely(!hostvlan_follow_is_due(&p->follow))) {
        return false;
    }
    if (!p->check) {
        qemu_bh_schedule(p->look);
    }
    return true;
}

static NetStageVerdict hostvlan_end(HostvlanPort *p, uint64_t *counters,
                                    enum hostvlan_reason reason,
                                    const char *direction, const uint8_t *eth)
{
    counters[reason]++;
    if (likely(reason == HOSTVLAN_PASSED)) {
        return NET_STAGE_PASS;
    }
    trace_hostvlan_drop(net_stage_id(p->stage), direction,
                        hostvlan_reason_name(reason),
                        reason == HOSTVLAN_MALFORMED ? 0 :
                        hostvlan_mac(eth + 6));
    return NET_STAGE_DROP;
}

static enum hostvlan_reason hostvlan_check_sender(HostvlanPort *p,
                                                  const uint8_t *eth,
                                                  size_t len, size_t size,
                                                  size_t *fixed,
                                                  size_t *checksum)
{
    const HostvlanTable *table = p->follow.table;
    /* The port's own address, or another one that it may send with. */
    uint64_t mac = hostvlan_mac(eth + 6);
    enum hostvlan_reason reason;
    HostvlanAddresses own;
    HostvlanRights rights;

    if (!hostvlan_table_addresses(table, hostvlan_table_lookup(table, mac),
                                  &own)) {
        return HOSTVLAN_DAMAGED;
    }
    reason = hostvlan_sender_check(eth, len, size, mac, &own, fixed);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    reason = hostvlan_sender_dhcp(eth, len, size, mac, &own, fixed, checksum);
    return reason != HOSTVLAN_PASSED &&
           hostvlan_table_rights(table, hostvlan_table_lookup(table, mac),
                                 &rights) &&
           rights.offers & HOSTVLAN_OFFER_DHCP ? HOSTVLAN_PASSED : reason;
}

/* @len octets at @eth, of @size; the virtio-net header precedes them. */
static enum hostvlan_reason hostvlan_judge_sent(HostvlanPort *p,
                                                const NetStageFrame *frame,
                                                const uint8_t *eth, size_t len,
                                                size_t size)
{
    uint64_t mac = hostvlan_port_mac(p);
    const HostvlanTable *table = p->follow.table;
    size_t fixed, offer, senders, checksum = 0;
    enum hostvlan_reason reason = hostvlan_verdict_send(table, mac,
                                                        p->l2_control, eth,
                                                        len, &fixed);

    if (reason == HOSTVLAN_PASSED) {
        reason = hostvlan_verdict_offer(table, mac, p->guards, eth, len, size,
                                        &offer);
        fixed = MAX(fixed, offer);
    }
    if (reason == HOSTVLAN_PASSED && p->check_sender) {
        reason = hostvlan_check_sender(p, eth, len, size, &senders,
                                       &checksum);
        fixed = MAX(fixed, senders);
    }
    if (reason == HOSTVLAN_PASSED && frame->vnet_len &&
        !hostvlan_sender_offload(p->head, fixed, checksum)) {
        reason = HOSTVLAN_MALFORMED;
    }
    return reason;
}

/* Replaces the first @len octets of the frame; false: too many parts. */
static bool hostvlan_replace_head(HostvlanPort *p, NetStageFrame *frame,
                                  size_t len, size_t size)
{
    unsigned num = 1;

    p->iov[0].iov_base = p->head;
    p->iov[0].iov_len = len;
    if (size > len) {
        num += iov_copy(p->iov + 1, ARRAY_SIZE(p->iov) - 1, frame->iov,
                        frame->iovcnt, len, size - len);
    }
    frame->iov = p->iov;
    frame->iovcnt = num;
    return iov_size(p->iov, num) == size;
}

/* Copies the octets that will be checked. Returns: how many */
static size_t hostvlan_copy_head(HostvlanPort *p, const NetStageFrame *frame)
{
    const uint8_t *eth = p->head + frame->vnet_len;
    size_t want = frame->vnet_len + HOSTVLAN_ETH_LEN;
    size_t len = iov_to_buf(frame->iov, frame->iovcnt, 0, p->head, want);

    /* From here on only the copy is used: the guest may change its memory. */
    if (len == want &&
        (p->check_sender || p->guards || hostvlan_is_group(eth))) {
        len += iov_to_buf(frame->iov, frame->iovcnt, len, p->head + len,
                          HOSTVLAN_LOOK_LEN - HOSTVLAN_ETH_LEN);
    }
    return len;
}

static NetStageVerdict hostvlan_from_nic(NetStage *stage, NetStageFrame *frame)
{
    HostvlanPort *p = net_stage_opaque(stage);
    const uint8_t *eth = p->head + frame->vnet_len;
    enum hostvlan_reason reason;
    size_t size, len;

    if (hostvlan_waits(p)) {
        return NET_STAGE_HOLD;
    }
    size = iov_size(frame->iov, frame->iovcnt);
    len = hostvlan_copy_head(p, frame);
    reason = hostvlan_judge_sent(p, frame, eth, len - frame->vnet_len,
                                 size - frame->vnet_len);
    if (reason == HOSTVLAN_PASSED &&
        !hostvlan_replace_head(p, frame, len, size)) {
        reason = HOSTVLAN_MALFORMED;
    }
    return hostvlan_end(p, p->counters.send, reason, "send", eth);
}

static NetStageVerdict hostvlan_from_backend(NetStage *stage,
                                             NetStageFrame *frame)
{
    HostvlanPort *p = net_stage_opaque(stage);
    uint8_t eth[HOSTVLAN_QUERY_LEN];
    enum hostvlan_reason reason;
    size_t len, size;

    if (hostvlan_waits(p)) {
        return NET_STAGE_HOLD;
    }
    len = size = net_stage_peek(frame, 0, eth, HOSTVLAN_ETH_LEN);
    if (len == HOSTVLAN_ETH_LEN && hostvlan_is_group(eth)) {
        len = net_stage_peek(frame, 0, eth, HOSTVLAN_QUERY_LEN);
        size = net_stage_frame_size(frame);
    }
    reason = hostvlan_verdict_receive(p->follow.table, hostvlan_port_mac(p),
                                      eth, len, size);
    return hostvlan_end(p, p->counters.receive, reason, "receive", eth);
}

/* --- the table ------------------------------------------------------------ */

static void hostvlan_tell(HostvlanPort *p, HostvlanFollowResult result,
                          bool trouble)
{
    const char *id = net_stage_id(p->stage);
    const HostvlanFollow *f = &p->follow;

    switch (result) {
    case HOSTVLAN_FOLLOW_NOTHING:
        break;
    case HOSTVLAN_FOLLOW_TAKEN:
        trace_hostvlan_table(id, f->path,
                             hostvlan_table_generation(f->table),
                             hostvlan_table_macs(f->table));
        if (trouble) {
            info_report("hostvlan '%s': LNID table '%s' is in force", id,
                        f->path);
        }
        break;
    case HOSTVLAN_FOLLOW_KEPT:
        warn_report("hostvlan '%s': %s; the previous table stays in force",
                    id, f->error->message);
        break;
    case HOSTVLAN_FOLLOW_NONE:
        warn_report("hostvlan '%s': %s; nothing passes until there is a good "
                    "one", id, f->error->message);
        break;
    }
}

/* A look is complete; @trouble: there was an error before it. */
static void hostvlan_look_done(HostvlanPort *p, HostvlanFollowResult result,
                               bool trouble)
{
    hostvlan_tell(p, result, trouble);
    if (path_watch_is_complete(&p->watch) &&
        hostvlan_follow_is_settled(&p->follow)) {
        timer_del(p->timer);
    } else {
        timer_mod(p->timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
                  LOOK_EVERY_MS);
    }
    net_stage_release(p->stage);
}

/* A check of a file on another thread. */
typedef struct HostvlanCheck {
    HostvlanPort *port;         /* NULL: the port was deleted meanwhile */
    char *path;
    HostvlanTable *table;
    GError *error;
} HostvlanCheck;

/* Runs on a thread of the pool. */
static int hostvlan_check_run(void *opaque)
{
    HostvlanCheck *c = opaque;

    c->table = hostvlan_table_open(c->path, &c->error);
    return 0;
}

static void hostvlan_check_done(void *opaque, int ret)
{
    HostvlanCheck *c = opaque;
    HostvlanPort *p = c->port;

    if (p) {
        bool trouble = p->follow.error;

        p->check = NULL;
        if (p->again) {
            qemu_bh_schedule(p->look);
        }
        hostvlan_look_done(p, hostvlan_follow_end(&p->follow, c->table,
                                                  c->error), trouble);
    } else {
        hostvlan_table_close(c->table);
        g_clear_error(&c->error);
    }
    g_free(c->path);
    g_free(c);
}

static void hostvlan_look(void *opaque)
{
    HostvlanPort *p = opaque;
    bool trouble = p->follow.error;
    HostvlanFollowResult result;

    p->again = p->check;
    if (p->check) {
        return;
    }
    /* Set the watch before the look, so that no change is missed. */
    path_watch_set(&p->watch);
    if (!hostvlan_follow_begin(&p->follow, &result)) {
        hostvlan_look_done(p, result, trouble);
        return;
    }
    p->check = g_new0(HostvlanCheck, 1);
    p->check->port = p;
    p->check->path = g_strdup(p->follow.path);
    thread_pool_submit_aio(hostvlan_check_run, p->check, hostvlan_check_done,
                           p->check);
}

static void hostvlan_watch_readable(void *opaque)
{
    HostvlanPort *p = opaque;

    if (path_watch_read(&p->watch)) {
        qemu_bh_schedule(p->look);
    }
}

/* --- creation and deletion ------------------------------------------------ */

static void hostvlan_free(void *opaque)
{
    HostvlanPort *p = opaque;

    if (p->check) {
        p->check->port = NULL;
    }
    if (p->watch.fd >= 0) {
        qemu_set_fd_handler(p->watch.fd, NULL, NULL, NULL);
    }
    path_watch_destroy(&p->watch);
    qemu_bh_delete(p->look);
    timer_free(p->timer);
    hostvlan_follow_destroy(&p->follow);
    g_free(p->backend);
    g_free(p);
}

static const NetStageRoom hostvlan_room = {
    .type = NET_CLIENT_DRIVER_HOSTVLAN,
    .from_nic = hostvlan_from_nic,
    .from_backend = hostvlan_from_backend,
    .free = hostvlan_free,
};

static bool hostvlan_parse_mac(const char *id, const char *text, uint64_t *mac,
                               Error **errp)
{
    uint8_t octets[6];

    /* net_parse_macaddr() accepts a single number as the end of an address. */
    if (!strchr(text, ':') || net_parse_macaddr(octets, text) < 0 ||
        !hostvlan_mac_valid(hostvlan_mac(octets))) {
        error_setg(errp, "hostvlan '%s': mac=%s is not a unicast MAC address: "
                   "write it as 52:54:00:12:34:56, with an even "
                   "first octet", id, text);
        return false;
    }
    *mac = hostvlan_mac(octets);
    return true;
}

static bool hostvlan_check_options(const char *id,
                                   const NetdevHostvlanOptions *o,
                                   uint64_t *mac, Error **errp)
{
    if (!o->table[0]) {
        error_setg(errp, "hostvlan '%s': table= is empty: name the file that "
                   "\"vmmnet hostvlan\" writes", id);
        return false;
    }
    return !o->mac || hostvlan_parse_mac(id, o->mac, mac, errp);
}

static HostvlanPort *hostvlan_port_new(const NetdevHostvlanOptions *o,
                                       uint64_t mac)
{
    HostvlanPort *p = g_new0(HostvlanPort, 1);

    p->backend = g_strdup(o->netdev);
    p->mac = mac;
    p->check_sender = o->has_check_sender && o->check_sender;
    p->l2_control = o->has_l2_control && o->l2_control;
    if (o->has_ra_guard && o->ra_guard) {
        p->guards |= HOSTVLAN_OFFER_ROUTER;
    }
    if (o->has_dhcp_guard && o->dhcp_guard) {
        p->guards |= HOSTVLAN_OFFER_DHCP;
    }
    p->look = qemu_bh_new(hostvlan_look, p);
    p->timer = timer_new_ms(QEMU_CLOCK_REALTIME, hostvlan_look, p);
    hostvlan_follow_init(&p->follow, o->table);
    path_watch_init(&p->watch, p->follow.path);
    if (p->watch.fd >= 0) {
        qemu_set_fd_handler(p->watch.fd, hostvlan_watch_readable, NULL, p);
    }
    return p;
}

int net_init_hostvlan(const Netdev *netdev, const char *name,
                      NetClientState *peer, Error **errp)
{
    const NetdevHostvlanOptions *o = &netdev->u.hostvlan;
    HostvlanPort *p;
    uint64_t mac = 0;

    if (!hostvlan_check_options(name, o, &mac, errp)) {
        return -1;
    }
    p = hostvlan_port_new(o, mac);
    p->stage = net_stage_new(&hostvlan_room, name, o->netdev, peer, p, errp);
    if (!p->stage) {
        hostvlan_free(p);
        return -1;
    }
    path_watch_set(&p->watch);
    hostvlan_look_done(p, hostvlan_follow_look(&p->follow), false);
    return 0;
}

typedef struct Walk {
    void (*func)(HostvlanPort *port, void *opaque);
    void *opaque;
} Walk;

static void hostvlan_visit(NetStage *stage, void *opaque)
{
    const Walk *walk = opaque;

    walk->func(net_stage_opaque(stage), walk->opaque);
}

void hostvlan_netdev_foreach(void (*func)(HostvlanPort *port, void *opaque),
                             void *opaque)
{
    Walk walk = { func, opaque };

    net_stage_foreach(&hostvlan_room, hostvlan_visit, &walk);
}
