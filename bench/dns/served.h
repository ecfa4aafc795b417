/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops and continues a server: its processes and its UDP sockets
 *
 * Errors end the program.
 */
#ifndef BENCH_DNS_SERVED_H
#define BENCH_DNS_SERVED_H

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/sock_diag.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SERVED_SOCKETS  64
#define SERVED_PIDS     64
#define SERVED_NAP_NS   2000000

typedef struct Served {
    uint16_t port;              /* of 127.0.0.1 */
    int socket[SERVED_SOCKETS];
    unsigned sockets;
    pid_t pid[SERVED_PIDS];
    unsigned pids;
} Served;

/* Ticks of processor time */
typedef struct ServedTimes {
    double user, system;
} ServedTimes;

static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void nap(void)
{
    nanosleep(&(struct timespec) { 0, SERVED_NAP_NS }, NULL);
}

/* --- sockets -------------------------------------------------------------- */

static inline uint64_t served_cookie(int fd)
{
    uint64_t cookie = 0;
    socklen_t len = sizeof(cookie);

    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
    return cookie;
}

static inline bool served_is_its(const Served *s, int fd)
{
    struct sockaddr_in at = { 0 };
    socklen_t at_len = sizeof(at), len = sizeof(int);
    int type = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
        type != SOCK_DGRAM || getsockname(fd, (struct sockaddr *)&at, &at_len)
        || at.sin_family != AF_INET || ntohs(at.sin_port) != s->port) {
        return false;
    }
    for (unsigned i = 0; i < s->sockets; i++) {
        if (served_cookie(s->socket[i]) == served_cookie(fd)) {
            return false;
        }
    }
    return s->sockets < SERVED_SOCKETS;
}

/** served_add: add a process, and its sockets that are not known yet */
static inline void served_add(Served *s, pid_t pid)
{
    int pidfd = syscall(SYS_pidfd_open, pid, 0);
    char path[64];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (pidfd < 0 || !dir || s->pids == SERVED_PIDS) {
        die(path);
    }
    s->pid[s->pids++] = pid;
    while ((entry = readdir(dir))) {
        int fd = entry->d_name[0] == '.' ? -1 :
                 syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);

        if (fd >= 0 && served_is_its(s, fd)) {
            s->socket[s->sockets++] = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    closedir(dir);
    close(pidfd);
}

/** served_room: set the buffer of each socket, in octets as the kernel does */
static inline void served_room(const Served *s, int octets)
{
    for (unsigned i = 0; i < s->sockets; i++) {
        if (setsockopt(s->socket[i], SOL_SOCKET, SO_RCVBUFFORCE, &octets,
                       sizeof(octets))) {
            die("SO_RCVBUFFORCE");
        }
    }
}

static inline uint32_t served_meminfo(int fd, unsigned which)
{
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof(info);

    getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
    return info[which];
}

/** served_drops: Returns: datagrams that socket @which has dropped */
static inline uint32_t served_drops(const Served *s, unsigned which)
{
    return served_meminfo(s->socket[which], SK_MEMINFO_DROPS);
}

static inline bool served_is_empty(const Served *s)
{
    for (unsigned i = 0; i < s->sockets; i++) {
        if (served_meminfo(s->socket[i], SK_MEMINFO_RMEM_ALLOC)) {
            return false;
        }
    }
    return true;
}

/* --- processes ------------------------------------------------------------ */

static inline void served_tell(const Served *s, int signal)
{
    for (unsigned i = 0; i < s->pids; i++) {
        if (kill(s->pid[i], signal)) {
            die("kill");
        }
    }
}

/* The fields of a stat file after the name, which may contain blanks */
static inline char *served_stat(const char *path, char *text, size_t room)
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

static inline bool served_is_stopped(pid_t pid)
{
    char path[320], text[1024];
    struct dirent *entry;
    bool is = true;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
                     entry->d_name);
            is = is && *served_stat(path, text, sizeof(text)) == 'T';
        }
    }
    if (dir) {
        closedir(dir);
    }
    return is;
}

/** served_stop: stop all threads and wait for it; SIGCONT continues them */
static inline void served_stop(const Served *s)
{
    served_tell(s, SIGSTOP);
    for (unsigned i = 0; i < s->pids; i++) {
        while (!served_is_stopped(s->pid[i])) {
            nap();
        }
    }
}

static inline ServedTimes served_times(const Served *s)
{
    ServedTimes times = { 0 };

    for (unsigned i = 0; i < s->pids; i++) {
        unsigned long user, system;
        char path[64], text[1024];

        snprintf(path, sizeof(path), "/proc/%d/stat", s->pid[i]);
        if (sscanf(served_stat(path, text, sizeof(text)), "%*c %*d %*d %*d "
                   "%*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                   &system) != 2) {
            die(path);
        }
        times.user += user;
        times.system += system;
    }
    return times;
}

#endif /* BENCH_DNS_SERVED_H */
