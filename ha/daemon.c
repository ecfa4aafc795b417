/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent as a process
 *
 * service/config.c reads the configuration, agent/agent.c is the home agent,
 * host/host.c sends and receives packets. This file connects them, in one
 * thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/systemd.h"
#include "ha/base/mistake.h"
#include "ha/daemon.h"
#include "ha/host/fast.h"
#include "ha/host/host.h"
#include "ha/host/multicast.h"
#include "ha/host/tagged.h"
#include "ha/service/config.h"
#include "ha/service/control.h"
#include "ha/service/journal.h"
#include "ha/service/news.h"

/*
 * Packets in one iteration of the main loop, so other sources are not starved.
 */
#define BATCH           64
#define CLOCK_SLACK     60u     /* s; numbers may be ahead of time so far */
#define FAST_BULK       16384   /* octets of a node in 1 ms: 131 Mbit/s */

typedef struct Daemon {
    GMainLoop *loop;
    const char *file;
    Mip6HaConfig *config;
    Mip6HaHost host;
    Mip6Fast *fast;             /* NULL: all packets come to the agent */
    Mip6HaMulticast multicast;
    int tagged_fd;              /* counts frames of other VLANs */
    Mip6HaJournal journal;
    bool is_unwritten;          /* the state file, and the log has why */
    Mip6HaNews news;
    Mip6HaControl *control;     /* NULL: no socket */
    Mip6Agent agent;
    GSource *timer;             /* for the agent's deadline */
    int64_t deadline;           /* that @timer is set to */
    bool restoring;
    bool address_taken;         /* the host has it; as far as it was told */
    GError *lost;               /* why it cannot go on; or NULL */
} Daemon;

static void forward(void *opaque, const void *packet, size_t len)
{
    Daemon *d = opaque;

    if (write(d->host.tun_fd, packet, len) < 0) {
        g_debug("forward: %s", strerror(errno));
    }
}

static void forward_behind(void *opaque, const void *head, size_t head_len,
                           const void *packet, size_t len)
{
    Daemon *d = opaque;
    const struct iovec iov[] = {
        { (void *)head, head_len }, { (void *)packet, len },
    };

    if (writev(d->host.tun_fd, iov, G_N_ELEMENTS(iov)) < 0) {
        g_debug("forward: %s", strerror(errno));
    }
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    Daemon *d = opaque;
    char text[INET6_ADDRSTRLEN];
    /*
     * Neighbours already know a restored binding, so it needs no announcement.
     */
    bool done = mip6_ha_host_proxy(&d->host, mip6_ha_clock(), home, on,
                                   d->restoring ? 1 : MIP6_ANNOUNCE_TIMES);

    if (!done) {
        inet_ntop(AF_INET6, home, text, sizeof(text));
        g_warning("cannot route %s into the tunnel: %s", text,
                  strerror(errno));
    }
    return done;
}

static void probe(void *opaque, const struct in6_addr *home)
{
    Daemon *d = opaque;

    mip6_ha_host_probe(&d->host, home);
}

static void listen_to(void *opaque, const struct in6_addr *home, bool on)
{
    Daemon *d = opaque;

    mip6_ha_host_listen(&d->host, home, on);
}

static void to_group(void *opaque, const void *packet, size_t len)
{
    Daemon *d = opaque;

    mip6_ha_multicast_send(&d->multicast, packet, len);
}

static bool join(void *opaque, const struct in6_addr *group, bool on)
{
    Daemon *d = opaque;
    bool done = mip6_ha_multicast_join(&d->multicast, group, on);
    char text[INET6_ADDRSTRLEN];

    if (!done) {
        inet_ntop(AF_INET6, group, text, sizeof(text));
        g_warning("cannot %s group %s: %s", on ? "join" : "leave", text,
                  strerror(errno));
    }
    return done;
}

static void changed(void *opaque, const Mip6AgentBinding *b)
{
    Daemon *d = opaque;

    mip6_ha_journal_append(&d->journal, b);
}

static void seen(void *opaque, const Mip6Keys *keys)
{
    Daemon *d = opaque;

    mip6_ha_journal_seen(&d->journal, keys);
}

static void sent(void *opaque, uint64_t number)
{
    Daemon *d = opaque;

    mip6_ha_journal_sent(&d->journal, number);
}

