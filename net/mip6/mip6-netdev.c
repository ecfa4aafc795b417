/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -netdev mip6: a VM keeps its address on other networks
 *
 * Theory of operation
 *
 * This is a room on net/stage. port/ makes all decisions. This file converts
 * between QEMU and port/: frames with virtio-net headers to parts and offloads,
 * timers to deadlines, run states to "runs here" or "does not run here", and
 * the migration stream to octets that port/saved.c reads and writes.
 *
 * For a VM that arrives by migration, it is unknown if this is its home link.
 * The port learns this, and configures a care-of address with duplicate address
 * detection, while the VM's memory is still being received (@while_stopped), so
 * that the address is ready when the VM starts. Frames for the VM are queued
 * until then. On the source, frames for the VM are queued from its stop on. If
 * the VM has left, they are forwarded for a short time; if it stays, it gets
 * them. A VM at home may be registered when its migration starts
 * (port/early.c).
 *
 * Decapsulated TCP segments and datagrams are coalesced if the NIC accepts
 * super-frames (stage/gather.h). If the VM stops within a batch, the packets
 * that are held wait until the VM continues, or until they are late.
 *
 * Everything runs with the BQL held.
 */
#include "qemu/osdep.h"

#include <sys/timerfd.h>

#include "net/clients.h"
#include "net/mip6/netdev-options.h"
#include "net/mip6/netdev.h"
#include "net/stage/offload.h"
#include "qapi/error.h"
#include "qapi/qapi-events-mip6.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/sockets.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"
#include "trace.h"

/* Unanswered DHCPv6 messages after which people are told: some 7 s. */
#define SILENT_TRIES    4u

/*
 * Lifetimes end while the host is suspended, too, so neither QEMU's clocks nor
 * its timers will do.
 */
int64_t mip6_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

