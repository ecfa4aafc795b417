/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-hostd: moves addresses of VMs, for unprivileged QEMU processes
 *
 *     vmmnet-hostd [--socket PATH] [--state FILE]
 *     vmmnet-hostd show [--socket PATH]
 */
#include <stdio.h>

#include "base/args.h"
#include "hostd/daemon.h"
#include "hostd/service/server.h"

#define DEFAULT_SOCKET  "/run/vmmnet/hostd.sock"
#define DEFAULT_STATE   "/run/vmmnet/hostd.state"

static const char *path = DEFAULT_SOCKET, *state = DEFAULT_STATE;

static int done_or(bool done, GError *err)
{
    if (!done) {
        fprintf(stderr, "vmmnet-hostd: %s\n", err->message);
        g_error_free(err);
    }
    return done ? EXIT_DONE : EXIT_CANNOT;
}

static int serve(char **words, size_t count)
{
    GError *err = NULL;
    bool done = hostd_serve(path, state, &err);

    return done_or(done, err);
}

static int show(char **words, size_t count)
{
    g_autoptr(GString) out = g_string_new(NULL);
    GError *err = NULL;
    bool done = hostd_server_ask(path, "show\n", out, &err);

    if (done) {
        fputs(out->str, stdout);
    }
    return args_flush(done_or(done, err));
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
    static const ArgCommand serve_command = {
        .usage = "[--socket PATH] [--state FILE]",
        .summary = "Move addresses of VMs, for unprivileged QEMU processes.",
        .options = socket_option, .shared = state_option, .run = serve,
    };
    static const ArgCommand show_command = {
        .name = "show", .usage = "[--socket PATH]",
        .summary = "list the VMs and their addresses",
        .options = socket_option, .run = show,
    };
    static const ArgCommand *const commands[] = {
        &serve_command, &show_command, NULL,
    };
    static const ArgProgram program = {
        .name = "vmmnet-hostd", .commands = commands,
    };

    return args_main(&program, argc, argv);
}
