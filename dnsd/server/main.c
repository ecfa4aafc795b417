/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-dnsd: a DNS server for zone images
 *
 *     vmmnet-dnsd [--trace] [CONFIG]
 *     vmmnet-dnsd --check [CONFIG]
 *     vmmnet-dnsd show [--json] [--control PATH]
 *     vmmnet-dnsd reload [ZONE] [--control PATH]
 *     vmmnet-dnsd metrics [--control PATH]
 *     vmmnet-dnsd notify|refresh|retransfer ZONE [--control PATH]
 *     vmmnet-dnsd --version
 */
#include <signal.h>
#include <stdio.h>

#include "base/args.h"
#include "base/control.h"
#include "base/log.h"
#include "dnsd/server/daemon.h"
#include "net/dns/wire/wire.h"

#define NAME            "vmmnet-dnsd"
#define DEFAULT_CONFIG  "/etc/vmmnet/dnsd.yaml"
#define DEFAULT_CONTROL "/run/vmmnet-dns/control.sock"

static const char *control = DEFAULT_CONTROL;
static bool is_check, is_traced, as_json;

static const ArgOption serve_options[] = {
    { .name = "check", .to = &is_check,
      .help = "print the errors in CONFIG and its images, and serve nothing" },
    { .name = "trace", .to = &is_traced,
      .help = "begin with the log level debug: each change of a connection's "
              "state" },
    { 0 },
};

static const ArgOption control_options[] = {
    { .name = "control", .kind = ARG_TEXT, .value = "PATH", .to = &control,
      .help = "the socket of the server (" DEFAULT_CONTROL "), which is "
              "server.control in its configuration" },
    { 0 },
};

static int serve(char **words, size_t count)
{
    const char *config = count ? words[0] : DEFAULT_CONFIG;

    base_log_begin(NAME);
    if (is_traced) {
        base_log_set_level("debug");
    }
    return is_check ? !dnsd_check(config) : !dnsd_run(config);
}

static int show(char **words, size_t count)
{
    return base_control_show(control, as_json ? "show json" : "show");
}

static int metrics(char **words, size_t count)
{
    return base_control_show(control, "metrics");
}

static int ask_of_zone(const char *word, const char *zone)
{
    char request[DNS_NAME_TEXT_MAX + 32], text[DNS_NAME_TEXT_MAX];
    DnsName name;

    if (dns_name_from_text(&name, zone) < 0) {
        return args_wrong("'%s' is no zone; right is its name as 'example.com'",
                          zone);
    }
    dns_name_to_text(&name, text);
    snprintf(request, sizeof(request), "%s %s", word, text);
    return base_control_show(control, request);
}

static int reload(char **words, size_t count)
{
    return count ? ask_of_zone("reload", words[0])
                 : base_control_show(control, "reload");
}

static int notify(char **words, size_t count)
{
    return ask_of_zone("notify", words[0]);
}

static int refresh(char **words, size_t count)
{
    return ask_of_zone("refresh", words[0]);
}

static int retransfer(char **words, size_t count)
{
    return ask_of_zone("retransfer", words[0]);
}

static const ArgOption json_option[] = {
    { .name = "json", .to = &as_json, .help = "as JSON" },
    { 0 },
};

#define COMMAND(function, words, what, how)                                 \
    { .name = #function, .usage = how "[--control PATH]", .summary = what,  \
      .options = control_options, .least = words, .most = words,            \
      .run = function }

static const ArgCommand commands[] = {
    { .usage = "[--check] [--trace] [CONFIG]",
      .summary = "Serve the zone images that CONFIG names (" DEFAULT_CONFIG
                 ").",
      .options = serve_options, .most = 1, .run = serve },
    { .name = "show", .usage = "[--json] [--control PATH]",
      .summary = "show the zones of the server and their state",
      .options = json_option, .shared = control_options, .run = show },
    { .name = "reload", .usage = "[ZONE] [--control PATH]",
      .summary = "make the server read CONFIG again, or only the image of ZONE",
      .options = control_options, .most = 1, .run = reload },
    COMMAND(metrics, 0, "print the metrics of the server", ""),
    COMMAND(notify, 1, "send NOTIFY to the secondaries of ZONE", "ZONE "),
    COMMAND(refresh, 1, "ask the primaries of ZONE for a newer one", "ZONE "),
    COMMAND(retransfer, 1, "take ZONE from a primary, whatever its serial",
            "ZONE "),
};

int main(int argc, char **argv)
{
    static const ArgCommand *const all[] = {
        &commands[0], &commands[1], &commands[2], &commands[3], &commands[4],
        &commands[5], &commands[6], NULL,
    };
    static const ArgProgram program = { .name = NAME, .commands = all };

    signal(SIGPIPE, SIG_IGN);
    return args_main(&program, argc, argv);
}
