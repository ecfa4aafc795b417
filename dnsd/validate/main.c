/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmmnet-validate: DNSSEC validation for a VM, outside QEMU
 *
 *     vmmnet-validate --socket PATH [--dns ADDR+ADDR...] [--address6 ADDR]
 *                     [--trust-anchor FILE] [--insecure NAME+NAME...]
 *                     [--allow USER] [--user USER] [--control PATH]
 *     vmmnet-validate show --control PATH
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/args.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/systemd.h"
#include "base/units.h"
#include "dnsd/server/host/sandbox.h"
#include "dnsd/validate/service.h"
#include "net/dns/unbound/fixes.h"
#include "net/dns/upstream/trust-anchor.h"

#define NAME            "vmmnet-validate"
#define RESOLV_CONF     "/etc/resolv.conf"
#define SOCKET_MODE     0666    /* whose socket it is, is asked of the kernel */
#define LOOK_MS         1000    /* for files of sockets */

static const char *path, *dns, *address6, *insecure, *allow, *user;
static const char *control;
static const char *anchor = DNS_ROOT_ANCHOR, *resolv_conf = RESOLV_CONF;

typedef struct Daemon {
    DnscLoop loop;
    ValidateOptions options;
    ValidateService *service;
    BaseListener listener;
    DnscSource door;
    BaseControl *control;       /* NULL: there is none */
    DnscSource desk;            /* its descriptor */
    int64_t looked;
    uid_t allowed;              /* besides root */
} Daemon;

static Daemon daemon_state;
static volatile sig_atomic_t is_over;

static void stop(int number)
{
    is_over = 1;
}

/* --- the command line ----------------------------------------------------- */

/* Call @add for each of the words that + separates, until it fails. */
static int each(const char *words, int (*add)(const char *word))
{
    g_auto(GStrv) list = g_strsplit(words, "+", -1);
    int ret = 0;

    for (char **word = list; *word && !ret; word++) {
        ret = add(*word);
    }
    return ret;
}

static int add_server(const char *text)
{
    int ret = dnsc_list_add(&daemon_state.options.servers, text);

    return !ret ? 0 : args_wrong(ret == -ENOSPC
        ? "--dns: %s is one server more than the %d that can be asked"
        : "--dns: '%s' is no server; right are ADDR, ADDR@PORT or "
          "fe80::1%%INTERFACE", text, DNSC_SERVERS_MAX);
}

static int add_insecure(const char *text)
{
    ValidateOptions *options = &daemon_state.options;
    DnsName *name = &options->insecure[options->insecures];

    if (options->insecures == VALIDATE_INSECURE_MAX) {
        return args_wrong("--insecure: there are more than %d names",
                          VALIDATE_INSECURE_MAX);
    }
    /* libunbound would prefer the trust anchor of the root. */
    if (dns_name_from_text(name, text) || !name->labels) {
        return args_wrong("--insecure: '%s' is no domain name below the root",
                          text);
    }
    options->insecures++;
    return 0;
}

static int read_user(uid_t *uid)
{
    const struct passwd *entry = getpwnam(allow);
    char *end;
    unsigned long number = strtoul(allow, &end, 10);

    if (!entry && (!*allow || *end || number >= UINT32_MAX)) {
        return args_wrong("--allow: there is no user '%s'", allow);
    }
    *uid = entry ? entry->pw_uid : number;
    return 0;
}

static int read_words(void)
{
    ValidateOptions *options = &daemon_state.options;
    int ret = dns ? each(dns, add_server) : 0;

    ret = ret || !insecure ? ret : each(insecure, add_insecure);
    if (!ret && address6) {
        options->has_address6 = true;
        if (inet_pton(AF_INET6, address6, &options->address6) != 1) {
            ret = args_wrong("--address6: '%s' is no IPv6 address", address6);
        }
    }
    daemon_state.allowed = geteuid();
    ret = ret || !allow ? ret : read_user(&daemon_state.allowed);
    if (!ret && !user && !geteuid()) {
        ret = args_wrong("root validates nothing: name another with --user");
    }
    options->resolv_conf = resolv_conf;
    options->trust_anchor = anchor;
    return ret;
}

/* --- clients -------------------------------------------------------------- */

static bool may_ask(const Daemon *d, int fd)
{
    static const BaseLogRate rate = { 60 * SECOND, 10 };
    static BaseLogLimit refused;
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
        return false;
    }
    if (!peer.uid || peer.uid == d->allowed) {
        return true;
    }
    if (base_log_may(&refused, &rate, base_clock(CLOCK_MONOTONIC))) {
        base_log(LOG_WARNING, "a client of user %u is refused; --allow says "
                 "who may ask", peer.uid);
    }
    return false;
}

