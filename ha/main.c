/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-ha: a home agent for Mobile IPv6
 *
 *     vmmnet-ha FILE
 *     vmmnet-ha show [--json | --metrics] [FILE]
 */
#include "base/args.h"
#include "base/control.h"
#include "base/log.h"
#include "ha/daemon.h"
#include "ha/service/config.h"
#include "ha/service/control.h"

#define DEFAULT_FILE    "/etc/vmmnet/ha.conf"

static int done_or(bool done, GError *err)
{
    if (!done) {
        args_say("%s", err->message);
        g_error_free(err);
    }
    return done ? EXIT_DONE : EXIT_CANNOT;
}

static int serve(char **words, size_t count)
{
    GError *err = NULL;
    bool done;

    base_log_begin("vmmnet-ha");
    done = mip6_ha_serve(words[0], &err);
    return done_or(done, err);
}

static bool as_json, as_metrics;

/* Where the agent listens that runs with @file; NULL: the message is printed. */
static char *socket_of(const char *file)
{
    GError *err = NULL;
    Mip6HaConfig *config;
    char *path;

    if (!file && !g_file_test(DEFAULT_FILE, G_FILE_TEST_EXISTS)) {
        return g_strdup(MIP6_HA_CONTROL);
    }
    config = mip6_ha_config_read(file ? file : DEFAULT_FILE, 0, &err);
    if (!config) {
        done_or(false, err);
        return NULL;
    }
    path = g_strdup(config->control ? config->control : MIP6_HA_CONTROL);
    mip6_ha_config_free(config);
    return path;
}

static int show(char **words, size_t count)
{
    g_autofree char *path = NULL;

    if (as_json && as_metrics) {
        return args_wrong("--json and --metrics are two formats");
    }
    path = socket_of(count ? words[0] : NULL);
    return !path ? EXIT_CANNOT :
           base_control_show(path, as_json ? "show json" :
                             as_metrics ? "metrics" : "show");
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