static void let_pass(void *opaque, const Mip6AgentPass *pass)
{
    Daemon *d = opaque;

    if (d->fast) {
        mip6_fast_let_pass(d->fast, pass);
    }
}

static void stop_pass(void *opaque, const struct in6_addr *home)
{
    Daemon *d = opaque;

    if (d->fast) {
        mip6_fast_stop(d->fast, home);
    }
}

static bool passed(void *opaque, const struct in6_addr *home,
                   Mip6AgentPassed *packets)
{
    Daemon *d = opaque;

    if (d->fast) {
        *packets = mip6_fast_passed(d->fast, home);
    }
    return d->fast;
}

static void tell(void *opaque, const Mip6AgentNews *news)
{
    Daemon *d = opaque;

    mip6_ha_news_tell(&d->news, mip6_ha_clock(), news, &d->agent.link);
}

static uint32_t random_number(void *opaque)
{
    return g_random_int();
}

static const Mip6AgentOps agent_ops = {
    .forward = forward,
    .forward_behind = forward_behind,
    .proxy = proxy,
    .probe = probe,
    .listen = listen_to,
    .to_group = to_group,
    .join = join,
    .changed = changed,
    .seen = seen,
    .sent = sent,
    .let_pass = let_pass,
    .stop_pass = stop_pass,
    .passed = passed,
    .tell = tell,
    .random = random_number,
};

/* --- main loop ------------------------------------------------------------ */

/* Sets the timer to the agent's deadline; at once if that is over. */
static void arm(Daemon *d)
{
    int64_t deadline = MIN(mip6_agent_deadline(&d->agent),
                           mip6_announce_deadline(&d->host.announce));
    int64_t wait;

    if (deadline == d->deadline) {
        return;
    }
    d->deadline = deadline;
    wait = deadline == INT64_MAX ? -1
                                 : MAX(deadline - mip6_ha_clock(), 0) / 1000;
    g_source_set_ready_time(d->timer, wait < 0 ? -1
                                      : g_get_monotonic_time() + wait);
}

static gboolean due(gpointer opaque)
{
    Daemon *d = opaque;

    d->deadline = INT64_MIN;
    mip6_agent_tick(&d->agent, mip6_ha_clock());
    mip6_announce_tick(&d->host.announce, mip6_ha_clock());
    arm(d);
    return G_SOURCE_CONTINUE;
}

static gboolean call(GSource *source, GSourceFunc callback, gpointer opaque)
{
    return callback(opaque);
}

static GSourceFuncs timer_funcs = {
    .dispatch = call,
};

static gboolean tun_ready(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;
    uint8_t packet[65536];
    ssize_t len;

    for (unsigned i = 0; i < BATCH; i++) {
        len = read(fd, packet, sizeof(packet));
        if (len < 0) {
            break;
        }
        mip6_agent_packet(&d->agent, mip6_ha_clock(), packet, len);
    }
    arm(d);
    return G_SOURCE_CONTINUE;
}

static gboolean groups_ready(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;
    uint8_t packet[2048];

    for (unsigned i = 0; i < BATCH; i++) {
        ssize_t len = mip6_ha_multicast_read(&d->multicast, packet,
                                             sizeof(packet));

        if (len < 0) {
            break;
        }
        if (len > 0) {
            mip6_agent_group_packet(&d->agent, mip6_ha_clock(), packet, len);
        }
    }
    return G_SOURCE_CONTINUE;
}

static gboolean link_ready(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;
    PacketNd nd;

    switch (mip6_ha_host_link(&d->host, &nd)) {
    case MIP6_HA_CLAIM:
        mip6_agent_claimed(&d->agent, mip6_ha_clock(), &nd.target);
        break;
    case MIP6_HA_ROUTER:
        mip6_agent_heard(&d->agent, mip6_ha_clock(), &nd);
        break;
    default:
        return G_SOURCE_CONTINUE;
    }
    arm(d);
    return G_SOURCE_CONTINUE;
}

static gboolean host_changed(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;

    if (!mip6_ha_host_changed(&d->host, mip6_ha_clock(), &d->lost)) {
        g_main_loop_quit(d->loop);
        return G_SOURCE_REMOVE;
    }
    memcpy(d->multicast.mac, d->host.mac, sizeof(d->multicast.mac));
    arm(d);
    return G_SOURCE_CONTINUE;
}

