/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-ha: a home agent for Mobile IPv6
 *
 *     vmmnet-ha FILE
 *     vmmnet-ha show [--json | --metrics] [FILE]
 */
#include <stdio.h>
#include <unistd.h>

#include "base/args.h"
#include "ha/daemon.h"
#include "ha/service/config.h"
#include "ha/service/control.h"

#define DEFAULT_FILE    "/etc/vmmnet/ha.conf"

static int done_or(bool done, GError *err)
{
    if (!done) {
        fprintf(stderr, "vmmnet-ha: %s\n", err->message);
        g_error_free(err);
    }
    return done ? EXIT_DONE : EXIT_CANNOT;
}

static int serve(char **words, size_t count)
{
    GError *err = NULL;
    bool done = mip6_ha_serve(words[0], &err);

    return done_or(done, err);
}

static bool ask(const char *file, Mip6ShowFormat format, GError **errp)
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

static bool as_json, as_metrics;

static int show(char **words, size_t count)
{
    GError *err = NULL;
    bool done;

    if (as_json && as_metrics) {
        return args_wrong("--json and --metrics are two formats");
    }
    done = ask(count ? words[0] : DEFAULT_FILE, as_json ? MIP6_SHOW_JSON :
               as_metrics ? MIP6_SHOW_METRICS : MIP6_SHOW_TEXT, &err);
    return done_or(done, err);
}

int main(int argc, char **argv)
{
    static const ArgOption options[] = {
        { .name = "json", .to = &as_json, .help = "as JSON" },
        { .name = "metrics", .to = &as_metrics,
          .help = "in Prometheus' text format" },
        { 0 },
    };
    static const ArgCommand serve_command = {
        .usage = "FILE",
        .summary = "Run the home agent of Mobile IPv6 with the configuration "
                   "FILE.",
        .least = 1, .most = 1, .run = serve,
    };
    static const ArgCommand show_command = {
        .name = "show", .usage = "[--json | --metrics] [FILE]",
        .summary = "show bindings and counters of the agent that runs with "
                   "FILE (" DEFAULT_FILE ")",
        .options = options, .most = 1, .run = show,
    };
    static const ArgCommand *const commands[] = {
        &serve_command, &show_command, NULL,
    };
    static const ArgProgram program = {
        .name = "vmmnet-ha", .commands = commands,
    };

    return args_main(&program, argc, argv);
}
