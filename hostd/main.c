/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-hostd: moves addresses of VMs, for unprivileged QEMU processes
 *
 *     vmmnet-hostd [--socket PATH] [--state FILE]
 *     vmmnet-hostd show [--socket PATH]
 */
#include <stdio.h>
#include <string.h>

#include "hostd/daemon.h"
#include "hostd/service/server.h"

#define DEFAULT_SOCKET  "/run/vmmnet/hostd.sock"
#define DEFAULT_STATE   "/run/vmmnet/hostd.state"

static bool show(const char *path, GError **errp)
{
    g_autoptr(GString) out = g_string_new(NULL);
    bool done = hostd_server_ask(path, "show\n", out, errp);

    if (done) {
        fputs(out->str, stdout);
    }
    return done;
}

static bool command(int argc, char **argv, GError **errp)
{
    g_autofree char *path = NULL, *state = NULL;
    const GOptionEntry entries[] = {
        { "socket", 0, 0, G_OPTION_ARG_FILENAME, &path,
          "the UNIX socket (" DEFAULT_SOCKET ")", "PATH" },
        { "state", 0, 0, G_OPTION_ARG_FILENAME, &state,
          "the state file, for restarts (" DEFAULT_STATE ")", "FILE" },
        { NULL },
    };
    g_autoptr(GOptionContext) context = g_option_context_new("[show]");

    g_option_context_set_summary(context, "Move addresses of VMs, for "
        "unprivileged QEMU processes; 'show' lists the\nVMs and their "
        "addresses.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, errp)) {
        return false;
    }
    if (argc == 2 && !strcmp(argv[1], "show")) {
        return show(path ? path : DEFAULT_SOCKET, errp);
    }
    if (argc > 1) {
        g_set_error(errp, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "'%s' is neither an option nor 'show'; see --help",
                    argv[1]);
        return false;
    }
    return hostd_serve(path ? path : DEFAULT_SOCKET,
                       state ? state : DEFAULT_STATE, errp);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;

    if (!command(argc, argv, &err)) {
        fprintf(stderr, "vmmnet-hostd: %s\n", err->message);
        return err->domain == G_OPTION_ERROR ? 2 : 1;
    }
    return 0;
}