/* Writes the state file when it is too long, behind, or lost. */
static void look_at_journal(Daemon *d)
{
    bool lost = mip6_ha_journal_is_lost(&d->journal);
    g_autoptr(GError) err = NULL;
    bool done;

    if (!lost && !mip6_ha_journal_wants(&d->journal, &d->agent)) {
        return;
    }
    done = mip6_ha_journal_renew(&d->journal, &d->agent, lost, &err);
    if (!done && !d->is_unwritten) {
        g_warning("%s", err->message);
    } else if (done && lost) {
        g_warning("state '%s' was removed or replaced: it is there again",
                  d->journal.path);
    } else if (done && d->is_unwritten) {
        g_message("state '%s' is written", d->journal.path);
    }
    d->is_unwritten = !done;
}

/* The host may get the agent's address at any time. */
static void look_at_address(Daemon *d)
{
    char text[INET6_ADDRSTRLEN], name[IF_NAMESIZE];
    bool taken = mip6_ha_host_has(&d->config->agent.address, name);

    if (taken == d->address_taken) {
        return;
    }
    d->address_taken = taken;
    inet_ntop(AF_INET6, &d->config->agent.address, text, sizeof(text));
    if (taken) {
        g_warning("the host has taken the agent's address %s, on %s: nodes do "
                  "not reach the agent", text, name);
    } else {
        g_message("the agent's address %s is its own again", text);
    }
}

/* Each second: the state file, the log, what the kernel has counted and set. */
static gboolean each_second(gpointer opaque)
{
    Daemon *d = opaque;

    mip6_ha_news_tick(&d->news, mip6_ha_clock());
    d->agent.dropped[MIP6_AGENT_OTHER_VLAN] +=
        mip6_ha_tagged_read(d->tagged_fd);
    mip6_ha_host_settings(&d->host);
    mip6_ha_host_tick(&d->host);
    look_at_address(d);
    mip6_ha_control_tick(d->control);
    if (d->fast) {
        mip6_fast_look(d->fast);
    }
    look_at_journal(d);
    d->deadline = INT64_MIN;    /* the timer stands while the host sleeps */
    arm(d);
    return G_SOURCE_CONTINUE;
}

static gboolean stop(gpointer opaque)
{
    Daemon *d = opaque;

    g_main_loop_quit(d->loop);
    return G_SOURCE_CONTINUE;
}

static void tell_old_form(const Mip6HaConfig *config)
{
    if (config->old) {
        g_warning("%s", config->old);
    }
}

/* Keys begin above @used. After an error the old configuration stays. */
static bool read_again(Daemon *d, uint32_t used, GError **errp)
{
    Mip6HaConfig *old = d->config;
    Mip6HaConfig *new = mip6_ha_config_read(d->file, used, errp);
    const char *fixed;

    if (!new) {
        return false;
    }
    fixed = mip6_ha_config_fixed(old, new);
    if (fixed) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "%s: '%s' differs, which needs a restart", d->file, fixed);
        mip6_ha_config_free(new);
        return false;
    }
    tell_old_form(new);
    d->config = new;
    mip6_agent_configure(&d->agent, mip6_ha_clock(), &new->agent);
    mip6_ha_config_free(old);
    return true;
}

/* The keys that are in use: they have sent nothing above this. */
static void keep_sent(Daemon *d)
{
    if (d->config->agent.keys) {
        mip6_ha_journal_sent(&d->journal, d->config->epoch);
    }
}

/* SIGHUP: reads the file again. */
static gboolean reload(gpointer opaque)
{
    Daemon *d = opaque;
    g_autoptr(GError) err = NULL;

    if (!read_again(d, mip6_keyring_sent(d->config->agent.keys), &err)) {
        g_warning("%s; the earlier configuration holds", err->message);
        return G_SOURCE_CONTINUE;
    }
    keep_sent(d);
    arm(d);
    g_message("%s: read again", d->file);
    return G_SOURCE_CONTINUE;
}

