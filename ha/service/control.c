/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket
 *
 * An answer is written in pieces, as fast as the client reads it, so ten
 * thousand bindings do not delay packets.
 */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>

#include "base/control.h"
#include "ha/service/control.h"
#include "ha/service/journal.h"
#include "ha/service/show.h"

struct Mip6HaControl {
    BaseControl *server;
    guint watch;
    const Mip6Agent *agent;
};

static BaseControlPart more(void *state, BaseControlClient *c)
{
    g_autoptr(GString) out = g_string_new(NULL);
    bool is_last = !mip6_show_more(state, out);

    base_control_write(c, out->str, out->len);
    return is_last ? BASE_CONTROL_LAST : BASE_CONTROL_MORE;
}

static void end(void *state)
{
    mip6_show_free(state);
}

static bool answer(const Mip6HaControl *control, BaseControlClient *c,
                   Mip6ShowFormat format)
{
    base_control_stream(c, more, end, mip6_show_new(control->agent,
                                                    mip6_ha_clock(), format));
    return true;
}

static bool show(void *opaque, BaseControlClient *c, char **words,
                 unsigned count)
{
    if (count && strcmp(words[0], "json")) {
        return base_control_fail(c, "show: '%s' is not json", words[0]);
    }
    return answer(opaque, c, count ? MIP6_SHOW_JSON : MIP6_SHOW_TEXT);
}

static bool metrics(void *opaque, BaseControlClient *c, char **words,
                    unsigned count)
{
    return answer(opaque, c, MIP6_SHOW_METRICS);
}

static const BaseControlVerb verbs[] = {
    { .name = "show", .most = 1, .run = show },
    { .name = "metrics", .run = metrics },
    { 0 },
};

static const BaseControlOps ops = { .verbs = verbs };

static gboolean ready(gint fd, GIOCondition condition, gpointer opaque)
{
    base_control_ready(opaque);
    return G_SOURCE_CONTINUE;
}

Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp)
{
    Mip6HaControl *c = g_new0(Mip6HaControl, 1);

    c->agent = agent;
    c->server = base_control_new(path ? path : MIP6_HA_CONTROL, 0600, &ops, c);
    if (c->server) {
        c->watch = g_unix_fd_add(base_control_fd(c->server), G_IO_IN, ready,
                                 c->server);
        return c;
    }
    if (path) {
        g_set_error(errp, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "cannot listen at control '%s': %s", path, strerror(errno));
    } else if (errno == EADDRINUSE) {
        g_warning("another agent listens at " MIP6_HA_CONTROL ": this one has "
                  "no control socket without a line 'control'");
    } else {
        g_message("no control socket, as there is no line 'control': cannot "
                  "listen at " MIP6_HA_CONTROL ": %s", strerror(errno));
    }
    g_free(c);
    return NULL;
}

void mip6_ha_control_tick(Mip6HaControl *c)
{
    if (c) {
        base_control_tick(c->server);
    }
}

void mip6_ha_control_free(Mip6HaControl *c)
{
    if (c) {
        g_source_remove(c->watch);
        base_control_free(c->server);
        g_free(c);
    }
}
