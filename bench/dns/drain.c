/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast a DNS server works off what has come, while nobody else works
 *
 *     drain PORT QUESTIONS SECONDS OCTETS PID...
 *
 * A load generator on the machine of the server takes processors away from it.
 * So the server is stopped (SIGSTOP), its sockets are filled with queries, and
 * it runs again (SIGCONT) while this program sleeps; then its replies are
 * read.  The kernel has noted when each of them came.  This is repeated for
 * SECONDS of the server's work.
 *
 * PORT is that of 127.0.0.1, QUESTIONS a file (questions.h).  Each of the
 * server's sockets, found by PID..., gets room for OCTETS, as the kernel counts
 * them, and is filled until the first query finds no room.
 *
 * Prints: replies, those that are no answers, user and system seconds of all
 * processes in total, and for each time how many replies a second came
 * between the first twentieth of them and the last tenth.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "questions.h"

#define CLIENTS         256     /* sockets that ask, so ports */
#define CLIENT_ROOM     (64 << 20)
#define SERVER_MAX      64      /* its sockets */
#define PIDS_MAX        64
#define HEADER          12
#define MESSAGE_MAX     4096
#define BATCH           32
#define SLEEP_NS        2000000
#define PATIENCE        5000    /* sleeps without a reply */
#define REPLIES_MAX     (1 << 20)

static uint16_t port;
static Questions questions;
static int client[CLIENTS];
static int server[SERVER_MAX];
static unsigned servers;
static pid_t pids[PIDS_MAX];
static unsigned pids_count;
static uint64_t came[REPLIES_MAX];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void nap(void)
{
    nanosleep(&(struct timespec) { 0, SLEEP_NS }, NULL);
}

/* --- the server's sockets ------------------------------------------------- */

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t len = sizeof(cookie);

    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
    return cookie;
}

static bool is_its(int fd)
{
    struct sockaddr_in at = { 0 };
    socklen_t at_len = sizeof(at), len = sizeof(int);
    int type = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
        type != SOCK_DGRAM || getsockname(fd, (struct sockaddr *)&at, &at_len)
        || at.sin_family != AF_INET || ntohs(at.sin_port) != port) {
        return false;
    }
    for (unsigned i = 0; i < servers; i++) {
        if (cookie_of(server[i]) == cookie_of(fd)) {
            return false;
        }
    }
    return servers < SERVER_MAX;
}

static void find_sockets(pid_t pid, int room)
{
    int pidfd = syscall(SYS_pidfd_open, pid, 0);
    char path[64];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (pidfd < 0 || !dir) {
        die(path);
    }
    while ((entry = readdir(dir))) {
        int fd = entry->d_name[0] == '.' ? -1 :
                 syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);

        if (fd >= 0 && is_its(fd)) {
            if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room,
                           sizeof(room))) {
                die("SO_RCVBUFFORCE");
            }
            server[servers++] = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    closedir(dir);
    close(pidfd);
}

static uint32_t meminfo(int fd, unsigned which)
{
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof(info);

    getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
    return info[which];
}

static bool is_empty(void)
{
    for (unsigned i = 0; i < servers; i++) {
        if (meminfo(server[i], SK_MEMINFO_RMEM_ALLOC)) {
            return false;
        }
    }
    return true;
}

/* --- the server's processes ----------------------------------------------- */

static void tell_all(int signal)
{
    for (unsigned i = 0; i < pids_count; i++) {
        if (kill(pids[i], signal)) {
            die("kill");
        }
    }
}

/* The fields of a stat file behind the name, which may have blanks */
static char *stat_of(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(text, 1, room - 1, file) : 0;
    char *end;

    if (file) {
        fclose(file);
    }
    text[len] = 0;
    end = strrchr(text, ')');
    if (!end) {
        die(path);
    }
    return end + 2;
}

static bool are_threads_stopped(pid_t pid)
{
    char path[320], text[1024];
    struct dirent *entry;
    bool are = true;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
                     entry->d_name);
            are = are && *stat_of(path, text, sizeof(text)) == 'T';
        }
    }
    if (dir) {
        closedir(dir);
    }
    return are;
}

static void stop_all(void)
{
    tell_all(SIGSTOP);
    for (unsigned i = 0; i < pids_count; i++) {
        while (!are_threads_stopped(pids[i])) {
            nap();
        }
    }
}

/* Adds user and system time in ticks. */
static void add_times(double *user, double *system)
{
    for (unsigned i = 0; i < pids_count; i++) {
        unsigned long u, s;
        char path[64], text[1024];

        snprintf(path, sizeof(path), "/proc/%d/stat", pids[i]);
        if (sscanf(stat_of(path, text, sizeof(text)), "%*c %*d %*d %*d %*d "
                   "%*d %*u %*u %*u %*u %*u %lu %lu", &u, &s) != 2) {
            die(path);
        }
        *user += u;
        *system += s;
    }
}

/* --- one time ------------------------------------------------------------- */

