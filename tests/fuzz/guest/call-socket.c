/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that make, bind, connect and close sockets, and unusual ones
 */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "args.h"

#define FIRST_FD        100

/*
 * Puts a socket into a slot.  No number is used twice: a call that starts again
 * after a signal must not meet another socket, perhaps of the other world.
 */
static void place(struct world *world, uint32_t slot, int fd, int type)
{
    static atomic_int next_fd;
    static uint8_t next_log[2];
    bool second = world->netns < 0;
    int command = fcntl(fd, F_GETFD) & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;

    if (world->fd[slot] >= 0) {
        close(world->fd[slot]);
    }
    world->fd[slot] = fcntl(fd, command, FIRST_FD + next_fd++);
    close(fd);
    world->type[slot] = type;
    world->log_of[slot] = next_log[second]++ % LOGS;
}

void call_socket(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = socket(arg_family(), arg[1], (int)arg[2]);
    int type = 0;
    socklen_t len = sizeof(type);

    call_result(o, fd < 0 ? fd : 0);
    if (fd >= 0) {
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
        place(w->world, arg[0], fd, type);
    }
}

void call_close(struct worker *w, struct outcome *o)
{
    struct world *world = w->world;
    uint32_t slot = w->op.arg[0];
    int fd = world->fd[slot];

    if (!w->op.fork) {
        world->fd[slot] = -1;
        world->type[slot] = 0;
    }
    call_result(o, close(fd));
}

void call_dup(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct world *world = w->world;
    int fd = dup(world->fd[arg[0]]), type = world->type[arg[0]];
    uint8_t log = world->log_of[arg[0]];

    call_result(o, fd < 0 ? fd : 0);
    if (fd >= 0) {
        place(world, arg[1], fd, type);
        world->log_of[arg[1]] = log;
    }
}

void call_bind(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t len = arg_length(arg[2]);

    call_result(o, bind(w->world->fd[arg[0]], arg_address(w, arg[1], len),
                   len));
}

void call_connect(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t len = arg_length(arg[2]);

    call_result(o, connect(w->world->fd[arg[0]], arg_address(w, arg[1], len),
                      len));
}

void call_listen(struct worker *w, struct outcome *o)
{
    call_result(o, listen(w->world->fd[w->op.arg[0]], (int)w->op.arg[1]));
}

void call_accept(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t *len;
    void *name = arg_room(w, arg[3], &len);
    int fd = accept4(w->world->fd[arg[0]], name, len, arg[2]);

    call_result(o, fd < 0 ? fd : 0);
    if (fd < 0) {
        return;
    }
    if (name && len != (socklen_t *)w->arena.hole && name != w->arena.hole) {
        arg_room_facts(o, w, arg[3], *len);
    }
    outcome_fact(o, 'x', "F_GETFL", fcntl(fd, F_GETFL));
    outcome_fact(o, 'x', "F_GETFD", fcntl(fd, F_GETFD));
    place(w->world, arg[1], fd, SOCK_STREAM);
}

void call_shutdown(struct worker *w, struct outcome *o)
{
    call_result(o, shutdown(w->world->fd[w->op.arg[0]], (int)w->op.arg[1]));
}

void call_name(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = w->world->fd[arg[0]];
    socklen_t *len;
    void *name = arg_room(w, arg[2], &len);

    call_result(o, arg[1] ? getpeername(fd, name, len)
                     : getsockname(fd, name, len));
    if (o->ret >= 0 && name && name != w->arena.hole) {
        arg_room_facts(o, w, arg[2], *len);
    }
}

/* Sends the descriptor through a UNIX socket and takes it out again. */
void call_pass(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct world *world = w->world;
    int type = world->type[arg[0]], pair[2], fd = -1;
    uint8_t control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { "x", 1 };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control,
    };
    uint8_t log = world->log_of[arg[0]];

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) {
        call_result(o, -1);
        return;
    }
    arg_put_control(&msg, SOL_SOCKET, SCM_RIGHTS, &world->fd[arg[0]],
                    sizeof(int));
    call_result(o, sendmsg(pair[0], &msg, MSG_DONTWAIT));
    if (o->ret >= 0) {
        iov.iov_base = w->arena.out;
        call_result(o, recvmsg(pair[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
        memcpy(&fd, CMSG_DATA((struct cmsghdr *)control), sizeof(fd));
    }
    if (o->ret >= 0 && fd >= 0) {
        place(world, arg[1], fd, type);
        world->log_of[arg[1]] = log;
    }
    close(pair[0]);
    close(pair[1]);
}

/* Calls for files that sockets must support, too. */
void call_odd(struct worker *w, struct outcome *o)
{
    int fd = w->world->fd[w->op.arg[0]];
    struct stat st = { 0 };
    char text[64] = "";
    void *at;

    switch (w->op.arg[1]) {
    case 0:
        call_result(o, fstat(fd, &st));
        outcome_fact(o, 'x', "st_mode", st.st_mode);
        break;
    case 1:
        call_result(o, lseek(fd, 0, SEEK_CUR));
        break;
    case 2:
        call_result(o, pread(fd, text, 1, 0));
        break;
    case 3:
        call_result(o, fsync(fd));
        break;
    case 4:
        call_result(o, ftruncate(fd, 0));
        break;
    case 5:
        at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        call_result(o, at == MAP_FAILED ? -1 : 0);
        break;
    case 6:
        call_result(o, fgetxattr(fd, "system.sockprotoname", text,
                                 sizeof(text)));
        o->data = w->arena.out;
        o->len = sizeof(text);
        memcpy(o->data, text, sizeof(text));
        break;
    case 7:
        call_result(o, fallocate(fd, 0, 0, 1));
        break;
    case 8:
        call_result(o, syscall(SYS_getdents64, fd, w->arena.out, 4096));
        break;
    default:
        call_result(o, fchmod(fd, 0600));
    }
}
