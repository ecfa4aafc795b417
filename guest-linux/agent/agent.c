/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test guest's process 1: runs commands for the test bed.
 *
 * Theory of operation
 *
 * The test guest has no NIC and, until vmrpc.ko is loaded, no network.
 * Tests therefore talk to it over a virtio-serial port named
 * "vmmnet.agent".  This program is the guest's init: it reaps orphans and
 * runs any number of commands at once, each in a session of its own, from
 * one poll loop.
 *
 * Both directions carry frames: length of the payload, job number, type
 * (three little-endian 32-bit words), then the payload.
 *
 *   host to guest   HELLO  answered by HELLO
 *                   RUN    NUL-terminated argument strings
 *                   INPUT  bytes for standard input; empty: end of input
 *                   KILL   32-bit signal for the job's process group
 *   guest to host   OUTPUT, ERRORS   bytes from the job
 *                   TAKEN  an INPUT frame was consumed, send the next
 *                   EXIT   32-bit wait status; the last frame of the job
 *
 * The host sends one INPUT frame at a time for a job, so the agent holds at
 * most one and never blocks on a slow reader.  Writes to the port may block:
 * the host always drains it, and at boot the agent waits until a host is
 * connected to QEMU.  A host connects to the QEMU that a migration goes to
 * before it begins: QEMU discards what is written to a port without one.
 *
 * A job ends when its process ends.  The agent first sends the data that are
 * left in its pipes, and then closes them, even if a daemon still has them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    HELLO = 'H',
    RUN = 'R',
    INPUT = 'I',
    KILL = 'K',
    OUTPUT = 'O',
    ERRORS = 'E',
    TAKEN = 'A',
    EXIT = 'X',
};

#define MAX_PAYLOAD (64 * 1024)
#define MAX_JOBS 64
#define PORT_NAME "vmmnet.agent"
#define RETRY_MS 50

struct frame {
    uint32_t length;
    uint32_t job;
    uint32_t type;
    uint8_t payload[MAX_PAYLOAD];
};

#define HEADER_SIZE offsetof(struct frame, payload)

struct job {
    bool used;
    uint32_t id;
    pid_t pid;
    int in, out, err;           /* our ends of the pipes, -1 when closed */
    uint8_t *input;             /* the INPUT frame being written, or NULL */
    size_t input_length, input_done;
};

static struct job jobs[MAX_JOBS];
static sigset_t inherited_mask;
static int port;

static void die(const char *what)
{
    fprintf(stderr, "agent: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Opens the virtio-serial port; there is no udev to make its named link. */
static int open_port(void)
{
    DIR *dir = opendir("/sys/class/virtio-ports");
    struct dirent *entry;
    char path[300], name[64];

    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name",
                 entry->d_name);
        FILE *file = fopen(path, "re");
        bool found = file && fgets(name, sizeof(name), file) &&
                     !strcmp(name, PORT_NAME "\n");
        if (file) {
            fclose(file);
        }
        if (found) {
            snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
            closedir(dir);
            return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        }
    }
    errno = ENODEV;
    return -1;
}

/* Waits until the port is writable; a short time if no host is connected. */
static void wait_port_writable(void)
{
    struct pollfd fd = { .fd = port, .events = POLLOUT };

    poll(&fd, 1, -1);
    if (!(fd.revents & POLLOUT)) {
        usleep(RETRY_MS * 1000);
    }
}

static void send_all(const void *data, size_t length)
{
    const uint8_t *bytes = data;

    while (length) {
        ssize_t n = write(port, bytes, length);
        if (n > 0) {
            bytes += n;
            length -= n;
        } else if (errno == EAGAIN || errno == EINTR) {
            wait_port_writable();
        } else {
            die("port");
        }
    }
}

static void send_frame(uint32_t job, uint32_t type,
                       const void *payload, uint32_t length)
{
    uint32_t header[3] = { htole32(length), htole32(job), htole32(type) };

    send_all(header, sizeof(header));
    send_all(payload, length);
}

