/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-ha: a home agent for Mobile IPv6
 *
 *     vmmnet-ha FILE
 *
 * config.c says what is in FILE, agent.c what a home agent does, host.c where
 * packets come from and go to. This file connects them in one thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/mip6/ha/config.h"
#include "net/mip6/ha/host.h"

/* Packets that one turn of the loop takes, so that none starves others. */
#define BATCH           64

typedef struct Daemon {
    GMainLoop *loop;
    Mip6HaConfig *config;
    Mip6HaHost host;
    Mip6Agent agent;
} Daemon;

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

static void forward(void *opaque, const void *packet, size_t len)
{
    Daemon *d = opaque;

    if (write(d->host.tun_fd, packet, len) < 0) {
        g_debug("forward: %s", strerror(errno));
    }
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    Daemon *d = opaque;
    char text[INET6_ADDRSTRLEN];
    bool done = mip6_ha_host_proxy(&d->host, home, on);

    inet_ntop(AF_INET6, home, text, sizeof(text));
    if (done) {
        g_message("%s %s", on ? "bound" : "ended", text);
    } else {
        g_warning("cannot route %s into the tunnel: %s", text,
                  strerror(errno));
    }
    return done;
}

static const Mip6AgentOps agent_ops = {
    .forward = forward,
    .proxy = proxy,
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
        mip6_agent_packet(&d->agent, now_ns(), packet, len);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean link_ready(gint fd, GIOCondition condition, gpointer opaque)
{
    Daemon *d = opaque;

    mip6_ha_host_link(&d->host);
    return G_SOURCE_CONTINUE;
}

static gboolean tick(gpointer opaque)
{
    Daemon *d = opaque;

    mip6_agent_tick(&d->agent, now_ns());
    return G_SOURCE_CONTINUE;
}

static gboolean stop(gpointer opaque)
{
    Daemon *d = opaque;

    g_main_loop_quit(d->loop);
    return G_SOURCE_CONTINUE;
}

static void run(Daemon *d)
{
    d->loop = g_main_loop_new(NULL, FALSE);
    g_unix_fd_add(d->host.tun_fd, G_IO_IN, tun_ready, d);
    g_unix_fd_add(d->host.link_fd, G_IO_IN, link_ready, d);
    g_timeout_add_seconds(1, tick, d);
    g_unix_signal_add(SIGINT, stop, d);
    g_unix_signal_add(SIGTERM, stop, d);
    puts("vmmnet-ha: ready");
    fflush(stdout);
    g_main_loop_run(d->loop);
    g_main_loop_unref(d->loop);
}

static bool start(Daemon *d, const char *file, GError **errp)
{
    g_autofree char *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, errp)) {
        return false;
    }
    d->config = mip6_ha_config_parse(text, file, errp);
    if (!d->config ||
        !mip6_ha_host_open(&d->host, d->config->interface, d->config->tun,
                           errp)) {
        return false;
    }
    mip6_agent_init(&d->agent, &d->config->agent, &agent_ops, d);
    if (!mip6_ha_host_proxy(&d->host, &d->config->agent.address, true)) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "cannot take the agent's address: %s", strerror(errno));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    Daemon d = { 0 };

    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: vmmnet-ha FILE\n");
        return 2;
    }
    if (!start(&d, argv[1], &err)) {
        fprintf(stderr, "vmmnet-ha: %s\n", err->message);
        return 1;
    }
    run(&d);
    mip6_agent_destroy(&d.agent);
    mip6_ha_host_close(&d.host);
    mip6_ha_config_free(d.config);
    return 0;
}
