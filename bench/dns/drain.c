/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rate at which DNS servers answer queued queries on an otherwise idle
 * machine
 *
 *     drain QUESTIONS SECONDS OCTETS PORT:PID[,PID...]...
 *
 * A load generator on the machine of the server takes processors away from it.
 * So a server is stopped (SIGSTOP), its sockets are filled with queries, and
 * it runs again (SIGCONT) while this program sleeps; then its replies are
 * read.  The kernel has noted when each of them came.  This is repeated until
 * each server has worked for SECONDS.  Several servers take turns, fill by
 * fill, so that a slow phase of the machine affects all of them.  Only the
 * server that has its turn runs, the others are stopped.
 *
 * QUESTIONS is a file (questions.h), PORT that of a server on 127.0.0.1.  Each
 * of its sockets, found by PID..., gets room for OCTETS, as the kernel counts
 * them, and is filled until the first query finds no room.
 *
 * Each output line begins with the number of its server, from 0.  A line for
 * each turn has the rate in replies a second, without the first twentieth and
 * the last tenth of the replies.  The last line has the replies, those that are
 * no answers, and user and system seconds of all processes of the server.
 */
#include <errno.h>

#include "questions.h"
#include "served.h"

#define SERVERS_MAX     4
#define CLIENTS         256     /* sockets, and so ports, that ask a server */
#define CLIENT_ROOM     (64 << 20)
#define HEADER          12
#define MESSAGE_MAX     4096
#define BATCH           32
#define PATIENCE        5000    /* naps without a reply */
#define REPLIES_MAX     (1 << 20)

typedef struct Server {
    Served served;
    int client[CLIENTS];
    ServedTimes begin, end;
    unsigned long long replies;
    unsigned wrong;
} Server;

static Server server[SERVERS_MAX];
static unsigned servers;
static Questions questions;
static uint64_t came[REPLIES_MAX];

/* --- one turn ------------------------------------------------------------- */

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

/* Sends until each socket of the server has dropped a datagram */
static void fill(const Server *s)
{
    uint32_t before[SERVED_SOCKETS];
    unsigned full = 0, next = 0;

    for (unsigned i = 0; i < s->served.sockets; i++) {
        before[i] = served_drops(&s->served, i);
    }
    while (full < s->served.sockets) {
        send_batch(s->client[next]);
        next = (next + 1) % CLIENTS;
        if (next % 8 == 0) {
            full = 0;
            for (unsigned i = 0; i < s->served.sockets; i++) {
                full += served_drops(&s->served, i) != before[i];
            }
        }
    }
}

/* Polling suffices: the server's sockets are empty after its last reply. */
static void wait_for_it(const Server *s)
{
    unsigned naps = 0;

    while (!served_is_empty(&s->served)) {
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

/* Reads all replies.  Returns: their number. */
static unsigned take(Server *s)
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
            ssize_t len = recvmsg(s->client[i], &hdr, MSG_DONTWAIT);

            if (len < 0 || count == REPLIES_MAX) {
                break;
            }
            came[count++] = time_of(&hdr);
            /* Only NOERROR and NXDOMAIN are answers. */
            s->wrong += len < HEADER || !(data[2] & 0x80) ||
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

static void turn(Server *s)
{
    unsigned count;

    fill(s);
    served_tell(&s->served, SIGCONT);
    wait_for_it(s);
    served_stop(&s->served);
    count = take(s);
    s->replies += count;
    printf("%u %.0f\n", (unsigned)(s - server), rate_of(count));
    s->end = served_times(&s->served);
}

/* --- all ------------------------------------------------------------------ */

static void open_clients(Server *s)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(s->served.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int room = CLIENT_ROOM, on = 1;

    for (unsigned i = 0; i < CLIENTS; i++) {
        s->client[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (s->client[i] < 0 ||
            setsockopt(s->client[i], SOL_SOCKET, SO_RCVBUFFORCE, &room,
                       sizeof(room)) ||
            setsockopt(s->client[i], SOL_SOCKET, SO_TIMESTAMPNS, &on,
                       sizeof(on)) ||
            connect(s->client[i], (struct sockaddr *)&to, sizeof(to))) {
            die("socket");
        }
    }
}

static void add_server(const char *text, int octets)
{
    Server *s = &server[servers++];
    int pid, used = 0;

    sscanf(text, "%hu%n", &s->served.port, &used);
    while (sscanf(text += used, "%*[:,]%d%n", &pid, &used) == 1) {
        served_add(&s->served, pid);
    }
    if (!s->served.sockets) {
        fprintf(stderr, "drain: no socket at port %u\n", s->served.port);
        exit(1);
    }
    served_room(&s->served, octets);
    open_clients(s);
    served_stop(&s->served);
    s->begin = s->end = served_times(&s->served);
}

static bool have_worked(double ticks)
{
    for (unsigned i = 0; i < servers; i++) {
        const Server *s = &server[i];

        if (s->end.user + s->end.system - s->begin.user - s->begin.system <
            ticks) {
            return false;
        }
    }
    return true;
}

static void tell(const Server *s, double ticks)
{
    printf("%u replies %llu wrong %u user %.2f system %.2f\n",
           (unsigned)(s - server), s->replies, s->wrong,
           (s->end.user - s->begin.user) / ticks,
           (s->end.system - s->begin.system) / ticks);
}

int main(int argc, char **argv)
{
    double ticks = sysconf(_SC_CLK_TCK);

    if (argc < 5 || argc - 4 > SERVERS_MAX) {
        fprintf(stderr, "usage: drain QUESTIONS SECONDS OCTETS "
                "PORT:PID[,PID...]...\n");
        return 2;
    }
    questions_open(&questions, argv[1]);
    for (int i = 4; i < argc; i++) {
        add_server(argv[i], atoi(argv[3]));
    }
    while (!have_worked(atof(argv[2]) * ticks)) {
        for (unsigned i = 0; i < servers; i++) {
            turn(&server[i]);
        }
    }
    for (unsigned i = 0; i < servers; i++) {
        served_tell(&server[i].served, SIGCONT);
        tell(&server[i], ticks);
    }
    return 0;
}