static void mip6_rearm(Mip6Netdev *m)
{
    int64_t at = mip6_port_deadline(&m->port);
    struct itimerspec timer = { 0 };

    if (at == m->armed) {
        return;
    }
    m->armed = at;
    if (at != INT64_MAX) {
        at = MAX(at, 1);        /* 0 is no time */
        timer.it_value.tv_sec = at / NANOSECONDS_PER_SECOND;
        timer.it_value.tv_nsec = at % NANOSECONDS_PER_SECOND;
    }
    timerfd_settime(m->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* --- frames sent ---------------------------------------------------------- */

static void mip6_to_guest(void *opaque, const struct iovec *iov, int iovcnt,
                          const PacketOffload *offload)
{
    Mip6Netdev *m = opaque;

    net_stage_gather_send(m->gather, 0, iov, iovcnt, offload, true);
}

static void mip6_to_link(void *opaque, const struct iovec *iov, int iovcnt,
                         const PacketOffload *offload)
{
    Mip6Netdev *m = opaque;

    net_stage_send_packet(m->stage, NET_STAGE_BACKEND, 0, iov, iovcnt, offload);
}

static uint32_t mip6_random(void *opaque)
{
    uint32_t number;

    qemu_guest_getrandom_nofail(&number, sizeof(number));
    return number;
}

static void mip6_changed(void *opaque)
{
    Mip6Netdev *m = opaque;

    qemu_bh_schedule(m->changed);
}

static void mip6_moved(void *opaque, const char *what, const char *from,
                       const char *to)
{
    const Mip6Netdev *m = opaque;

    trace_mip6_moved(net_stage_id(m->stage), what, from, to);
}

static const Mip6PortOps mip6_port_ops = {
    .to_guest = mip6_to_guest,
    .to_link = mip6_to_link,
    .random = mip6_random,
    .changed = mip6_changed,
    .moved = mip6_moved,
};

/* --- events --------------------------------------------------------------- */

Mip6RegistrationState mip6_netdev_state(const Mip6Netdev *m,
                                        const Mip6Binding *b)
{
    return mip6_port_has_left(&m->port) ? MIP6_REGISTRATION_STATE_LEFT
                            : (Mip6RegistrationState)b->state;
}

/* Both VMs are mostly without network. The agent knows the other's address. */
static void mip6_warn_other(Mip6Netdev *m, const Mip6Binding *b,
                            const char *home)
{
    if (b->why == MIP6_WHY_OTHER_NODE && !m->warned_other) {
        m->warned_other = true;
        warn_report("mip6 '%s': another node registers home-address=%s, too "
                    "(other-node): give each VM its own; the home agent knows "
                    "the other's care-of address", net_stage_id(m->stage),
                    home);
    }
}

static void mip6_tell(Mip6Netdev *m, unsigned i)
{
    const Mip6Binding *b = &m->port.binding[i];
    Mip6RegistrationState state = mip6_netdev_state(m, b);
    char home[INET6_ADDRSTRLEN], care_of[INET6_ADDRSTRLEN];

    if (state == m->reported[i].state && b->why == m->reported[i].why) {
        return;
    }
    m->reported[i].state = state;
    m->reported[i].why = b->why;
    inet_ntop(AF_INET6, &b->config.home, home, sizeof(home));
    inet_ntop(AF_INET6, &b->care_of, care_of, sizeof(care_of));
    trace_mip6_state(net_stage_id(m->stage), home,
                     Mip6RegistrationState_str(state), mip6_why_name(b->why));
    /* First, so that who has the event finds the line in the log. */
    mip6_warn_other(m, b, home);
    qapi_event_send_mip6_state(net_stage_id(m->stage), home, state,
                               mip6_why_name(b->why), b->status,
                               b->has_care_of ? care_of : NULL);
}

static void mip6_trace_router(Mip6Netdev *m)
{
    const Mip6HomeLearned *l = &m->port.home.learned;
    Mip6HomeRouter *r = &m->router;
    g_autofree char *mac = NULL;
    char addr[INET6_ADDRSTRLEN];

    if (r->is_known == l->has_router &&
        packet_ip6_equal(&r->addr, &l->router) &&
        !memcmp(r->mac, l->router_mac, sizeof(r->mac))) {
        return;
    }
    r->is_known = l->has_router;
    r->addr = l->router;
    memcpy(r->mac, l->router_mac, sizeof(r->mac));
    mac = qemu_mac_strdup_printf(r->mac);
    inet_ntop(AF_INET6, &r->addr, addr, sizeof(addr));
    trace_mip6_router(net_stage_id(m->stage), r->is_known ? addr : "none", mac);
}

/* The foreign link's DHCPv6 servers; without a lease there is no network. */
static void mip6_tell_dhcp6(Mip6Netdev *m)
{
    const Mip6Dhcp6 *d = &m->port.careof.dhcp;
    const char *id = net_stage_id(m->stage);
    char addr[INET6_ADDRSTRLEN] = "none";

    if (d->state == m->dhcp6) {
        return;
    }
    m->dhcp6 = d->state;
    if (d->has_address) {
        inet_ntop(AF_INET6, &d->address, addr, sizeof(addr));
        m->warned_no_lease = false;
    }
    trace_mip6_dhcp6(id, mip6_dhcp6_state_name(d->state), addr, d->status);
}

static void mip6_warn_no_lease(Mip6Netdev *m)
{
    const Mip6Dhcp6 *d = &m->port.careof.dhcp;
    const char *id = net_stage_id(m->stage);

    if (m->warned_no_lease || d->has_address || d->state == MIP6_DHCP6_OFF ||
        (!d->status && d->tries < SILENT_TRIES)) {
        return;
    }
    m->warned_no_lease = true;
    if (d->status) {
        warn_report("mip6 '%s': the DHCPv6 server of the foreign link has no "
                    "address for the care-of address (status %u): ask its "
                    "operator, or set care-of=", id, d->status);
    } else {
        warn_report("mip6 '%s': the router of the foreign link refers to "
                    "DHCPv6 for the care-of address (M flag), but no server "
                    "has answered: ask its operator, or set care-of=", id);
    }
}

/* Bottom half, scheduled by mip6_changed(). */
static void mip6_settle(void *opaque)
{
    Mip6Netdev *m = opaque;

    mip6_trace_router(m);
    mip6_tell_dhcp6(m);
    for (unsigned i = 0; i < m->port.bindings; i++) {
        mip6_tell(m, i);
    }
    mip6_rearm(m);
    net_stage_release(m->stage);
}

static void mip6_timer(void *opaque)
{
    Mip6Netdev *m = opaque;
    uint64_t times;

    if (read(m->timer, &times, sizeof(times)) < 0) {
        return;                 /* it was set again meanwhile */
    }
    m->armed = INT64_MAX;
    mip6_port_tick(&m->port, mip6_now());
    mip6_warn_no_lease(m);
    mip6_rearm(m);
}

/*
 * To a user, a VM without network for this reason looks as if its link were
 * down.
 */
static void mip6_warn_spoofed(Mip6Netdev *m, const struct iovec *part,
                              int parts)
{
    g_autofree char *sent = NULL, *expected = NULL;
    uint8_t head[2 * PACKET_ETH_ADDR_LEN];

    if (m->warned_spoofed ||
        m->port.dropped[MIP6_DROP_SPOOFED_MAC] == 0 ||
        iov_to_buf(part, parts, 0, head, sizeof(head)) < sizeof(head)) {
        return;
    }
    m->warned_spoofed = true;
    sent = qemu_mac_strdup_printf(head + PACKET_ETH_ADDR_LEN);
    expected = qemu_mac_strdup_printf(m->port.config.home.guest_mac);
    warn_report("mip6 '%s': guest-mac=%s, but the guest sends from %s: while "
                "the VM is away, such frames are dropped (spoofed-mac)",
                net_stage_id(m->stage), expected, sent);
}

/* Without an address after a boot the VM looks as if its link were down. */
static void mip6_warn_dhcp6(Mip6Netdev *m)
{
    if (!m->warned_dhcp6 && m->port.dropped[MIP6_DROP_DHCP6]) {
        m->warned_dhcp6 = true;
        warn_report("mip6 '%s': the guest asks for DHCPv6, which has no answer "
                    "while the VM is away (dhcpv6): use autoconfiguration, or "
                    "configure its address", net_stage_id(m->stage));
    }
}

/* Whoever has the VM at home sees it go "away" there. */
static void mip6_warn_off_link(Mip6Netdev *m)
{
    if (!m->warned_off_link && m->port.heard_off_link) {
        m->warned_off_link = true;
        warn_report("mip6 '%s': a router advertises the home prefix without "
                    "the L flag, which does not tell that this is the home "
                    "link: set the flag there, or location=home here",
                    net_stage_id(m->stage));
    }
}

/* At home, QEMU would take the guest's frames as its own. */
static void mip6_warn_same_mac(Mip6Netdev *m, const uint8_t *mac)
{
    g_autofree char *same = NULL;

    if (!m->warned_mac &&
        !memcmp(mac, m->port.config.mac, PACKET_ETH_ADDR_LEN)) {
        m->warned_mac = true;
        same = qemu_mac_strdup_printf(mac);
        warn_report("mip6 '%s': care-of-mac=%s is the address of the VM's NIC: "
                    "at home the guest gets no frames: give another one",
                    net_stage_id(m->stage), same);
    }
}

/* Until the guest has sent a frame, its NIC's MAC address is used. */
static void mip6_note_nic(NetStage *stage)
{
    Mip6Netdev *m = net_stage_opaque(stage);
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    if (net_stage_nic_mac(stage, mac)) {
        mip6_home_set_nic_mac(&m->port.home, mac);
        mip6_warn_same_mac(m, mac);
    }
}

/* --- frames received ------------------------------------------------------ */

static NetStageVerdict mip6_judged(Mip6Netdev *m, Mip6Verdict verdict)
{
    switch (verdict) {
    case MIP6_PASS:
        net_stage_gather_flush(m->gather);  /* keep the order of frames */
        return NET_STAGE_PASS;
    case MIP6_HELD:
        return NET_STAGE_HOLD;
    default:
        return NET_STAGE_DROP;
    }
}

/* The frame after its virtio-net header. */
static int mip6_frame_parts(const NetStageFrame *frame, struct iovec *part)
{
    return packet_iov_slice(frame->iov, frame->iovcnt, frame->vnet_len,
                            net_stage_frame_size(frame), part,
                            MIP6_TUNNEL_PARTS_MAX);
}

/* A fast path for most frames at home; it costs as much as an empty stage. */
static bool mip6_passes(Mip6Netdev *m, const NetStageFrame *frame,
                        bool from_guest)
{
    uint8_t dst[PACKET_ETH_ADDR_LEN];

    return net_stage_gather_is_empty(m->gather) &&
           net_stage_peek(frame, 0, dst, sizeof(dst)) == sizeof(dst) &&
           mip6_port_passes(&m->port, from_guest, dst);
}

typedef Mip6Verdict Mip6PortFunc(Mip6Port *p, int64_t now,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload);

static NetStageVerdict mip6_offer(Mip6Netdev *m, const NetStageFrame *frame,
                                  Mip6PortFunc *func)
{
    struct iovec part[MIP6_TUNNEL_PARTS_MAX];
    PacketOffload offload = net_stage_read_offload(frame);
    int parts = mip6_frame_parts(frame, part);
    Mip6Verdict verdict;

    if (parts < 0) {
        m->port.dropped[MIP6_DROP_MALFORMED]++;
        return NET_STAGE_DROP;
    }
    verdict = func(&m->port, mip6_now(), part, parts, &offload);
    mip6_warn_spoofed(m, part, parts);
    mip6_warn_dhcp6(m);
    mip6_warn_off_link(m);
    mip6_rearm(m);
    return mip6_judged(m, verdict);
}

static NetStageVerdict mip6_from_nic(NetStage *stage, NetStageFrame *frame)
{
    Mip6Netdev *m = net_stage_opaque(stage);

    return mip6_passes(m, frame, true)
           ? NET_STAGE_PASS : mip6_offer(m, frame, mip6_port_from_guest);
}

static NetStageVerdict mip6_from_backend(NetStage *stage,
                                         NetStageFrame *frame)
{
    Mip6Netdev *m = net_stage_opaque(stage);

    return mip6_passes(m, frame, false)
           ? NET_STAGE_PASS : mip6_offer(m, frame, mip6_port_from_link);
}

/* --- migration and run states --------------------------------------------- */

static int mip6_pre_save(void *opaque)
{
    Mip6Netdev *m = opaque;

    m->saved_len = mip6_port_save(&m->port, mip6_now(), m->saved);
    return 0;
}

static char *mip6_list_addresses(const struct in6_addr *addr, unsigned n)
{
    GString *list = g_string_new(NULL);
    char text[INET6_ADDRSTRLEN];

    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(list, "%s%s", i ? ", " : "",
                               inet_ntop(AF_INET6, &addr[i], text,
                                         sizeof(text)));
    }
    return g_string_free(list, false);
}

static void mip6_report_load(const Mip6Netdev *m, size_t len)
{
    struct in6_addr home[MIP6_HOME_ADDRESSES];
    unsigned homes = mip6_port_saved_homes(m->saved, len, home);
    g_autofree char *there = mip6_list_addresses(home, homes);
    g_autofree char *here =
        mip6_list_addresses(m->port.home.learned.address,
                            mip6_home_configured(&m->port.home));

    if (homes && !strcmp(there, here)) {
        error_report("mip6 '%s': the VM that arrives has another home agent, "
                     "or another protection: make home-agent=, ipsec= and "
                     "esp-payload= the same on both hosts",
                     net_stage_id(m->stage));
    } else if (homes) {
        error_report("mip6 '%s': the VM that arrives has the home addresses "
                     "%s, but home-address= and more-home-address= here have "
                     "%s: make them the same", net_stage_id(m->stage), there,
                     here);
    } else {
        error_report("mip6 '%s': the state of the VM that arrives is damaged, "
                     "or of another version", net_stage_id(m->stage));
    }
}

static int mip6_post_load(void *opaque, int version_id)
{
    Mip6Netdev *m = opaque;
    size_t len = MIN(m->saved_len, sizeof(m->saved));

    if (!mip6_port_load(&m->port, mip6_now(), m->saved, len)) {
        mip6_report_load(m, len);
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription vmstate_mip6 = {
    .name = "mip6",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = mip6_pre_save,
    .post_load = mip6_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(saved_len, Mip6Netdev),
        VMSTATE_UINT8_ARRAY(saved, Mip6Netdev, MIP6_PORT_SAVED_MAX),
        VMSTATE_END_OF_LIST()
    },
};

static void mip6_vm_state(void *opaque, bool running, RunState state)
{
    Mip6Netdev *m = opaque;

    mip6_note_nic(m->stage);
    if (running) {
        mip6_port_run(&m->port, mip6_now());
    } else {
        mip6_port_pause(&m->port);
    }
    net_stage_gather_pause(m->gather, !running);
    mip6_rearm(m);
}

/* Early registration was requested, but was not complete when the VM left. */
static void mip6_warn_unregistered(const Mip6Netdev *m)
{
    char home[INET6_ADDRSTRLEN];

    if (!m->port.early.is_on || mip6_port_has_left(&m->port)) {
        return;
    }
    for (unsigned i = 0; i < m->port.bindings; i++) {
        const Mip6Binding *b = &m->port.binding[i];

        if (!mip6_port_early_is_bound(&m->port, b)) {
            inet_ntop(AF_INET6, &b->config.home, home, sizeof(home));
            warn_report("mip6 '%s': early-registration=on, but the VM has "
                        "left before %s was registered (%s, %s): it cannot be "
                        "reached until its new host has registered it",
                        net_stage_id(m->stage), home,
                        Mip6RegistrationState_str(
                            (Mip6RegistrationState)b->state),
                        mip6_why_name(b->why));
        }
    }
}

static void mip6_departs(void *opaque, DepartureTurn turn)
{
    Mip6Netdev *m = opaque;

    switch (turn) {
    case DEPARTURE_TURN_LEAVING:
        mip6_port_prepare(&m->port, mip6_now());
        break;
    case DEPARTURE_TURN_STAYS:
        mip6_port_stay(&m->port, mip6_now());
        break;
    case DEPARTURE_TURN_LEFT:
        mip6_warn_unregistered(m);
        mip6_port_leave(&m->port, mip6_now());
        m->port.dropped[MIP6_DROP_LATE] +=
            net_stage_gather_discard(m->gather);
        break;
    }
    mip6_rearm(m);
}

/* --- creation and deletion ------------------------------------------------ */

static void mip6_free(void *opaque)
{
    Mip6Netdev *m = opaque;

    if (m->vm_state) {
        qemu_del_vm_change_state_handler(m->vm_state);
        departure_unfollow(&m->departure);
        vmstate_unregister(NULL, &m->vmsd, m);
    }
    mip6_port_destroy(&m->port);
    qemu_bh_delete(m->changed);
    net_stage_gather_free(m->gather);
    qemu_set_fd_handler(m->timer, NULL, NULL, NULL);
    close(m->timer);
    mip6_netdev_unprotect(m->protect);
    g_free(m->vmsd_name);
    g_free(m->backend);
    g_free(m);
}

static const NetStageRoom mip6_room = {
    .type = NET_CLIENT_DRIVER_MIP6,
    .from_nic = mip6_from_nic,
    .from_backend = mip6_from_backend,
    .while_stopped = true,
    .changed = mip6_note_nic,
    .free = mip6_free,
};

static Mip6Netdev *mip6_new(const NetdevMip6Options *o,
                            const Mip6PortConfig *config, int timer)
{
    Mip6Netdev *m = g_new0(Mip6Netdev, 1);

    m->backend = g_strdup(o->netdev);
    memcpy(m->protect, config->protect, sizeof(m->protect));
    m->armed = INT64_MAX;
    m->timer = timer;
    qemu_set_fd_handler(timer, mip6_timer, NULL, m);
    m->changed = qemu_bh_new(mip6_settle, m);
    mip6_port_init(&m->port, config, &mip6_port_ops, m,
                   runstate_check(RUN_STATE_INMIGRATE));
    return m;
}

static void mip6_attach(Mip6Netdev *m, const char *id)
{
    m->vmsd = vmstate_mip6;
    m->vmsd_name = g_strdup_printf("mip6/%s", id);
    m->vmsd.name = m->vmsd_name;
    vmstate_register(NULL, 0, &m->vmsd, m);
    m->vm_state = qemu_add_vm_change_state_handler(mip6_vm_state, m);
    departure_follow(&m->departure, mip6_departs, m);
    m->gather = net_stage_gather_new(m->stage, NULL, NULL);
    net_stage_gather_pause(m->gather, !runstate_is_running());
    mip6_port_start(&m->port, mip6_now());
    if (runstate_is_running()) {
        mip6_port_run(&m->port, mip6_now());
    }
    mip6_rearm(m);
}

typedef struct SameHome {
    const struct in6_addr *address;
    const Mip6Netdev *found;
} SameHome;

static void mip6_find_home(NetStage *stage, void *opaque)
{
    const Mip6Netdev *m = net_stage_opaque(stage);
    SameHome *same = opaque;

    if (packet_ip6_equal(&m->port.config.home.address, same->address)) {
        same->found = m;
    }
}

/* Two netdevs with the same home address would replace each other's binding. */
static bool mip6_is_only_one(const char *id, const NetdevMip6Options *o,
                             const struct in6_addr *home, Error **errp)
{
    SameHome same = { .address = home };

    net_stage_foreach(&mip6_room, mip6_find_home, &same);
    if (same.found) {
        error_setg(errp, "mip6 '%s': home-address=%s is that of '%s' already: "
                   "give each netdev an address of its own", id,
                   o->home_address, net_stage_id(same.found->stage));
        return false;
    }
    return true;
}

int net_init_mip6(const Netdev *netdev, const char *name,
                  NetClientState *peer, Error **errp)
{
    const NetdevMip6Options *o = &netdev->u.mip6;
    Mip6PortConfig config = { 0 };
    Mip6Netdev *m;
    int timer;

    if (!mip6_netdev_options(name, o, &config, errp) ||
        !mip6_is_only_one(name, o, &config.home.address, errp) ||
        !mip6_netdev_protect(name, o, config.protect, errp)) {
        return -1;
    }
    timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0) {
        error_setg_errno(errp, errno, "mip6 '%s': cannot make a timer", name);
        mip6_netdev_unprotect(config.protect);
        return -1;
    }
    m = mip6_new(o, &config, timer);
    m->stage = net_stage_new(&mip6_room, name, o->netdev, peer, m, errp);
    if (!m->stage) {
        mip6_free(m);
        return -1;
    }
    mip6_attach(m, name);
    return 0;
}

typedef struct Walk {
    void (*func)(Mip6Netdev *m, void *opaque);
    void *opaque;
} Walk;

static void mip6_visit(NetStage *stage, void *opaque)
{
    const Walk *walk = opaque;

    walk->func(net_stage_opaque(stage), walk->opaque);
}

void mip6_netdev_foreach(void (*func)(Mip6Netdev *m, void *opaque),
                         void *opaque)
{
    Walk walk = { func, opaque };

    net_stage_foreach(&mip6_room, mip6_visit, &walk);
}
