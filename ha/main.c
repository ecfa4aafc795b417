/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-ha: a home agent for Mobile IPv6
 *
 *     vmmnet-ha FILE
 *     vmmnet-ha show [--json | --metrics] [FILE]
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ha/daemon.h"
#include "ha/service/config.h"
#include "ha/service/control.h"

#define DEFAULT_FILE    "/etc/vmmnet/ha.conf"

static bool show(const char *file, Mip6ShowFormat format, GError **errp)
{
    Mip6HaConfig *config = mip6_ha_config_read(file, 0, errp);
    bool done;

    if (!config) {
        return false;
    }
    if (config->control) {
        done = mip6_ha_control_ask(config->control, format, STDOUT_FILENO,
                                   errp);
    } else {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                    "%s: there is no line 'control': the agent's socket", file);
        done = false;
    }
    mip6_ha_config_free(config);
    return done;
}

static int usage(FILE *out, int code)
{
    fputs("usage: vmmnet-ha FILE\n"
          "           run the home agent with the configuration FILE\n"
          "       vmmnet-ha show [--json | --metrics] [FILE]\n"
          "           show bindings and counters of the agent that runs with "
          "FILE\n"
          "           (" DEFAULT_FILE "); --metrics: in Prometheus' text "
          "format\n", out);
    return code;
}

static bool command(int argc, char **argv, int *code, GError **errp)
{
    Mip6ShowFormat format = MIP6_SHOW_TEXT;
    int at = 2;

    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        *code = usage(stdout, 0);
        return true;
    }
    if (argc == 2 && argv[1][0] != '-' && strcmp(argv[1], "show")) {
        return mip6_ha_serve(argv[1], errp);
    }
    if (argc < 2 || strcmp(argv[1], "show")) {
        *code = usage(stderr, 2);
        return true;
    }
    if (at < argc && !strcmp(argv[at], "--json")) {
        format = MIP6_SHOW_JSON;
        at++;
    } else if (at < argc && !strcmp(argv[at], "--metrics")) {
        format = MIP6_SHOW_METRICS;
        at++;
    }
    if (argc - at > 1 || (at < argc && argv[at][0] == '-')) {
        *code = usage(stderr, 2);
        return true;
    }
    return show(at < argc ? argv[at] : DEFAULT_FILE, format, errp);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    int code = 0;

    if (!command(argc, argv, &code, &err)) {
        fprintf(stderr, "vmmnet-ha: %s\n", err->message);
        return 1;
    }
    return code;
}
