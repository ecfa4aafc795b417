/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time from exec() of a DNS server to its first right answer
 *
 *     start PORT QUERY SECONDS COMMAND...
 *
 * QUERY is a whole message, in hexadecimal.  It is sent to 127.0.0.1 every half
 * a millisecond.  An answer is right if it has the id of the query, NOERROR,
 * and a record in its answer or its authority section.  Then the program prints
 * nanoseconds and the pid of the server, which runs until standard input ends.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEADER      12
#define QUERY_MAX   300
#define INTERVAL_NS 500000

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static size_t read_query(const char *text, uint8_t query[QUERY_MAX])
{
    size_t len = strlen(text) / 2;

    if (len < HEADER || len > QUERY_MAX) {
        fprintf(stderr, "start: QUERY is no message\n");
        exit(2);
    }
    for (size_t i = 0; i < len; i++) {
        if (sscanf(text + 2 * i, "%2hhx", &query[i]) != 1) {
            fprintf(stderr, "start: QUERY is not hexadecimal\n");
            exit(2);
        }
    }
    return len;
}

static int open_socket(unsigned port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to))) {
        die("socket");
    }
    return fd;
}

static bool is_right(const uint8_t *reply, ssize_t len, const uint8_t *query)
{
    return len >= HEADER && !memcmp(reply, query, 2) && reply[2] & 0x80 &&
           !(reply[3] & 0x0f) && (reply[6] | reply[7] | reply[8] | reply[9]);
}

/* Ignore errors: the server has not opened its port yet. */
static bool is_answered(int fd, const uint8_t *query, size_t len)
{
    struct timespec wait = { .tv_nsec = INTERVAL_NS };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    uint8_t reply[4096];

    if (send(fd, query, len, 0) < 0) {
        nanosleep(&wait, NULL);
        return false;
    }
    while (ppoll(&p, 1, &wait, NULL) > 0) {
        ssize_t got = recv(fd, reply, sizeof(reply), 0);

        if (got < 0) {
            nanosleep(&wait, NULL);
            return false;
        }
        if (is_right(reply, got, query)) {
            return true;
        }
    }
    return false;
}

static pid_t start(char **command)
{
    pid_t child = fork();

    if (child < 0) {
        die("fork");
    }
    if (!child) {
        /* The server's messages show why it failed. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    return child;
}

int main(int argc, char **argv)
{
    uint8_t query[QUERY_MAX];
    uint64_t began, limit;
    bool answered = false;
    char buffer[64];
    size_t len;
    pid_t child;
    int fd;

    if (argc < 5) {
        fprintf(stderr, "usage: start PORT QUERY SECONDS COMMAND...\n");
        return 2;
    }
    len = read_query(argv[2], query);
    limit = atoi(argv[3]) * UINT64_C(1000000000);
    fd = open_socket(atoi(argv[1]));
    began = now_ns();
    child = start(argv + 4);
    while (!answered && now_ns() - began < limit) {
        answered = is_answered(fd, query, len);
        if (!answered && waitpid(child, NULL, WNOHANG) == child) {
            fprintf(stderr, "start: the server has ended\n");
            return 1;
        }
    }
    if (answered) {
        printf("%llu %d\n", (unsigned long long)(now_ns() - began), child);
        fflush(stdout);
        while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0) {
            /* Waits for the end of standard input */
        }
    }
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    return !answered;
}