static void send_batch(int fd)
{
    struct mmsghdr out[BATCH] = { 0 };
    struct iovec iov[BATCH];

    for (unsigned i = 0; i < BATCH; i++) {
        iov[i].iov_base = questions_next(&questions, &iov[i].iov_len);
        out[i].msg_hdr.msg_iov = &iov[i];
        out[i].msg_hdr.msg_iovlen = 1;
    }
    if (sendmmsg(fd, out, BATCH, 0) < 0) {
        die("sendmmsg");
    }
}

/* Until each of the server's sockets has turned one away */
static void fill(void)
{
    uint32_t before[SERVER_MAX];
    unsigned full = 0, next = 0;

    for (unsigned i = 0; i < servers; i++) {
        before[i] = meminfo(server[i], SK_MEMINFO_DROPS);
    }
    while (full < servers) {
        send_batch(client[next]);
        next = (next + 1) % CLIENTS;
        if (next % 8 == 0) {
            full = 0;
            for (unsigned i = 0; i < servers; i++) {
                full += meminfo(server[i], SK_MEMINFO_DROPS) != before[i];
            }
        }
    }
}

/* The sockets of the server are empty at once after its last reply: naps do. */
static void wait_for_it(void)
{
    unsigned naps = 0;

    while (!is_empty()) {
        nap();
        if (++naps > PATIENCE) {
            fprintf(stderr, "drain: the server does not answer\n");
            exit(1);
        }
    }
    nap();
    nap();
}

static uint64_t time_of(struct msghdr *hdr)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(hdr);
    struct timespec t;

    if (!c || c->cmsg_type != SO_TIMESTAMPNS) {
        fprintf(stderr, "drain: the kernel has not noted a time\n");
        exit(1);
    }
    memcpy(&t, CMSG_DATA(c), sizeof(t));
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Takes all replies; returns how many there are. */
static unsigned take(unsigned *wrong)
{
    static uint8_t data[MESSAGE_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < CLIENTS; i++) {
        for (;;) {
            uint8_t control[CMSG_SPACE(sizeof(struct timespec))];
            struct iovec iov = { data, sizeof(data) };
            struct msghdr hdr = {
                .msg_iov = &iov, .msg_iovlen = 1,
                .msg_control = control, .msg_controllen = sizeof(control),
            };
            ssize_t len = recvmsg(client[i], &hdr, MSG_DONTWAIT);

            if (len < 0 || count == REPLIES_MAX) {
                break;
            }
            came[count++] = time_of(&hdr);
            /* NOERROR and NXDOMAIN are answers. */
            *wrong += len < HEADER || !(data[2] & 0x80) ||
                      ((data[3] & 15) != 0 && (data[3] & 15) != 3);
        }
    }
    return count;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

static double rate_of(unsigned count)
{
    unsigned first = count / 20, last = count - count / 10;

    qsort(came, count, sizeof(*came), compare_times);
    return last > first && came[last - 1] > came[first]
           ? 1e9 * (last - 1 - first) / (came[last - 1] - came[first]) : 0;
}

static void open_clients(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int room = CLIENT_ROOM, on = 1;

    for (unsigned i = 0; i < CLIENTS; i++) {
        client[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (client[i] < 0 ||
            setsockopt(client[i], SOL_SOCKET, SO_RCVBUFFORCE, &room,
                       sizeof(room)) ||
            setsockopt(client[i], SOL_SOCKET, SO_TIMESTAMPNS, &on,
                       sizeof(on)) ||
            connect(client[i], (struct sockaddr *)&to, sizeof(to))) {
            die("socket");
        }
    }
}

int main(int argc, char **argv)
{
    double begin[2] = { 0 }, end[2] = { 0 }, ticks = sysconf(_SC_CLK_TCK);
    unsigned long long replies = 0;
    unsigned wrong = 0;

    if (argc < 6 || argc - 5 > PIDS_MAX) {
        fprintf(stderr, "usage: drain PORT QUESTIONS SECONDS OCTETS PID...\n");
        return 2;
    }
    port = atoi(argv[1]);
    questions_open(&questions, argv[2]);
    for (int i = 5; i < argc; i++) {
        pids[pids_count++] = atoi(argv[i]);
        find_sockets(atoi(argv[i]), atoi(argv[4]));
    }
    if (!servers) {
        fprintf(stderr, "drain: no socket at port %u\n", port);
        return 1;
    }
    open_clients();
    stop_all();
    add_times(&begin[0], &begin[1]);
    do {
        unsigned count;

        fill();
        tell_all(SIGCONT);
        wait_for_it();
        stop_all();
        count = take(&wrong);
        replies += count;
        printf("%.0f\n", rate_of(count));
        end[0] = end[1] = 0;
        add_times(&end[0], &end[1]);
    } while (end[0] + end[1] - begin[0] - begin[1] < atof(argv[3]) * ticks);
    tell_all(SIGCONT);
    printf("replies %llu wrong %u user %.2f system %.2f\n", replies, wrong,
           (end[0] - begin[0]) / ticks, (end[1] - begin[1]) / ticks);
    return 0;
}
