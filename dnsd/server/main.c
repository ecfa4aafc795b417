/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-dnsd: a DNS server for zone images
 *
 *     vmmnet-dnsd [CONFIG]
 *     vmmnet-dnsd --check [CONFIG]
 *     vmmnet-dnsd reload|metrics [--control PATH]
 *     vmmnet-dnsd refresh|retransfer ZONE [--control PATH]
 *     vmmnet-dnsd --version
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dnsd/server/daemon.h"
#include "dnsd/server/service/panel.h"

#define NAME            "vmmnet-dnsd"
#define DEFAULT_CONFIG  "/etc/vmmnet/dnsd.yaml"
#define DEFAULT_CONTROL "/run/vmmnet-dns/control.sock"
#define USAGE           2

static void help(void)
{
    puts("Usage: " NAME " [CONFIG]\n"
         "       " NAME " --check [CONFIG]\n"
         "       " NAME " reload|metrics [--control PATH]\n"
         "       " NAME " refresh|retransfer ZONE [--control PATH]\n"
         "       " NAME " --version\n"
         "\n"
         "Serve the zone images that CONFIG names (" DEFAULT_CONFIG ").\n"
         "\n"
         "  --check         print the errors in CONFIG and its images\n"
         "  reload          make the server read CONFIG again\n"
         "  metrics         print the metrics of the server\n"
         "  refresh ZONE    ask the primaries of ZONE for a newer one\n"
         "  retransfer ZONE take ZONE from a primary, whatever its serial\n"
         "  --control PATH  the socket of the server (" DEFAULT_CONTROL ")\n"
         "  --help          print this help\n"
         "  --version       print the version");
}

static int ask(const char *path, const char *request)
{
    DnsdMistake mistake;

    if (dnsd_panel_ask(path, request, STDOUT_FILENO, &mistake)) {
        return 0;
    }
    if (*mistake.text) {
        fprintf(stderr, NAME ": %s\n", mistake.text);
    }
    return 1;
}

typedef struct Line {
    const char *word;           /* the first argument that is no option */
    const char *zone;           /* the argument of "refresh", "retransfer" */
    const char *control;
    bool check;
} Line;

static bool is_word(const Line *line, const char *word)
{
    return line->word && !strcmp(line->word, word);
}

/* Returns -1 to go on, otherwise the exit code. */
static int read_line(int argc, char **argv, Line *line)
{
    static const struct option options[] = {
        { "check", no_argument, NULL, 'c' },
        { "control", required_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            line->check = true;
            break;
        case 's':
            line->control = optarg;
            break;
        case 'h':
            help();
            return 0;
        case 'v':
            puts(NAME " " VMMNET_VERSION);
            return 0;
        default:
            fprintf(stderr, "See " NAME " --help\n");
            return USAGE;
        }
    }
    line->word = argv[optind];
    if (is_word(line, "refresh") || is_word(line, "retransfer")) {
        line->zone = argv[++optind];
    }
    if (argc > optind + 1) {
        fprintf(stderr, NAME ": '%s' is one word too many; see --help\n",
                argv[optind + 1]);
        return USAGE;
    }
    return -1;
}

static int refresh(const char *control, const char *word, const char *zone)
{
    char request[DNS_NAME_TEXT_MAX + 32], text[DNS_NAME_TEXT_MAX];
    DnsName name;

    if (!zone || dns_name_from_text(&name, zone) < 0) {
        fprintf(stderr, NAME ": %s: '%s' is no zone; right is its name as "
                "'example.com'\n", word, zone ? zone : "");
        return USAGE;
    }
    dns_name_to_text(&name, text);
    snprintf(request, sizeof(request), "POST /%s/%s", word, text);
    return ask(control, request);
}

int main(int argc, char **argv)
{
    Line line = { .word = NULL };
    int end = read_line(argc, argv, &line);
    const char *control = line.control ? line.control : DEFAULT_CONTROL;
    const char *config = line.word ? line.word : DEFAULT_CONFIG;

    if (end >= 0) {
        return end;
    }
    signal(SIGPIPE, SIG_IGN);
    if (is_word(&line, "reload")) {
        return ask(control, "POST /reload");
    }
    if (is_word(&line, "metrics")) {
        return ask(control, "GET /metrics");
    }
    if (is_word(&line, "refresh") || is_word(&line, "retransfer")) {
        return refresh(control, line.word, line.zone);
    }
    if (line.control) {
        fprintf(stderr, NAME ": --control is for 'reload', 'metrics', "
                "'refresh' and 'retransfer'; a server's is server.control in its "
                "configuration\n");
        return USAGE;
    }
    return line.check ? !dnsd_check(config) : !dnsd_run(config);
}