static void on_door(DnscSource *source, uint32_t events)
{
    Daemon *d = (Daemon *)((char *)source - offsetof(Daemon, door));
    int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0 && may_ask(d, fd)) {
        validate_service_take(d->service, fd);
    } else if (fd >= 0) {
        close(fd);
    }
}

/* systemd's socket, or one that this process makes. Returns: 0 or -errno. */
static int open_door(Daemon *d)
{
    int first, ret;

    d->door.ready = on_door;
    if (base_systemd_fds(&first) == 1) {
        d->door.fd = first;
    } else {
        ret = path ? base_listener_open(&d->listener, path, SOCKET_MODE)
                   : -EDESTADDRREQ;
        if (ret) {
            return ret;
        }
        d->door.fd = d->listener.fd;
    }
    return dnsc_loop_watch(&d->loop, &d->door, EPOLLIN);
}

/*
 * Inside the filter no UNIX socket can be made: a validator that was taken over
 * would connect it to other daemons of the host.  So a socket that somebody
 * removed ends the process, and the unit starts another one.
 *
 * Returns: false if one was removed
 */
static bool look_at_door(Daemon *d)
{
    bool is_there = true;
    int64_t now = base_clock(CLOCK_MONOTONIC);
    int error;

    if (now < d->looked + LOOK_MS * MS) {
        return true;
    }
    d->looked = now;
    if (d->control) {
        is_there = base_control_tick(d->control);
    }
    if (d->listener.path &&
        base_listener_look(&d->listener, &error) == BASE_LISTENER_CHANGED) {
        if (d->listener.state == BASE_LISTENER_OTHERS) {
            base_log(LOG_WARNING, "the socket is replaced: nobody finds this "
                     "process");
        }
        is_there &= d->listener.state != BASE_LISTENER_GONE;
    }
    if (!is_there) {
        base_log(LOG_ERR, "a socket was removed: ends, so that a new process "
                 "makes it");
    }
    return is_there;
}

/* --- the control socket --------------------------------------------------- */

static bool show(void *opaque, BaseControlClient *c, char **words,
                 unsigned count)
{
    char text[DNSC_SERVER_TEXT_MAX];
    const DnscServerList *servers;
    Daemon *d = opaque;
    ValidateShown shown;

    servers = validate_service_show(d->service, &shown);
    for (size_t i = 0; i < servers->count; i++) {
        dnsc_list_text(servers, i, text);
        base_control_printf(c, "server %s\n", text);
    }
    base_control_printf(c, "clients %zu\nunder-way %zu\n", shown.clients,
                        shown.under_way);
#define PRINT(name) base_control_printf(c, #name " %" PRIu64 "\n", shown.name);
    VALIDATE_COUNTERS(PRINT)
#undef PRINT
    return true;
}

static void on_desk(DnscSource *source, uint32_t events)
{
    Daemon *d = (Daemon *)((char *)source - offsetof(Daemon, desk));

    base_control_ready(d->control);
}

static int open_desk(Daemon *d)
{
    static const BaseControlVerb verbs[] = {
        { "show", 0, 0, show }, { 0 },
    };
    static const BaseControlOps ops = { .verbs = verbs };

    d->control = base_control_new(control, 0600, &ops, d);
    if (!d->control) {
        return -errno;
    }
    d->desk = (DnscSource) { base_control_fd(d->control), on_desk };
    return dnsc_loop_watch(&d->loop, &d->desk, EPOLLIN);
}

/* --- life ----------------------------------------------------------------- */

/* Returns: the exit status */
static int run(Daemon *d)
{
    struct sigaction action = { .sa_handler = stop };
    struct epoll_event event;
    sigset_t none, some;

    sigemptyset(&none);
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGINT);
    sigprocmask(SIG_BLOCK, &some, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    while (!is_over) {
        int wait = dnsc_loop_timeout_ms(&d->loop);

        if ((d->listener.path || d->control) && (wait < 0 || wait > LOOK_MS)) {
            wait = LOOK_MS;
        }
        epoll_pwait(d->loop.epoll, &event, 1, wait, &none);
        dnsc_loop_run(&d->loop);
        if (!look_at_door(d)) {
            return EXIT_CANNOT;
        }
    }
    return EXIT_DONE;
}

static bool shut_in(DnsdError *error)
{
    /* Validators of other VMs may have the same user: none may trace another. */
    prctl(PR_SET_DUMPABLE, 0);
    return dnsd_sandbox_user(user ? user : "", false, error) &&
           dnsd_sandbox_calls(DNSD_CALLS_RESOLVE | DNSD_CALLS_INTERFACES,
                              error);
}