static struct job *find_job(uint32_t id)
{
    for (int i = 0; i < MAX_JOBS; i++) {
        if (jobs[i].used && jobs[i].id == id) {
            return &jobs[i];
        }
    }
    return NULL;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Runs in the child; @fds are its ends of the three pipes. */
static void exec_job(char **argv, const int fds[3])
{
    setsid();
    for (int i = 0; i < 3; i++) {
        dup2(fds[i], i);
    }
    sigprocmask(SIG_SETMASK, &inherited_mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "agent: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void start_job(const struct frame *frame)
{
    /* An argument has one octet at least, the terminating NUL. */
    static char *argv[MAX_PAYLOAD + 1];
    char *strings = (char *)frame->payload;
    int in[2], out[2], err[2], argc = 0;
    struct job *job = NULL;

    for (size_t at = 0; at < frame->length; argc++) {
        argv[argc] = strings + at;
        at += strnlen(strings + at, frame->length - at) + 1;
    }
    argv[argc] = NULL;
    for (int i = 0; i < MAX_JOBS && !job; i++) {
        job = jobs[i].used ? NULL : &jobs[i];
    }
    if (!job || !argc || strings[frame->length - 1] ||
        pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
        pipe2(err, O_CLOEXEC)) {
        static const char refused[] = "agent: cannot start the command\n";
        uint32_t status = htole32(126 << 8);
        send_frame(frame->job, ERRORS, refused, sizeof(refused) - 1);
        send_frame(frame->job, EXIT, &status, sizeof(status));
        return;
    }
    *job = (struct job) { .used = true, .id = frame->job,
                          .in = in[1], .out = out[0], .err = err[0] };
    fcntl(job->in, F_SETFL, O_NONBLOCK);
    fcntl(job->out, F_SETFL, O_NONBLOCK);
    fcntl(job->err, F_SETFL, O_NONBLOCK);
    job->pid = fork();
    if (!job->pid) {
        exec_job(argv, (int[]) { in[0], out[1], err[1] });
    } else if (job->pid < 0) {
        die("fork");
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
}

/* Frees the current INPUT frame and requests the next one. */
static void finish_input(struct job *job)
{
    free(job->input);
    job->input = NULL;
    send_frame(job->id, TAKEN, NULL, 0);
}

static void write_input(struct job *job)
{
    ssize_t n = write(job->in, job->input + job->input_done,
                      job->input_length - job->input_done);

    if (n >= 0) {
        job->input_done += n;
    } else if (errno != EAGAIN) {
        /* The command has closed its input: drop the rest. */
        close_fd(&job->in);
    }
    if (job->in < 0 || job->input_done == job->input_length) {
        finish_input(job);
    }
}

static void accept_input(struct job *job, const struct frame *frame)
{
    if (!frame->length) {
        close_fd(&job->in);
        return;
    }
    if (job->in < 0 || job->input) {
        send_frame(job->id, TAKEN, NULL, 0);
        return;
    }
    job->input = malloc(frame->length);
    if (!job->input) {
        die("malloc");
    }
    memcpy(job->input, frame->payload, frame->length);
    job->input_length = frame->length;
    job->input_done = 0;
    write_input(job);
}

/* Sends the data in a pipe; returns false if there are none. */
static bool forward(struct job *job, int *fd, uint32_t type)
{
    static uint8_t buffer[MAX_PAYLOAD];
    ssize_t n = *fd < 0 ? -1 : read(*fd, buffer, sizeof(buffer));

    if (n > 0) {
        send_frame(job->id, type, buffer, n);
        return true;
    }
    if (n == 0) {
        close_fd(fd);
    }
    return false;
}

static void end_job(struct job *job, int status)
{
    uint32_t word = htole32(status);

    while (forward(job, &job->out, OUTPUT)) {
        continue;
    }
    while (forward(job, &job->err, ERRORS)) {
        continue;
    }
    send_frame(job->id, EXIT, &word, sizeof(word));
    close_fd(&job->in);
    close_fd(&job->out);
    close_fd(&job->err);
    free(job->input);
    job->used = false;
}

/* Reaps jobs, and the orphans that process 1 inherits. */
static void reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < MAX_JOBS; i++) {
            if (jobs[i].used && jobs[i].pid == pid) {
                end_job(&jobs[i], status);
            }
        }
    }
}

static void kill_job(const struct job *job, const struct frame *frame)
{
    uint32_t signal_number;

    if (frame->length == sizeof(signal_number)) {
        memcpy(&signal_number, frame->payload, sizeof(signal_number));
        kill(-job->pid, le32toh(signal_number));
    }
}

static void handle_frame(const struct frame *frame)
{
    struct job *job = find_job(frame->job);

    if (frame->type == HELLO) {
        send_frame(frame->job, HELLO, NULL, 0);
    } else if (frame->type == RUN && !job) {
        start_job(frame);
    } else if (frame->type == INPUT && job) {
        accept_input(job, frame);
    } else if (frame->type == KILL && job) {
        kill_job(job, frame);
    }
}

/* Reads from the port; returns false when the host is not connected. */
static bool receive(void)
{
    static struct frame frame;
    static size_t have;
    size_t want = HEADER_SIZE;

    if (have >= HEADER_SIZE) {
        want += le32toh(frame.length);
    }
    ssize_t n = read(port, (uint8_t *)&frame + have, want - have);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    have += n;
    if (have < HEADER_SIZE) {
        return true;
    }
    if (le32toh(frame.length) > MAX_PAYLOAD) {
        errno = EPROTO;
        die("frame");
    }
    if (have == HEADER_SIZE + le32toh(frame.length)) {
        frame.length = le32toh(frame.length);
        frame.job = le32toh(frame.job);
        frame.type = le32toh(frame.type);
        have = 0;
        handle_frame(&frame);
    }
    return true;
}

static void loop(int children)
{
    struct pollfd fds[2 + 3 * MAX_JOBS];
    bool connected = true;

    for (;;) {
        fds[0] = (struct pollfd) { .fd = children, .events = POLLIN };
        fds[1] = (struct pollfd) { .fd = connected ? port : -1,
                                   .events = POLLIN };
        for (int i = 0; i < MAX_JOBS; i++) {
            struct job *job = &jobs[i];
            struct pollfd *fd = &fds[2 + 3 * i];
            fd[0] = (struct pollfd) { .fd = job->used ? job->out : -1,
                                      .events = POLLIN };
            fd[1] = (struct pollfd) { .fd = job->used ? job->err : -1,
                                      .events = POLLIN };
            fd[2] = (struct pollfd) {
                .fd = job->used && job->input ? job->in : -1,
                .events = POLLOUT };
        }
        /* Without a host the port always polls as hung up: poll rarely. */
        poll(fds, 2 + 3 * MAX_JOBS, connected ? -1 : RETRY_MS);
        if (fds[0].revents) {
            struct signalfd_siginfo info;
            if (read(children, &info, sizeof(info)) > 0) {
                reap();
            }
        }
        for (int i = 0; i < MAX_JOBS; i++) {
            struct job *job = &jobs[i];
            if (job->used && fds[2 + 3 * i].revents) {
                forward(job, &job->out, OUTPUT);
            }
            if (job->used && fds[3 + 3 * i].revents) {
                forward(job, &job->err, ERRORS);
            }
            if (job->used && job->input && fds[4 + 3 * i].revents) {
                write_input(job);
            }
        }
        if (!connected || fds[1].revents) {
            connected = receive();
        }
        if (fds[1].revents & POLLHUP) {
            connected = false;
        }
    }
}

int main(void)
{
    sigset_t mask;
    int children;

    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
           "/sbin:/bin", 1);
    setenv("HOME", "/root", 1);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &inherited_mask);
    signal(SIGPIPE, SIG_IGN);
    children = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children < 0 || chdir("/root") < 0) {
        die("start");
    }
    port = open_port();
    if (port < 0) {
        die("port " PORT_NAME);
    }
    loop(children);
}
