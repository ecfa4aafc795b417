/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-hostd: moves addresses of VMs, for unprivileged QEMU processes
 *
 *     vmmnet-hostd [--socket PATH] [--state FILE]
 *     vmmnet-hostd show [--json | --metrics] [--socket PATH]
 */
#include "base/args.h"
#include "base/control.h"
#include "base/log.h"
#include "hostd/daemon.h"

#define DEFAULT_SOCKET  "/run/vmmnet/hostd.sock"
#define DEFAULT_STATE   "/run/vmmnet/hostd.state"

static const char *path = DEFAULT_SOCKET, *state = DEFAULT_STATE;

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

    base_log_begin("vmmnet-hostd");
    done = hostd_serve(path, state, &err);
    return done_or(done, err);
}

static bool as_json, as_metrics;

static int show(char **words, size_t count)
{
    if (as_json && as_metrics) {
        return args_wrong("--json and --metrics are two formats");
    }
    return base_control_show(path, as_json ? "show json" :
                             as_metrics ? "metrics" : "show");
}

int main(int argc, char **argv)
{
    static const ArgOption state_option[] = {
        { .name = "state", .kind = ARG_TEXT, .value = "FILE", .to = &state,
          .help = "the state file, for restarts (" DEFAULT_STATE ")" },
        { 0 },
    };
    static const ArgOption socket_option[] = {
        { .name = "socket", .kind = ARG_TEXT, .value = "PATH", .to = &path,
          .help = "the UNIX socket (" DEFAULT_SOCKET ")" },
        { 0 },
    };
    static const ArgOption format_options[] = {
        { .name = "json", .to = &as_json, .help = "as JSON" },
        { .name = "metrics", .to = &as_metrics,
          .help = "in Prometheus' text format" },
        { 0 },
    };
    static const ArgCommand serve_command = {
        .usage = "[--socket PATH] [--state FILE]",
        .summary = "Move addresses of VMs, for unprivileged QEMU processes.",
        .options = socket_option, .shared = state_option, .run = serve,
    };
    static const ArgCommand show_command = {
        .name = "show", .usage = "[--json | --metrics] [--socket PATH]",
        .summary = "list the VMs and their addresses",
        .options = format_options, .shared = socket_option, .run = show,
    };
    static const ArgCommand *const commands[] = {
        &serve_command, &show_command, NULL,
    };
    static const ArgProgram program = {
        .name = "vmmnet-hostd", .commands = commands,
    };

    return args_main(&program, argc, argv);
}