static int start(Daemon *d)
{
    char warning[DNSC_WARNING_MAX];
    const char *mistake = NULL;
    GError *err = NULL;
    DnsdError error;
    int ret;

    if (!dns_trust_anchor_check(anchor, &err)) {
        ret = args_cannot("%s", err->message);
        g_error_free(err);
        return ret;
    }
    if (dnsc_loop_attach(&d->loop)) {
        return args_cannot("%s", strerror(errno));
    }
    d->service = validate_service_new(&d->loop, &d->options, &mistake);
    if (!d->service) {
        return args_cannot("%s", errno == ENOSYS ? "libunbound.so.8 is not "
                           "installed (Debian's package libunbound8)"
                           : mistake ? mistake : strerror(errno));
    }
    ret = open_door(d);
    if (ret) {
        return args_cannot("%s: %s", path ? path : "--socket=PATH",
                           strerror(-ret));
    }
    ret = control ? open_desk(d) : 0;
    if (ret) {
        return args_cannot("%s: %s", control, strerror(-ret));
    }
    base_log(LOG_NOTICE, "validating for who asks at %s",
             d->listener.path ? d->listener.path : "systemd's socket");
    if (dnsc_unbound_warning(warning)) {
        base_log(LOG_WARNING, "%s", warning);
    }
    /* Clients are met from here on, and behind this there is no way to tell. */
    base_systemd_notify("READY=1");
    return shut_in(&error) ? EXIT_DONE : args_cannot("%s", error.text);
}

static int serve(char **words, size_t count)
{
    Daemon *d = &daemon_state;
    int ret = read_words();

    if (ret) {
        return ret;
    }
    base_log_begin(NAME);
    ret = start(d);
    if (!ret) {
        ret = run(d);
    }
    base_control_free(d->control);
    validate_service_free(d->service);
    if (d->listener.path) {
        base_listener_close(&d->listener);
    }
    return ret;
}

static int ask_to_show(char **words, size_t count)
{
    return control ? base_control_show(control, "show")
                   : args_wrong("--control says which one is asked");
}

int main(int argc, char **argv)
{
    static const ArgOption control_option[] = {
        { .name = "control", .kind = ARG_TEXT, .value = "PATH",
          .to = &control, .help = "the control socket (none)" },
        { 0 },
    };
    static const ArgOption options[] = {
        { .name = "socket", .kind = ARG_TEXT, .value = "PATH", .to = &path,
          .help = "the socket that QEMU is told by validator=; not needed if "
                  "systemd makes it" },
        { .name = "dns", .kind = ARG_TEXT, .value = "ADDR+ADDR...", .to = &dns,
          .help = "the servers to ask, as for QEMU's dns= (those of "
                  RESOLV_CONF ", followed as it changes)" },
        { .name = "resolv-conf", .kind = ARG_TEXT, .value = "FILE",
          .to = &resolv_conf, .help = "instead of " RESOLV_CONF },
        { .name = "address6", .kind = ARG_TEXT, .value = "ADDR",
          .to = &address6, .help = "the source towards IPv6 servers, as for "
                                   "QEMU's address6=" },
        { .name = "trust-anchor", .kind = ARG_TEXT, .value = "FILE",
          .to = &anchor, .help = "DS or DNSKEY records (" DNS_ROOT_ANCHOR ")" },
        { .name = "insecure", .kind = ARG_TEXT, .value = "NAME+NAME...",
          .to = &insecure,
          .help = "names below which nothing is validated" },
        { .name = "allow", .kind = ARG_TEXT, .value = "USER", .to = &allow,
          .help = "who may ask, besides root (who has started it)" },
        { .name = "user", .kind = ARG_TEXT, .value = "USER", .to = &user,
          .help = "to become, if root has started it" },
        { 0 },
    };
    static const ArgCommand command = {
        .usage = "--socket PATH [OPTION...]",
        .summary = "Validate answers of DNS servers for the QEMU of a VM.",
        .text = "One process is for one VM; QEMU asks it if it has dnssec= and "
                "validator=PATH.\nIt reads FILE and " RESOLV_CONF " only, asks "
                "the servers, and may do nothing else.",
        .options = options, .shared = control_option, .run = serve,
    };
    static const ArgCommand show_command = {
        .name = "show", .usage = "--control PATH",
        .summary = "print the servers, and what was found",
        .options = control_option, .run = ask_to_show,
    };
    static const ArgCommand *const commands[] = {
        &command, &show_command, NULL,
    };
    static const ArgProgram program = { .name = NAME, .commands = commands };

    signal(SIGPIPE, SIG_IGN);
    return args_main(&program, argc, argv);
}