static void run(Daemon *d)
{
    d->loop = g_main_loop_new(NULL, FALSE);
    g_unix_fd_add(d->host.tun_fd, G_IO_IN, tun_ready, d);
    g_unix_fd_add(d->host.link_fd, G_IO_IN, link_ready, d);
    g_unix_fd_add(d->host.watch.fd, G_IO_IN, host_changed, d);
    if (d->multicast.fd >= 0) {
        g_unix_fd_add(d->multicast.fd, G_IO_IN, groups_ready, d);
    }
    d->timer = g_source_new(&timer_funcs, sizeof(GSource));
    g_source_set_callback(d->timer, due, d, NULL);
    g_source_attach(d->timer, NULL);
    d->deadline = INT64_MIN;
    arm(d);
    g_timeout_add_seconds(1, each_second, d);
    g_unix_signal_add(SIGINT, stop, d);
    g_unix_signal_add(SIGTERM, stop, d);
    g_unix_signal_add(SIGHUP, reload, d);
    puts("vmmnet-ha: ready");
    fflush(stdout);
    base_systemd_notify("READY=1\nSTATUS=Serving");
    g_main_loop_run(d->loop);
    base_systemd_notify("STOPPING=1");
    g_source_destroy(d->timer);
    g_source_unref(d->timer);
    g_main_loop_unref(d->loop);
}

/* --- start and stop ------------------------------------------------------- */

/* Says which line of the configuration @errp is about. Returns: false */
static bool at_line(const Daemon *d, const char *word, GError **errp)
{
    g_prefix_error(errp, "%s:%u: ", d->file,
                   mip6_ha_config_line(d->config, word));
    return false;
}

static void restore(Daemon *d, GHashTable *bindings)
{
    int64_t now = mip6_ha_clock();
    char text[INET6_ADDRSTRLEN];
    GHashTableIter iter;
    gpointer value;

    d->restoring = true;
    g_hash_table_iter_init(&iter, bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Mip6AgentBinding *b = value;
        uint8_t status = mip6_agent_restore(&d->agent, now, b);

        if (status != MIP6_BA_ACCEPTED) {
            inet_ntop(AF_INET6, &b->home, text, sizeof(text));
            g_warning("the binding of %s is not restored: status %u", text,
                      status);
        }
    }
    d->restoring = false;
    if (d->agent.restored) {
        g_message("restored %" PRIu64 " bindings", d->agent.restored);
    }
}

/*
 * Nodes drop numbers that go back, and no nonce may be used twice. The clock may
 * be behind the numbers: a machine boots with a wrong one.
 */
static bool go_on_with_numbers(Daemon *d, GError **errp)
{
    uint32_t now = g_get_real_time() / G_USEC_PER_SEC;
    uint32_t used = d->journal.sent;

    if (!d->config->agent.keys) {
        return true;
    }
    if (used > now + CLOCK_SLACK) {
        g_warning("the clock is %u s behind the ESP numbers in state '%s': has "
                  "it gone back? The numbers go on", used - now,
                  d->journal.path);
    }
    if (used >= d->config->epoch && !read_again(d, used, errp)) {
        return false;
    }
    keep_sent(d);
    return true;
}

/*
 * With a state file, the TUN device and the routes are kept for the next agent:
 * meanwhile packets are lost, but are never routed elsewhere.
 */
static bool take_over(Daemon *d, GError **errp)
{
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(Mip6HaSeen));
    g_autoptr(GHashTable) bindings = mip6_ha_journal_load(&d->journal, numbers,
                                                          errp);

    if (!bindings || !go_on_with_numbers(d, errp)) {
        return false;
    }
    restore(d, bindings);
    for (guint i = 0; i < numbers->len; i++) {
        const Mip6HaSeen *s = &g_array_index(numbers, Mip6HaSeen, i);

        /* Ignore a home address that is not configured any more. */
        mip6_keyring_restore(d->config->agent.keys, &s->home, s->spi,
                             s->number);
    }
    if (!mip6_ha_host_sweep(&d->host) ||
        !mip6_ha_host_keep(&d->host, d->journal.path)) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "cannot take over TUN device '%s': %s", d->config->tun,
                    strerror(errno));
        return false;
    }
    return mip6_ha_journal_renew(&d->journal, &d->agent, true, errp) ||
           at_line(d, "state", errp);
}

/* Returns: false if fast-path is "on" and the kernel does not support it */
static bool start_fast_path(Daemon *d, GError **errp)
{
    const Mip6HaConfig *c = d->config;
    g_autoptr(GError) err = NULL;

    if (c->fast_path == MIP6_HA_FAST_OFF) {
        return true;
    }
    d->fast = mip6_fast_load(mip6_fast_program, mip6_fast_program_len,
                             &c->agent.address, 0, c->agent.bindings_max,
                             FAST_BULK, &err);
    if (d->fast && mip6_fast_attach(d->fast, d->host.tun_index, &err)) {
        return true;
    }
    mip6_fast_free(d->fast);
    d->fast = NULL;
    if (c->fast_path == MIP6_HA_FAST_ON) {
        return mip6_ha_mistake(errp, d->file,
                               mip6_ha_config_line(c, "fast-path"),
                               "fast-path 'on': %s", err->message);
    }
    g_message("there is no fast path: %s", err->message);
    return true;
}

