/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzzer of outsourced sockets, inside the guest
 *
 *   differ  compares them with native ones, call by call (lockstep.c)
 *   storm   calls them without any sense, to break the kernel (storm.c)
 *   peer    is the other end, outside of the VM (peer.c)
 *
 * run.py makes the guest and calls this; it has the options for people.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "compare.h"
#include "differ.h"
#include "peer.h"
#include "storm.h"

static const struct option options[] = {
    { "native-netns", required_argument, NULL, 'N' },
    { "peer-netns", required_argument, NULL, 'O' },
    { "port", required_argument, NULL, 'C' },
    { "me", required_argument, NULL, 'M' },
    { "peer", required_argument, NULL, 'P' },
    { "peer2", required_argument, NULL, 'Q' },
    { "me6", required_argument, NULL, 'X' },
    { "peer6", required_argument, NULL, 'Y' },
    { "peer26", required_argument, NULL, 'Z' },
    { "known", required_argument, NULL, 'K' },
    { "first", required_argument, NULL, 'F' },
    { "replay", required_argument, NULL, 'R' },
    { "keep", no_argument, NULL, 'W' },
    { "seed", required_argument, NULL, 's' },
    { "seconds", required_argument, NULL, 't' },
    { "steps", required_argument, NULL, 'k' },
    { "count", required_argument, NULL, 'c' },
    { 0 },
};

static int usage(void)
{
    const struct option *o;

    fprintf(stderr, "guest-fuzz differ|storm");
    for (o = options; o->name; o++) {
        fprintf(stderr, " [--%s%s]", o->name, o->has_arg ? "=..." : "");
    }
    fprintf(stderr, "\nguest-fuzz peer ADDRESS ADDRESS2 VM SOCKET\n"
            "guest-fuzz peer-storm ADDRESS ADDRESS2 VM SEED\n");
    return 2;
}

static bool parse_number(const char *text, uint64_t *number)
{
    long long value;
    int used = 0;

    if (sscanf(text, "%lli%n", &value, &used) != 1 || text[used]) {
        return false;
    }
    *number = value;
    return true;
}

/* Serves whoever connects to a UNIX socket, one after the other. */
static int serve_at(const struct peer_config *config, const char *path)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
    if (listener < 0 ||
        bind(listener, (struct sockaddr *)&sun, sizeof(sun)) ||
        listen(listener, 1)) {
        perror(path);
        return 2;
    }
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        peer_serve(config, fd);
        close(fd);
    }
    return 0;
}

static int be_peer(char *const argument[4], bool storm)
{
    struct peer_config config;
    uint64_t seed;

    if (peer_config_parse(&config, argument) ||
        (storm && !parse_number(argument[3], &seed))) {
        return usage();
    }
    signal(SIGPIPE, SIG_IGN);
    if (storm) {
        peer_storm(&config, seed);
        perror("storm");
        return 2;
    }
    return serve_at(&config, argument[3]);
}

static int parse(int argc, char *argv[], struct differ_config *config)
{
    uint64_t number = 0;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        /* Options for numbers have small letters, those for words capital. */
        if (c >= 'a' && !parse_number(optarg, &number)) {
            return -1;
        }
        switch (c) {
        case 's':
            config->seed = number;
            break;
        case 't':
            config->seconds = number;
            break;
        case 'k':
            config->steps = number;
            break;
        case 'c':
            config->count = number;
            break;
        case 'N':
            config->native_netns = optarg;
            break;
        case 'O':
            config->peer_netns = optarg;
            break;
        case 'C':
            config->port = optarg;
            break;
        case 'M':
            config->me = optarg;
            break;
        case 'P':
            config->peer = optarg;
            break;
        case 'Q':
            config->peer2 = optarg;
            break;
        case 'X':
            config->me6 = optarg;
            break;
        case 'Y':
            config->peer6 = optarg;
            break;
        case 'Z':
            config->peer26 = optarg;
            break;
        case 'F':
            config->first = optarg;
            break;
        case 'R':
            config->replay = optarg;
            break;
        case 'W':
            config->keep = true;
            break;
        case 'K':
            if (compare_load_known(optarg)) {
                perror(optarg);
                return -1;
            }
            break;
        default:
            return -1;
        }
    }
    return optind == argc ? 0 : -1;
}

int main(int argc, char *argv[])
{
    struct differ_config config = { .seconds = 10, .steps = 24 };

    if (argc == 6 && !strncmp(argv[1], "peer", 4)) {
        return be_peer(argv + 2, !strcmp(argv[1], "peer-storm"));
    }
    if (argc < 2 || parse(argc - 1, argv + 1, &config)) {
        return usage();
    }
    if (!strcmp(argv[1], "storm") && config.peer && config.peer2) {
        return storm_main(config.peer, config.peer2, config.seed,
                          config.seconds);
    }
    if (!strcmp(argv[1], "differ") && config.native_netns &&
        config.peer_netns && config.port && config.me && config.peer &&
        config.peer2 && config.me6 && config.peer6 && config.peer26) {
        return differ_main(&config);
    }
    return usage();
}