/* The host's own table of routes comes before the route to the agent. */
static bool is_address_free(Daemon *d, GError **errp)
{
    const struct in6_addr *address = &d->config->agent.address;
    char text[INET6_ADDRSTRLEN], name[IF_NAMESIZE];

    if (!mip6_ha_host_has(address, name)) {
        return true;
    }
    inet_ntop(AF_INET6, address, text, sizeof(text));
    return mip6_ha_mistake(errp, d->file,
                           mip6_ha_config_line(d->config, "address"),
                           "address '%s' is the host's, on %s: the agent needs "
                           "one of its own", text, name);
}

static bool start(Daemon *d, GError **errp)
{
    if (!is_address_free(d, errp)) {
        return false;
    }
    if (!mip6_ha_host_open(&d->host, d->config->interface, d->config->tun,
                           errp)) {
        return false;
    }
    mip6_ha_host_settings(&d->host);
    if (d->config->agent.multicast &&
        !mip6_ha_multicast_open(&d->multicast, d->config->interface,
                                d->host.mac, errp)) {
        return false;
    }
    d->tagged_fd = mip6_ha_tagged_open(d->host.link_index,
                                       d->config->agent.multicast);
    if (d->tagged_fd < 0) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "cannot count frames of other VLANs: %s", strerror(errno));
        return false;
    }
    if (!start_fast_path(d, errp)) {
        return false;
    }
    mip6_ha_journal_init(&d->journal, d->config->state);
    mip6_agent_init(&d->agent, &d->config->agent, &agent_ops, d);
    if (!mip6_ha_host_proxy(&d->host, mip6_ha_clock(),
                            &d->config->agent.address, true,
                            MIP6_ANNOUNCE_TIMES) ||
        (!IN6_IS_ADDR_UNSPECIFIED(&d->agent.anycast) &&
         !mip6_ha_host_proxy(&d->host, mip6_ha_clock(), &d->agent.anycast,
                             true, 0))) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "cannot take the agent's address: %s", strerror(errno));
        return false;
    }
    if (!take_over(d, errp)) {
        return false;
    }
    d->control = mip6_ha_control_new(d->config->control, &d->agent, errp);
    return d->control || !d->config->control || at_line(d, "control", errp);
}

static bool end(Daemon *d, GError **errp)
{
    bool done = mip6_ha_journal_renew(&d->journal, &d->agent, true, errp);

    mip6_ha_control_free(d->control);
    mip6_agent_destroy(&d->agent);
    mip6_ha_journal_destroy(&d->journal);
    mip6_ha_multicast_close(&d->multicast);
    mip6_fast_free(d->fast);
    close(d->tagged_fd);
    mip6_ha_host_close(&d->host);
    mip6_ha_config_free(d->config);
    return done;
}

/* It cannot go on. The next agent takes over what the state file has. */
static void end_lost(Daemon *d)
{
    guint bindings = g_hash_table_size(d->agent.bindings);
    g_autofree char *state = g_strdup(d->config->state);
    g_autoptr(GError) err = NULL;

    if (!end(d, &err)) {
        g_warning("%s: %u bindings may be lost", err->message, bindings);
    } else if (state) {
        g_message("%u bindings are in '%s' for the next agent", bindings,
                  state);
    } else if (bindings) {
        g_warning("%u bindings are lost, because the configuration has no line "
                  "'state': nodes are unreachable until they register again",
                  bindings);
    }
}

bool mip6_ha_serve(const char *file, GError **errp)
{
    Daemon d = { .file = file, .tagged_fd = -1 };

    mip6_ha_multicast_init(&d.multicast);
    d.config = mip6_ha_config_read(file, 0, errp);
    if (d.config) {
        tell_old_form(d.config);
    }
    if (!d.config || !start(&d, errp)) {
        mip6_fast_free(d.fast);
        return false;
    }
    run(&d);
    if (d.lost) {
        end_lost(&d);
        g_propagate_error(errp, d.lost);
        return false;
    }
    return end(&d, errp);
}
